//! The time that ranks wait in message calls, by the rank that is late and the call in which others wait for it.

use std::collections::{BTreeMap, HashMap, HashSet};

use mpitrace_statistics::median;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::CallSite;
use mpitrace_trace::reader::Trace;

use super::{RankAccount, RankPart};
use crate::messages::off::{OffBetween, outside_of_calls};
use crate::messages::waits::{chain, within};
use crate::messages::{MessageWait, Messages};
use crate::reasons::{Because, Gap, Off};

/// Time that ranks wait in message calls for one that is late.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LateMessages {
    /// The world rank that is late.
    pub rank: u32,
    /// The function in which the others wait.
    pub function: String,
    /// The place in the program that calls it, where that was recorded.
    pub call_site: Option<CallSite>,
    /// How long they wait, ns.
    pub waiting_ns: f64,
    /// The part for which the late rank waited in message calls itself, ns.
    pub point_to_point_ns: f64,
    /// The part for which it was off its processor since its call before, ns; where that is not known, as far as it was
    /// so longer than the others over the whole run.
    pub off: Off,
    /// Calls that waited.
    pub repetitions: usize,
    /// The ranks for which it waited itself, one for the other, to the one with which that begins.
    pub chain: Vec<u32>,
}

impl LateMessages {
    /// What is left beside the other reasons, ns.
    fn computing_ns(&self) -> f64 {
        (self.waiting_ns - self.point_to_point_ns - self.off.sum()).max(0.0)
    }

    /// The reasons with their times, ns.
    pub fn reasons(&self) -> Vec<(Option<Because>, f64)> {
        let own = [(Because::PointToPoint, self.point_to_point_ns), (Because::Computing, self.computing_ns())];
        own.into_iter().chain(self.off.reasons()).map(|(because, ns)| (Some(because), ns)).collect()
    }
}

/// Waiting for a rank, and how long which chains of parts made it late, ns.
#[derive(Default)]
struct Sum(LateMessages, BTreeMap<Vec<usize>, f64>);

impl Messages {
    /// The waits, by late rank and place. `ranks`: the account of each part.
    pub fn late_ranks(
        &self,
        trace: &Trace,
        clock: &Clock,
        waits: &[Vec<MessageWait>],
        ranks: &[RankAccount],
    ) -> Vec<LateMessages> {
        let parts = trace.parts.iter().zip(&self.calls).enumerate();
        // Of all ranks or of none: one is held against the other.
        let off: Option<Vec<Vec<OffBetween>>> =
            parts.map(|(index, (part, calls))| outside_of_calls(part, clock.of_part(index), calls)).collect();
        // Calls from one place with different tags and partners are several operations.
        let mut numbers: HashMap<(String, Option<CallSite>), usize> = HashMap::new();
        let mut of_operations: HashMap<(usize, u32), usize> = HashMap::new();
        let mut found: BTreeMap<(usize, usize), Sum> = BTreeMap::new();
        let mut waiting: HashMap<u32, HashSet<usize>> = HashMap::new();
        for wait in waits.iter().flatten() {
            waiting.entry(trace.parts[wait.late].rank()).or_default().insert(wait.part);
            let operation = self.calls[wait.part][wait.call as usize].record.operation;
            let number = *of_operations.entry((wait.part, operation)).or_insert_with(|| {
                let part = &trace.parts[wait.part];
                let entry = &part.message_operations()[operation as usize];
                let call_site = part.text(entry.call_site).and_then(|text| CallSite::parse(&text));
                let next = numbers.len();
                *numbers.entry((part.text(entry.function).unwrap_or_default(), call_site)).or_insert(next)
            });
            let Sum(late, chains) = found.entry((wait.late, number)).or_default();
            let in_messages_ns: f64 = within(&waits[wait.late], wait.from_ns, wait.until_ns).map(|(_, ns)| ns).sum();
            late.waiting_ns += wait.ns();
            late.point_to_point_ns += in_messages_ns.min(wait.ns());
            let off = off.as_ref().map_or_else(Off::default, |off| beyond(&off[wait.late], &off[wait.part], wait));
            late.off += off.to(off.sum().min((wait.ns() - in_messages_ns).max(0.0)));
            late.repetitions += 1;
            *chains.entry(chain(waits, wait.late, wait.from_ns, wait.until_ns)).or_default() += in_messages_ns;
        }
        let mut own_ns = vec![0.0; trace.parts.len()];
        found.iter().for_each(|((part, _), Sum(late, _))| own_ns[*part] += late.waiting_ns - late.point_to_point_ns);
        let of_number: HashMap<usize, _> = numbers.into_iter().map(|(of, number)| (number, of)).collect();
        let all = found.into_iter().map(|((part, number), Sum(mut late, chains))| {
            let (function, call_site) = of_number[&number].clone();
            if off.is_none() && own_ns[part] > 0.0 {
                let longer = longer_off(ranks, part);
                late.off = longer.scaled((late.waiting_ns - late.point_to_point_ns) / own_ns[part].max(longer.sum()));
            }
            let most = chains.into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
            let chain = most.map_or_else(Vec::new, |(chain, _)| chain);
            LateMessages {
                rank: trace.parts[part].rank(),
                function,
                call_site,
                chain: chain.into_iter().map(|part| trace.parts[part].rank()).collect(),
                ..late
            }
        });
        let mut all: Vec<LateMessages> = all.collect();
        for rank in ranks {
            let own = |late: &&LateMessages| late.rank == rank.rank;
            let ns: f64 = all.iter().filter(own).map(LateMessages::computing_ns).sum();
            let off = rank.off_beyond_computing(ns, waiting.get(&rank.rank).map_or(0, HashSet::len));
            let own = all.iter_mut().filter(|late| late.rank == rank.rank && ns > 0.0);
            own.for_each(|late| late.off += off.scaled(late.computing_ns() / ns));
        }
        all.sort_by(|one, other| other.waiting_ns.total_cmp(&one.waiting_ns).then(one.rank.cmp(&other.rank)));
        all
    }
}

