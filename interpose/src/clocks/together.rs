//! What the ranks of a communicator find out together.

use crate::boundary::mpi::Comm;

/// Whether it is so on all ranks of a communicator, which come here together; not where they cannot be asked.
pub fn all(comm: Comm, here: bool) -> bool {
    comm.min(here.into()) == Some(1)
}
