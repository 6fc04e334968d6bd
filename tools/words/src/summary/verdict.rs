//! The conclusion in one sentence, and the command that shows more.

use std::collections::BTreeMap;

use mpitrace_analysis::account::{Account, Because, Late, LatePartner, LossKind, Off, RankAccount, RankPart, alone};
use mpitrace_analysis::causes::{self, Cause, Causes};
use mpitrace_analysis::diagnosis::GroupKind;
use mpitrace_analysis::findings::Stretches;
use mpitrace_show::text;
use mpitrace_statistics::median;

use super::facts::{SlowCause, Summary};
use super::largest::{self, Largest, MOST, WORTH, lates};
use super::units::{percent, seconds};
use crate::base::reason;

/// A rank that computes for less than this share of what another one does has other work than that.
const MASTER: f64 = 0.1;

/// The rank that is late changes.
const CHANGES: &str = " changes: ";
/// So many ranks are named behind the first one of those that are late one after the other.
const NAMED: usize = 3;

/// Causes are looked for in operations with this share of a kind of loss: ten at most.
const LARGE: f64 = 0.1;

pub(super) struct Verdict {
    pub sentence: String,
    pub next: Option<String>,
    /// The cause, if the conclusion is about slow repetitions.
    pub slow_cause: Option<SlowCause>,
    /// What would be gained without what it is about, s; `None`: whatever else is found, it stays.
    pub gain_s: Option<f64>,
}

pub(super) struct Evidence<'e> {
    pub account: &'e Account,
    /// The causes of an operation that need no counter.
    pub causes: &'e dyn Fn(usize) -> Causes,
    /// True if the others wait for this rank in each third of the run.
    pub holds: &'e dyn Fn(u32) -> bool,
    pub has_counters: bool,
    /// Ranks share processors, and keep each other from these.
    pub shared: bool,
    /// Each rank has processors of its own.
    pub bound: bool,
    /// Several threads of a rank call MPI.
    pub threaded: bool,
}

impl Verdict {
    pub fn new(summary: &Summary, evidence: &Evidence, name: &str) -> Verdict {
        let command = |line: String| Some(format!("mpitrace {line}"));
        let has_defects = summary.mismatched > 0 || summary.undone.has_defects();
        // The first line says what `info` says in full.
        let leads_to_info = (summary.ended.is_some() || has_defects).then(|| format!("mpitrace info {name}"));
        if let Some(sentence) = summary.lack_verdict(evidence.account) {
            let next = leads_to_info.or_else(|| command(format!("info {name}")));
            return Verdict { sentence, next, slow_cause: None, gain_s: None };
        }
        let Some(largest) = Largest::new(summary, evidence.account) else {
            let (sentence, next) = without_loss(summary, name);
            let gain_s = Some(0.0).filter(|_| summary.unknown_ends == 0);
            return Verdict { sentence, next: leads_to_info.or(next), slow_cause: None, gain_s };
        };
        let mut slow_cause = None;
        let sentence = match largest.kind {
            LossKind::LateRank => late(summary, evidence),
            LossKind::Interrupted => interrupted(summary, evidence),
            LossKind::PointToPoint => point_to_point(evidence),
            LossKind::OneSided => one_sided(evidence.account),
            LossKind::Warmup | LossKind::Outliers => {
                let sentence;
                (sentence, slow_cause) = slow(&largest, evidence);
                sentence
            }
            LossKind::Hung => format!("{}.", hung(evidence.account)),
            LossKind::ManySmall | LossKind::UnequalAmounts | LossKind::Serial | LossKind::Pipeline => String::new(),
            LossKind::Tracer => "The tracer is the largest loss: these run times are not reliable.".to_owned(),
        };
        let moving = summary.shown.iter().find(|loss| loss.moves.is_some()).and_then(|loss| loss.loss.operation);
        let next = match (largest.kind, largest.operations.first()) {
            // The picture of the arrivals, rank by repetition.
            (LossKind::LateRank, _) if moving.is_some() && sentence.contains(CHANGES) => {
                format!("report {name} --operation {} --plot arrival -o arrival.svg", moving.unwrap_or_default())
            }
            (_, Some((operation, _))) => format!("diagnose {name} --operation {operation}"),
            (LossKind::PointToPoint, _) => format!("summary {name} --by partner"),
            (LossKind::Hung, _) => format!("info {name}"),
            _ => format!("summary {name} --by rank"),
        };
        let gain_s = Some(largest.gain_s).filter(|_| largest.kind != LossKind::Hung);
        Verdict { sentence, next: leads_to_info.or_else(|| command(next)), slow_cause, gain_s }
    }
}

