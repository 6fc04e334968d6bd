//! The limit of the reasons for which a rank is late: it computed and slept for no longer than it did in the whole run.

use std::collections::HashMap;

use super::late::Late;
use super::operation::OperationAccount;
use super::rank::RankAccount;
use super::rank_parts::RankPart;

/// The time for which a rank can have computed, and have slept, as often as other ranks can have waited for it; ns.
/// Infinite where that is not known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    computing: f64,
    asleep: f64,
}

/// The shares of the time for these reasons that are within the limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Within {
    computing: f64,
    asleep: f64,
}

impl Limit {
    /// The limit of a rank among so many.
    pub fn new(rank: &RankAccount, ranks: usize) -> Limit {
        let others = ranks.saturating_sub(1) as f64;
        let computing = if rank.is_divided { others * rank.parts[RankPart::Computing] } else { f64::INFINITY };
        // Of time off the processor for an unknown reason it may have slept.
        let slept = rank.off_processor.map(|off| off.asleep + off.unknown);
        Limit { computing, asleep: slept.map_or(f64::INFINITY, |ns| others * ns) }
    }

    /// The shares of what is said of the rank.
    pub fn share(self, said: &Late) -> Within {
        let share = |said: f64, limit: f64| if said > limit { limit / said } else { 1.0 };
        Within {
            computing: share(said.computing_ns + said.on_processor_ns, self.computing),
            asleep: share(said.interrupted_by.asleep, self.asleep),
        }
    }
}

impl Within {
    /// The lateness with these shares, the rest for reasons that are not known.
    pub fn apply(self, mut late: Late) -> Late {
        let mut take = |part: &mut f64, share: f64| {
            let beyond = (1.0 - share) * *part;
            *part -= beyond;
            late.unknown_ns += beyond;
            beyond
        };
        take(&mut late.computing_ns, self.computing);
        take(&mut late.on_processor_ns, self.computing);
        let beyond = take(&mut late.interrupted_by.asleep, self.asleep);
        late.interrupted_ns -= beyond;
        late
    }
}

/// Holds the reasons of these operations, all together, within the limits of these ranks.
pub(super) fn apply(accounts: &mut [OperationAccount], ranks: &[RankAccount]) {
    let mut said: HashMap<u32, Late> = HashMap::new();
    for account in accounts.iter() {
        let lates = account.ranks.iter().zip(&account.late);
        lates.for_each(|(&(rank, _), &late)| *said.entry(rank).or_default() += late);
    }
    let limits: HashMap<u32, Within> = ranks
        .iter()
        .filter_map(|rank| Some((rank.rank, Limit::new(rank, ranks.len()).share(said.get(&rank.rank)?))))
        .filter(|(_, within)| within.computing < 1.0 || within.asleep < 1.0)
        .collect();
    if limits.is_empty() {
        return;
    }
    for account in accounts {
        for ((rank, _), late) in account.ranks.iter().zip(&mut account.late) {
            if let Some(within) = limits.get(rank) {
                *late = within.apply(*late);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reasons::Off;

    /// Rank 1 of three: it computed for 10 ns, and slept for 20.
    fn rank() -> RankAccount {
        let off_processor = Some(Off { asleep: 20.0, preempted: 500.0, ..Off::default() });
        let mut rank = RankAccount { rank: 1, is_divided: true, off_processor, ..RankAccount::default() };
        rank.parts[RankPart::Computing] = 10.0;
        rank
    }

    fn late(computing_ns: f64, asleep: f64) -> Late {
        let interrupted_by = Off { asleep, preempted: 5.0, ..Off::default() };
        let interrupted_ns = interrupted_by.sum();
        let waiting_ns = interrupted_ns + computing_ns;
        Late { waiting_ns, computing_ns, interrupted_by, interrupted_ns, ..Late::default() }
    }

    #[test]
    fn two_ranks_wait_twice_for_what_a_rank_does_once() {
        let limit = Limit::new(&rank(), 3);
        let limited = |late: Late| limit.share(&late).apply(late);
        assert_eq!(limited(late(20.0, 40.0)), late(20.0, 40.0));
        let beyond = limited(late(100.0, 60.0));
        assert_eq!((beyond.computing_ns, beyond.interrupted_by.asleep), (20.0, 40.0));
        assert_eq!((beyond.unknown_ns, beyond.interrupted_ns, beyond.waiting_ns), (100.0, 45.0, 165.0));
        assert_eq!(beyond.reasons().map(|(_, ns)| ns).sum::<f64>(), beyond.waiting_ns);
        let unknown = RankAccount { is_divided: false, off_processor: None, ..rank() };
        let limit = Limit::new(&unknown, 3);
        assert_eq!(limit.share(&late(100.0, 60.0)).apply(late(100.0, 60.0)), late(100.0, 60.0));
    }

    #[test]
    fn the_limit_is_one_of_all_operations_together() {
        let account = |ns: f64| OperationAccount {
            ranks: vec![(1, Default::default())],
            late: vec![late(ns, 0.0)],
            ..OperationAccount::default()
        };
        let mut accounts = [account(30.0), account(10.0)];
        apply(&mut accounts, &[RankAccount::default(), rank(), RankAccount { rank: 2, ..RankAccount::default() }]);
        let computing = accounts.each_ref().map(|account| account.late[0].computing_ns);
        assert_eq!(computing, [15.0, 5.0]);
    }
}
