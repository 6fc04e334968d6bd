//! Rows of iteration, rank, metric and value, compressed or not.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mpitrace_fuzz::{analyse, memory_file};
use mpitrace_trace::import::csv;

fuzz_target!(|bytes: &[u8]| {
    memory_file::with(bytes, |path| {
        if let Ok(measured) = csv::read(path) {
            analyse::measured(&measured);
        }
    });
});
