//! Calls that one wait completes together: in the account each has its share of that time.

use mpitrace_trace::clock::{Clock, RankClock};
use mpitrace_trace::operations::{Operation, Operations};
use mpitrace_trace::reader::{Part, Trace};

use super::operation::OperationAccount;
use super::parts::Parts;
use super::rank::not_kept;
use super::spans::in_collectives;

/// Shares out the time of requests that were completed together, in the accounts of these operations. Of a rank whose
/// calls with requests take N ns as each has its full time, and which was in them for U ns, each has the share U / N of
/// its time.
pub(super) fn share_out(trace: &Trace, clock: &Clock, operations: &Operations, accounts: &mut [OperationAccount]) {
    let has_request = |operation: &Operation| operation.key.has_request();
    if !operations.operations.iter().any(has_request) {
        return;
    }
    let shares: Vec<(u32, f64)> = trace
        .parts
        .iter()
        .enumerate()
        .map(|(index, part)| {
            let mut sums = [0.0, 0.0];
            for (operation, account) in operations.operations.iter().zip(accounts.iter()) {
                let own = account.ranks.iter().filter(|(rank, _)| *rank == part.rank());
                sums[usize::from(has_request(operation))] += own.map(|(_, parts)| parts.run_time).sum::<f64>();
            }
            (part.rank(), share(sums, in_calls_ns(part, clock.of_part(index))))
        })
        .collect();
    if shares.iter().all(|(_, share)| *share >= 1.0) {
        return;
    }
    let share_of = |rank: u32| shares.iter().find(|(of, _)| *of == rank).map_or(1.0, |(_, share)| *share);
    let of_requests = operations.operations.iter().zip(accounts).filter(|(operation, _)| has_request(operation));
    of_requests.for_each(|(_, account)| account.scale(share_of));
}

/// The share of calls with requests that take so long, beside blocking ones, where the rank was in calls for `all_ns`.
fn share([blocking_ns, requests_ns]: [f64; 2], all_ns: f64) -> f64 {
    let left = (all_ns - blocking_ns).max(0.0);
    if requests_ns > left { left / requests_ns } else { 1.0 }
}

/// The time of all threads of a rank in collective calls, ns; of kept calls at the same time on one thread it counts
/// once.
fn in_calls_ns(part: &Part, clock: &RankClock) -> f64 {
    let threads = 0..part.threads().len() as u32;
    let kept: u64 = threads.map(|thread| in_collectives(part, Some(thread))).sum();
    clock.ticks_ns(kept.saturating_add(not_kept(part)))
}

impl OperationAccount {
    /// The account where each rank has this share of its time. What others waited for a rank, and what was lost in slow
    /// repetitions, has the mean share.
    fn scale(&mut self, share_of: impl Fn(u32) -> f64) {
        let sums = |ranks: &[(u32, Parts)]| {
            ranks
                .iter()
                .fold([0.0, 0.0], |[waiting, rest], (_, parts)| [waiting + parts.waiting, rest + parts.communication])
        };
        let before = sums(&self.ranks);
        for ((rank, parts), beside) in self.ranks.iter_mut().zip(&mut self.beside) {
            let share = share_of(*rank);
            (*parts, *beside) = (parts.scaled(share), beside.scaled(share));
        }
        let after = sums(&self.ranks);
        let [waiting, rest] = [0, 1].map(|at| if before[at] > 0.0 { after[at] / before[at] } else { 1.0 });
        self.late.iter_mut().for_each(|late| *late = late.scaled(waiting));
        [&mut self.warmup, &mut self.outliers].into_iter().for_each(|excess| excess.ns *= rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::{Excess, Late};

    #[test]
    fn requests_that_are_completed_together_share_the_time() {
        assert_eq!(share([10.0, 90.0], 40.0), 1.0 / 3.0);
        assert_eq!(share([10.0, 90.0], 100.0), 1.0);
        assert_eq!(share([10.0, 90.0], 200.0), 1.0, "calls that are not complete are in that time, too");
        assert_eq!(share([10.0, 0.0], 5.0), 1.0);
    }

    #[test]
    fn the_waiting_for_a_rank_has_the_share_of_those_that_wait() {
        let parts = |waiting: f64| Parts::split(100.0, Some(waiting), 0.0);
        let mut account = OperationAccount {
            ranks: vec![(0, parts(60.0)), (1, parts(20.0)), (2, parts(0.0))],
            beside: vec![Parts::default(); 3],
            late: vec![Late::default(), Late::default(), Late { waiting_ns: 80.0, ..Late::default() }],
            warmup: Excess { ns: 22.0, repetitions: 1 },
            ..OperationAccount::default()
        };
        account.scale(|rank| if rank == 0 { 0.5 } else { 1.0 });
        let waiting: Vec<f64> = account.ranks.iter().map(|(_, parts)| parts.waiting).collect();
        assert_eq!((waiting, account.late[2].waiting_ns), (vec![30.0, 20.0, 0.0], 50.0));
        // 200 of 220 ns of communication are left.
        assert!((account.warmup.ns - 20.0).abs() < 1e-9);
        assert_eq!(account.ranks[0].1.run_time, 50.0);
    }
}
