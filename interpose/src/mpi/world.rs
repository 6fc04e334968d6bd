//! The ranks of the world, and by what right this one may ask about them: MPI_COMM_WORLD, or a session that is open.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::base::lock::lock;
use crate::mpi::{Comm, Group};

/// A session that the program has open.
pub struct Session {
    pub handle: usize,
    /// The group of all ranks of the world.
    pub world: Group,
}

static OPEN: Mutex<Vec<Session>> = Mutex::new(Vec::new());

/// The sessions that the program has open.
pub fn sessions() -> MutexGuard<'static, Vec<Session>> {
    lock(&OPEN)
}

/// True if the program has a session open.
pub fn any_session() -> bool {
    !sessions().is_empty()
}

/// Calls `work` with a group of all ranks of the world that an open session has.
fn with_group_of_session<R>(work: impl FnOnce(&Group) -> Option<R>) -> Option<R> {
    let sessions = sessions();
    work(&sessions.last()?.world)
}

/// True while the rank is between `MPI_Init` and `MPI_Finalize`.
static INSIDE: AtomicBool = AtomicBool::new(false);

/// `MPI_Init` has returned.
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
    if !is_inside() {
        return with_group_of_session(work);
    }
    work(&Comm::world().group()?)
}
