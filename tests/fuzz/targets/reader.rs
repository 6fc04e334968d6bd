//! A trace: opened, matched, put on a common clock, categorized.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use mpitrace_fuzz::{analyse, checksums, memory_file, mutate, places};
use mpitrace_trace::reader::Trace;

fuzz_target!(|bytes: &[u8]| {
    memory_file::with(bytes, |path| {
        if let Ok(trace) = Trace::open(&[path]) {
            analyse::trace(&trace);
        }
    });
});

fuzz_mutator!(|bytes: &mut [u8], size: usize, longest: usize, seed: u32| {
    let size = mutate::file(&mut bytes[..longest], size, seed, places::of_trace, fuzzer_mutate);
    checksums::repair(&mut bytes[..size]);
    size
});
