//! When the time of each rank ended, and since when no rank had moved.
//!
//! A rank moves when it begins or ends a call of MPI. From the last movement of any rank of the job on, or of those
//! that a verdict names, until it ended a rank hung.

use std::collections::HashSet;

use mpitrace_format::layout::{Anchor, state};
use mpitrace_format::metadata;
use serde::Serialize;

use mpitrace_statistics::names::names;
use mpitrace_trace::clock::{Clock, RankClock};
use mpitrace_trace::reader::{Part, Trace};

/// How it is known when the time of a rank ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HowEnded {
    /// It came to the end of MPI_Finalize.
    #[default]
    Finalized,
    /// `mpitrace run` saw its process end.
    Observed,
    /// Its job ended then, as `mpitrace run` or the batch system dates it; its process may have ended before.
    Job,
    /// It is known to have lived until its last time stamp.
    LastStamp,
}

names!(HowEnded {
    Finalized => "finalized",
    Observed => "observed",
    Job => "job",
    LastStamp => "last-stamp",
});

/// When the time of a rank ended, and when it had moved for the last time; ns from the entry of MPI_Init.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RankEnd {
    /// How that is known.
    pub how: HowEnded,
    /// The end of its time.
    pub at_ns: f64,
    /// It did not end before ...
    pub earliest_ns: f64,
    /// ... and not after; `None`: not known.
    pub latest_ns: Option<f64>,
    /// Its last movement.
    pub moved_ns: f64,
    /// That was not before ...
    pub moved_earliest_ns: f64,
    /// ... and not after.
    pub moved_latest_ns: f64,
}

impl RankEnd {
    /// The end of the rank of a part.
    pub fn new(part: &Part, clock: &RankClock) -> RankEnd {
        let Anchor { tick: first, .. } = part.info().first_anchor;
        let last = part.info().last_anchor.tick;
        let since = |tick: u64| clock.duration_ns(first, tick.max(first));
        let known = if part.incomplete() { part.metadata() } else { Vec::new() };
        let known = |name: &str| metadata::get(&known, name);
        let number = |text: &str| text.parse::<u64>().ok().map(|ns| ns as f64);
        if let Some((enter, times)) = part.finalize_enter().zip(part.finalize_times()) {
            return RankEnd::finalized(since(enter) + clock.ticks_ns(times.whole));
        }
        let moved = since(last_movement(part));
        match known(metadata::END_ERROR_NS).and_then(number) {
            Some(error) => {
                let at = since(last).max(moved);
                let still = known(metadata::STILL_NS).map(|still| {
                    let mut numbers = still.split(' ').map(number);
                    (numbers.next().flatten().unwrap_or(0.0), numbers.next().flatten())
                });
                RankEnd::observed(at, error, moved, still)
            }
            None if [state::FINALIZED, state::OUT_OF_MEMORY].contains(&part.info().state) => {
                RankEnd::finalized(moved.max(since(last)))
            }
            None if let Some(end) = known(metadata::JOB_END_NS).and_then(number) => {
                RankEnd::of_job(moved.max(since(last)), end)
            }
            None => {
                let at = moved.max(since(last));
                let latest_ns = known(metadata::DEAD_BY_NS).and_then(number).map(|by| by.max(at));
                let (how, moved) = (HowEnded::LastStamp, at);
                let [earliest_ns, moved_earliest_ns, moved_latest_ns] = [at; 3];
                RankEnd { how, at_ns: at, earliest_ns, latest_ns, moved_ns: moved, moved_earliest_ns, moved_latest_ns }
            }
        }
    }

    /// It lived until the first of these times, and its job ended at the second one. It may have moved until then, in
    /// calls without a stamp.
    fn of_job(alive: f64, end: f64) -> RankEnd {
        let at = end.max(alive);
        RankEnd {
            how: HowEnded::Job,
            at_ns: at,
            earliest_ns: alive,
            latest_ns: Some(at),
            moved_ns: alive,
            moved_earliest_ns: alive,
            moved_latest_ns: at,
        }
    }

    /// It was in a call from its last stamp on.
    pub(super) fn is_in_a_call(&mut self) {
        if self.how == HowEnded::Job {
            self.moved_latest_ns = self.moved_ns;
        }
    }

    /// It is known to have lived until this time.
    pub(super) fn outlived(&mut self, ns: f64) {
        for time in [&mut self.at_ns, &mut self.earliest_ns, &mut self.moved_latest_ns] {
            *time = time.max(ns);
        }
        self.latest_ns = self.latest_ns.map(|latest| latest.max(ns));
    }

    fn finalized(at_ns: f64) -> RankEnd {
        RankEnd {
            how: HowEnded::Finalized,
            at_ns,
            earliest_ns: at_ns,
            latest_ns: Some(at_ns),
            moved_ns: at_ns,
            moved_earliest_ns: at_ns,
            moved_latest_ns: at_ns,
        }
    }