/// The rank that the others wait for, and the reason for which it is late.
fn late(summary: &Summary, evidence: &Evidence) -> String {
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
        let why = why(evidence, &reasons[at], "it").unwrap_or_else(|| match () {
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
    let why = why(evidence, &all, "one").unwrap_or_else(|| match all.because() {
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
fn more_work(evidence: &Evidence, rank: u32, advice: &str) -> String {
    if (evidence.holds)(rank) { advice.to_owned() } else { ": one run cannot tell whether it has more work".to_owned() }
}

/// What to do about the time off the processor, as far as this job has not done it.
fn advice(evidence: &Evidence, because: Because) -> &'static str {
    off_advice(because, evidence.threaded, evidence.shared, evidence.bound)
}

/// `threaded`, `shared` and `bound` are those of [`Evidence`].
pub(super) fn off_advice(because: Because, threaded: bool, shared: bool, bound: bool) -> &'static str {
    match because {
        Because::Preempted if threaded => "give each thread a processor of its own",
        Because::Preempted if shared => "start fewer ranks there, or give them more processors",
        Because::Preempted if bound => "look for other processes",
        _ => reason::advice(because),
    }
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

/// The reason of most of the lateness of `who`; `None`: work, or not known.
fn why(evidence: &Evidence, late: &Late, who: &str) -> Option<String> {
    let is_most = |ns: f64| ns > MOST * late.waiting_ns;
    if let Some((because, ns)) = late.interrupted_by.largest().filter(|_| is_most(late.interrupted_ns)) {
        let (was, advice) = (reason::was(because, false), advice(evidence, because));
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

/// The time that each rank lost off its processor: in collective calls beside the waiting, and outside of MPI calls.
pub(super) fn off_ranks(account: &Account) -> BTreeMap<u32, Off> {
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
fn alone_among(times: &[f64], because: Because) -> Option<usize> {
    let all: f64 = times.iter().sum();
    alone(times).filter(|&at| because != Because::Preempted || times[at] >= PREEMPTED_ALONE * all)
}

/// True if ranks were preempted for most of the lateness, and of what keeps the ranks from processors that is most.
fn is_preempted(account: &Account, late: &Late) -> bool {
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
fn interrupted(summary: &Summary, evidence: &Evidence) -> String {
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

/// The rank that the others wait for in point-to-point calls, where it is late for most of the time in these; else the
/// rank that has most of the time in them; else the time of all.
fn point_to_point(evidence: &Evidence) -> String {
    let account = evidence.account;
    let all = account.rank_parts()[RankPart::PointToPoint];
    let known: Vec<f64> = account.late_partners.iter().map(|late| late.ns).collect();
    let sum: f64 = known.iter().sum();
    if let Some(most) = account.late_partners.first().filter(|_| sum > MOST * all) {
        let who = most.rank.map_or_else(|| "the others wait".to_owned(), |rank| format!("rank {rank} waits"));
        let why = why_late(evidence, most);
        return match alone(&known) {
            Some(_) => {
                format!("In point-to-point calls {who} for rank {} ({}){why}.", most.late, text::time(most.ns))
            }
            None => format!(
                "In point-to-point calls the ranks wait in turns ({}), {who} {} for rank {}{why}.",
                text::time(sum),
                text::time(most.ns),
                most.late
            ),
        };
    }
    let times: Vec<f64> = account.ranks.iter().map(|rank| rank.parts[RankPart::PointToPoint]).collect();
    let Some(waits) = alone(&times).map(|at| &account.ranks[at]) else {
        let share = percent(all / account.running_ns());
        return format!("The ranks are {share} of their time in point-to-point calls that can wait.");
    };
    let partner = account.partner(waits.rank).map_or_else(String::new, |rank| format!(", mostly for rank {rank}"));
    format!(
        "Rank {} is {} of its time in point-to-point calls that can wait{partner}.",
        waits.rank,
        percent(waits.parts[RankPart::PointToPoint] / waits.wall_ns)
    )
}

/// The rank that is longest in one-sided calls that can wait.
fn one_sided(account: &Account) -> String {
    let of = |rank: &RankAccount| rank.parts[RankPart::OneSided];
    let longest = account.ranks.iter().max_by(|one, other| of(one).total_cmp(&of(other)));
    let Some(longest) = longest else { return String::new() };
    format!(
        "Rank {} is in one-sided calls that can wait for {}: look for locks and windows that several ranks want.",
        longest.rank,
        text::time(of(longest))
    )
}

/// Why this rank is late for point-to-point calls of others.
fn why_late(evidence: &Evidence, most: &LatePartner) -> String {
    let account = evidence.account;
    let computing = |rank: &RankAccount| rank.parts[RankPart::Computing];
    let (late, others): (Vec<&RankAccount>, Vec<&RankAccount>) =
        account.ranks.iter().partition(|rank| rank.rank == most.late);
    let usual = median(&mut others.into_iter().map(computing).collect::<Vec<_>>()).unwrap_or(0.0);
    let own = account.beside_its_waiters(most.late, largest::of_partner(most));
    match own.interrupted_by.largest() {
        Some((because, ns)) if own.interrupted_ns > MOST * own.waiting_ns => {
            let (was, advice) = (reason::was(because, false), advice(evidence, because));
            format!(", {} of it since that one {was}: {advice}", text::time(ns))
        }
        // Where the others compute next to nothing there is no work to be shared out evenly, as with a master.
        _ if late.into_iter().map(computing).sum::<f64>() * MASTER > usual => ", which computes meanwhile".to_owned(),
        _ => more_work(evidence, most.late, ", which computes longer: give it less work"),
    }
}

/// Which ranks did not move any more, and for how long.
fn hung(account: &Account) -> String {
    let longest = account.ranks.iter().map(|rank| rank.hung.ns).fold(0.0, f64::max);
    let is_of_all = account.knot.len() >= account.ranks.len();
    unmoved(if is_of_all { &[] } else { &account.knot }, longest)
}

/// `Ranks 0-1 began and ended no MPI call in the last 12.0 s`: `knot` are the ranks that a verdict names; without them
/// it is all.
pub fn unmoved(knot: &[u32], ns: f64) -> String {
    let time = text::time(ns);
    match knot {
        [] => format!("No rank began or ended an MPI call in the last {time}"),
        [rank] => format!("Rank {rank} began and ended no MPI call in the last {time}"),
        ranks => format!("Ranks {} began and ended no MPI call in the last {time}", text::ranks(ranks)),
    }
}

/// Slow repetitions, and the cause of most of their loss; without one, the next step.
fn slow(largest: &Largest, evidence: &Evidence) -> (String, Option<SlowCause>) {
    let is_warmup = largest.kind == LossKind::Warmup;
    let is_of_loss = |cause: &Cause| match cause.repetitions {
        GroupKind::First | GroupKind::Warmup => is_warmup,
        GroupKind::Outlier => !is_warmup,
        GroupKind::Mode(_) | GroupKind::Steady => false,
    };
    // Its time in communication, which is what the loss is of, and why a rank was off its processor.
    let mut found: Vec<(causes::CauseKind, Option<u32>, f64, Off)> = Vec::new();
    for &(operation, _) in largest.operations.iter().filter(|(_, ns)| *ns >= LARGE * largest.ns) {
        for cause in (evidence.causes)(operation).causes.iter().filter(|cause| is_of_loss(cause)) {
            let (kind, rank) = (cause.kind, cause.rank.filter(|_| cause.kind != causes::CauseKind::FirstCall));
            match found.iter_mut().find(|found| (found.0, found.1) == (kind, rank)) {
                Some((.., ns, off)) => (*ns, *off) = (*ns + cause.communication_ns, sum(*off, cause.off)),
                None => found.push((kind, rank, cause.communication_ns, cause.off)),
            }
        }
    }
    let what = if is_warmup { "The first repetitions" } else { "Slow repetitions" };
    let lost = format!("{what} lose {}", text::time(largest.ns));
    let most = found.into_iter().max_by(|one, other| one.2.total_cmp(&other.2));
    let Some((kind, rank, ns, off)) = most.filter(|(.., ns, _)| *ns > MOST * largest.ns) else {
        let next = match (is_warmup, evidence.has_counters) {
            (_, true) => "most of it has no cause, unless a counter shows one: `diagnose` compares the counters",
            (true, false) => "no cause is recorded for most of it; longer runs lose less",
            (false, false) => "no cause is recorded for most of it; counters may show one",
        };
        return (format!("{lost}: {next}."), None);
    };
    let cause = SlowCause { kind, rank, seconds: ns / 1e9 };
    let (time, rank) = (text::time(ns), rank.map_or_else(|| "a rank".to_owned(), |rank| format!("rank {rank}")));
    let sentence = match kind {
        causes::CauseKind::Interrupted => {
            let because = off.largest().map_or(Because::OffProcessor, |(because, _)| because);
            let (was, advice) = (reason::was(because, false), advice(evidence, because));
            format!("{lost}, {time} of it since {rank} {was}: {advice}.")
        }
        causes::CauseKind::Migration => {
            format!("{lost}, {time} of it since {rank} was moved to other processors: bind the ranks.")
        }
        causes::CauseKind::Perturbed => format!(
            "{lost}, {time} of it since the tracer delayed {rank}: `MPITRACE_RESYNC` sets how often it synchronises."
        ),
        _ => format!("{lost}, {time} in the first call: call it once before timing it."),
    };
    (sentence, Some(cause))
}

fn sum(mut one: Off, other: Off) -> Off {
    one += other;
    one
}

/// The conclusion where no loss is worth a word: losses are compared with the whole job, shares are of the time between
/// MPI_Init and MPI_Finalize.
fn without_loss(summary: &Summary, name: &str) -> (String, Option<String>) {
    let share = percent(summary.share(summary.parts[RankPart::Communication]));
    let (in_mpi, calls) = match summary.calls_timed {
        true => (summary.mpi_share.all, "MPI"),
        false => (summary.collectives_share.all, "collective calls"),
    };
    let computing = summary.share(summary.parts[RankPart::Computing]);
    let worth = percent(WORTH);
    if summary.unknown_ends > 0 {
        let sentence =
            format!("No loss of {worth} of the job or more was found up to the last time stamps of the ranks.");
        return (sentence, Some(format!("mpitrace info {name}")));
    }
    let beside = summary.share_beside();
    let sentence = match () {
        _ if beside > MOST => {
            format!(
                "MPI_Init and MPI_Finalize take {} of the job: there is little to gain between them.",
                percent(beside)
            )
        }
        _ if summary.untraced > 0 => {
            let ranks = text::count(summary.untraced.into(), "rank");
            format!("No loss of {worth} of the job or more was found in the ranks that are traced; {ranks} are not.")
        }
        _ if summary.is_with_others() => format!(
            "No loss of {worth} of the job or more was found between the ranks of this world, which are in calls with \
             another one for {}.",
            seconds(summary.with_other_worlds_s)
        ),
        _ if in_mpi < 5.0 * WORTH && summary.divided && computing > MOST => {
            format!("There is little to gain in {calls}: {} of the time is computing.", percent(computing))
        }
        _ if in_mpi < 5.0 * WORTH => format!("There is little to gain in {calls}."),
        _ if summary.gains_most_s > 0.0 => {
            let (part, share) = summary.largest_part();
            let small = if summary.gains_are_little() { String::new() } else { ", by many small losses".to_owned() };
            format!(
                "There is little to gain in waiting (at most {} of {}{small}): {} of the time is {part}.",
                seconds(summary.gains_most_s),
                seconds(summary.seconds),
                percent(share)
            )
        }
        _ if summary.not_kept() > 0 && summary.sample.is_none() => {
            format!("No loss of {worth} of the job or more was found in the calls that are kept.")
        }
        _ if summary.parts[RankPart::Io] > summary.parts[RankPart::Communication] => format!(
            "No loss of {worth} of the job or more was found: file calls take {} of the time between Init and \
             Finalize.",
            percent(summary.share(summary.parts[RankPart::Io]))
        ),
        _ => format!(
            "No loss of {worth} of the job or more was found: communication takes {share} of the time between Init and \
             Finalize, which other MPI settings may change."
        ),
    };
    (sentence, Some(format!("mpitrace stats {name}")))
}

#[cfg(test)]
mod tests {
    use mpitrace_analysis::account::{PartnerAccount, RankParts};

    use super::*;

    /// Ranks 0 and 1 of a second each: rank 0 is in point-to-point calls for 400 ms, for 350 of which rank 1 was late,
    /// and off its processor for so many of those; so long they compute.
    fn sentence(late_ms: f64, asleep_ms: f64, computing_ms: [f64; 2], holds: bool) -> String {
        let rank = |(rank, ms): (u32, f64)| {
            let mut parts = RankParts::default();
            parts[RankPart::Computing] = 1e6 * ms;
            parts[RankPart::PointToPoint] = if rank == 0 { 4e8 } else { 0.0 };
            RankAccount { rank, wall_ns: 1e9, parts, ..RankAccount::default() }
        };
        let partners = vec![PartnerAccount { rank: 0, partner: Some(1), ns: 1.0, ..PartnerAccount::default() }];
        let off = Off { asleep: 1e6 * asleep_ms, ..Off::default() };
        let late_partners = vec![LatePartner { late: 1, rank: Some(0), ns: 1e6 * late_ms, off }];
        let ranks = (0..).zip(computing_ms).map(rank).collect();
        let account = &Account { ranks, partners, late_partners, ..Account::default() };
        let causes = |_| Causes::default();
        let (holds, has_counters, shared, bound, threaded) = (&|_: u32| holds, false, false, false, false);
        point_to_point(&Evidence { account, causes: &causes, holds, has_counters, shared, bound, threaded })
    }

    #[test]
    fn why_a_rank_is_in_point_to_point_calls_is_said() {
        let whole = "In point-to-point calls rank 0 waits for rank 1 (350 ms), ";
        assert_eq!(
            sentence(350.0, 0.0, [300.0, 700.0], true),
            format!("{whole}which computes longer: give it less work.")
        );
        assert_eq!(
            sentence(350.0, 0.0, [300.0, 700.0], false),
            "In point-to-point calls rank 0 waits for rank 1 (350 ms): one run cannot tell whether it has more work."
        );
        assert_eq!(sentence(350.0, 0.0, [10.0, 700.0], true), format!("{whole}which computes meanwhile."));
        assert_eq!(
            sentence(350.0, 300.0, [300.0, 300.0], true),
            format!("{whole}300 ms of it since that one slept: find the sleep, lock or file.")
        );
        // Not for most of the time.
        let plain = "Rank 0 is 40.0 % of its time in point-to-point calls that can wait, mostly for rank 1.";
        assert_eq!(sentence(150.0, 150.0, [300.0, 300.0], true), plain);
    }
    #[test]
    fn one_of_the_ranks_that_are_preempted_is_named_only_if_the_others_hardly_are() {
        assert_eq!(alone_among(&[7.0, 3.0], Because::Preempted), None, "chance");
        assert_eq!(alone_among(&[9.5, 0.5], Because::Preempted), Some(0));
        assert_eq!(alone_among(&[7.0, 3.0], Because::Asleep), Some(0));
        assert_eq!(alone_among(&[6.0, 4.0], Because::Asleep), None);
    }
}
