//! The losses of a run, each once, with what the run would gain without it.

use super::Run;
use crate::account::{Loss, all_losses};
use crate::replay::{self, Gain};

/// Losses that are listed; smaller ones are left out.
const LISTED: usize = 50;

/// The largest losses of a run. The identity of a loss is its index in `all`, which both lists have.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    /// All that are listed, the largest first.
    pub all: Vec<Loss>,
    /// The gain without each of them.
    pub gains: Vec<Gain>,
    /// The losses of single ranks, the largest first.
    pub single: Vec<usize>,
    /// The losses of single ranks, or one of all ranks where they are late in turns; the largest first.
    pub in_turns: Vec<usize>,
}

impl Losses {
    pub(super) fn new(run: &Run) -> Losses {
        let made = all_losses(run.account());
        let listed = |in_turns: bool| {
            let places = made.iter().enumerate().filter(move |(_, (_, listed))| listed.is_in(in_turns));
            places.map(|(place, _)| place).take(LISTED).collect::<Vec<usize>>()
        };
        let lists = [listed(false), listed(true)];
        let mut kept: Vec<usize> = lists.iter().flatten().copied().collect();
        kept.sort_unstable();
        kept.dedup();
        // Every place of a list is one that is kept.
        let [single, in_turns] =
            lists.map(|list| list.iter().filter_map(|place| kept.binary_search(place).ok()).collect::<Vec<usize>>());
        let all: Vec<Loss> = kept.iter().map(|&place| made[place].0.clone()).collect();
        let (account, messages, waits) = (run.account(), run.messages(), run.waits());
        let gains = replay::gains_of(&run.trace, &run.clock, &run.operations, account, &all, messages, waits);
        Losses { all, gains, single, in_turns }
    }
}
