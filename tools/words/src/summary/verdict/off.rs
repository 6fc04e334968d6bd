//! Ranks that were off their processors: what is said of them, and what to do.

use std::collections::BTreeMap;

use mpitrace_analysis::account::{Account, Because, Late, Off, RankAccount, alone};
use mpitrace_show::text;

use super::evidence::Evidence;
use crate::base::reason;
use crate::summary::facts::Summary;
use crate::summary::largest::{MOST, WORTH, lates};

/// The predicate for a rank's time off the processor, and the advice about it.
pub(super) fn off_words(evidence: &Evidence, because: Because, rank: Option<u32>) -> [&'static str; 2] {
    match rank.is_some_and(|rank| because == Because::Asleep && evidence.for_threads.contains(&rank)) {
        true => reason::FOR_THREADS,
        false => [reason::was(because, false), advice(evidence, because)],
    }
}

/// The advice about time off the processor, as far as this job has not followed it.
pub(super) fn advice(evidence: &Evidence, because: Because) -> &'static str {
    off_advice(because, evidence.threaded, evidence.shared, evidence.bound)
}

/// `threaded`, `shared` and `bound` are those of [`Evidence`].
pub(in crate::summary) fn off_advice(because: Because, threaded: bool, shared: bool, bound: bool) -> &'static str {
    match because {
        Because::Preempted if threaded => "give each thread a processor of its own",
        Because::Preempted if shared => "start fewer ranks there, or give them more processors",
        Because::Preempted if bound => "look for other processes",
        _ => reason::advice(because),
    }
}

/// The time that each rank lost off its processor: in collective calls beside the waiting, and outside of MPI calls.
pub(in crate::summary) fn off_ranks(account: &Account) -> BTreeMap<u32, Off> {
    let mut of_rank: BTreeMap<u32, Off> = BTreeMap::new();
    let ranks = account.operations.iter().flat_map(|operation| &operation.ranks);
    ranks.for_each(|&(rank, parts)| *of_rank.entry(rank).or_default() += parts.interrupted_by);
    let known = |rank: &RankAccount| Off { unknown: 0.0, ..rank.off() };
    account.ranks.iter().for_each(|rank| *of_rank.entry(rank.rank).or_default() += known(rank));
    of_rank
}

/// One rank that has this share of all is preempted more than others by more than chance.
const PREEMPTED_ALONE: f64 = 0.9;

/// The index of the one that has most of the time, where this tells it from the others.
pub(super) fn alone_among(times: &[f64], because: Because) -> Option<usize> {
    let all: f64 = times.iter().sum();
    alone(times).filter(|&at| because != Because::Preempted || times[at] >= PREEMPTED_ALONE * all)
}

/// True if ranks were preempted for most of the lateness, and of what keeps the ranks from processors that is most.
pub(super) fn is_preempted(account: &Account, late: &Late) -> bool {
    let is_most = |(because, _)| because == Because::Preempted;
    late.interrupted_by.preempted > MOST * late.waiting_ns && off_of_all(account).largest().is_some_and(is_most)
}

/// The time that all ranks together lost off their processors.
fn off_of_all(account: &Account) -> Off {
    let mut all = Off::default();
    off_ranks(account).values().for_each(|&off| all += off);
    all
}

/// The ranks that were off their processors, in collective calls and outside of MPI calls.
pub(super) fn interrupted(summary: &Summary, evidence: &Evidence) -> String {
    let account = evidence.account;
    let of_rank = off_ranks(account);
    let times: Vec<f64> = of_rank.values().map(Off::sum).collect();
    let all = off_of_all(account);
    let because = all.largest().map_or(Because::OffProcessor, |(because, _)| because);
    let rank = alone_among(&times, because).and_then(|at| of_rank.iter().nth(at));
    let off = rank.map_or(all, |(_, off)| *off);
    let (because, ns) = off.largest().unwrap_or((Because::OffProcessor, 0.0));
    let whose = rank.map_or_else(|| "The ranks".to_owned(), |(rank, _)| format!("Rank {rank}"));
    let (was, advice) = (reason::was(because, rank.is_none()), advice(evidence, because));
    // Where all are preempted alike, this says nothing of why they wait for each other.
    let (ranks, lates) = lates(summary, account);
    let waiting: Vec<f64> = lates.iter().map(|late| late.waiting_ns).collect();
    let has_more =
        |at: &usize| account.beside_its_waiters(ranks[*at], lates[*at]).because() == Some(Because::Computing);
    let also = alone(&waiting)
        .filter(|&at| waiting[at] >= WORTH * account.rank_ns())
        .filter(has_more)
        .map(|at| format!("; others wait {} for rank {}, which computes longer", text::time(waiting[at]), ranks[at]));
    format!("{whose} {was} for {} in all: {advice}{}.", text::time(ns), also.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_the_ranks_that_are_preempted_is_named_only_if_the_others_hardly_are() {
        assert_eq!(alone_among(&[7.0, 3.0], Because::Preempted), None, "chance");
        assert_eq!(alone_among(&[9.5, 0.5], Because::Preempted), Some(0));
        assert_eq!(alone_among(&[7.0, 3.0], Because::Asleep), Some(0));
        assert_eq!(alone_among(&[6.0, 4.0], Because::Asleep), None);
    }
}