/// By how much longer than the others, at their rate, a rank was off its processor outside of calls.
fn longer_off(ranks: &[RankAccount], part: usize) -> Off {
    let gap = |rank: &RankAccount| Gap { off: rank.off(), worked_ns: rank.parts[RankPart::Computing], is_timed: true };
    let others = || ranks.iter().enumerate().filter(|(other, _)| *other != part).map(|(_, rank)| gap(rank));
    let usual = |of: fn(&Gap) -> f64| median(&mut others().map(|other| of(&other)).collect::<Vec<_>>()).unwrap_or(0.0);
    let [preempted, asleep, throttled] =
        [usual(|other| other.off.preempted), usual(|other| other.off.asleep), usual(|other| other.off.throttled)];
    let off = Off { preempted, asleep, throttled, unknown: 0.0 };
    gap(&ranks[part]).off_beyond(Gap { off, worked_ns: usual(|other| other.worked_ns), is_timed: true })
}

/// The time off the processor of a late rank until it came to the call in which another one waits for it, beyond that
/// of the other one before that call.
fn beyond(late: &[OffBetween], other: &[OffBetween], wait: &MessageWait) -> Off {
    let first = late.partition_point(|between| between.until <= wait.from_ns);
    let until = late[first..].iter().take_while(|between| between.from < wait.until_ns);
    let mut sum = Gap::default();
    until.map(OffBetween::gap).for_each(|gap| sum += gap);
    let before = other.get(other.partition_point(|between| between.until < wait.from_ns));
    sum.off_beyond(before.filter(|between| between.until <= wait.from_ns).map(OffBetween::gap).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_held_against_the_others_and_not_against_itself() {
        let rank = |preempted| {
            let mut rank = RankAccount::default();
            (rank.parts[RankPart::Preempted], rank.parts[RankPart::Computing]) = (preempted, 100.0);
            rank
        };
        let ranks = [10.0, 10.0, 70.0].map(rank);
        let longer = [0, 1, 2].map(|part| longer_off(&ranks, part).sum());
        assert_eq!(longer, [0.0, 0.0, 60.0]);
    }
}
