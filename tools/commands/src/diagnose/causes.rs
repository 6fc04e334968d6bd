//! The causes of slow repetitions, in sentences.

use mpitrace_analysis::account::Because;
use mpitrace_analysis::causes::{Cause, CauseKind, Causes, GroupTime, NAMED, Typical};
use mpitrace_analysis::diagnosis::GroupKind;
use mpitrace_show::text;
use mpitrace_words::reason;

use super::groups::{named, percent};

/// A group without a cause for this share of its extra time has a sentence that says so.
const MOSTLY: f64 = 0.5;

/// Groups with extra time without a cause, and what was not recorded that might show one.
pub fn unexplained(causes: &Causes, not_recorded: &[&str]) -> Vec<String> {
    let is_large = |group: &&GroupTime| group.extra_ns > 0.0 && group.unexplained_ns >= MOSTLY * group.extra_ns;
    causes.groups.iter().filter(is_large).map(|group| without_cause(group, not_recorded)).collect()
}

/// The causes of most repetitions of a group, where others have the most time.
pub fn typical(causes: &Causes) -> Vec<String> {
    let sentence = |group: &GroupTime| {
        let Typical { kind, rank, because, repetitions, mean_ns } = group.typical?;
        let rank = rank.map_or_else(|| "several ranks".to_owned(), |rank| format!("rank {rank}"));
        let what = match kind {
            CauseKind::LateRank => format!("others wait for {rank}"),
            CauseKind::Interrupted => format!("{rank} is off its processor"),
            CauseKind::Migration => format!("{rank} is off its processor and moved to another one"),
            CauseKind::Perturbed => format!("the tracer itself delays {rank}"),
            CauseKind::PageFaults | CauseKind::FirstCall | CauseKind::Counter => return None,
        };
        let why = match kind {
            CauseKind::LateRank => reason::late(because).map_or_else(String::new, |why| format!("; it {why}")),
            _ => off(because),
        };
        let group = named(group.repetitions, group.count);
        Some(format!(
            "most of {group} are slow by another cause: {what} in {repetitions} of them, for {} in the mean{why}",
            text::time(mean_ns)
        ))
    };
    causes.groups.iter().filter_map(sentence).collect()
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

fn without_cause(group: &GroupTime, not_recorded: &[&str]) -> String {
    let share = percent((group.unexplained_ns / group.extra_ns).min(1.0));
    let whose = named(group.repetitions, group.count);
    let mut sentence = format!("{share} of the extra time of {whose} has no recorded cause");
    for (ns, what) in [(group.untimed_ns, "time off the processor"), (group.unsplit_ns, "waiting")] {
        if ns >= NAMED * group.extra_ns {
            sentence += &format!("; up to {} of it may be {what}, which is not known in these calls", text::time(ns));
        }
    }
    if !not_recorded.is_empty() {
        sentence += &format!("; not recorded: {}", not_recorded.join(", "));
    }
    sentence
}
