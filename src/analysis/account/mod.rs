//! Where the time of the ranks went: each call in parts that add up, and what was lost to which rank, and why.
//!
//! The time in a call is waiting for another rank, time off the processor, delay by the tracer, and the rest:
//! communication. The waiting of each rank has the rank that it waited for as its cause, and that rank was off its
//! processor, or computed (or was in other MPI calls) for longer. A region of the program is a label over time that the
//! account has already ([`regions`]).

pub(crate) mod arrivals;
mod beside;
mod calls;
mod ending;
#[cfg(test)]
mod ending_tests;
mod estimate;
pub(crate) mod exchanges;
#[cfg(test)]
mod finalize_tests;
pub(crate) mod imbalance;
mod late;
mod late_at_finalize;
mod late_limit;
mod late_messages;
mod late_partner;
mod losses;
mod meeting;
pub(crate) mod member;
mod open_call;
pub(crate) mod operation;
mod partner;
mod parts;
mod plain;
mod polled;
mod processors;
mod rank;
mod rank_parts;
mod region;
mod requests;
pub(crate) mod sequences;
mod since;
mod spans;
#[cfg(test)]
mod tests;
mod thread;
mod threads;
pub(crate) mod waits;
pub(crate) mod walk;

pub use arrivals::{Before, LateArrival, for_each_late_arrival, for_each_late_exchange, late_arrival_at_finalize};
pub use beside::Beside;
pub use calls::{CallAccount, CallAccounts, Spent, for_each_call};
pub use ending::{HowEnded, Hung, RankEnd};
pub use estimate::Estimate;
pub use imbalance::holds_through;
pub use late::Late;
pub use late_at_finalize::LateAtFinalize;
pub use late_messages::LateMessages;
pub use late_partner::LatePartner;
pub(crate) use losses::all as all_losses;
pub use losses::{Loss, LossKind};
pub use operation::{Excess, OperationAccount};
pub use partner::PartnerAccount;
pub use parts::{OffProcessor, Parts};
pub use polled::Polled;
pub use processors::{Processors, Sharing};
pub use rank::RankAccount;
pub use rank_parts::{RankPart, RankParts};
pub use region::{RegionAccount, regions};
pub use since::{WaitsSince, waits_since};
pub use threads::{ThreadAccount, threads};

use mpitrace_statistics::categories::Rule;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::partners::Partners;
use mpitrace_trace::reader::Trace;

use crate::messages::{MessageWait, Messages};
pub use crate::reasons::{ALONE, Because, InCalls, Off, alone};
use meeting::Meeting;

/// The accounts of the ranks alone, whose waiting in calls is not looked at. `knot`: see [`Account::with_knot`].
pub fn ranks(trace: &Trace, clock: &Clock, operations: &Operations, knot: &[u32]) -> Vec<RankAccount> {
    let met = [Meeting::at_init, Meeting::at_finalize].map(|meeting| meeting(trace, clock));
    rank::accounts(trace, clock, operations, &[], met.each_ref().map(Option::as_ref), knot)
}

/// Results on which an account stands, and which are made once.
#[derive(Clone, Copy)]
pub(crate) struct Made<'a> {
    pub partners: &'a Partners,
    pub messages: &'a Messages,
    /// By part.
    pub waits: &'a [Vec<MessageWait>],
    /// The ranks that were the cause that the job did not go on; empty: none are known.
    pub knot: &'a [u32],
}

/// The account of a run.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// By index of the trace's parts.
    pub ranks: Vec<RankAccount>,
    /// By number.
    pub operations: Vec<OperationAccount>,
    /// By rank and partner.
    pub partners: Vec<PartnerAccount>,
    /// Waiting in message calls that were recorded, by the rank that is late and the call.
    pub late_messages: Vec<LateMessages>,
    /// Where they were not: ranks that come later than others, which are in point-to-point calls meanwhile.
    pub late_partners: Vec<LatePartner>,
    /// The rank that others wait for in MPI_Finalize; `None`: no rank, or not known.
    pub late_at_finalize: Option<LateAtFinalize>,
    /// The processors that the ranks may run on.
    pub processors: Processors,
    /// The ranks that were the cause that the job did not go on, since whose last movement ranks hung; empty: all.
    pub knot: Vec<u32>,
    /// The time in calls for which no repetition that is kept stands, where a sample is, ns.
    pub unseen_ns: f64,
}

