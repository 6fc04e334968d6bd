//! Performance variables of the MPI library (MPI_T), read around each call.
//!
//! [`Variables`] is the source of counters: `plan` binds and starts at Init what was asked for; `before` and `after`
//! read it on the way of a call, without a lock or an allocation of ours. Variables of communicators have a handle for
//! each: [`meet`] makes those of a new one, beside the way of a call, and [`forget`] gives them back before the
//! communicator is freed. [`control`] tells of control variables.

mod bound;
mod choice;
pub mod control;
mod interface;
mod kinds;
mod openmpi;
mod planning;
mod transport;

use std::sync::OnceLock;

use mpitrace_format::layout::{counter_flags, counter_source};

use bound::Bound;
use planning::Planned;

use crate::base::log;
use crate::counters::source::{At, Counter, Kind, Plan, Source, Started, Wanted};
use crate::identity::registry::{self, Follower};
use crate::mpi::abi;
use crate::record::thread::{self, attention};

/// A value of a performance variable that is read.
struct Variable {
    /// As the library names it, with the element behind it where it has several.
    pub name: String,
    /// What it counts in.
    pub unit: &'static str,
    /// Whether it is a level and not a counter.
    pub level: bool,
    /// What is to be known of it; empty: nothing.
    pub note: String,
}

static PLANNED: OnceLock<Planned> = OnceLock::new();

/// The kind: handles are the process', so that threads have nothing of their own.
pub struct Pvars;

impl Kind for Pvars {
    fn plan(&self, wanted: &mut Wanted, room: usize) -> Plan {
        if wanted.pvars.is_empty() {
            return Plan::default();
        }
        let world = wanted.has_world.then(|| abi::get().comm_world);
        let planned = PLANNED.get_or_init(|| planning::plan(&wanted.pvars, room, world));
        if planned.plan.as_ref().is_some_and(|plan| !plan.bound.is_empty()) {
            registry::follow(Follower { met: meet, lost });
        }
        let source = counter_source::VARIABLE;
        let counters = planned.variables.iter().map(|variable| Counter {
            name: variable.name.clone(),
            unit: variable.unit,
            source,
            flags: if variable.level { counter_flags::LEVEL } else { 0 },
            reason: variable.note.clone(),
        });
        let left_out = planned.left_out.iter().map(|one| Counter {
            name: one.name.clone(),
            source,
            reason: one.reason(),
            ..Counter::default()
        });
        Plan { counters: counters.collect(), left_out: left_out.collect(), notes: notes(planned) }
    }

    fn start(&self, started: Started) {
        if !started.entries.is_empty() {
            thread::attend_to(attention::SAMPLED);
        }
    }

    fn open(&self) -> Option<Box<dyn Source>> {
        Some(Box::new(session()?))
    }
}

/// The same for all threads.
impl Source for &'static planning::Plan {
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

/// What is to be said, a sentence each: one for all variables that are left out for the same reason.
fn notes(planned: &Planned) -> Vec<String> {
    /// A pattern may mean hundreds.
    const MOST_NAMES: usize = 8;
    let mut notes: Vec<String> = Vec::new();
    let mut reasons: Vec<&str> = planned.left_out.iter().map(|one| one.why.as_str()).collect();
    reasons.dedup();
    let mut said: Vec<&str> = Vec::new();
    for why in reasons {
        if said.contains(&why) {
            continue;
        }
        said.push(why);
        let of_it = planned.left_out.iter().filter(|one| one.why == why).map(|one| one.name.as_str());
        let names: Vec<&str> = of_it.collect();
        let more = match names.len().saturating_sub(MOST_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        notes.push(format!("MPITRACE_PVARS: {}{more}{why}", names[..names.len().min(MOST_NAMES)].join(", ")));
    }
    let sums = planned.variables.iter().filter(|variable| !variable.note.is_empty());
    notes.extend(sums.map(|variable| format!("MPITRACE_PVARS: {}", variable.note)));
    notes
}

fn session() -> Option<&'static planning::Plan> {
    PLANNED.get()?.plan.as_ref()
}

/// A communicator is in use: binds the variables of communicators to it, once. To be called under the registry's lock.
fn meet(communicator: usize) {
    let Some(plan) = session() else { return };
    if plan.bound.is_empty() || bound::find(communicator).is_some() {
        return;
    }
    let handles: Vec<Bound> = plan.bind(communicator).map(|(handle, count)| Bound { handle, count }).collect();
    let bound = handles.clone();
    if !bound::keep(communicator, handles) {
        bound.iter().for_each(|one| plan.session.free(one.handle));
        log::detail(
            "too many communicators at once: on further ones, pvars that belong to a communicator have no value",
        );
    }
}

/// A communicator is about to be freed.
pub fn forget(communicator: usize) {
    let Some(plan) = session() else { return };
    for bound in bound::remove(communicator).into_iter().flatten() {
        plan.session.free(bound.handle);
    }
}

/// A communicator is gone, and its handle is another one's: what was bound to it may not be touched any more.
fn lost(communicator: usize) {
    bound::remove(communicator);
}

/// MPI_COMM_WORLD and MPI_COMM_SELF are about to end, while sessions go on.
pub fn end_of_world() {
    let Some(plan) = session() else { return };
    forget(abi::get().comm_world);
    forget(abi::get().comm_self);
    plan.end_of_world();
}
