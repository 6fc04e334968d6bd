//! When the time of each rank of a job that did not end well ended, and for how long it had not moved then.

use mpitrace_analysis::account::{self, HowEnded, RankAccount};
use mpitrace_show::text;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;
use serde::Serialize;

const NS: f64 = 1e9;
/// Ends that differ by less are one line, ns.
const ALIKE: f64 = 1e8;

/// The end of a rank, by the keys of JSON; s from the entry of MPI_Init.
#[derive(Clone, Debug, Serialize)]
pub struct EndFacts {
    /// The world rank.
    pub rank: u32,
    /// Global time of the entry of MPI_Init, s; `None`: the ranks have no common clock.
    #[serde(skip)]
    pub init_s: Option<f64>,
    /// How it ended.
    pub how: HowEnded,
    /// The estimated time of its end, s.
    pub at_s: f64,
    /// It ended between this ...
    pub earliest_s: f64,
    /// ... and this; null: not known.
    pub latest_s: Option<f64>,
    /// Its last movement.
    pub moved_s: f64,
    /// For so long it hung: since the last movement of any rank of the job, or of those of the verdict.
    pub hung_s: f64,
    /// The least time that it hung, s.
    pub hung_least_s: f64,
    /// The most time that it may have hung, s; `null`: not known.
    pub hung_most_s: Option<f64>,
}

/// The ends of the ranks of an incomplete trace, of which these hold each other for good.
pub fn all(trace: &Trace, clock: &Clock, operations: &Operations, knot: &[u32]) -> Vec<EndFacts> {
    if trace.complete {
        return Vec::new();
    }
    let ranks = account::ranks(trace, clock, operations, knot);
    let has_common_clock = clock.is_synchronised();
    let end = |(index, rank): (usize, &RankAccount)| {
        let init = trace.parts[index].info().first_anchor.tick;
        let init_s = has_common_clock.then(|| clock.of_part(index).nanoseconds(init) / NS);
        EndFacts { init_s, ..EndFacts::new(rank) }
    };
    ranks.iter().enumerate().map(end).collect()
}

impl EndFacts {
    fn new(RankAccount { rank, end, hung, .. }: &RankAccount) -> EndFacts {
        EndFacts {
            rank: *rank,
            init_s: None,
            how: end.how,
            at_s: end.at_ns / NS,
            earliest_s: end.earliest_ns / NS,
            latest_s: end.latest_ns.map(|ns| ns / NS),
            moved_s: end.moved_ns / NS,
            hung_s: hung.ns / NS,
            hung_least_s: hung.least_ns / NS,
            hung_most_s: hung.most_ns.map(|ns| ns / NS),
        }
    }

    fn is_like(&self, other: &EndFacts) -> bool {
        let alike = |one: f64, other: f64| (one - other).abs() * NS < ALIKE;
        let both_bounded = self.latest_s.is_some() == other.latest_s.is_some();
        self.how == other.how && both_bounded && alike(self.at_s, other.at_s) && alike(self.hung_s, other.hung_s)
    }

    fn words(&self) -> String {
        let time = |seconds: f64| text::time(seconds * NS);
        let at = time(self.at_s);
        let unmoved = || {
            let range = self.hung_most_s.filter(|most| most - self.hung_least_s > 0.2 * most);
            let range = range.map(|most| format!(" ({} to {})", time(self.hung_least_s), time(most)));
            format!("; no movement in the last {}{}", time(self.hung_s), range.unwrap_or_default())
        };
        match self.how {
            HowEnded::Finalized => format!("in MPI_Finalize, {at} after the entry of MPI_Init"),
            HowEnded::Observed => {
                let late = time(self.at_s - self.earliest_s);
                format!("seen {at} after the entry of MPI_Init, at most {late} late{}", unmoved())
            }
            HowEnded::Job => format!("its job ended {at} after the entry of MPI_Init{}", unmoved()),
            HowEnded::LastStamp => {
                let latest = self.latest_s.map_or_else(
                    || ", and how long it lived then is not known".to_owned(),
                    |latest| format!(", and found ended {} later", time(latest - self.at_s)),
                );
                format!("not seen: the last time stamp is {at} after the entry of MPI_Init{latest}")
            }
        }
    }
}

/// A line for the ranks that ended alike; times are those of the first of them.
pub fn lines(ends: &[EndFacts]) -> Vec<String> {
    let mut groups: Vec<(&EndFacts, Vec<u32>)> = Vec::new();
    for end in ends {
        match groups.iter_mut().find(|(first, _)| first.is_like(end)) {
            Some((_, ranks)) => ranks.push(end.rank),
            None => groups.push((end, vec![end.rank])),
        }
    }
    const LISTED: usize = 8;
    let more = groups.len().saturating_sub(LISTED);
    let line = |(first, ranks): (&EndFacts, Vec<u32>)| format!("{}: {}", text::named_ranks(&ranks), first.words());
    let mut lines: Vec<String> = groups.into_iter().take(LISTED).map(line).collect();
    if more > 0 {
        lines.push(format!("... and {more} more (--json has them all)"));
    }
    lines
}
