//! A segment that a killed process left: recovered beside a sound one of the same job, and the trace read.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use mpitrace_fuzz::{leftovers, mutate, places};

fuzz_target!(|bytes: &[u8]| leftovers::recover(bytes));

fuzz_mutator!(|bytes: &mut [u8], size: usize, longest: usize, seed: u32| {
    mutate::file(&mut bytes[..longest], size, seed, places::of_segment, fuzzer_mutate)
});
