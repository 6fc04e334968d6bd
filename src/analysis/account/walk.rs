//! The repetitions of an operation, one after the other: what each rank waited in it, for which rank, and why that one
//! was late.

use std::ops::Range;

use mpitrace_format::layout::{DISTURBED, OPERATION_MASK, communicator_flags};
use mpitrace_statistics::median;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::{Operation, RepetitionRow, Sampled};
use mpitrace_trace::reader::Trace;

use super::late::{Late, Longer, Wait};
use super::member::{Call, Member, OF_ONE_RANK, PlaceOfCall, Records, members};
use super::parts::{OffProcessor, Parts};
use super::plain::{EVENTS, Plain, PlainLate, PlainPair};
use super::waits::Order;
use crate::reasons::{Gap, InCalls, Off};

/// Which ranks take part in an operation, and which wait for which.
pub(crate) struct Walk<'a> {
    operation: &'a Operation,
    /// The ranks that take part, by their ranks in the communicator.
    pub members: Vec<Member<'a>>,
    /// `None`: it is not known which ranks wait for which.
    pub order: Option<Order>,
    /// Ranks of another world take part, which has a trace of its own.
    pub(super) with_another_world: bool,
    /// A reader serves all operations of a part, by the part's index; else one serves a member.
    by_part: bool,
    /// Where no more can be recorded of calls than their times and that they were interrupted.
    plain: Option<Plain>,
}

/// The usual times are found in so many repetitions at most, of all members together: memory is for these, whatever
/// number of repetitions there is.
const LOOKED_AT: usize = 1 << 22;
/// One member in so many is looked at, at least.
const LEAST_LOOKED_AT: usize = 1 << 12;

/// Lateness is followed through so many calls that carry it on.
const HOPS: usize = 8;

#[derive(Default)]
pub(crate) struct Step<'a> {
    /// The records of each member, or of each part.
    read: Vec<Records<'a>>,
    /// The record of each member, and its operation with its flags.
    records: Vec<(u32, u32)>,
    calls: Vec<Call>,
    entries: Vec<f64>,
    awaited: Vec<(usize, f64)>,
    waits: Vec<Wait>,
    /// Lateness that calls before have carried on, by the member that is late.
    carried: Vec<(usize, Late)>,
    off: Vec<OffProcessor>,
    /// The time of each member between its call before and this one; `None`: not known.
    gaps: Vec<Option<Gap>>,
    /// `Some`: nothing but times is recorded of these calls, and `off` and `gaps` are of an earlier repetition. True
    /// within: interruptions are known.
    plain: Option<bool>,
    plain_waits: Vec<(usize, f64, f64)>,
    plain_carried: Vec<(usize, PlainLate)>,
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
        let records = operation.records(row);
        let numbers: Vec<u32> = members.iter().map(|member| member.operation_of(records.get(member.place))).collect();
        let plain = Plain::of_members(&members, &numbers);
        let with_another_world = members.iter().zip(&numbers).any(|(member, &number)| {
            let part = &trace.parts[member.index];
            let called = part.operations()[(number & OPERATION_MASK) as usize];
            part.communicators()[called.communicator as usize].flags & communicator_flags::OUTSIDE != 0
        });
        let order = order.filter(|_| clock.is_synchronised());
        Some(Walk { operation, members, order, with_another_world, by_part: false, plain })
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

    /// The reader of a member's records.
    fn reader(&self, at: usize) -> usize {
        if self.by_part { self.members[at].index } else { at }
    }

    /// The records of a repetition.
    pub fn records(&self, row: usize) -> RepetitionRow<'_> {
        self.operation.records(row)
    }

    /// True if this row stands for others, too.
    pub fn is_sampled(&self, row: usize) -> bool {
        self.operation.sampled.as_ref().is_some_and(|sampled| row >= sampled.whole)
    }

    /// For each member the time in calls that took longer than any that stands for them, ns.
    pub fn longer_ns(&self, sampled: &Sampled, trace: &Trace, clock: &Clock) -> impl Iterator<Item = f64> {
        let row = self.operation.complete_rows().last().map(|row| self.records(row));
        row.into_iter().flat_map(move |row| {
            self.members.iter().map(move |member| {
                let operation = trace.parts[member.index].operation_of(row.get(member.place) as usize);
                clock.of_part(member.index).ticks_ns(sampled.longer(member.index, operation))
            })
        })
    }

    /// The members that must have entered this member's call and done their part before it can end; itself may be one.
    pub fn awaited_by(&self, member: usize) -> Range<usize> {
        match self.order {
            Some(Order::All | Order::MostlyAll) => 0..self.members.len(),
            Some(Order::Root(root)) => root..root + 1,
            Some(Order::AtRoot(root)) if member == root => 0..self.members.len(),
            Some(Order::Lower) => 0..member,
            Some(Order::AtRoot(_)) | None => 0..0,
        }
    }
}

