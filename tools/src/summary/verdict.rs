//! The conclusion in one sentence, and the command that shows more.

use std::collections::BTreeMap;

use mpitrace::account::{Account, Because, Kind, Late, Off, alone};
use mpitrace::causes::{self, Cause, Causes, Repetitions};

use super::facts::Summary;
use crate::{reason, text};

/// A loss below this share of the ranks' time is within the noise of most runs.
const WORTH: f64 = 0.01;

/// A cause is stated if it has more than this share of the loss.
const MOST: f64 = 0.5;

/// Causes are looked for in operations with this share of a kind of loss: ten at most.
const LARGE: f64 = 0.1;

/// A sentence, and a command line.
pub(super) struct Verdict {
    pub sentence: String,
    pub next: Option<String>,
}

/// The basis of the conclusion.
pub(super) struct Evidence<'e> {
    pub account: &'e Account,
    /// The causes of an operation that need no counter.
    pub causes: &'e dyn Fn(usize) -> Causes,
    pub has_counters: bool,
}

impl Verdict {
    pub fn new(summary: &Summary, evidence: &Evidence, name: &str) -> Verdict {
        let command = |line: String| Some(format!("mpitrace {line}"));
        if summary.mismatched > 0 {
            let sentence = "Calls are mismatched: correct the program first.".to_owned();
            return Verdict { sentence, next: command(format!("info {name}")) };
        }
        if !summary.undone.is_empty() {
            let sentence = "Calls were left out or never completed: correct the program first.".to_owned();
            return Verdict { sentence, next: command(format!("info {name}")) };
        }
        if summary.collectives_s == 0.0 {
            let sentence = "No collective call was completed by all of its ranks.".to_owned();
            return Verdict { sentence, next: command(format!("info {name}")) };
        }
        let Some(largest) = Largest::new(evidence.account) else {
            return without_loss(summary, name);
        };
        let sentence = match largest.kind {
            Kind::LateRank => late(evidence.account),
            Kind::Interrupted => interrupted(evidence.account),
            Kind::Warmup | Kind::Outliers => slow(&largest, evidence),
            Kind::Tracer => "The tracer is the largest loss: these run times are not reliable.".to_owned(),
        };
        Verdict { sentence, next: command(format!("diagnose {name} --operation {}", largest.operations[0].0)) }
    }
}

/// The kind of loss that loses most, all operations together.
struct Largest {
    kind: Kind,
    ns: f64,
    /// The operations with their shares of it in ns, the largest first.
    operations: Vec<(usize, f64)>,
}

impl Largest {
    /// `None`: nothing is worth a word.
    fn new(account: &Account) -> Option<Largest> {
        let losses = account.losses();
        let of_kind = |kind: Kind| {
            let mut by_operation: BTreeMap<usize, f64> = BTreeMap::new();
            let of_kind = losses.iter().filter(|loss| loss.kind == kind);
            of_kind.for_each(|loss| *by_operation.entry(loss.operation).or_default() += loss.ns);
            let mut operations: Vec<(usize, f64)> = by_operation.into_iter().collect();
            operations.sort_by(|one, other| other.1.total_cmp(&one.1));
            Largest { kind, ns: operations.iter().map(|(_, ns)| ns).sum(), operations }
        };
        let kinds = [Kind::LateRank, Kind::Interrupted, Kind::Warmup, Kind::Outliers, Kind::Tracer];
        let largest = kinds.map(of_kind).into_iter().max_by(|one, other| one.ns.total_cmp(&other.ns))?;
        (largest.ns > 0.0 && largest.ns >= WORTH * account.rank_ns()).then_some(largest)
    }
}

/// The rank that the others wait for, and the reason for which it is late.
fn late(account: &Account) -> String {
    let mut of_rank: BTreeMap<u32, Late> = BTreeMap::new();
    for operation in &account.operations {
        let ranks = operation.ranks.iter().zip(&operation.late);
        ranks.for_each(|(&(rank, _), &late)| *of_rank.entry(rank).or_default() += late);
    }
    let mut all = Late::default();
    of_rank.values().for_each(|&late| all += late);
    let (ranks, lates): (Vec<u32>, Vec<Late>) = of_rank.into_iter().unzip();
    let waiting: Vec<f64> = lates.iter().map(|late| late.waiting_ns).collect();
    if let Some(at) = alone(&waiting) {
        let why = why(&lates[at], "it").unwrap_or_else(|| ": give it less work, or look for what slows it down".into());
        return format!("The others wait for rank {} ({}){why}.", ranks[at], text::time(waiting[at]));
    }
    let most = (0..ranks.len()).max_by(|&one, &other| waiting[one].total_cmp(&waiting[other])).unwrap_or_default();
    let why = why(&all, "the late rank")
        .unwrap_or_else(|| ": the work between the calls is not the same on all ranks".to_owned());
    format!(
        "The ranks wait for each other in turns ({}; {} of it for rank {}){why}.",
        text::time(all.waiting_ns),
        percent(waiting[most] / all.waiting_ns),
        ranks[most]
    )
}

/// The reason of most of the lateness of `who`; `None`: work, or not known.
fn why(late: &Late, who: &str) -> Option<String> {
    let is_most = |ns: f64| ns > MOST * late.waiting_ns;
    if let Some((because, ns)) = late.interrupted_by.largest().filter(|_| is_most(late.interrupted_ns)) {
        let (was, advice) = (reason::was(because, false), reason::advice(because));
        return Some(format!(", {} of it since {who} {was}: {advice}", text::time(ns)));
    }
    is_most(late.other_mpi_ns).then(|| {
        format!(
            ", {} of it since {who} was in point-to-point or other MPI calls: look for the rank that it gets messages \
             from",
            text::time(late.other_mpi_ns)
        )
    })
}

