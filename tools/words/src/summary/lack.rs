//! Ranks that were ready to run and had no processor: what that is of their time, who took it, and the conclusion where
//! it is the largest part that is known.

use mpitrace_analysis::account::{Account, Because, Late, Loss, LossKind, Off, RankPart, RankParts, Sharing, alone};
use mpitrace_show::text;

use super::facts::{Lack, LossFacts, Summary};
use super::largest::{self, MOST};
use super::processes;
use super::units::percent;
use super::verdict;

const NS: f64 = 1e9;
/// Time without a processor is said from this share on.
const LARGE: f64 = 0.1;
/// The parts in which ranks wait for others.
const WAITING: [RankPart; 3] = [RankPart::Waiting, RankPart::WaitingFinalize, RankPart::PointToPoint];

impl Lack {
    /// `None`: it is not known, or another part of the ranks' time is larger. Waiting for a rank that has no processor
    /// is no part of its own.
    pub(super) fn new(summary: &Summary, account: &Account) -> Option<Lack> {
        let by = summary.off_processor_by?;
        let ns = NS * (by.preempted_s + by.throttled_s);
        let mut others = summary.parts;
        WAITING.into_iter().for_each(|part| others[part] -= summary.waiting_without_processor[part]);
        let is_largest = summary.on_processor(&others).iter().all(|(other, _)| *other < ns);
        let share = Some(summary.share(ns)).filter(|share| is_largest && *share >= LARGE)?;
        let of_rank = |off: Off| off.preempted + off.throttled;
        let of_ranks: Vec<f64> = account.ranks.iter().map(|rank| rank.off_processor.map_or(0.0, of_rank)).collect();
        let rank = alone(&of_ranks).filter(|_| account.ranks.len() > 1).map(|at| account.ranks[at].rank);
        Some(Lack { seconds: ns / NS, share, rank, taken_by: None })
    }

    fn whom(&self) -> &'static str {
        if self.rank.is_some() { "it" } else { "them" }
    }
}

impl Summary {
    /// The time without a processor as a line.
    pub(super) fn lacking(&self, lack: &Lack) -> String {
        let why = match (&self.sharing, &lack.taken_by) {
            (Some(sharing), _) if self.lacks_by_sharing => format!(": {}", shared(sharing)),
            _ if self.is_throttled() => ": a processor quota held them".to_owned(),
            (_, Some(taken)) => format!(": {} ran there", taken.who()),
            _ if self.threaded => ": several threads of a rank call MPI".to_owned(),
            _ => ": something else ran there".to_owned(),
        };
        format!("The ranks had no processor for {} of the time{why}.", percent(lack.share))
    }

    /// The conclusion, where the ranks lacked processors for longer than they waited for others.
    pub(super) fn lack_verdict(&self, account: &Account) -> Option<String> {
        let lack = self.without_processor.as_ref()?;
        let by_sharing = self.sharing.as_ref().filter(|_| self.lacks_by_sharing);
        let is_most = is_more_than_other_waiting(self, account);
        match by_sharing {
            Some(sharing) if is_most || is_by_no_processor(self, account) => {
                let processors = text::count(sharing.processors.into(), "rank");
                Some(format!("{}: start {processors} there, or give the job more processors.", shared(sharing)))
            }
            None if is_most => Some(self.taken(lack)),
            _ => None,
        }
    }

    /// What to do where ranks do not keep each other from their processors.
    fn taken(&self, lack: &Lack) -> String {
        let who = lack.rank.map_or_else(|| "The ranks".to_owned(), |rank| format!("Rank {rank}"));
        let lost = format!("{who} had no processor for {}", text::time(NS * lack.seconds));
        let off_advice = |because| verdict::off_advice(because, self.threaded, self.lacks_by_sharing, self.bound);
        match &lack.taken_by {
            _ if self.is_throttled() => {
                format!("{lost}, since a processor quota held {}: {}.", lack.whom(), off_advice(Because::Throttled))
            }
            Some(taken) => {
                let advice =
                    if taken.by_ranks() { "bind each rank to its own" } else { "end it, or run the job elsewhere" };
                format!("{lost}, {} of it taken by {}: {advice}.", text::time(NS * taken.seconds), taken.who())
            }
            None if self.threaded => format!("{lost}: {}.", off_advice(Because::Preempted)),
            None => format!("{lost}, since something else ran there: {}.", off_advice(Because::Preempted)),
        }
    }

    /// True if the line about the time without a processor says who took it.
    pub(super) fn names_taker(&self) -> bool {
        self.without_processor.as_ref().is_some_and(|lack| lack.taken_by.is_some())
    }

    fn is_throttled(&self) -> bool {
        self.off_processor_by.is_some_and(|by| by.throttled_s > by.preempted_s)
    }

    /// Says who took the processors, where it was seen.
    pub(super) fn name_takers(&mut self, account: &Account) {
        let (Some(lack), Some(of_ranks)) = (&mut self.without_processor, &self.processes) else { return };
        lack.taken_by = processes::most(of_ranks, lack.seconds);
        if let Some(sentence) = self.lack_verdict(account) {
            self.verdict = sentence;
        }
    }
}