impl Account {
    /// The account of all operations; `rule` finds their categories.
    pub fn new(trace: &Trace, clock: &Clock, operations: &Operations, rule: Rule) -> Account {
        Account::with_knot(trace, clock, operations, rule, &[])
    }

    /// The account of a job that did not go on because of these ranks: all hung from their last movement on.
    pub fn with_knot(trace: &Trace, clock: &Clock, operations: &Operations, rule: Rule, knot: &[u32]) -> Account {
        let of_operation = |operation| OperationAccount::new(trace, clock, operation, rule);
        let accounts = operations.operations.iter().map(of_operation).collect();
        Account::of_operations(trace, clock, operations, accounts, knot)
    }

    /// The account, where those of the operations are known.
    pub fn of_operations(
        trace: &Trace,
        clock: &Clock,
        operations: &Operations,
        accounts: Vec<OperationAccount>,
        knot: &[u32],
    ) -> Account {
        let partners = Partners::new(trace, operations);
        let messages = Messages::of_partners(trace, clock, &partners);
        let waits = messages.waits(trace, clock);
        Account::of_parts(
            trace,
            clock,
            operations,
            accounts,
            &Made { partners: &partners, messages: &messages, waits: &waits, knot },
        )
    }

    /// The account, where also the partners, messages and waits are known.
    pub(crate) fn of_parts(
        trace: &Trace,
        clock: &Clock,
        operations: &Operations,
        mut accounts: Vec<OperationAccount>,
        made: &Made,
    ) -> Account {
        let &Made { messages, waits, knot, .. } = made;
        requests::share_out(trace, clock, operations, &mut accounts);
        let met = [Meeting::at_init, Meeting::at_finalize].map(|meeting| meeting(trace, clock));
        let [at_init, at_finalize] = met.each_ref().map(Option::as_ref);
        let mut ranks = rank::accounts(trace, clock, operations, &accounts, [at_init, at_finalize], knot);
        let mut late_at_finalize = at_finalize.and_then(|meeting| LateAtFinalize::new(trace, clock, meeting, &ranks));
        let late_messages = messages.late_ranks(trace, clock, waits, &ranks);
        ranks
            .iter_mut()
            .zip(waits)
            .for_each(|(rank, waits)| rank.message_waiting_ns = waits.iter().map(MessageWait::ns).sum());
        let partners = partner::accounts(trace, clock, made.partners);
        let mut partners = partner::add_messages(partners, trace, messages, waits);
        let late_partners = late_partner::late_partners(trace, clock, operations, &mut partners, &mut ranks);
        if let Some(late) = &mut late_at_finalize {
            late.follow(trace, waits, &late_partners);
        }
        let unseen = operations.unseen.iter().enumerate();
        let unseen_ns = unseen.map(|(part, &ticks)| clock.of_part(part).ticks_ns(ticks as u64)).sum();
        let knot = knot.to_vec();
        late_limit::apply(&mut accounts, &ranks);
        Account {
            ranks,
            operations: accounts,
            partners,
            late_messages,
            late_partners,
            late_at_finalize,
            processors: Processors::new(trace),
            knot,
            unseen_ns,
        }
    }

    /// All calls of all ranks together; of those on files the waiting alone: the rest is [`RankPart::Io`].
    pub fn sum(&self) -> Parts {
        let mut sum = Parts::default();
        let of = |operation: &OperationAccount| {
            let parts = operation.sum();
            if operation.is_io { parts.without_communication() } else { parts }
        };
        self.operations.iter().for_each(|operation| sum += of(operation));
        sum
    }

