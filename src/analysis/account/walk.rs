//! The repetitions of an operation, one after the other: what each rank waited in it, for which rank, and why that one
//! was late.

use mpitrace_format::layout::DISTURBED;
use mpitrace_synchronise::Method;

use super::late::{Late, Longer, Wait};
use super::member::{Call, Member, Records};
use super::off::Off;
use super::operation::members;
use super::parts::{OffProcessor, Parts};
use super::waits::Order;
use crate::clock::Clock;
use crate::operations::{Operation, Row};
use crate::reader::Trace;
use crate::statistics::median;

/// Which ranks take part in an operation, and which wait for which.
pub(crate) struct Walk<'a> {
    operation: &'a Operation,
    /// The ranks that take part, by their ranks in the communicator.
    pub members: Vec<Member<'a>>,
    /// `None`: it is not known which ranks wait for which.
    pub order: Option<Order>,
    /// A reader serves all operations of a part, by the part's index; else one serves a member.
    by_part: bool,
}

/// What is usual is found in so many repetitions at most, of all members together: memory is for these, whatever number of
/// repetitions there is.
const LOOKED_AT: usize = 1 << 22;
/// Of one member at least in so many.
const LEAST_LOOKED_AT: usize = 1 << 12;

/// One repetition.
pub(crate) struct Step<'a> {
    /// Of each member, or of each part.
    read: Vec<Records<'a>>,
    /// The record of each member, and its operation with its flags.
    records: Vec<(u32, u32)>,
    calls: Vec<Call>,
    entries: Vec<f64>,
    awaited: Vec<(usize, f64)>,
    waits: Vec<Wait>,
    off: Vec<OffProcessor>,
    /// The parts of each member's call.
    pub parts: Vec<Parts>,
    /// The members that others waited for, and how long.
    pub late: Vec<(usize, Late)>,
}

impl<'a> Walk<'a> {
    /// `None`: the operation has no complete repetition.
    pub fn over(trace: &'a Trace, clock: &'a Clock, operation: &'a Operation) -> Option<Walk<'a>> {
        let row = operation.complete_rows().next()?;
        let (members, root) = members(trace, clock, operation, row);
        let order = root.and_then(|root| Order::of_operation(operation, root));
        Some(Walk { operation, members, order: order.filter(|_| is_comparable(clock)), by_part: false })
    }

    /// Lets one [`Step::of_parts`] serve several operations.
    pub fn read_by_part(self) -> Self {
        Walk { by_part: true, ..self }
    }

    /// How far apart the repetitions are that are looked at to find what is usual, of so many.
    pub fn apart(&self, repetitions: usize) -> usize {
        let most = (LOOKED_AT / self.members.len().max(1)).max(LEAST_LOOKED_AT);
        repetitions.div_ceil(most).max(1)
    }

    /// Has room for a repetition.
    pub fn step(&self) -> Step<'a> {
        Step::new(self.members.iter().map(Member::read).collect())
    }

    /// The records of a repetition.
    pub fn records(&self, row: usize) -> Row<'_> {
        self.operation.records(row)
    }

    /// Whether this member's call cannot end before the other one has entered it and done its part.
    pub fn depends(&self, member: usize, on: usize) -> bool {
        match self.order {
            Some(Order::All | Order::MostlyAll) => true,
            Some(Order::Root(root)) => on == root,
            Some(Order::AtRoot(root)) => member == root,
            Some(Order::Lower) => on < member,
            None => false,
        }
    }
}

/// Whether times of different ranks can be compared: one clock, or clocks that a method has synchronised.
pub(super) fn is_comparable(clock: &Clock) -> bool {
    clock.domains.len() < 2 || clock.method != Method::None
}

