//! Performance variables of the MPI library (MPI_T), read around each call.
//!
//! [`Pvars`] is the kind of counters: at Init `planning` binds and starts what was asked for; a reading takes no lock and
//! allocates nothing of ours. Variables of communicators have a handle for each: [`meet`] makes those of a new one,
//! beside the way of a call, and [`forget`] gives them back before the communicator is freed. [`control`] reads control
//! variables.

mod bound;
mod choice;
pub mod control;
mod interface;
mod kinds;
mod openmpi;
mod planning;

use std::sync::OnceLock;

use planning::Readers;

use crate::base::log;
use crate::counters::source::{At, Kind, Plan, Source, Started, Wanted};
use crate::identity::registry::{self, Follower};
use crate::mpi::abi;
use crate::record::thread::{self, attention};

/// The same for all threads.
static READERS: OnceLock<Readers> = OnceLock::new();

/// The kind: handles are the process', so that threads have nothing of their own.
pub struct Pvars;

impl Kind for Pvars {
    fn plan(&self, wanted: &mut Wanted, room: usize) -> Plan {
        if wanted.pvars.is_empty() {
            return Plan::default();
        }
        let world = wanted.has_world.then(|| abi::get().comm_world);
        let (plan, readers) = planning::plan(&wanted.pvars, room, world);
        if let Some(readers) = readers {
            if readers.are_bound() {
                registry::follow(Follower { met: meet, lost });
            }
            let _ = READERS.set(readers);
        }
        plan
    }

    fn start(&self, started: Started) {
        if !started.entries.is_empty() {
            thread::attend_to(attention::SAMPLED);
        }
    }

    fn open(&self) -> Option<Box<dyn Source>> {
        Some(Box::new(READERS.get()?))
    }
}

impl Source for &'static Readers {
    fn words(&self) -> usize {
        self.words
    }

    fn before(&self, at: At, reading: &mut [u64]) {
        self.read_into(at.communicator, reading);
    }

    fn values(&self, before: &[u64], after: &[u64], values: &mut [u64]) -> usize {
        self.difference(before, after, values)
    }
}

/// A communicator is in use: binds the variables of communicators to it, once. To be called under the registry's lock.
fn meet(communicator: usize) {
    let Some(readers) = READERS.get().filter(|_| bound::find(communicator).is_none()) else { return };
    let handles = readers.bind(communicator);
    if !bound::keep(communicator, handles.clone()) {
        handles.iter().for_each(|bound| readers.session.free(bound.handle));
        log::detail(
            "too many communicators at once: on further ones, pvars that belong to a communicator have no value",
        );
    }
}

/// A communicator is about to be freed.
pub fn forget(communicator: usize) {
    let Some(readers) = READERS.get() else { return };
    for bound in bound::remove(communicator).into_iter().flatten() {
        readers.session.free(bound.handle);
    }
}

/// A communicator is gone, and its handle is another one's: what was bound to it may not be touched any more.
fn lost(communicator: usize) {
    bound::remove(communicator);
}

/// MPI_COMM_WORLD and MPI_COMM_SELF are about to end, while sessions go on.
pub fn end_of_world() {
    let Some(readers) = READERS.get() else { return };
    forget(abi::get().comm_world);
    forget(abi::get().comm_self);
    readers.end_of_world();
}
