//! A trace: opened, matched, put on a common clock, categorized.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use mpitrace::reader::Trace;
use mpitrace_fuzz::{analyse, checksums, memory_file, mutate, places};

fuzz_target!(|bytes: &[u8]| {
    memory_file::with(bytes, |path| {
        if let Ok(trace) = Trace::open(&[path]) {
            analyse::trace(&trace);
        }
    });
});

fuzz_mutator!(|bytes: &mut [u8], size: usize, longest: usize, seed: u32| {
    let size = mutate::file(bytes, size, longest, seed, places::of_trace);
    checksums::repair(&mut bytes[..size]);
    size
});
