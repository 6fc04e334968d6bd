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
use std::sync::atomic::Ordering;

use mpitrace_format::layout::{NO_VALUE, counter_flags, counter_source};

use bound::Bound;
use interface::Handle;
use planning::{Planned, Reads};

use crate::base::log;
use crate::counters::source::{At, Counter, Named, Plan, Source, When};
use crate::identity::registry::{self, Follower};
use crate::mpi::abi;

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

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Names and patterns of `MPITRACE_PVARS`.
    pub patterns: Vec<String>,
    /// Whether MPI_COMM_WORLD can be used.
    pub has_world: bool,
}

/// The source: handles are the process', so that threads have nothing of their own.
pub struct Variables;

impl Source for Variables {
    type Wanted = Wanted;
    const WHEN: When = When::Around;

    /// They have a variable of their own, `MPITRACE_PVARS`.
    fn want(_: &mut Wanted, _: &str) -> Named {
        Named::NotMine
    }

    fn plan(wanted: &Wanted, room: usize) -> Plan {
        if wanted.patterns.is_empty() {
            return Plan::default();
        }
        let world = wanted.has_world.then(|| abi::get().comm_world);
        let planned = PLANNED.get_or_init(|| planning::plan(&wanted.patterns, room, world));
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

    fn open() -> Variables {
        Variables
    }

    fn words(&self) -> usize {
        session().map_or(0, |session| session.words)
    }

    /// Those of communicators are not read where that has not been met.
    fn before(&self, at: At, reading: &mut [u64]) {
        read_into(at.communicator, reading);
    }

    fn after(&self, at: At, reading: &mut [u64]) {
        read_into(at.communicator, reading);
    }

    fn values(&self, before: &[u64], after: &[u64], values: &mut [u64]) -> usize {
        difference(before, after, values);
        values.len()
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

/// Reads them all for a call on this communicator. Those of communicators are not read where that has not been met.
fn read_into(communicator: usize, reading: &mut [u64]) {
    let Some(plan) = session() else { return };
    let bound = if plan.bound.is_empty() { None } else { bound::find(communicator) };
    for reader in &plan.readers {
        let (handle, count) = match &reader.source {
            Reads::Own { handle, count, .. } => (handle.load(Ordering::Relaxed), *count),
            Reads::Communicator(number) => {
                bound.and_then(|bound| bound.get(*number)).map_or((0, 0), |bound| (bound.handle, bound.count))
            }
        };
        let [read, elements @ ..] = &mut reading[reader.offset..] else { continue };
        let well = handle != 0 && plan.session.read(Handle { handle, count }, elements);
        *read = if well { count as u64 } else { 0 };
    }
}

/// The values of a call out of the readings before and after it.
fn difference(before: &[u64], after: &[u64], values: &mut [u64]) {
    let Some(plan) = session() else { return };
    let mut values = values.iter_mut();
    for reader in &plan.readers {
        let ([read_before, before @ ..], [read_after, after @ ..]) =
            (&before[reader.offset..], &after[reader.offset..])
        else {
            return;
        };
        let read = match reader.rule.is_level() {
            true => *read_after as usize,
            false => (*read_before).min(*read_after) as usize,
        };
        let value = |element| if element < read { reader.rule.value(before, after, element) } else { NO_VALUE };
        if reader.summed {
            // One element without a value leaves the sum without one.
            let sum = (0..read.max(1)).map(value).reduce(|sum, value| match (sum, value) {
                (NO_VALUE, _) | (_, NO_VALUE) => NO_VALUE,
                _ => sum.wrapping_add(value),
            });
            if let Some(place) = values.next() {
                *place = sum.unwrap_or(NO_VALUE);
            }
        } else {
            for (element, place) in values.by_ref().take(reader.columns).enumerate() {
                *place = value(element);
            }
        }
    }
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
