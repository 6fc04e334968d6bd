//! The conclusion in one sentence, and the command that shows more.

use mpitrace::causes::{Cause, Causes, Kind, Repetitions};

use super::facts::{LossFacts, Summary};
use crate::text;

/// A loss below this share of the ranks' time is within the noise of most runs.
const WORTH: f64 = 0.01;

/// One rank causes the waiting if it causes more than this share of it.
const MOST: f64 = 0.5;

/// A sentence, and a command line.
pub(super) struct Verdict {
    pub sentence: String,
    pub next: Option<String>,
}

impl Verdict {
    /// `causes` are those of the operation of which the sentence is ([`operation`]).
    pub fn of(summary: &Summary, causes: &Causes, name: &str) -> Verdict {
        let command = |line: String| Some(format!("mpitrace {line}"));
        if summary.mismatched > 0 {
            let sentence = "Calls are mismatched: correct the program first.".to_owned();
            return Verdict { sentence, next: command(format!("info {name}")) };
        }
        if summary.collectives_s == 0.0 {
            let sentence = "No collective call was completed by all of its ranks.".to_owned();
            return Verdict { sentence, next: command(format!("info {name}")) };
        }
        let Some(largest) = largest(summary) else {
            return without_loss(summary, name);
        };
        let operation = largest.loss.operation;
        let sentence = match largest.loss.kind {
            "late-rank" => late(summary, &largest),
            "interrupted" => interrupted(causes),
            "warmup" => slow(causes, "The first repetitions", "a program that repeats its calls for longer loses less"),
            "tracer" => "The tracer is the largest loss: these run times are not reliable.".to_owned(),
            _ => slow(causes, "Slow repetitions", "no cause of them was recorded; counters may show one"),
        };
        Verdict { sentence, next: command(format!("diagnose {name} --operation {operation}")) }
    }
}

/// The operation that the conclusion is of; `None`: of none.
pub(super) fn operation(summary: &Summary) -> Option<usize> {
    largest(summary).map(|largest| largest.loss.operation)
}

fn interrupted(causes: &Causes) -> String {
    let of = |cause: &&Cause| matches!(cause.kind, Kind::Interrupted | Kind::Migration);
    match causes.causes.iter().find(of).and_then(|cause| cause.rank) {
        Some(rank) => format!(
            "Ranks lose their processors in collective calls, rank {rank} most: pin the ranks, or leave a processor free \
             for other processes."
        ),
        None => "Ranks lose their processors in collective calls: pin the ranks, or leave a processor free for other \
                 processes."
            .to_owned(),
    }
}

/// What is slow, and its cause; without one what follows.
fn slow(causes: &Causes, what: &str, otherwise: &str) -> String {
    let of_slow = |cause: &&Cause| cause.repetitions != Repetitions::Steady && cause.kind != Kind::LateRank;
    let Some(cause) = causes.causes.iter().find(of_slow) else {
        return format!("{what} are the largest loss: {otherwise}.");
    };
    let whose = cause.rank.map_or_else(|| "ranks".to_owned(), |rank| format!("rank {rank}"));
    let why = match cause.kind {
        Kind::Interrupted => format!("{whose} was off its processor; look for other processes there"),
        Kind::Migration => format!("{whose} was moved to other processors; pin the ranks"),
        Kind::Perturbed => format!("the tracer delayed {whose}; `MPITRACE_RESYNC` sets how often it synchronises"),
        Kind::FirstCall => "the first call of an operation takes longer; a call before the timed part takes this \
                            time away from it"
            .to_owned(),
        Kind::LateRank | Kind::PageFaults | Kind::Counter => otherwise.to_owned(),
    };
    format!("{what} are the largest loss: {why}.")
}

/// The cause that loses most, all of its operations together, and the largest of its losses.
struct Largest<'s> {
    loss: &'s LossFacts,
    seconds: f64,
}

fn largest(summary: &Summary) -> Option<Largest<'_>> {
    let kinds = ["late-rank", "interrupted", "warmup", "outliers", "tracer"];
    let of_kind = |kind: &str| {
        let losses = summary.losses.iter().filter(|loss| loss.kind == kind);
        let seconds = losses.clone().map(|loss| loss.seconds).sum();
        losses.max_by(|one, other| one.seconds.total_cmp(&other.seconds)).map(|loss| Largest { loss, seconds })
    };
    let found = kinds.into_iter().filter_map(of_kind).max_by(|one, other| one.seconds.total_cmp(&other.seconds))?;
    (summary.share(found.seconds) >= WORTH).then_some(found)
}

fn late(summary: &Summary, largest: &Largest) -> String {
    // The rank, what is lost to it, and of that what was off its processor and what in other MPI calls.
    let mut of_rank: Vec<(u32, f64, f64, f64)> = Vec::new();
    for loss in summary.losses.iter().filter(|loss| loss.kind == "late-rank") {
        let Some(rank) = loss.rank else { continue };
        let part = |because| if loss.because == Some(because) { loss.seconds } else { 0.0 };
        let (off, other) = (part("interrupted"), part("other_mpi"));
        match of_rank.iter_mut().find(|(other, ..)| *other == rank) {
            Some(sums) => *sums = (rank, sums.1 + loss.seconds, sums.2 + off, sums.3 + other),
            None => of_rank.push((rank, loss.seconds, off, other)),
        }
    }
    let most = of_rank.iter().max_by(|one, other| one.1.total_cmp(&other.1));
    match most {
        Some(&(rank, all, off, _)) if all > MOST * largest.seconds && off > MOST * all => {
            format!("The others wait for rank {rank}, which is off its processor: look for other processes there.")
        }
        Some(&(rank, all, _, other)) if all > MOST * largest.seconds && other > MOST * all => {
            format!(
                "The others wait for rank {rank}, which is in point-to-point or other MPI calls: look for the rank that \
                 it gets messages from."
            )
        }
        Some(&(rank, all, ..)) if all > MOST * largest.seconds => {
            format!("The others wait for rank {rank}: give it less work, or look for what slows it down.")
        }
        _ => {
            "The ranks wait for each other in turn: the work between the calls is not the same on all ranks.".to_owned()
        }
    }
}

fn without_loss(summary: &Summary, name: &str) -> Verdict {
    let share = percent(summary.share(summary.communication_s));
    let unknown = match summary.synchronised {
        true => "",
        false => " (waiting is not known: the clocks of the nodes are not synchronised)",
    };
    match summary.collectives_share.median < 5.0 * WORTH {
        true => Verdict {
            sentence: format!("There is little to gain in collective calls{unknown}."),
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
