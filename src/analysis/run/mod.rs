//! An opened run: a trace with what is made of it, each part once.
//!
//! What a command needs is named when the run is opened, and is made then: operations and clocks beside each other,
//! then what stands on them. What was not named is made when it is first asked for. No part keeps something for each
//! call, but messages, whose calls are as many as were recorded.

mod losses;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::OnceLock;

use mpitrace_statistics::categories::Rule;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::partners::Partners;
use mpitrace_trace::reader::Trace;

use crate::account::{Account, Made, OperationAccount};
use crate::causes::Causes;
use crate::findings::{self, Finding, Known, Stretches};
use crate::messages::{MessageWait, Messages};

pub use losses::Losses;

/// The part of a run that a command needs, with all that it stands on: each needs those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// The trace, its operations and its clocks.
    Operations,
    /// The partners of ranks, and the messages where they were recorded.
    Messages,
    /// The account of all calls and ranks.
    Account,
    /// The losses, and the gain without each.
    Losses,
}

/// The ranks that held each other for good when a job was ended; none: no such ranks are known.
pub type Held = fn(&Trace, &Operations, &Clock) -> Vec<u32>;

/// A run, as far as it is made.
#[derive(Debug)]
pub struct Run {
    /// The records.
    pub trace: Trace,
    /// The calls that belong together.
    pub operations: Operations,
    /// The clocks of the ranks.
    pub clock: Clock,
    held: Held,
    knot: OnceLock<Vec<u32>>,
    partners: OnceLock<Partners>,
    messages: OnceLock<Messages>,
    waits: OnceLock<Vec<Vec<MessageWait>>>,
    account: OnceLock<Account>,
    losses: OnceLock<Losses>,
    findings: OnceLock<Vec<Finding>>,
}

impl Run {
    /// Makes what is needed of a trace. `held` finds the ranks since whose last movement all hung.
    pub fn new(trace: Trace, need: Need, held: Held) -> Run {
        let (operations, clock) = rayon::join(|| Operations::new(&trace), || Clock::new(&trace));
        let run = Run::of_parts(trace, operations, clock, held);
        match need {
            Need::Operations => {}
            Need::Messages => drop(run.messages()),
            Need::Account => drop(run.account()),
            Need::Losses => drop(run.losses()),
        }
        run
    }

    fn of_parts(trace: Trace, operations: Operations, clock: Clock, held: Held) -> Run {
        Run {
            trace,
            operations,
            clock,
            held,
            knot: OnceLock::new(),
            partners: OnceLock::new(),
            messages: OnceLock::new(),
            waits: OnceLock::new(),
            account: OnceLock::new(),
            losses: OnceLock::new(),
            findings: OnceLock::new(),
        }
    }

    /// Leaves out all repetitions but those with these numbers. Results that included the others are computed again.
    pub fn limited_to(self, repetitions: &Range<u64>) -> Run {
        let Run { trace, mut operations, clock, held, .. } = self;
        operations.operations.iter_mut().for_each(|operation| operation.limit_to(repetitions));
        Run::of_parts(trace, operations, clock, held)
    }

    /// The ranks that held each other for good when the job was ended, ascending: since their last movement ranks hung.
    /// Empty: no such ranks are known, or the trace is complete.
    pub fn knot(&self) -> &[u32] {
        let found = || match self.trace.complete {
            true => Vec::new(),
            false => (self.held)(&self.trace, &self.operations, &self.clock),
        };
        self.knot.get_or_init(found)
    }

    /// The world ranks of partners in messages.
    pub fn partners(&self) -> &Partners {
        self.partners.get_or_init(|| Partners::new(&self.trace, &self.operations))
    }

    /// The message calls; none where they were not recorded.
    pub fn messages(&self) -> &Messages {
        self.messages.get_or_init(|| Messages::of_partners(&self.trace, &self.clock, self.partners()))
    }

    /// The waits in message calls, by part.
    pub fn waits(&self) -> &[Vec<MessageWait>] {
        self.waits.get_or_init(|| self.messages().waits(&self.trace, &self.clock))
    }

    /// The account of all operations, with the categories of the usual rule.
    pub fn account(&self) -> &Account {
        self.account_knowing(|number| {
            let operation = &self.operations.operations[number];
            OperationAccount::new(&self.trace, &self.clock, operation, Rule::default())
        })
    }

    /// The account of all operations, where those of single ones may be known: by their numbers, with the categories of
    /// the usual rule.
    pub fn account_knowing(&self, of_operation: impl Fn(usize) -> OperationAccount) -> &Account {
        self.account.get_or_init(|| self.account_of((0..self.operations.operations.len()).map(of_operation).collect()))
    }

    /// The account of the ranks with these accounts of operations; without any it has the times of the ranks.
    pub fn account_of(&self, accounts: Vec<OperationAccount>) -> Account {
        let (partners, messages, waits, knot) = (self.partners(), self.messages(), self.waits(), self.knot());
        let made = Made { partners, messages, waits, knot };
        Account::of_parts(&self.trace, &self.clock, &self.operations, accounts, &made)
    }

    /// The largest losses, with the gain without each.
    pub fn losses(&self) -> &Losses {
        self.losses.get_or_init(|| Losses::new(self))
    }

    /// What the program does too often, or one rank after the other, the largest gain first.
    pub fn findings(&self) -> &[Finding] {
        self.findings.get_or_init(|| findings::findings(self.known()))
    }

    /// The stretches of an operation in which the ranks are late in turns; `None`: they are not late for longer at a
    /// time.
    pub fn stretches(&self, operation: usize) -> Option<Stretches> {
        findings::stretches(self.known(), operation)
    }

    fn known(&self) -> Known<'_> {
        Known { trace: &self.trace, clock: &self.clock, operations: &self.operations, account: self.account() }
    }

    /// The causes of the slow repetitions of an operation, without counters.
    pub fn causes(&self, operation: usize) -> Causes {
        let operation = &self.operations.operations[operation];
        Causes::without_counters(&self.trace, &self.clock, operation, Rule::default())
    }
}
