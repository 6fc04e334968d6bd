//! A test for a lasting imbalance: others wait for one rank in each third of the run, and not only for a while.

use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;

use super::exchanges::Exchanges;
use super::late::Late;
use super::late_partner::Place;
use super::sequences::{Sequence, Sequences};
use super::walk::Step;
use super::{Account, late_partner};
use crate::messages::MessageWait;

/// Waiting in the order of time, in blocks of as many calls each: for one rank, and all.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    blocks: Vec<[f64; 2]>,
    /// Calls in a full block, and in the last one.
    size: usize,
    in_last: usize,
}

/// The most blocks that are kept: of more, two neighbours are joined.
const MOST: usize = 48;
/// In so many blocks of a third, of all in which ranks wait, more than half of the waiting is for the rank: less than
/// this probability has as many of independent blocks of ranks with equal work.
const SIGNIFICANT: f64 = 0.05;

impl Default for Blocks {
    fn default() -> Blocks {
        Blocks { blocks: Vec::new(), size: 1, in_last: 1 }
    }
}

impl Blocks {
    /// Adds a call after all so far: its waiting for the rank, and all.
    pub fn add(&mut self, for_rank: f64, ns: f64) {
        if self.in_last == self.size {
            if self.blocks.len() == MOST {
                let joined = |pair: &[[f64; 2]]| [pair[0][0] + pair[1][0], pair[0][1] + pair[1][1]];
                self.blocks = self.blocks.chunks(2).map(joined).collect();
                self.size *= 2;
            }
            self.blocks.push([0.0; 2]);
            self.in_last = 0;
        }
        self.in_last += 1;
        if let Some([own, all]) = self.blocks.last_mut() {
            *own += for_rank;
            *all += ns;
        }
    }

    /// True if in each third of the blocks most of the waiting is for the rank, by a sign test.
    pub fn hold(&self) -> bool {
        let third = self.blocks.len() / 3;
        let thirds = [0..third, third..2 * third, 2 * third..self.blocks.len()];
        thirds.into_iter().all(|third| {
            let blocks = self.blocks[third].iter().filter(|[_, all]| *all > 0.0);
            let most = blocks.clone().filter(|[own, all]| 2.0 * own > *all).count();
            at_least(most, blocks.count()) <= SIGNIFICANT
        })
    }
}

/// The probability of so many heads or more of so many coins.
fn at_least(heads: usize, coins: usize) -> f64 {
    let mut ways = 1.0;
    let mut sum = 0.0;
    for more in 0..=coins {
        if coins - more >= heads {
            sum += ways;
        }
        ways *= (coins - more) as f64 / (more + 1) as f64;
    }
    sum / 2f64.powi(coins as i32)
}

/// True if others wait for this rank in each third of the run: in collective calls, or in message calls that were
/// recorded (`waits`, by part), or else in exchanges of messages between collective calls.
pub fn holds_through(
    trace: &Trace,
    clock: &Clock,
    operations: &Operations,
    account: &Account,
    waits: &[Vec<MessageWait>],
    rank: u32,
) -> bool {
    let is_of = |part: usize| trace.parts[part].rank() == rank;
    let in_collectives = || {
        let is_late = |number: usize| account.operations[number].late.iter().any(|late| late.waiting_ns > 0.0);
        let mut sequences = Sequences::of_run(trace, clock, operations, is_late);
        let (mut step, mut blocks) = (Step::of_parts(trace), Blocks::default());
        while let Some(slot) = sequences.pop() {
            let Sequence { walk, rows, place, .. } = &sequences.all[slot];
            step.look(walk, rows.get(*place));
            let of_rank = step.late.iter().filter(|(at, _)| is_of(walk.members[*at].index));
            let sum = |waiting: f64, late: &(usize, Late)| waiting + late.1.waiting_ns;
            blocks.add(of_rank.fold(0.0, sum), step.late.iter().fold(0.0, sum));
            sequences.advance(slot);
        }
        sequences.is_at_end() && blocks.hold()
    };
    let in_messages = || {
        let mut waits: Vec<&MessageWait> = waits.iter().flatten().collect();
        waits.sort_by(|one, other| one.from_ns.total_cmp(&other.from_ns));
        let mut blocks = Blocks::default();
        waits.into_iter().for_each(|wait| blocks.add(if is_of(wait.late) { wait.ns() } else { 0.0 }, wait.ns()));
        blocks.hold()
    };
    let in_exchanges = || {
        let mut blocks = Blocks::default();
        let each = |_: &Exchanges, [late, _]: [usize; 2], ns: f64, _: Place| {
            blocks.add(if is_of(late) { ns } else { 0.0 }, ns);
        };
        !account.late_partners.is_empty()
            && late_partner::for_each(trace, clock, operations, &account.partners, &account.ranks, each)
            && blocks.hold()
    };
    in_collectives() || in_messages() || in_exchanges()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(waits: impl Iterator<Item = (bool, f64)>) -> bool {
        let mut blocks = Blocks::default();
        waits.for_each(|(is_for_rank, ns)| blocks.add(if is_for_rank { ns } else { 0.0 }, ns));
        blocks.hold()
    }

    #[test]
    fn an_imbalance_holds_if_it_is_in_each_third() {
        assert!(holds((0..1000).map(|_| (true, 1.0))));
        // One in ten, and noise of all ranks alike in between.
        assert!(holds((0..1000).map(|k| (k % 10 == 0 || k % 2 == 0, if k % 10 == 0 { 50.0 } else { 1.0 }))));
        assert!(!holds((0..1000).map(|k| (k < 500, 1.0))), "half of the run");
        assert!(!holds((0..1000).map(|k| (true, if k < 500 { 1.0 } else { 0.0 }))), "no rank waits then");
        assert!(!holds((0..1000).map(|k| (k == 300 || k % 2 == 0, if k == 300 { 1e6 } else { 1.0 }))), "once");
        assert!(!holds((0..1000).map(|k| (k * 7919 % 13 < 6, 1.0))), "in turns");
        assert!(!holds((0..9).map(|_| (true, 1.0))), "too few to tell");
        assert!(holds((0..15).map(|_| (true, 1.0))));
    }

    #[test]
    fn the_probability_is_that_of_coins() {
        assert_eq!([at_least(5, 5), at_least(0, 5), at_least(7, 8)], [1.0 / 32.0, 1.0, 9.0 / 256.0]);
    }
}
