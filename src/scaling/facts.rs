//! The facts of one run that scaling is about.

use std::collections::BTreeMap;

use mpitrace_analysis::account::{self, Account, OperationAccount, Parts, RankPart};
use mpitrace_analysis::efficiency::{self, Efficiency};
use mpitrace_analysis::run::Run;
use mpitrace_statistics::names::names;
use mpitrace_trace::operations::Operations;
use serde::Serialize;

pub use crate::counted::Counted;

const NS: f64 = 1e9;

/// The kind of a part of the run's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// On the processor, outside of timed MPI calls.
    Computing,
    /// Off the processor outside of calls: something else ran there.
    Preempted,
    /// Off the processor outside of calls: the rank slept.
    Asleep,
    /// Off the processor outside of calls: a quota held the rank.
    Throttled,
    /// In the collective calls of a function: waiting for another rank.
    Waiting,
    /// In the collective calls of a function, without the waiting.
    Calls,
    /// In point-to-point calls that can wait.
    PointToPoint,
    /// In one-sided calls that can wait.
    OneSided,
    /// In calls on files.
    Io,
    /// In other MPI calls that can wait.
    OtherMpi,
    /// Waiting in MPI_Finalize for the last rank.
    WaitingFinalize,
    /// The rest: what is not divided, and the time by which the longest rank is longer than the mean.
    Other,
}

names!(Kind {
    Computing => "computing",
    Preempted => "preempted",
    Asleep => "asleep",
    Throttled => "throttled",
    Waiting => "waiting",
    Calls => "calls",
    PointToPoint => "point_to_point",
    OneSided => "one_sided",
    Io => "io",
    OtherMpi => "other_mpi",
    WaitingFinalize => "waiting_finalize",
    Other => "other",
});

impl Kind {
    /// True if one rank alone has no such time that says how it grows: waiting and communication begin with two.
    pub fn is_between_ranks(self) -> bool {
        use Kind::{Calls, Io, OneSided, OtherMpi, PointToPoint, Waiting, WaitingFinalize};
        matches!(self, Waiting | Calls | PointToPoint | OneSided | Io | OtherMpi | WaitingFinalize)
    }
}

/// The subject of a part: its kind and, of collective calls, the function and where the program calls it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PartKey {
    /// Its kind.
    pub kind: Kind,
    /// The function that is called; `None`: the part is of no function.
    pub function: Option<String>,
    /// The place in the program that calls it; `None`: not recorded.
    pub call_site: Option<String>,
}

impl PartKey {
    /// The key of a part that is of no function.
    pub fn of_kind(kind: Kind) -> PartKey {
        PartKey { kind, function: None, call_site: None }
    }
}

/// The facts of a run.
#[derive(Clone, Debug)]
pub struct RunFacts {
    /// The ranks of the job.
    pub ranks: u32,
    /// From the return of MPI_Init to the last rank's entry into MPI_Finalize, without the tracer's own part: of the
    /// rank with most of it, s.
    pub seconds: f64,
    /// Outside of MPI calls, all ranks together, s.
    pub useful_s: f64,
    /// The efficiencies of the run.
    pub efficiency: Efficiency,
    /// The share of the time that is left on a network on which nothing takes time; `None`: not known.
    pub transfer: Option<f64>,
    /// Instructions and cycles of the program's regions; `None`: not counted.
    pub counted: Option<Counted>,
    /// The parts of `seconds`: means over the ranks, s. These add up.
    pub parts: BTreeMap<PartKey, f64>,
    /// The time in each region of the program by its name, the mean over the ranks, s.
    pub regions: BTreeMap<String, f64>,
}

/// The parts of a rank's time that are parts of the run as they are.
const WHOLE: [(RankPart, Kind); 10] = [
    (RankPart::Computing, Kind::Computing),
    (RankPart::Preempted, Kind::Preempted),
    (RankPart::Asleep, Kind::Asleep),
    (RankPart::Throttled, Kind::Throttled),
    (RankPart::PointToPoint, Kind::PointToPoint),
    (RankPart::OneSided, Kind::OneSided),
    (RankPart::Io, Kind::Io),
    (RankPart::OtherMpi, Kind::OtherMpi),
    (RankPart::WaitingFinalize, Kind::WaitingFinalize),
    (RankPart::Other, Kind::Other),
];

