//! The ranks of the world, and by what right this one may ask about them: MPI_COMM_WORLD, or a session that is open.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::base::lock::lock;
use crate::mpi::{Comm, Group};

pub struct Session {
    pub handle: usize,
    /// The group of all ranks of the world.
    pub world: Group,
}

/// The sessions that the program has open.
static OPEN: Mutex<Vec<Session>> = Mutex::new(Vec::new());

pub fn sessions() -> MutexGuard<'static, Vec<Session>> {
    lock(&OPEN)
}

pub fn any_session() -> bool {
    !sessions().is_empty()
}

/// True while the rank is between `MPI_Init` and `MPI_Finalize`.
static INSIDE: AtomicBool = AtomicBool::new(false);

pub fn enter() {
    INSIDE.store(true, Ordering::Release);
}

/// `MPI_Finalize` was called. False: the rank was not between the two.
pub fn leave() -> bool {
    INSIDE.swap(false, Ordering::AcqRel)
}

/// True while the rank is between `MPI_Init` and `MPI_Finalize`.
pub fn is_inside() -> bool {
    INSIDE.load(Ordering::Acquire)
}

/// Calls `work` with a group of all ranks of the world, MPI_COMM_WORLD's or a session's.
pub fn with_group<R>(work: impl FnOnce(&Group) -> Option<R>) -> Option<R> {
    if is_inside() { work(&Comm::world().group()?) } else { work(&sessions().last()?.world) }
}
