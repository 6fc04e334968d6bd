//! The trace that `recover` finds under the name that it is to write: sound segments are joined with it.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use mpitrace_fuzz::{checksums, leftovers, mutate, places};

fuzz_target!(|bytes: &[u8]| leftovers::recover_beside(bytes));

fuzz_mutator!(|bytes: &mut [u8], size: usize, longest: usize, seed: u32| {
    let size = mutate::file(&mut bytes[..longest], size, seed, places::of_trace, fuzzer_mutate);
    checksums::repair(&mut bytes[..size]);
    size
});