impl<'a> Step<'a> {
    /// For the operations of all these parts, whose calls are looked at in about their order.
    pub fn of_parts(trace: &'a Trace) -> Step<'a> {
        Step::new(trace.parts.iter().map(Records::new).collect())
    }

    fn new(read: Vec<Records<'a>>) -> Step<'a> {
        Step {
            read,
            records: Vec::new(),
            off: Vec::new(),
            calls: Vec::new(),
            entries: Vec::new(),
            awaited: Vec::new(),
            waits: Vec::new(),
            parts: Vec::new(),
            late: Vec::new(),
        }
    }

    /// Looks at a complete repetition.
    pub fn look(&mut self, walk: &Walk<'a>, row: usize) {
        let Walk { members, order, .. } = walk;
        let reader = |at: usize| if walk.by_part { members[at].index } else { at };
        let row = walk.records(row);
        self.records.clear();
        self.calls.clear();
        self.entries.clear();
        self.off.clear();
        for (at, member) in members.iter().enumerate() {
            let read = &mut self.read[reader(at)];
            let record = row.get(member.place);
            let operation = read.operation(record);
            let call = member.call_with(record, read.times(record));
            self.records.push((record, operation));
            self.entries.push(call.enter);
            self.calls.push(call);
            self.off.push(member.off_processor_with(record, operation));
        }
        self.awaited.clear();
        order.iter().for_each(|order| order.awaited(&self.entries, &mut self.awaited));
        self.waits.clear();
        self.parts.clear();
        for (at, call) in self.calls.iter().enumerate() {
            let waiting = self.awaited.get(at).zip(*order).map(|(&(other, entry), order)| {
                let error = members[at].error_ns + members[other].error_ns;
                let wait = if other == at { 0.0 } else { order.wait(call, entry, error) };
                (other, wait.max(0.0))
            });
            self.parts.push(Parts::of_call(call.run_time, waiting.map(|(_, wait)| wait), self.off[at]));
            if let Some((late, ns)) = waiting.filter(|(_, wait)| *wait > 0.0) {
                let left_later_ns = left_later(members, [late, at], &self.records, &mut self.read, reader);
                self.waits.push(Wait { late, ns, left_later_ns });
            }
        }
        self.waits.sort_unstable_by_key(|wait| wait.late);
        self.late.clear();
        for waits in self.waits.chunk_by(|one, next| one.late == next.late) {
            let late = &members[waits[0].late];
            let (record, operation) = self.records[waits[0].late];
            let longer = longer_in_calls(members, waits[0].late, &self.records);
            let off_in_previous = late.previous(record).and_then(|previous| {
                let operation = self.read[reader(waits[0].late)].operation(previous);
                late.off_processor_with(previous, operation).known()
            });
            let off_before = late.off_before(record, operation);
            self.late.push((waits[0].late, Late::of(off_before, longer, off_in_previous, waits)));
        }
    }

    /// The record of a member.
    pub fn record(&self, member: usize) -> u32 {
        self.records[member].0
    }

    /// The member that this one may have waited for.
    pub fn waited_for(&self, member: usize) -> Option<usize> {
        self.awaited.get(member).map(|&(other, _)| other)
    }

    /// A member's call.
    pub fn call(&self, member: usize) -> Call {
        self.calls[member]
    }

    /// True if the tracer may have delayed a member's call.
    pub fn is_disturbed(&self, member: usize) -> bool {
        self.records[member].1 & DISTURBED != 0
    }

    /// Time off the processor between a member's call before and this one, ns; `None`: not known.
    pub fn off_before(&self, walk: &Walk, member: usize) -> Option<Off> {
        let (record, operation) = self.records[member];
        walk.members[member].off_before(record, operation)
    }

    /// Time off the processor in a member's call, ns; `None`: not known.
    pub fn off_in(&self, member: usize) -> Option<Off> {
        self.off[member].known()
    }
}

/// By how much a rank left its recorded call before this one later than another rank left its own, ns; 0 where this is
/// not above the error of the two clocks.
fn left_later(
    members: &[Member],
    [late, other]: [usize; 2],
    records: &[(u32, u32)],
    read: &mut [Records],
    reader: impl Fn(usize) -> usize,
) -> f64 {
    let mut exit = |at: usize| members[at].previous_exit(records[at].0, &mut read[reader(at)]);
    let later = exit(late).zip(exit(other)).map_or(0.0, |(late, other)| late - other);
    if later > members[late].error_ns + members[other].error_ns { later } else { 0.0 }
}

/// By how much a member was longer than the others, in the median, in other MPI calls before a call; `None` where that is
/// not counted on all.
fn longer_in_calls(members: &[Member], late: usize, records: &[(u32, u32)]) -> Option<Longer> {
    let excess = |before: &dyn Fn(usize) -> Option<f64>| -> Option<f64> {
        let own = before(late)?;
        let mut others: Vec<f64> = (0..members.len()).filter(|&at| at != late).map(before).collect::<Option<_>>()?;
        Some((own - median(&mut others)?).max(0.0))
    };
    let point_to_point = excess(&|at| members[at].point_to_point_before(records[at].0)).map(Longer::PointToPoint);
    point_to_point.or_else(|| excess(&|at| members[at].other_mpi_before(records[at].0)).map(Longer::OtherMpi))
}
