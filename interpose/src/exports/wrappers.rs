//! The exported functions: `build/wrapper.rs` writes them from the lines of the table.

use std::ffi::c_int;

use crate::base::log;
use crate::base::mode;
use crate::call_sites::call_site::{self, Distance, Number};
use crate::record::thread;

#[allow(non_snake_case, reason = "as MPI has it")]
#[allow(unused_braces, clippy::complexity, clippy::style, reason = "written by a program")]
mod generated {
    use super::{missing, site};
    use std::ffi::{c_int, c_void};

    use mpitrace_format::layout::{activity, wait_class};
    use mpitrace_functions::{Form, Function, Pattern, Size};

    use crate::base::mode;
    use crate::base::symbol::Symbol;
    use crate::base::width::{Int, Large};
    use crate::call_sites::call_site::{Distance, Number};
    use crate::counters::message_counters;
    use crate::counters::mpi_t::of_program as tools_interface;
    use crate::exports::error_handlers::{self, Hidden};
    use crate::exports::{communicators, files, polls, windows};
    use crate::job::{lifecycle, sessions};
    use crate::mpi::{abi, large_count};
    use crate::operation::datatype;
    use crate::operation::message_size::Message;
    use crate::record::thread;
    use crate::recorder::activity::Activity;
    use crate::recorder::requests::array::{Array, Completed};
    use crate::recorder::requests::{completion, outstanding};
    use crate::recorder::{self, epochs, messages, p2p, waiting};

    include!(concat!(env!("OUT_DIR"), "/wrappers.rs"));

    // One line of the table is enough for the tracer: an invented collective.
    #[cfg(test)]
    include!(concat!(env!("OUT_DIR"), "/invented.rs"));
}

/// States if calls are recorded in the plain way, and from where in the program this wrapper was called, where that is
/// asked for: then they are not.
#[inline(always)]
fn site(distance: &'static Distance) -> (bool, Number) {
    let plain = mode::is_plain();
    let here = thread::frame();
    let asked = !plain && call_site::asked() && !thread::is_nested(here);
    (plain, if asked { call_site::number(here, distance) } else { 0 })
}

/// The result of a function that the MPI library at hand does not have. Any result but 0 is an error; this one is
/// mpi4py's own for a function that the library lacks: it raises the exception that it raises without the tracer.
const LACKING: c_int = 0xaaaa_aaaa_u32 as c_int;

/// Called in place of a function that the MPI library at hand does not have: it returns an error.
#[cold]
fn missing(symbol: &str) -> c_int {
    log::detail(&format!("the MPI library of this program has no {symbol}; the call returns an error"));
    LACKING
}

#[cfg(test)]
mod tests {
    use super::LACKING;
    use super::generated::{MPI_Inform, PMPI_Whisper_c};

    #[test]
    fn one_line_of_the_table_makes_all_wrappers() {
        // SAFETY: no library has such a function, so nothing looks at the arguments.
        let results = unsafe { [MPI_Inform(0, 0, 0, 0, 0, 0), PMPI_Whisper_c(0, 0, 0, 0, 0, 0, 0)] };
        assert_eq!(results, [LACKING; 2]);
    }

    const WRAPPERS: &str = include_str!(concat!(env!("OUT_DIR"), "/wrappers.rs"));
    const EXAMPLES: &str = include_str!(concat!(env!("OUT_DIR"), "/examples.rs"));

    /// With `WRITE_EXAMPLES=1` in the environment it writes the file.
    #[test]
    fn the_examples_are_what_the_build_makes() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/table/wrappers.rs");
        if std::env::var_os("WRITE_EXAMPLES").is_some() {
            std::fs::write(file, EXAMPLES).unwrap();
        }
        let there = std::fs::read_to_string(file).unwrap_or_default();
        let differs = there.lines().zip(EXAMPLES.lines()).position(|(there, made)| there != made);
        assert!(
            there == EXAMPLES,
            "tests/table/wrappers.rs is not what the build makes, from line {} on; this writes it: \
             WRITE_EXAMPLES=1 cargo test --profile checked -p mpitrace-interpose the_examples",
            differs.unwrap_or(0) + 1
        );
        let made = |line: &&str| line.is_empty() || line.starts_with("// ") || WRAPPERS.contains(*line);
        assert_eq!(EXAMPLES.lines().find(|line| !made(line)), None, "not in the wrappers that are built");
    }

    #[test]
    fn no_line_of_the_wrappers_is_too_long_to_read() {
        let long = WRAPPERS.lines().filter(|line| line.chars().count() > 120);
        assert_eq!(long.collect::<Vec<_>>(), Vec::<&str>::new());
    }
}