    /// Its process was seen to end then, so much late at most. Its last stamp is of `moved`, and it had not moved for
    /// at least and at most so long.
    fn observed(at_ns: f64, error: f64, moved: f64, still: Option<(f64, Option<f64>)>) -> RankEnd {
        // Without looks it may have moved until the end, in calls without a stamp.
        let (least, most) = still.unwrap_or((0.0, None));
        let latest = (at_ns - least).max(moved);
        let seen = most.map_or(0.0, |most| at_ns - most);
        // A movement without a stamp was seen; else its last stamp is that of the movement that was.
        let (moved_ns, earliest) = if moved < seen { (latest, seen) } else { (moved, moved) };
        RankEnd {
            how: HowEnded::Observed,
            at_ns,
            earliest_ns: (at_ns - error).max(moved),
            latest_ns: Some(at_ns),
            moved_ns,
            moved_earliest_ns: earliest.min(moved_ns),
            moved_latest_ns: latest,
        }
    }
}

/// Dates the ends that are not known by that of the job, which ranks of other nodes may have.
pub(super) fn date_by_job(trace: &Trace, clock: &Clock, ends: &mut [RankEnd]) {
    let begin = |index: usize| clock.of_part(index).nanoseconds(trace.parts[index].info().first_anchor.tick);
    let dated = |(index, part): (usize, &Part)| {
        let known = if part.incomplete() { part.metadata() } else { Vec::new() };
        Some(begin(index) + metadata::get(&known, metadata::JOB_END_NS)?.parse::<u64>().ok()? as f64)
    };
    let ended = trace.parts.iter().enumerate().filter_map(dated).max_by(f64::total_cmp);
    let Some(ended) = ended.filter(|_| clock.is_synchronised()) else { return };
    for (index, end) in ends.iter_mut().enumerate().filter(|(_, end)| end.how == HowEnded::LastStamp) {
        *end = RankEnd::of_job(end.at_ns, ended - begin(index));
    }
}

/// The last tick at which the rank is known to have begun or ended a call.
fn last_movement(part: &Part) -> u64 {
    let times = part.rank_times();
    let init = part.info().first_anchor.tick.saturating_add(times.init);
    let stamps = part.last_stamps().iter().map(|last| last.tick);
    let readings = part.thread_times().iter().map(|times| times.processor[1].tick);
    // Each record of a message is within a call that has a stamp, where those are there.
    let messages = match part.last_stamps() {
        [] => part.message_records().iter().map(|record| record.exit).max(),
        _ => None,
    };
    let all = stamps.chain(readings).chain(messages).chain([init, times.finalize_enter, part.last_tick()]);
    all.max().unwrap_or(init)
}

/// For so long a rank hung when it was ended, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hung {
    /// So long ...
    pub ns: f64,
    /// ... but at least ...
    pub least_ns: f64,
    /// ... and at most; `None`: not known.
    pub most_ns: Option<f64>,
}

impl Hung {
    /// A time that is so many ns shorter.
    pub(super) fn shorter(self, by_ns: f64) -> Hung {
        let ns = (self.ns - by_ns).max(0.0);
        Hung { ns, least_ns: self.least_ns.min(ns), ..self }
    }
}

/// For how long each rank of a trace hung, with these ends, by its parts. `knot`: the ranks that a verdict names, whose
/// last movement counts; empty: that of all.
pub(super) fn hung(trace: &Trace, clock: &Clock, ends: &[RankEnd], knot: &[u32]) -> Vec<Hung> {
    let begin = |index: usize| clock.of_part(index).nanoseconds(trace.parts[index].info().first_anchor.tick);
    let knot: HashSet<u32> = knot.iter().copied().collect();
    let counts = |index: usize| knot.is_empty() || knot.contains(&trace.parts[index].rank());
    let last = |of: fn(&RankEnd) -> f64| {
        let all = ends.iter().enumerate().filter(|(index, _)| counts(*index));
        all.map(|(index, end)| begin(index) + of(end)).fold(f64::NEG_INFINITY, f64::max)
    };
    let moved = last(|end| end.moved_ns);
    let [earliest, latest] = [last(|end| end.moved_earliest_ns), last(|end| end.moved_latest_ns)];
    let of_rank = |(index, end): (usize, &RankEnd)| {
        if end.how == HowEnded::Finalized {
            return Hung { most_ns: Some(0.0), ..Hung::default() };
        }
        let begin = begin(index);
        let since = |moved: f64, own: f64| (moved - begin).max(own);
        let ns = (end.at_ns - since(moved, end.moved_ns)).max(0.0);
        // That of a job has ended with it, whenever its process did.
        let until = if end.how == HowEnded::Job { end.at_ns } else { end.earliest_ns };
        let least_ns = (until - since(latest, end.moved_latest_ns)).clamp(0.0, ns);
        let most = end.latest_ns.map(|latest| (latest - since(earliest, end.moved_earliest_ns)).max(ns));
        Hung { ns, least_ns, most_ns: most }
    };
    ends.iter().enumerate().map(of_rank).collect()
}
