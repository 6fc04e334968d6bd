//! For tests and measurements: traces of programs that never ran, and random numbers that are the same everywhere. What
//! comes in are the calls of such a program and seeds. What goes out are trace files, programs and numbers; no crate
//! that ships depends on it.

pub mod binaries;
pub mod campaigns;
pub mod invented;
pub mod modules;
pub mod programs;
mod random;
pub mod scaled_programs;
pub mod simulator;
pub mod sources;
pub mod synthetic;

pub use random::Random;

use std::path::Path;

/// Where the repository lies.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository's folder")
}
