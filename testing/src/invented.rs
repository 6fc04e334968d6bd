//! A collective that no MPI library has, as the table would declare it (`tests/table/invented.table`).

use mpitrace_functions::{Form, Function, Pattern, Size};

/// Its forms.
pub static FUNCTIONS: &[&[Function]] = include!(concat!(env!("OUT_DIR"), "/functions.rs"));
