//! The trace that `recover` finds under the name that it is to write: sound segments are joined with it.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use mpitrace_fuzz::{checksums, leftovers, mutate, places};

fuzz_target!(|bytes: &[u8]| leftovers::recover_beside(bytes));

fuzz_mutator!(|bytes: &mut [u8], size: usize, longest: usize, seed: u32| {
    let size = mutate::file(bytes, size, longest, seed, places::of_trace);
    checksums::repair(&mut bytes[..size]);
    size
});