/// The waiting for ranks that had no processor, though they were not only preempted by those that wait: it is no part
/// of its own of what is lost.
pub(super) fn waiting_without_processor(account: &Account) -> RankParts {
    let lacks = |rank: u32, late: Late| {
        let Off { preempted, throttled, .. } = account.beside_its_waiters(rank, late).interrupted_by;
        preempted + throttled
    };
    let mut parts = RankParts::default();
    for operation in &account.operations {
        let ranks = operation.ranks.iter().zip(&operation.late);
        parts[RankPart::Waiting] += ranks.map(|(&(rank, _), &late)| lacks(rank, late)).sum::<f64>();
    }
    let at_finalize = account.late_at_finalize.iter();
    parts[RankPart::WaitingFinalize] = at_finalize.map(|end| lacks(end.rank, end.late)).sum();
    let messages = account.late_messages.iter();
    let messages =
        messages.map(|late| (late.rank, largest::of_messages(late.waiting_ns - late.point_to_point_ns, late.off)));
    let partners = account.late_partners.iter().map(|late| (late.late, largest::of_partner(late)));
    parts[RankPart::PointToPoint] = messages.chain(partners).map(|(rank, late)| lacks(rank, late)).sum();
    parts
}

/// True if most of what is lost, and of what would be gained, is due to a lack of processors: ranks that had none, and
/// those that waited for these. (Without the delay of one of several ranks that lack a processor the others still wait,
/// so that there may be no gain.) Where a rank lacks one only because the others take their turns while they wait for
/// it, its own work or sleep is what is lost.
fn is_by_no_processor(summary: &Summary, account: &Account) -> bool {
    let lacks = |because| matches!(because, Some(Because::Preempted | Because::Throttled));
    let waiting_ns = summary.waiting_without_processor.sum_of(&WAITING);
    let losses = account.losses(true);
    let sum = |of: &dyn Fn(&Loss) -> bool| losses.iter().filter(|loss| of(loss)).map(|loss| loss.ns).sum::<f64>();
    let own = sum(&|loss| loss.kind == LossKind::Interrupted && lacks(loss.because));
    let late = sum(&|loss| loss.kind != LossKind::Interrupted && lacks(loss.because));
    let of_late = if late > 0.0 { (waiting_ns / late).min(1.0) } else { 0.0 };
    let (mut by_lack_s, mut all_s) = (0.0, 0.0);
    for LossFacts { loss, gain, .. } in &summary.shown {
        let share = if loss.kind == LossKind::Interrupted { 1.0 } else { of_late };
        by_lack_s += if lacks(loss.because) { share * gain.likely() } else { 0.0 };
        all_s += gain.likely();
    }
    let is_most_of_gains = summary.gains_are_little() || by_lack_s > MOST * all_s;
    own + waiting_ns > MOST * sum(&|_| true) && is_most_of_gains
}

/// True if ranks certainly lacked processors for longer than others waited for ranks that were late for other reasons:
/// while a rank waits it does not need the processor that it lacks. In which part of such waiting it lacked one is not
/// known; point-to-point calls whose partner is not known to be late are no such waiting.
fn is_more_than_other_waiting(summary: &Summary, account: &Account) -> bool {
    let for_lack_ns = summary.waiting_without_processor.sum_of(&WAITING);
    let partners = account.late_partners.iter().map(|late| late.ns);
    let messages = account.late_messages.iter().map(|late| late.waiting_ns - late.point_to_point_ns);
    let waiting_ns =
        summary.parts.sum_of(&[RankPart::Waiting, RankPart::WaitingFinalize]) + partners.chain(messages).sum::<f64>();
    let other_ns = (waiting_ns - for_lack_ns).max(0.0);
    let is_own = |loss: &&Loss| {
        loss.kind == LossKind::Interrupted && matches!(loss.because, Some(Because::Preempted | Because::Throttled))
    };
    let own_ns: f64 = account.losses(true).iter().filter(is_own).map(|loss| loss.ns).sum();
    let all_ns = summary.off_processor_by.map_or(0.0, |by| NS * (by.preempted_s + by.throttled_s));
    (own_ns + for_lack_ns).max(all_ns - other_ns) > other_ns
}

/// `4 ranks share 2 processors`.
fn shared(sharing: &Sharing) -> String {
    let host = sharing.host.as_ref().map_or_else(String::new, |host| format!(" of {}", text::printable(host)));
    let processors = text::count(sharing.processors.into(), "processor");
    format!("{} share {processors}{host}", text::count(sharing.ranks.into(), "rank"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_share_are_counted() {
        let of = |host: Option<&str>| {
            let host = host.map(str::to_owned);
            shared(&Sharing { ranks: 4, processors: 2, host, members: Vec::new() })
        };
        assert_eq!(of(None), "4 ranks share 2 processors");
        assert_eq!(of(Some("n1")), "4 ranks share 2 processors of n1");
    }
}
