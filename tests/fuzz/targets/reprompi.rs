//! The output of ReproMPI, compressed or not.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpitrace_fuzz::{analyse, memory_file};
use mpitrace_trace::import::reprompi;

fuzz_target!(|bytes: &[u8]| {
    memory_file::with(bytes, |path| {
        for measured in reprompi::read(path).unwrap_or_default() {
            analyse::measured(&measured);
        }
    });
});
