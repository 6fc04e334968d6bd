//! What the ranks of a communicator find out together.

use crate::boundary::{abi, mpi};

/// Splits by colour.
pub fn split(comm: usize, color: u32, key: u32) -> Option<usize> {
    // SAFETY: all ranks of the communicator come here.
    mpi::handle(|place| unsafe { mpi::comm_split(comm, color as usize, key as usize, place) })
}

/// Gives a communicator of the tracer's own back.
pub fn free(comm: usize) {
    let mut comm = comm;
    // SAFETY: it is the tracer's own. A 4-byte handle lies in the word's first 4 bytes.
    unsafe { mpi::comm_free((&raw mut comm).expose_provenance()) };
}

/// Ranks.
pub fn size(comm: usize) -> Option<i32> {
    // SAFETY: `comm` is a communicator.
    mpi::int(|place| unsafe { mpi::comm_size(comm, place) })
}

/// One 64-bit integer of each rank, reduced for all.
pub fn allreduce(comm: usize, here: i64, operator: usize) -> Option<i64> {
    let mut result = 0i64;
    // SAFETY: all ranks of the communicator come here, each with one 64-bit integer.
    let done = unsafe {
        let (send, receive) = ((&raw const here).expose_provenance(), (&raw mut result).expose_provenance());
        mpi::allreduce(send, receive, 1, abi::get().int64, operator, comm)
    };
    done.then_some(result)
}
