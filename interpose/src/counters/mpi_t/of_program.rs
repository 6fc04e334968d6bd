//! The program's own use of MPI_T, while the tracer holds the interface open.
//!
//! Open MPI sets `provided`, and the thread level in force with it, in the first of nested MPI_T_init_thread only, and
//! the last MPI_T_finalize closes what the tracer reads from. So the program's own calls are counted: its first one is
//! given what the library would have set, and one MPI_T_finalize too many is refused as the library would refuse it.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};

use mpitrace_format::layout::abi as family;

use crate::base::program;
use crate::base::symbol::Symbol;
use crate::counters::mpi_t::interface;
use crate::mpi::{abi, functions};

functions! {
    fn thread_level = c"ompi_mpi_thread_level"(required, provided);
}

/// The uses that the program has begun and not ended.
static BEGUN: AtomicUsize = AtomicUsize::new(0);

/// MPI_T_ERR_NOT_INITIALIZED.
fn not_initialised() -> c_int {
    match abi::get().family {
        family::OPENMPI => 55,
        family::STANDARD => 1003,
        _ => 60,
    }
}

/// `MPI_T_init_thread`.
pub fn begin(forward: &dyn Fn(usize) -> c_int, required: usize, provided: usize) -> c_int {
    const UNSET: c_int = c_int::MIN;
    if !interface::is_held() || provided == 0 {
        let result = forward(provided);
        if result == 0 {
            BEGUN.fetch_add(1, Ordering::AcqRel);
        }
        return result;
    }
    let mut own = UNSET;
    let result = forward((&raw mut own).expose_provenance());
    if result != 0 {
        return result;
    }
    let is_first = BEGUN.fetch_add(1, Ordering::AcqRel) == 0;
    if own != UNSET {
        program::set_int(provided, own);
    } else if is_first {
        // SAFETY: int ompi_mpi_thread_level(int, int *), which Open MPI calls itself in the first MPI_T_init_thread.
        let is_set = unsafe { thread_level(required, provided) };
        if !is_set {
            program::set_int(provided, required as c_int);
        }
    }
    result
}

/// `MPI_T_finalize`.
pub fn end(forward: &dyn Fn() -> c_int) -> c_int {
    let less = |begun: usize| begun.checked_sub(1);
    let has_begun = BEGUN.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok();
    if !has_begun && interface::is_held() {
        return not_initialised();
    }
    let result = forward();
    if has_begun && result != 0 {
        BEGUN.fetch_add(1, Ordering::AcqRel);
    }
    result
}
