//! The repetitions of an operation, one after the other: what each rank waited in it, for which rank, and why that one
//! was late.

use mpitrace_synchronise::Method;

use super::late::{Late, Wait};
use super::member::{Call, Member};
use super::operation::members;
use super::parts::Parts;
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
}

/// What is usual is found in so many repetitions at most, of all members together: memory is for these, whatever number of
/// repetitions there is.
const LOOKED_AT: usize = 1 << 22;
/// Of one member at least in so many.
const LEAST_LOOKED_AT: usize = 1 << 12;

/// One repetition.
pub(crate) struct Step<'w, 'a> {
    walk: &'w Walk<'a>,
    calls: Vec<Call>,
    entries: Vec<f64>,
    awaited: Vec<(usize, f64)>,
    waits: Vec<Wait>,
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
        Some(Walk { operation, members, order: order.filter(|_| is_comparable(clock)) })
    }

    /// How far apart the repetitions are that are looked at to find what is usual, of so many.
    pub fn apart(&self, repetitions: usize) -> usize {
        let most = (LOOKED_AT / self.members.len().max(1)).max(LEAST_LOOKED_AT);
        repetitions.div_ceil(most).max(1)
    }

    /// Has room for a repetition.
    pub fn step(&self) -> Step<'_, 'a> {
        Step {
            walk: self,
            calls: Vec::new(),
            entries: Vec::new(),
            awaited: Vec::new(),
            waits: Vec::new(),
            parts: Vec::new(),
            late: Vec::new(),
        }
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

impl Step<'_, '_> {
    /// Looks at a complete repetition.
    pub fn look(&mut self, row: usize) {
        let members = &self.walk.members;
        let records = self.walk.records(row);
        self.calls.clear();
        self.calls.extend(members.iter().map(|member| member.call(records.get(member.place))));
        self.entries.clear();
        self.entries.extend(self.calls.iter().map(|call| call.enter));
        self.awaited.clear();
        self.walk.order.iter().for_each(|order| order.awaited(&self.entries, &mut self.awaited));
        self.waits.clear();
        self.parts.clear();
        for (at, (member, call)) in members.iter().zip(&self.calls).enumerate() {
            let waiting = self.awaited.get(at).map(|&(other, entry)| {
                let error = member.error_ns + members[other].error_ns;
                let wait = self.walk.order.map_or(0.0, |order| order.wait(call, entry, error));
                if other != at && wait > 0.0 { (other, wait) } else { (at, 0.0) }
            });
            let off = member.off_processor(records.get(member.place));
            self.parts.push(Parts::of_call(call.run_time, waiting.map(|(_, wait)| wait), off));
            let wait = |(late, ns)| Wait { late, ns, left_later_ns: left_later(&members[late], member, &records) };
            self.waits.extend(waiting.filter(|(_, wait)| *wait > 0.0).map(wait));
        }
        self.waits.sort_unstable_by_key(|wait| wait.late);
        self.late.clear();
        for waits in self.waits.chunk_by(|one, next| one.late == next.late) {
            let late = &members[waits[0].late];
            let record = records.get(late.place);
            let other_mpi = excess_of_other_mpi(members, waits[0].late, |member| records.get(member.place));
            let off_in_previous = late.previous(record).and_then(|previous| late.off_in(previous));
            self.late.push((waits[0].late, Late::of(late.off_before(record), other_mpi, off_in_previous, waits)));
        }
    }
}

/// By how much a rank left its recorded call before this one later than another rank left its own, ns; 0 where this is
/// not above the error of the two clocks.
fn left_later(late: &Member, other: &Member, records: &Row) -> f64 {
    let exit = |member: &Member| member.previous_exit(records.get(member.place));
    let later = exit(late).zip(exit(other)).map_or(0.0, |(late, other)| late - other);
    if later > late.error_ns + other.error_ns { later } else { 0.0 }
}

/// By how much a member was longer than the others, in the median, in other MPI calls before a call, ns; `None` where that
/// is not counted on all.
fn excess_of_other_mpi(members: &[Member], late: usize, record: impl Fn(&Member) -> u32) -> Option<f64> {
    let own = members[late].other_mpi_before(record(&members[late]))?;
    let others = members.iter().enumerate().filter(|(at, _)| *at != late);
    let mut others: Vec<f64> =
        others.map(|(_, member)| member.other_mpi_before(record(member))).collect::<Option<_>>()?;
    Some((own - median(&mut others)?).max(0.0))
}
