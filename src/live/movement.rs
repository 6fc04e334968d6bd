//! Movements between looks at a job.
//!
//! A stamp says since when a rank is in a recorded call. For how long it has been in another call of MPI, or outside of
//! all, only looks can say: a rank that looks the same, its counts of calls included, has not moved in between.

use std::collections::HashMap;

use mpitrace_format::layout::LastStamp;

use super::look::Look;
use super::moved::mix;
use super::place::Seen;
use super::snapshot::{RankNow, Snapshot, State};

/// The ranks at earlier looks.
#[derive(Debug, Default)]
pub struct Movement {
    ranks: HashMap<u32, Known>,
}

#[derive(Debug)]
struct Known {
    fingerprint: u64,
    /// When it was first seen so, s.
    since: f64,
    /// When the last look was, s.
    looked: f64,
    calls: u64,
    calls_per_s: Option<f64>,
    /// It was on a processor, or ready for one, at each look since then. How much it ran says less: on a busy machine a
    /// rank that loops waits for its processor most of the time, and two looks may have the same copy of another node.
    is_ready: bool,
    uses_processor: Option<bool>,
    /// It was seen to be another way before.
    has_moved: bool,
    state: State,
    is_before_init: bool,
}

impl Movement {
    /// Takes a look into account that was taken at this time, s: sets for each rank of its snapshot for how long it has
    /// not moved, and whether it uses its processor.
    pub fn add(&mut self, look: &Look, now: f64, snapshot: &mut Snapshot) {
        let of_parts = look.trace.parts.iter().zip(&look.seen).map(|(part, seen)| {
            let calls = part.communicators().iter().fold(0u64, |sum, entry| sum.wrapping_add(entry.calls));
            let words = part.threads().iter().map(|thread| u64::from(thread.activity));
            let of_operations = part.operations().iter().map(|entry| entry.calls);
            // A word counts calls modulo 32; the time in them grows with each.
            let waited = part.thread_times().iter().flat_map(|times| times.ticks);
            let info = part.info();
            // A rank moves with its polls. One that does nothing else moves where another thread of it runs, or may.
            let only_polls = snapshot.rank(part.rank()).is_some_and(|rank| rank.state == State::OtherMpi);
            let polled = part.last_stamps().iter().filter(|last| last.inside == LastStamp::POLLING);
            let polled = polled.map(|last| last.tick).reduce(u64::wrapping_add).map_or(0, |tick| match seen {
                Seen::Lives(process) if only_polls => process.others_ran_ns().unwrap_or(tick),
                _ => tick,
            });
            // What changes whenever the rank begins or ends a call of MPI.
            let moved =
                words.chain(of_operations).chain(waited).chain([calls, info.state.into(), part.last_tick(), polled]);
            let is_ready = matches!(seen, Seen::Lives(process) if !process.sleeps());
            (part.rank(), calls, moved.fold(0, mix), is_ready)
        });
        let of_starting = look.starting.iter().filter_map(|starting| {
            Some((starting.place?.0, 0, starting.is_in_init.into(), !starting.process.sleeps()))
        });
        let all: Vec<_> = of_parts.chain(of_starting).collect();
        for (number, calls, fingerprint, is_ready) in all {
            let Ok(index) = snapshot.ranks.binary_search_by_key(&number, |rank| rank.rank) else { continue };
            let rank = &mut snapshot.ranks[index];
            let new = Known {
                fingerprint,
                since: now,
                looked: now,
                calls,
                calls_per_s: None,
                is_ready,
                uses_processor: None,
                has_moved: false,
                state: rank.state,
                is_before_init: rank.is_before_init,
            };
            let known = match self.ranks.remove(&number) {
                None => new,
                Some(before) => {
                    let stands = before.fingerprint == fingerprint;
                    let is_ready = is_ready && (before.is_ready || !stands);
                    Known {
                        since: if stands { before.since } else { now },
                        calls_per_s: Some(calls.saturating_sub(before.calls) as f64 / (now - before.looked).max(1e-9)),
                        is_ready,
                        has_moved: before.has_moved || !stands,
                        uses_processor: Some(is_ready),
                        ..new
                    }
                }
            };
            let seen_s = now - known.since;
            rank.unmoved_s = match (rank.state, rank.since_s) {
                // A stamp is exact. In Finalize the last one is of the call before.
                (State::InCall, Some(since_s)) if !rank.has_threads => since_s,
                _ => seen_s,
            };
            rank.uses_processor = known.uses_processor;
            rank.has_moved = known.has_moved;
            rank.calls_per_s = known.calls_per_s;
            self.ranks.insert(number, known);
        }
        self.add_gone(now, snapshot);
    }

    /// Ranks whose segment is gone: they have written their trace, or have died and were recovered.
    fn add_gone(&mut self, now: f64, snapshot: &mut Snapshot) {
        for (&rank, known) in self.ranks.iter_mut().filter(|(_, known)| known.looked < now) {
            known.state = match known.state {
                State::Finalize | State::Ended => State::Ended,
                _ => State::Dead,
            };
            snapshot.ranks.push(RankNow { is_before_init: known.is_before_init, ..RankNow::new(rank, known.state) });
        }
        snapshot.ranks.sort_by_key(|rank| rank.rank);
    }
}
