//! Statuses: the program's own, or private ones where it wants none and a message's size has to be known.

use std::ffi::c_int;

use crate::boundary::{abi, mpi};

/// The statuses that a call is given.
pub struct Statuses {
    address: usize,
    /// In place of MPI_STATUS_IGNORE.
    _private: Vec<u64>,
}

impl Statuses {
    /// The `count` statuses that the program passes at `given`; private ones if it wants none and they are `wanted`.
    pub fn of(given: usize, count: usize, wanted: bool) -> Statuses {
        let abi = abi::get();
        if !wanted || given != abi.status_ignore {
            return Statuses { address: given, _private: Vec::new() };
        }
        let mut private = vec![0u64; (count * abi.status_size).div_ceil(size_of::<u64>()).max(1)];
        Statuses { address: private.as_mut_ptr().expose_provenance(), _private: private }
    }

    /// What the call is given.
    pub fn address(&self) -> usize {
        self.address
    }

    /// The address of the `index`-th one.
    pub fn at(&self, index: usize) -> usize {
        self.address + index * abi::get().status_size
    }
}

/// The bytes of the message that a receive has got; `None` where it got none: cancelled, or from MPI_PROC_NULL.
///
/// # Safety
/// `status` is the address of a status that a call has set.
pub unsafe fn bytes_of(status: usize) -> Option<u64> {
    let abi = abi::get();
    let source = std::ptr::with_exposed_provenance::<c_int>(status + abi.status_source);
    // SAFETY: the caller's promise; MPI_SOURCE lies there.
    if unsafe { source.read() } == abi.proc_null {
        return None;
    }
    // SAFETY: the caller's promise, here and below.
    if mpi::int(|flag| unsafe { mpi::test_cancelled(status, flag) }) != Some(0) {
        return None;
    }
    let mut bytes: i64 = -1;
    // SAFETY: int MPI_Get_elements_x(const MPI_Status *, MPI_Datatype, MPI_Count *), MPI_Count being 64 bits.
    if unsafe { mpi::get_elements_x(status, abi.byte, (&raw mut bytes).expose_provenance()) } && bytes >= 0 {
        return Some(bytes as u64);
    }
    // SAFETY: int MPI_Get_count(const MPI_Status *, MPI_Datatype, int *).
    let bytes = mpi::int(|count| unsafe { mpi::get_count(status, abi.byte, count) })?;
    u64::try_from(bytes).ok()
}
