//! The conclusion where others wait for ranks in collective calls.

use mpitrace_analysis::account::{Because, Late, alone};
use mpitrace_analysis::findings::Stretches;
use mpitrace_show::text;

use super::evidence::Evidence;
use super::off::{advice, alone_among, interrupted, is_preempted, off_words};
use crate::base::reason;
use crate::summary::facts::Summary;
use crate::summary::largest::{MOST, lates};
use crate::summary::units::{percent, seconds};

/// The rank that is late changes.
pub(super) const CHANGES: &str = " changes: ";
/// So many ranks are named behind the first one of those that are late one after the other.
const NAMED: usize = 3;

/// The rank that the others wait for, and the reason for which it is late.
pub(super) fn late(summary: &Summary, evidence: &Evidence) -> String {
    let account = evidence.account;
    let (ranks, lates) = lates(summary, account);
    let waiting: Vec<f64> = lates.iter().map(|late| late.waiting_ns).collect();
    let reasons: Vec<Late> =
        ranks.iter().zip(&lates).map(|(&rank, &late)| account.beside_its_waiters(rank, late)).collect();
    let mut all = Late::default();
    reasons.iter().for_each(|&late| all += late);
    if is_preempted(account, &all) && alone_among(&waiting, Because::Preempted).is_none() {
        return interrupted(summary, evidence);
    }
    if let Some(at) = alone(&waiting) {
        let at_end = account.late_at_finalize.as_ref().map_or(0.0, |end| end.late.waiting_ns);
        let at_end =
            account.late_at_finalize.as_ref().is_some_and(|end| end.rank == ranks[at]) && at_end > MOST * waiting[at];
        let place = if at_end { " in MPI_Finalize" } else { "" };
        let why = why(evidence, &reasons[at], "it", Some(ranks[at])).unwrap_or_else(|| match () {
            () if reasons[at].because().is_none() => ": why it is late is not known".to_owned(),
            () if at_end => ": share out what it does at the end".to_owned(),
            () => more_work(evidence, ranks[at], ": give it less work, or look for what slows it down"),
        });
        return format!("The others wait{place} for rank {} ({}){why}.", ranks[at], text::time(waiting[at]));
    }
    let all_ns: f64 = waiting.iter().sum();
    if Late::differ(&reasons) {
        return format!(
            "The ranks wait for each other in turns ({}), {}.",
            text::time(all_ns),
            two_causes(evidence, &ranks, &waiting, &reasons)
        );
    }
    let most = (0..ranks.len()).max_by(|&one, &other| waiting[one].total_cmp(&waiting[other])).unwrap_or_default();
    let moves = summary.shown.iter().find_map(|loss| loss.moves.as_ref()).map(moves);
    let each = if moves.is_some() { "each stretch" } else { "each step" };
    let why = why(evidence, &all, "one", None).unwrap_or_else(|| match all.because() {
        None => ": why they are late is not known".to_owned(),
        Some(_) => format!(": balance the work of {each}"),
    });
    if let Some(moves) = moves {
        return format!("The rank for which the others wait ({}){CHANGES}{moves}{why}.", text::time(all_ns));
    }
    format!(
        "The ranks wait for each other in turns ({}, {} for rank {}){why}.",
        text::time(all_ns),
        percent(waiting[most] / all_ns),
        ranks[most]
    )
}

/// `rank 0 until 110 ms, then rank 1, rank 2, ..., in turns of 40 repetitions`.
fn moves(of: &Stretches) -> String {
    let mut stretches = of.stretches.iter();
    let first = stretches
        .next()
        .map_or_else(String::new, |first| format!("rank {} until {}, then ", first.rank, seconds(first.until_s)));
    let next: Vec<String> = stretches.take(NAMED).map(|stretch| format!("rank {}", stretch.rank)).collect();
    let more = if of.stretches.len() > NAMED + 1 { ", ..." } else { "" };
    format!("{first}{}{more}, in turns of {} repetitions", next.join(", "), of.repetitions)
}

/// The advice where a rank has more work than others: only if it has so through the run.
pub(super) fn more_work(evidence: &Evidence, rank: u32, advice: &str) -> String {
    if (evidence.holds)(rank) { advice.to_owned() } else { ": one run cannot tell whether it has more work".to_owned() }
}

/// The two ranks that others wait for longest, with the reasons for which they are late, and what to do.
fn two_causes(evidence: &Evidence, ranks: &[u32], waiting: &[f64], lates: &[Late]) -> String {
    let mut order: Vec<usize> = (0..ranks.len()).collect();
    order.sort_by(|&one, &other| waiting[other].total_cmp(&waiting[one]));
    let other = order.iter().find(|&&at| lates[at].because() != lates[order[0]].because());
    let both = [order[0], *other.unwrap_or(&order[1])];
    let parts = both.map(|at| {
        let why = reason::late(lates[at].because()).map_or_else(String::new, |why| format!(", which {why}"));
        format!("{} for rank {}{why}", text::time(waiting[at]), ranks[at])
    });
    let advice = both.map(|at| match lates[at].because().filter(|because| because.is_off()) {
        Some(because) => self::advice(evidence, because),
        None => "balance the work of each step",
    });
    format!("{}: {}", parts.join(", "), if advice[0] == advice[1] { advice[0].to_owned() } else { advice.join("; ") })
}

/// The reason of most of the lateness of `who`, which is this rank or one of several; `None`: work, or not known.
fn why(evidence: &Evidence, late: &Late, who: &str, rank: Option<u32>) -> Option<String> {
    let is_most = |ns: f64| ns > MOST * late.waiting_ns;
    if let Some((because, ns)) = late.interrupted_by.largest().filter(|_| is_most(late.interrupted_ns)) {
        let [was, advice] = off_words(evidence, because, rank);
        return Some(format!(", {} of it since {who} {was}: {advice}", text::time(ns)));
    }
    let of_kinds = late.in_calls.reasons();
    let (kind, ns) = of_kinds.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    let (was, advice) = match kind {
        Because::Io => ("was in file calls", "write less often, or share out the files"),
        Because::OneSided => ("was in one-sided calls", "look for the rank that it waits for there"),
        Because::Tracer => ("was held up by the tracer", "`MPITRACE_RESYNC` sets how often it synchronises"),
        _ => ("was in other MPI calls", "look for the rank that it gets messages from"),
    };
    is_most(late.in_calls.sum()).then(|| format!(", {} of it since {who} {was}: {advice}", text::time(ns)))
}