impl<'a> Step<'a> {
    /// For the operations of all these parts, whose calls are looked at in about their order.
    pub fn of_parts(trace: &'a Trace) -> Step<'a> {
        Step::new(trace.parts.iter().map(Records::new).collect())
    }

    fn new(read: Vec<Records<'a>>) -> Step<'a> {
        Step { read, ..Step::default() }
    }

    /// Looks at a complete repetition.
    pub fn look(&mut self, walk: &Walk<'a>, row: usize) {
        let Walk { members, order, plain, .. } = walk;
        let records = walk.records(row);
        self.records.clear();
        self.calls.clear();
        self.entries.clear();
        let mut flags = 0;
        for (at, member) in members.iter().enumerate() {
            let read = &mut self.read[walk.reader(at)];
            let record = records.get(member.place);
            let operation = read.operation(record);
            let call = member.call_with(record, read.times(record));
            flags |= operation;
            self.records.push((record, operation));
            self.entries.push(call.enter);
            self.calls.push(call);
        }
        self.awaited.clear();
        order.iter().for_each(|order| order.awaited(&self.entries, &mut self.awaited));
        self.plain = None;
        if let Some(plain) = plain.as_ref().filter(|_| flags & EVENTS == 0)
            && self.look_plainly(walk, plain, row).is_some()
        {
            self.plain = Some(plain.is_watched);
            return;
        }
        self.look_closely(walk);
    }

    /// The parts and the lateness, of calls of which nothing but times is recorded. `None`: of those before them more
    /// is.
    fn look_plainly(&mut self, walk: &Walk<'a>, plain: &Plain, row: usize) -> Option<()> {
        let off = if plain.is_watched { OffProcessor::Known(Off::default(), 0.0) } else { OffProcessor::Unknown };
        self.parts.clear();
        self.plain_waits.clear();
        self.plain_carried.clear();
        for (at, call) in self.calls.iter().enumerate() {
            let waiting = self.awaited.get(at).zip(walk.order).map(|(&(late, entry), order)| {
                let error_ns = walk.members[at].error_ns + walk.members[late].error_ns;
                let wait = if late == at { 0.0 } else { order.wait(call, entry, error_ns) };
                (late, wait.max(0.0), error_ns)
            });
            self.parts.push(Parts::of_call(call.run_time, waiting.map(|(_, wait, _)| wait), off));
            let Some((late, ns, error_ns)) = waiting.filter(|(_, wait, _)| *wait > 0.0) else { continue };
            let (places, readers) = ([late, at], [walk.reader(late), walk.reader(at)]);
            let Walk { operation, ref members, .. } = *walk;
            let pair = PlainPair { operation, members, plain, places, readers, error_ns };
            let records = [self.records[late].0, self.records[at].0];
            let left_later_ns = pair.left_later(records, &mut self.read)?.min(ns);
            let (carried_ns, before) = pair.carried(records, Some(row), left_later_ns, HOPS, &mut self.read)?;
            self.plain_waits.push((late, ns - carried_ns, left_later_ns - carried_ns));
            if carried_ns > 0.0 {
                self.plain_carried.push((late, before));
            }
        }
        if !self.plain_waits.is_sorted_by_key(|(late, ..)| *late) {
            self.plain_waits.sort_unstable_by_key(|(late, ..)| *late);
        }
        self.late.clear();
        for waits in self.plain_waits.chunk_by(|one, next| one.0 == next.0) {
            let (at, mut late) = (waits[0].0, PlainLate::default());
            waits.iter().for_each(|&(_, ns, left_later_ns)| late.add_wait(ns, left_later_ns));
            self.plain_carried.iter().filter(|(of, _)| *of == at).for_each(|(_, before)| late.add(before));
            self.late.push((at, plain.late(late)));
        }
        Some(())
    }

    /// The parts and the lateness, with all that is recorded.
    fn look_closely(&mut self, walk: &Walk<'a>) {
        let Walk { members, order, .. } = walk;
        let reader = |at: usize| walk.reader(at);
        self.off.clear();
        self.gaps.clear();
        for (at, member) in members.iter().enumerate() {
            let (record, operation) = self.records[at];
            self.off.push(member.off_processor_with(record, operation));
            self.gaps.push(member.gap_before(record, operation, &mut self.read[reader(at)]));
        }
        self.waits.clear();
        self.parts.clear();
        for (at, call) in self.calls.iter().enumerate() {
            let waiting = self.awaited.get(at).zip(*order).map(|(&(other, entry), order)| {
                let error = members[at].error_ns + members[other].error_ns;
                let wait = if other == at { 0.0 } else { order.wait(call, entry, error) };
                (other, wait.max(0.0))
            });
            let parts = Parts::of_call(call.run_time, waiting.map(|(_, wait)| wait), self.off[at]);
            self.parts.push(if walk.with_another_world { parts.with_another_world() } else { parts });
            if let Some((late, ns)) = waiting.filter(|(_, wait)| *wait > 0.0) {
                let pair = Pair { members: [late, at].map(|at| &members[at]), readers: [late, at].map(reader) };
                let records = [late, at].map(|at| self.records[at].0);
                let left_later_ns = pair.left_later(records, &mut self.read).min(ns);
                let (carried_ns, before) = pair.carried(records, left_later_ns, HOPS, &mut self.read);
                let (left_later_ns, other) = (left_later_ns - carried_ns, self.gaps[at].unwrap_or_default());
                let is_in_same_call = left_later_ns > 0.0 && pair.is_in_same_call(records, &mut self.read);
                self.waits.push(Wait { late, ns: ns - carried_ns, left_later_ns, is_in_same_call, other });
                if carried_ns > 0.0 {
                    self.carried.push((late, before));
                }
            }
        }
        self.waits.sort_unstable_by_key(|wait| wait.late);
        self.late.clear();
        for waits in self.waits.chunk_by(|one, next| one.late == next.late) {
            let at = waits[0].late;
            let record = self.records[at].0;
            let others = (0..members.len()).filter(|&other| other != at);
            let others = others.map(|other| (&members[other], self.records[other].0));
            let longer = longer_in_calls(&members[at], record, others);
            let off_in_previous = members[at].off_in_previous(record, &mut self.read[reader(at)]);
            let mut late = Late::new(self.gaps[at], longer, off_in_previous, waits);
            self.carried.iter().filter(|(of, _)| *of == at).for_each(|&(_, before)| late += before);
            self.late.push((at, Late { repetitions: 1, ..late }));
        }
        self.carried.clear();
    }

    /// How many calls that of a member stands for, in this row of the operation.
    pub fn weight(&self, walk: &Walk, row: usize, member: usize) -> f64 {
        let sampled = walk.operation.sampled.as_ref();
        sampled.map_or(1.0, |sampled| sampled.weight(row, walk.members[member].index, self.records[member].1))
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

    /// A member's time between its call before and this one; `None`: not known.
    pub fn gap_before(&self, member: usize) -> Option<Gap> {
        match self.plain {
            Some(is_watched) => is_watched.then(Gap::default),
            None => self.gaps[member],
        }
    }

    /// Time off the processor in a member's call, ns; `None`: not known.
    pub fn off_in(&self, member: usize) -> Option<Off> {
        match self.plain {
            Some(is_watched) => is_watched.then(Off::default),
            None => self.off[member].known(),
        }
    }

    /// True: nothing but times is recorded of these calls; there was no time off the processor before and in them, and
    /// none in calls between them, where that is known.
    pub fn is_plain(&self) -> bool {
        self.plain.is_some()
    }
}

/// A member that is late, and one that waits for it.
struct Pair<'p, 'a> {
    members: [&'p Member<'a>; 2],
    readers: [usize; 2],
}

impl Pair<'_, '_> {
    /// The time by which the late one is later, ns; 0 where this is not above the error of the two clocks.
    fn later(&self, times: [Option<f64>; 2]) -> f64 {
        let later = times[0].zip(times[1]).map_or(0.0, |(late, other)| late - other);
        if later > self.members[0].error_ns + self.members[1].error_ns { later } else { 0.0 }
    }

    /// By how much it left its recorded call before this one later than the other one left its own, ns.
    fn left_later(&self, records: [u32; 2], read: &mut [Records]) -> f64 {
        let exit = |of: usize| self.members[of].previous_exit(records[of], &mut read[self.readers[of]]);
        self.later([0, 1].map(exit))
    }

    /// The records of their calls before these, and which calls they are.
    fn previous(&self, records: [u32; 2], read: &mut [Records]) -> [Option<(u32, PlaceOfCall)>; 2] {
        [0, 1].map(|of| {
            let previous = self.members[of].previous(records[of])?;
            Some((previous, self.members[of].place_of_call(previous, &mut read[self.readers[of]])?))
        })
    }

    /// True if both left the same call before, or the late one a call of its own: see [`Wait::is_in_same_call`].
    fn is_in_same_call(&self, records: [u32; 2], read: &mut [Records]) -> bool {
        let [late, other] = self.previous(records, read).map(|previous| previous.map(|(_, place)| place));
        late.is_some() && (late == other || late == Some(OF_ONE_RANK))
    }

    /// The part of the time by which it left that call later that is due to its coming later, and why it came later: a
    /// call in which ranks do not wait for each other carries lateness on.
    fn carried(&self, records: [u32; 2], left_later_ns: f64, hops: usize, read: &mut [Records]) -> (f64, Late) {
        let nothing = (0.0, Late::default());
        if left_later_ns <= 0.0 || hops == 0 {
            return nothing;
        }
        let [Some((late, late_place)), Some((other, place))] = self.previous(records, read) else { return nothing };
        if late_place != place {
            return nothing;
        }
        let previous = [late, other];
        let enter = |of: usize| Some(self.members[of].call(previous[of]).enter);
        let carried_ns = self.later([0, 1].map(enter)).min(left_later_ns);
        if carried_ns <= 0.0 {
            return nothing;
        }
        let left_later_ns = self.left_later(previous, read).min(carried_ns);
        let (further_ns, further) = self.carried(previous, left_later_ns, hops - 1, read);
        let [before, other] = [0, 1].map(|of| {
            let records = &mut read[self.readers[of]];
            self.members[of].gap_before(previous[of], records.operation(previous[of]), records)
        });
        let longer = longer_in_calls(self.members[0], previous[0], [(self.members[1], previous[1])].into_iter());
        let (ns, left_later_ns) = (carried_ns - further_ns, left_later_ns - further_ns);
        let is_in_same_call = left_later_ns > 0.0 && self.is_in_same_call(previous, read);
        let (member, records) = (self.members[0], &mut read[self.readers[0]]);
        let wait = Wait { late: 0, ns, left_later_ns, is_in_same_call, other: other.unwrap_or_default() };
        let mut late = Late::new(before, longer, member.off_in_previous(previous[0], records), &[wait]);
        late += further;
        (carried_ns, late)
    }
}

/// By how much a member was longer than the others, in the median, in other MPI calls before a call; `None` where that
/// is not counted on all.
fn longer_in_calls<'m, 'a: 'm>(
    late: &Member,
    record: u32,
    others: impl Iterator<Item = (&'m Member<'a>, u32)> + Clone,
) -> Option<Longer> {
    let own = late.in_calls_before(record);
    if own == Some(InCalls::default()) && others.clone().all(|(member, _)| member.times_calls()) {
        // Beyond nothing there is nothing.
        return Some(Longer::Timed(InCalls::default()));
    }
    let usual = others.clone().map(|(member, record)| member.in_calls_before(record)).collect::<Option<Vec<InCalls>>>();
    if let Some((own, others)) = own.zip(usual) {
        return Some(Longer::Timed(own.beyond_median(&others)));
    }
    let own = late.other_mpi_before(record)?;
    let mut others: Vec<f64> = others.map(|(member, record)| member.other_mpi_before(record)).collect::<Option<_>>()?;
    Some(Longer::OtherMpi((own - median(&mut others)?).max(0.0)))
}
