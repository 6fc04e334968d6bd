//! The causes of slow repetitions, in sentences.

use mpitrace_analysis::account::Because;
use mpitrace_analysis::causes::{Cause, CauseKind, Causes, GroupTime, NAMED};
use mpitrace_analysis::diagnosis::GroupKind;
use mpitrace_show::text;
use mpitrace_words::reason;

use super::groups::{named, percent};

/// A group without a cause for this share of its extra time has a sentence that says so.
const MOSTLY: f64 = 0.5;

pub fn unexplained(causes: &Causes) -> Vec<String> {
    let is_large = |group: &&GroupTime| group.extra_ns > 0.0 && group.unexplained_ns >= MOSTLY * group.extra_ns;
    causes.groups.iter().filter(is_large).map(without_cause).collect()
}

pub fn sentence(causes: &Causes, cause: &Cause) -> String {
    let group = causes.groups.iter().find(|group| group.repetitions == cause.repetitions);
    let all = group.map_or(cause.count, |group| group.count);
    let steady = cause.repetitions == GroupKind::Steady;
    let place = match cause.repetitions {
        GroupKind::First => "in the first repetition".to_owned(),
        GroupKind::Steady => {
            let all: usize = causes.groups.iter().map(|group| group.count).sum();
            format!("in {} of all {all} repetitions, also in fast ones", cause.count)
        }
        _ => format!("in {} of {}", cause.count, named(cause.repetitions, all)),
    };
    let whole = if steady { "the time in these calls" } else { "their extra time" };
    let whole = if cause.repetitions == GroupKind::First { "its extra time" } else { whole };
    let most = match cause.most_ns > 1.05 * cause.ns {
        true => format!(" (at most {})", text::time(cause.most_ns)),
        false => String::new(),
    };
    let lost = format!("{}{most}, {} of {whole}", text::time(cause.ns), percent(cause.share));
    let rank = cause.rank.map_or_else(|| "several ranks".to_owned(), |rank| format!("rank {rank}"));
    let late = reason::late(cause.because());
    match cause.kind {
        CauseKind::LateRank if cause.rank.is_none() => {
            format!(
                "the ranks wait for each other in turns {place}: {lost}{}",
                late.map(|why| format!(", mainly since the late rank {why}")).unwrap_or_default()
            )
        }
        CauseKind::LateRank => {
            let why = late.map(|why| format!("it {why}"));
            let why = why.as_deref().unwrap_or("whether it was on its processor is not known");
            format!("others wait for {rank} {place}: {lost}; {why}")
        }
        CauseKind::Interrupted => format!("{rank} is off its processor {place}: {lost}{}", off(cause.because())),
        CauseKind::Migration => format!("{rank} is off its processor and moved to another one {place}: {lost}"),
        CauseKind::Perturbed => format!("the tracer itself delays {rank} {place}: {lost}"),
        CauseKind::FirstCall => {
            let whose = cause.rank.map_or_else(String::new, |rank| format!(", mostly on rank {rank}"));
            format!("the first call takes longer than the others{whose}: {lost}, with no other cause")
        }
        CauseKind::PageFaults | CauseKind::Counter => {
            format!("{} differs on {rank} {place}: {lost}", cause.counter.as_deref().unwrap_or("a counter"))
        }
    }
}

fn off(because: Option<Because>) -> String {
    let known = because.filter(|because| *because != Because::OffProcessor);
    known.map_or_else(String::new, |because| format!("; it {}", reason::was(because, false)))
}

fn without_cause(group: &GroupTime) -> String {
    let share = percent((group.unexplained_ns / group.extra_ns).min(1.0));
    let whose = named(group.repetitions, group.count);
    let mut sentence = format!("{share} of the extra time of {whose} has no recorded cause");
    for (ns, what) in [(group.untimed_ns, "time off the processor"), (group.unsplit_ns, "waiting")] {
        if ns >= NAMED * group.extra_ns {
            sentence += &format!("; up to {} of it may be {what}, which is not known in these calls", text::time(ns));
        }
    }
    if group.untimed_ns == 0.0 && group.unsplit_ns == 0.0 && matches!(group.repetitions, GroupKind::Mode(_)) {
        sentence += ": the communication itself takes longer, as with another algorithm or path of the MPI library";
    }
    sentence
}