    /// How far the waiting in all calls is known, where they are not all kept but a sample of them.
    pub fn estimate(&self) -> Option<Estimate> {
        let mut all = self.operations.iter().filter_map(|operation| operation.estimate);
        let mut sum = all.next()?;
        all.for_each(|other| sum += other);
        Some(sum.with_unknown(self.unseen_ns, 0.0))
    }

    /// The time from `MPI_Init` to `MPI_Finalize` of all ranks together, ns.
    pub fn rank_ns(&self) -> f64 {
        self.ranks.iter().map(|rank| rank.wall_ns).sum()
    }

    /// The time from the return of `MPI_Init` to the last rank's entry into `MPI_Finalize` of all ranks together,
    /// without the tracer's own part, ns.
    pub fn running_ns(&self) -> f64 {
        self.ranks.iter().map(|rank| rank.parts.running()).sum()
    }

    /// The time off the processor between MPI_Init and MPI_Finalize, in calls and outside of them, of all ranks
    /// together; `None`: not known of all.
    pub fn off_processor(&self) -> Option<Off> {
        let mut sum = Off::default();
        for rank in &self.ranks {
            sum += rank.off_processor?;
        }
        Some(sum)
    }

    /// The lateness of a rank without the preemption that is only due to those that wait for it, on processors that it
    /// shares with them: it is late for what it did itself.
    pub fn beside_its_waiters(&self, rank: u32, late: Late) -> Late {
        let computing_ns = late.computing_ns + late.on_processor_ns;
        late.without_preempted(self.processors.preempted_by_waiting(rank, late.interrupted_by.preempted, computing_ns))
    }

    /// The lateness of a rank, of which no reason has more than the rank has of it in its account for each rank that
    /// can have waited for it. Of what is beyond that the reason is not known.
    pub fn limited(&self, rank: u32, late: Late) -> Late {
        let of_rank = self.ranks.iter().find(|of| of.rank == rank);
        of_rank.map_or(late, |of| late_limit::Limit::new(of, self.ranks.len()).share(&late).apply(late))
    }

    /// True if ranks that share processors can have kept each other from these for most of the time for which they had
    /// none: else other processes took them.
    pub fn lack_is_by(&self, sharing: &Sharing) -> bool {
        let members = self.ranks.iter().filter(|rank| sharing.members.binary_search(&rank.rank).is_ok());
        let (mut ran_ns, mut lacking_ns) = (0.0, 0.0);
        for (rank, off) in members.filter_map(|rank| Some((rank, rank.off_processor?))) {
            // Of the time in MPI_Finalize it is not known.
            ran_ns += rank.parts.running() - rank.parts[RankPart::WaitingFinalize] - off.sum();
            lacking_ns += off.preempted + off.throttled;
        }
        2.0 * sharing.lacking_ns(ran_ns) > lacking_ns
    }

    /// For how long the ranks hung when they were ended, together.
    pub fn hung(&self) -> Hung {
        let most = self.ranks.iter().map(|rank| rank.hung.most_ns).sum();
        let sum = |of: fn(&RankAccount) -> f64| self.ranks.iter().map(of).sum();
        Hung { ns: sum(|rank| rank.hung.ns), least_ns: sum(|rank| rank.hung.least_ns), most_ns: most }
    }

    /// The parts of that time.
    pub fn rank_parts(&self) -> RankParts {
        let mut sum = RankParts::default();
        self.ranks.iter().for_each(|rank| sum += rank.parts);
        sum
    }

    /// The rank with which this rank was in most of its point-to-point calls that can wait; `None`: no single one, or
    /// not known.
    pub fn partner(&self, rank: u32) -> Option<u32> {
        partner::of_most(&self.partners, rank)
    }

    /// The losses, the largest first. `in_turns`: where the ranks are late in turns, the operation has one loss for all
    /// of them, without a rank.
    pub fn losses(&self, in_turns: bool) -> Vec<Loss> {
        losses::listed(self, in_turns)
    }
}