fn interrupted(account: &Account) -> String {
    let mut of_rank: BTreeMap<u32, Off> = BTreeMap::new();
    let ranks = account.operations.iter().flat_map(|operation| &operation.ranks);
    ranks.for_each(|&(rank, parts)| *of_rank.entry(rank).or_default() += parts.interrupted_by);
    let times: Vec<f64> = of_rank.values().map(Off::sum).collect();
    let rank = alone(&times).and_then(|at| of_rank.iter().nth(at));
    let off = rank.map_or_else(
        || {
            let mut all = Off::default();
            of_rank.values().for_each(|&off| all += off);
            all
        },
        |(_, off)| *off,
    );
    let (because, ns) = off.largest().unwrap_or((Because::OffProcessor, 0.0));
    let whose = rank.map_or_else(|| "ranks".to_owned(), |(rank, _)| format!("rank {rank}"));
    let (was, advice) = (reason::was(because, rank.is_none()), reason::advice(because));
    format!("In collective calls {whose} {was} for {}: {advice}.", text::time(ns))
}

/// Slow repetitions, and the cause of most of their loss; without one, the next step.
fn slow(largest: &Largest, evidence: &Evidence) -> String {
    let is_warmup = largest.kind == Kind::Warmup;
    let is_of_loss = |cause: &Cause| match cause.repetitions {
        Repetitions::First | Repetitions::Warmup => is_warmup,
        Repetitions::Outlier => !is_warmup,
        Repetitions::Mode(_) | Repetitions::Steady => false,
    };
    // Its time in communication, which is what the loss is of, and why a rank was off its processor.
    let mut found: Vec<(causes::Kind, Option<u32>, f64, Off)> = Vec::new();
    for &(operation, _) in largest.operations.iter().filter(|(_, ns)| *ns >= LARGE * largest.ns) {
        for cause in (evidence.causes)(operation).causes.iter().filter(|cause| is_of_loss(cause)) {
            let (kind, rank) = (cause.kind, cause.rank.filter(|_| cause.kind != causes::Kind::FirstCall));
            match found.iter_mut().find(|found| (found.0, found.1) == (kind, rank)) {
                Some((.., ns, off)) => (*ns, *off) = (*ns + cause.communication_ns, sum(*off, cause.off)),
                None => found.push((kind, rank, cause.communication_ns, cause.off)),
            }
        }
    }
    let what = if is_warmup { "The first repetitions" } else { "Slow repetitions" };
    let lost = format!("{what} are the largest loss ({})", text::time(largest.ns));
    let most = found.into_iter().max_by(|one, other| one.2.total_cmp(&other.2));
    let Some((kind, rank, ns, off)) = most.filter(|(.., ns, _)| *ns > MOST * largest.ns) else {
        let next = match (is_warmup, evidence.has_counters) {
            (_, true) => "no cause but a counter may hold most of it; `diagnose` compares the counters",
            (true, false) => {
                "no cause is recorded for most of it; a program that repeats its calls for longer loses less"
            }
            (false, false) => "no cause is recorded for most of it; counters may show one",
        };
        return format!("{lost}: {next}.");
    };
    let (time, rank) = (text::time(ns), rank.map_or_else(|| "a rank".to_owned(), |rank| format!("rank {rank}")));
    match kind {
        causes::Kind::Interrupted => {
            let because = off.largest().map_or(Because::OffProcessor, |(because, _)| because);
            let (was, advice) = (reason::was(because, false), reason::advice(because));
            format!("{lost}, {time} of it since {rank} {was}: {advice}.")
        }
        causes::Kind::Migration => {
            format!("{lost}, {time} of it since {rank} was moved to other processors: bind the ranks.")
        }
        causes::Kind::Perturbed => format!(
            "{lost}, {time} of it since the tracer delayed {rank}: `MPITRACE_RESYNC` sets how often it synchronises."
        ),
        _ => format!(
            "{lost}, {time} of it since the first call of an operation takes longer: a call before the timed part \
             takes this time away from it."
        ),
    }
}

fn sum(mut one: Off, other: Off) -> Off {
    one += other;
    one
}

fn without_loss(summary: &Summary, name: &str) -> Verdict {
    let share = percent(summary.share(summary.parts.communication));
    let unknown =
        if summary.synchronised { "" } else { " (waiting is not known: the clocks of the nodes are not synchronised)" };
    match summary.collectives_share.all < 5.0 * WORTH {
        true => Verdict {
            sentence: format!("There is little to gain in collective calls{unknown}."),
            next: Some(format!("mpitrace stats {name}")),
        },
        false if summary.not_kept() > 0 => Verdict {
            sentence: format!(
                "No loss of {} or more was found in the calls that are kept{unknown}: `MPITRACE_FULL=spill` keeps all.",
                percent(WORTH)
            ),
            next: Some(format!("mpitrace stats {name}")),
        },
        false => Verdict {
            sentence: format!(
                "No loss of {} or more was found{unknown}: the communication itself takes {share} of the time, which \
                 other settings of the MPI library may change.",
                percent(WORTH)
            ),
            next: Some(format!("mpitrace stats {name}")),
        },
    }
}

/// A share as people read it.
pub(super) fn percent(share: f64) -> String {
    match 100.0 * share {
        0.0 => "0 %".to_owned(),
        small if small < 0.1 => "less than 0.1 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}

/// Seconds as people read them.
pub(super) fn seconds(seconds: f64) -> String {
    text::time(1e9 * seconds)
}
