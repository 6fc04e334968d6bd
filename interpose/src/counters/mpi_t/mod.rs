//! Performance variables of the MPI library (MPI_T), read around each call.
//!
//! [`Pvars`] is the kind of counters: at Init `planning` binds and starts what was asked for; a reading takes no lock
//! and allocates nothing of ours. Variables of communicators are those of MPI_COMM_WORLD. [`control`] reads control
//! variables.

mod choice;
pub mod control;
mod interface;
mod kinds;
pub mod of_program;
mod openmpi;
mod planning;

use std::sync::OnceLock;

use planning::Readers;

use crate::counters::source::{CounterKind, Plan, Source, Started, Wanted};
use crate::mpi::abi;
use crate::record::thread::{self, ThreadRef, attention};

/// The readers of all threads.
static READERS: OnceLock<Readers> = OnceLock::new();

/// The kind: handles are the process', so that threads have nothing of their own.
pub struct Pvars;

impl CounterKind for Pvars {
    fn plan(&self, wanted: &mut Wanted, room: usize) -> Plan {
        if wanted.pvars.is_empty() {
            return Plan::default();
        }
        let world = wanted.has_world.then(|| abi::get().comm_world);
        let (plan, readers) = planning::plan(&wanted.pvars, room, world);
        if let Some(readers) = readers {
            let _ = READERS.set(readers);
        }
        plan
    }

    fn start(&self, started: Started) {
        if !started.entries.is_empty() {
            thread::attend_to(attention::SAMPLED);
        }
    }

    fn goes_on(&self) -> bool {
        true
    }

    fn open(&self) -> Option<Box<dyn Source>> {
        Some(Box::new(READERS.get()?))
    }
}

impl Source for &'static Readers {
    fn words(&self) -> usize {
        self.words
    }

    fn before(&self, _: ThreadRef, reading: &mut [u64]) {
        self.read_into(reading);
    }

    fn values(&self, before: &[u64], after: &[u64], values: &mut [u64]) -> usize {
        self.difference(before, after, values)
    }
}

/// MPI_COMM_WORLD is about to end, while sessions go on.
pub fn end_of_world() {
    READERS.get().inspect(|readers| readers.end_of_world());
}