/// The parts in collective calls beside waiting.
const IN_CALLS: [RankPart; 3] = [RankPart::Interrupted, RankPart::Perturbed, RankPart::Communication];

impl RunFacts {
    /// The facts of a run; `None`: it has no time between MPI_Init and MPI_Finalize, or no rank is outside of MPI.
    pub fn new(run: &Run) -> Option<RunFacts> {
        let account = run.account();
        let efficiency = efficiency::whole_run(account)?;
        let longest = account.ranks.iter().map(|rank| rank.parts.running() - rank.parts[RankPart::Hung]);
        let seconds = longest.fold(0.0, f64::max) / NS;
        let mut parts = parts(account, &run.operations);
        let rest = seconds - parts.values().sum::<f64>();
        *parts.entry(PartKey::of_kind(Kind::Other)).or_default() += rest;
        let ranks = run.trace.world_size;
        let regions = account::regions(&run.trace, &run.clock, &run.operations);
        Some(RunFacts {
            ranks,
            seconds,
            useful_s: account.ranks.iter().map(|rank| rank.useful_ns().max(0.0)).sum::<f64>() / NS,
            efficiency,
            transfer: efficiency::transfer(run),
            counted: Counted::new(&run.trace, &run.clock),
            parts,
            regions: regions.into_iter().map(|region| (region.name, region.ns / NS / f64::from(ranks))).collect(),
        })
    }
}

impl RunFacts {
    /// The work of all ranks together, s: what the program does itself, without the time for which others had the
    /// processors.
    pub fn work_s(&self) -> f64 {
        let own = self.parts.iter().filter(|(key, _)| matches!(key.kind, Kind::Computing | Kind::Asleep));
        f64::from(self.ranks) * own.map(|(_, seconds)| seconds).sum::<f64>()
    }
}

/// The parts of the mean over the ranks, s. The waiting and the rest of the collective calls are shared out among the
/// operations as these have them.
fn parts(account: &Account, operations: &Operations) -> BTreeMap<PartKey, f64> {
    let ranks = account.ranks.len().max(1) as f64;
    let whole = account.rank_parts();
    let mean = |ns: f64| ns / ranks / NS;
    let mut parts: BTreeMap<PartKey, f64> = BTreeMap::new();
    let mut add = |key: PartKey, seconds: f64| *parts.entry(key).or_default() += seconds;
    for (part, kind) in WHOLE {
        // What is not known to be computing or not, is what the program does outside of MPI.
        let kind = if kind == Kind::Other && account.ranks.iter().any(|rank| !rank.is_divided) {
            Kind::Computing
        } else {
            kind
        };
        add(PartKey::of_kind(kind), mean(whole[part]));
    }
    let beside = |of: &OperationAccount, parts: &Parts| {
        let communication = if of.is_io { 0.0 } else { parts.communication };
        parts.interrupted + parts.perturbed + communication
    };
    let sums: Vec<Parts> = account.operations.iter().map(OperationAccount::sum).collect();
    let all_waiting: f64 = sums.iter().map(|parts| parts.waiting).sum();
    let all_beside: f64 = account.operations.iter().zip(&sums).map(|(of, parts)| beside(of, parts)).sum();
    let (waiting, rest) = (whole[RankPart::Waiting], whole.sum_of(&IN_CALLS));
    for ((operation, of), sum) in operations.operations.iter().zip(&account.operations).zip(&sums) {
        let share = |part: f64, all: f64| if all > 0.0 { part / all } else { 0.0 };
        let (of_waiting, of_rest) = (share(sum.waiting, all_waiting), share(beside(of, sum), all_beside));
        if operation.key.is_region || of_waiting + of_rest <= 0.0 {
            continue;
        }
        let key = |kind| PartKey {
            kind,
            function: Some(operation.key.function.clone()),
            call_site: operation.key.call_site.as_ref().map(ToString::to_string),
        };
        add(key(Kind::Waiting), mean(waiting * of_waiting));
        add(key(Kind::Calls), mean(rest * of_rest));
    }
    // Calls that no complete repetition stands for.
    if all_waiting <= 0.0 {
        add(PartKey::of_kind(Kind::Other), mean(waiting));
    }
    if all_beside <= 0.0 {
        add(PartKey::of_kind(Kind::Other), mean(rest));
    }
    parts.retain(|_, seconds| *seconds != 0.0);
    parts
}
