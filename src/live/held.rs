//! The ranks that hold each other for good when a job is ended.

use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;

use super::snapshot::{RankNow, Snapshot};
use super::stood::at_the_end;
use super::verdict::{Stuck, StuckKind, never_comes, partners};

/// The ranks that held each other for good when the job of a trace was ended, ascending; empty: none are known.
pub fn held(trace: &Trace, operations: &Operations, clock: &Clock) -> Vec<u32> {
    let (snapshot, stuck) = at_the_end(trace, operations, clock);
    stuck.map_or_else(Vec::new, |stuck| held_by(&snapshot, &stuck))
}

/// The ranks of a verdict that do not go on whatever all others do, ascending: those that wait for each other, those in
/// calls that do not belong together, and those that wait for ranks that have ended. A rank that was computing is none:
/// it may only have been slow. Nor is one that has died: the others hung since their own last movement.
pub fn held_by(snapshot: &Snapshot, stuck: &Stuck) -> Vec<u32> {
    let is_named = |rank: &&RankNow| stuck.ranks.contains(&rank.rank);
    let named = || snapshot.ranks.iter().filter(is_named);
    let is_over = |rank: u32| snapshot.rank(rank).is_some_and(never_comes);
    let waits_for_over = |rank: &RankNow| partners(snapshot, rank).is_some_and(|all| all.into_iter().all(is_over));
    let is_in_the_call = |rank: &RankNow| {
        let place = (stuck.communicator, stuck.sequence);
        rank.waits.iter().any(|wait| (wait.communicator, wait.sequence) == place)
    };
    let mut ranks = stuck.ranks.clone();
    let mut add = |is: &dyn Fn(&RankNow) -> bool| {
        ranks.extend(snapshot.ranks.iter().filter(|rank| is(rank)).map(|rank| rank.rank));
    };
    match stuck.kind {
        StuckKind::Cycle => {}
        StuckKind::Mismatch => add(&is_in_the_call),
        StuckKind::MissingRank if named().all(never_comes) => {}
        StuckKind::PointToPoint if named().all(waits_for_over) => add(&never_comes),
        _ => return Vec::new(),
    }
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}
