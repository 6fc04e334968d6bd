//! Why a job did not go on when it was ended.
//!
//! A job that is ended from outside, as by a time limit, looks as if its ranks waited for each other, whether they moved
//! until then or not. So there is a verdict only where it needs no time to be true, or where the ranks are known to have
//! stood for long: for [`LEAST_S`], and for [`TIMES`] times the longest time for which any rank of the job had stood
//! before and gone on.

use mpitrace_analysis::account::{HowEnded, RankEnd};
use mpitrace_format::layout::{OPERATION_MASK, OperationEntry};
use mpitrace_format::metadata;
use mpitrace_functions::Form;
use mpitrace_trace::clock::{Clock, RankClock};
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::{Part, Trace};

use super::place;
use super::snapshot::{RankNow, Snapshot, State};
use super::verdict::{Stuck, StuckKind, never_comes, partners, verdict, waits_for_all};

/// A verdict needs that the ranks have not moved for so long, s.
const LEAST_S: f64 = 3.0;
/// A verdict needs that the ranks have not moved for so many times the longest pause before.
const TIMES: f64 = 3.0;
const NS: f64 = 1e9;

/// Where the ranks of a job were when it was ended, and why it did not go on; `None`: it is not known that it did not.
///
/// Where the ends of the ranks are not dated, nothing is known of how long they had stood, and the verdict is on where
/// they were last seen.
pub fn at_the_end(trace: &Trace, operations: &Operations, clock: &Clock) -> (Snapshot, Option<Stuck>) {
    let mut snapshot = place::snapshot(trace, operations, clock, &[]);
    let stuck = stuck_at_the_end(trace, clock, &mut snapshot);
    // A rank that calls MPI_Abort, or that the MPI library ends, leaves the others in whatever they are in.
    let was_aborted =
        snapshot.ranks.iter().any(|rank| rank.state == State::Abort || snapshot.was_ended_by_library(rank))
            || snapshot.ended_by_launcher().is_some();
    let stays = |stuck: &Stuck| !was_aborted || matches!(stuck.kind, StuckKind::Mismatch | StuckKind::DeadRank);
    (snapshot, stuck.filter(stays))
}

fn stuck_at_the_end(trace: &Trace, clock: &Clock, snapshot: &mut Snapshot) -> Option<Stuck> {
    let at_once = verdict(snapshot, 0.0);
    let ends = trace.parts.iter().enumerate().map(|(index, part)| {
        let clock = clock.of_part(index);
        (part, clock, RankEnd::new(part, clock))
    });
    let dated: Vec<_> = ends.filter(|(_, _, end)| end.how == HowEnded::Observed).collect();
    let of_job = |rank: &RankNow| rank.state != State::Ended;
    if at_once.is_none() || dated.len() < snapshot.ranks.iter().filter(|rank| of_job(rank)).count() {
        return at_once;
    }
    let mut pause_s = 0.0f64;
    for (part, clock, end) in dated {
        pause_s = pause_s.max(longest_pause_s(part, clock));
        if let Ok(place) = snapshot.ranks.binary_search_by_key(&part.rank(), |rank| rank.rank) {
            let rank = &mut snapshot.ranks[place];
            rank.unmoved_s = stood_s(rank, part, clock, &end);
        }
    }
    let stuck = verdict(snapshot, LEAST_S.max(TIMES * pause_s));
    stuck.or_else(|| at_once.filter(|stuck| needs_no_time(snapshot, stuck)))
}

/// For at least so long the rank had not moved at its end, s. `rank` says where it was, `end` when that was.
fn stood_s(rank: &RankNow, part: &Part, clock: &RankClock, end: &RankEnd) -> f64 {
    let seen = end.earliest_ns - end.moved_latest_ns;
    // One thread that is inside a call has not moved since it entered it.
    let inside = Some(part).filter(|_| rank.state == State::InCall && !rank.has_threads).and_then(place::inside_since);
    let stood = inside.map_or(0.0, |enter| {
        let first = part.info().first_anchor.tick;
        end.earliest_ns - clock.duration_ns(first, enter.max(first))
    });
    // One that does nothing but poll has not moved either.
    let polled_s = Some(part).filter(|_| rank.state == State::OtherMpi).and_then(place::polled_s).unwrap_or(0.0);
    (seen.max(stood).max(0.0) / NS).max(polled_s)
}

/// The longest time for which the rank is known not to have moved and to have gone on, s: as `mpitrace run` saw it, or
/// in a blocking call that was recorded.
fn longest_pause_s(part: &Part, clock: &RankClock) -> f64 {
    let seen = metadata::get(&part.metadata(), metadata::LONGEST_PAUSE_NS).and_then(|ns| ns.parse().ok());
    let seen: f64 = seen.map_or(0.0, |ns: u64| ns as f64);
    if part.threads().len() != 1 {
        return seen / NS;
    }
    let is_blocking = |entry: &OperationEntry| {
        let function = part.text(entry.function);
        !entry.is_region() && function.is_some_and(|function| !Form::of_name(&function).has_request())
    };
    let blocking: Vec<bool> = part.operations().iter().map(is_blocking).collect();
    let mut longest = 0.0f64;
    for block in part.blocks() {
        let [enter, exit] = block.times();
        for (record, (&enter, &exit)) in block.range.clone().zip(enter.iter().zip(&exit)) {
            let operation = (part.operation_of(record) & OPERATION_MASK) as usize;
            if exit > enter && blocking[operation] {
                longest = longest.max(clock.duration_ns(enter, exit));
            }
        }
    }
    longest.max(seen) / NS
}

/// True if the verdict holds however short the time was: the ranks are in calls that do not belong together, or wait
/// for ranks that do not come any more, or for each other in ways that no message can end which is under way.
fn needs_no_time(snapshot: &Snapshot, stuck: &Stuck) -> bool {
    let named = || snapshot.ranks.iter().filter(|rank| stuck.ranks.contains(&rank.rank));
    let nothing_was_sent =
        |rank: &RankNow| rank.messages.iter().all(|message| !message.sends && message.sent == Some(0));
    let waits = |rank: &RankNow| !rank.waits.is_empty() || !rank.messages.is_empty() && !rank.has_more_messages;
    match stuck.kind {
        StuckKind::Mismatch | StuckKind::DeadRank => true,
        StuckKind::MissingRank => named().all(never_comes),
        StuckKind::Cycle => {
            named().all(|rank| waits(rank) && rank.waits.iter().all(waits_for_all) && nothing_was_sent(rank))
        }
        StuckKind::PointToPoint => {
            let is_over = |rank: u32| snapshot.rank(rank).is_some_and(never_comes);
            let waits_for_over = |rank: &RankNow| {
                nothing_was_sent(rank) && partners(snapshot, rank).is_some_and(|all| all.into_iter().all(is_over))
            };
            named().all(waits_for_over)
        }
        StuckKind::StoppedRank | StuckKind::EndlessLoop => false,
    }
}
