//! The account of single calls: what a rank waited in one, how long it was off its processor, and on which it ran.

use std::cell::OnceCell;

use mpitrace_format::layout::*;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::{NO_RECORD, Operation, Operations};
use mpitrace_trace::reader::{Part, Trace};

use super::member::{Call, Member, members};
use super::parts::{OffProcessor, Parts};
use super::waits::Order;
use super::walk::Walk;
use crate::reasons::Gap;

/// The account of one call on one rank. `None`: not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CallAccount {
    /// Waiting for a rank that had not entered the call yet, ns. Known in complete repetitions, of functions of which
    /// it is known which ranks wait for which.
    pub waiting_ns: Option<f64>,
    /// Off the processor in the call, beside the waiting: the least that it can have been, ns.
    pub interrupted_ns: Option<f64>,
    /// How often the thread was interrupted in the call.
    pub interruptions: Option<u64>,
    /// The processor on which the call returned.
    pub cpu: Option<u32>,
}

/// Times of a rank in a call that returned, ns; times of day are global.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// Index of the rank's part.
    pub part: usize,
    /// The number of the call's record there.
    pub record: u32,
    /// The parts of its time: the waiting is 0 where it is not known.
    pub parts: Parts,
    /// When it entered.
    pub enter_ns: f64,
    /// Time of the start of a call with a request; 0 of a blocking one.
    pub init_ns: f64,
    /// From when on it could do nothing but wait, ...
    pub waits_from_ns: f64,
    /// ... and for how long it was in the call from there.
    pub may_wait_ns: f64,
    /// Its time since its call before; of no length where that is not known.
    pub(super) before: Gap,
}

/// Goes through the calls of an operation that returned, of the repetitions that are looked at.
pub fn for_each_call(trace: &Trace, clock: &Clock, operation: &Operation, mut each: impl FnMut(Spent)) {
    let walk = Walk::over(trace, clock, operation);
    let mut step = walk.as_ref().map(Walk::step);
    let members = Member::all(trace, clock, operation);
    let mut add = |part: usize, record: u32, call: Call, parts: &Parts, before: Gap| {
        let Call { enter: enter_ns, init: init_ns, waits_from: waits_from_ns, may_wait: may_wait_ns, .. } = call;
        let parts = *parts;
        each(Spent { part, record, parts, enter_ns, init_ns, waits_from_ns, may_wait_ns, before });
    };
    for row in operation.looked_at() {
        if let Some((walk, step)) = walk.as_ref().zip(step.as_mut()).filter(|_| operation.is_complete(row)) {
            step.look(walk, row);
            let calls = walk.members.iter().zip(&step.parts).enumerate();
            let before = |at| step.gap_before(at).unwrap_or_default();
            calls
                .for_each(|(at, (member, parts))| add(member.index, step.record(at), step.call(at), parts, before(at)));
            continue;
        }
        for (member, record) in members.iter().zip(operation.records(row).iter()) {
            // It is not known which rank the others waited for.
            if record != NO_RECORD && trace.parts[member.index].times_of(record as usize).1 != 0 {
                let call = member.call(record);
                let parts = Parts::of_call(call.run_time, None, member.off_processor(record));
                let is_outside = walk.as_ref().is_some_and(|walk| walk.with_another_world);
                let parts = if is_outside { parts.with_another_world() } else { parts };
                add(member.index, record, call, &parts, Gap::default());
            }
        }
    }
}

/// The accounts of the calls of a trace, found as they are asked for.
pub struct CallAccounts<'a> {
    trace: &'a Trace,
    clock: &'a Clock,
    operations: &'a Operations,
    waits: Vec<OnceCell<Waits<'a>>>,
    processors: Vec<OnceCell<Processors>>,
}

/// For which rank the calls of an operation wait.
struct Waits<'a> {
    members: Vec<Member<'a>>,
    /// By index of the part: the member, or u32::MAX.
    of_part: Vec<u32>,
    order: Option<Order>,
    /// By row of the operation from `first_row` on, for each member or one for all: the member that is waited for, and
    /// when it entered the call. Empty: not known.
    awaited: Vec<(u32, f64)>,
    first_row: usize,
    per_row: usize,
}

impl<'a> CallAccounts<'a> {
    /// The accounts of the calls of a trace, which were matched.
    pub fn new(trace: &'a Trace, clock: &'a Clock, operations: &'a Operations) -> CallAccounts<'a> {
        CallAccounts {
            trace,
            clock,
            operations,
            waits: operations.operations.iter().map(|_| OnceCell::new()).collect(),
            processors: trace.parts.iter().map(|_| OnceCell::new()).collect(),
        }
    }

    /// The account of the call with this record of a part (by its index), which belongs to this row of an operation (by
    /// its number).
    pub fn of_call(&self, operation: usize, row: usize, part: usize, record: u32) -> CallAccount {
        let of = &self.operations.operations[operation];
        let waits = self.waits[operation].get_or_init(|| Waits::new(self.trace, self.clock, of));
        let processors = self.processors[part].get_or_init(|| Processors::new(&self.trace.parts[part]));
        let cpu = processors.of_record(record);
        let at = waits.of_part.get(part).map_or(usize::MAX, |&at| at as usize);
        let Some(member) = waits.members.get(at) else { return CallAccount { cpu, ..CallAccount::default() } };
        let off = member.off_processor(record);
        let interruptions = member.interruptions(record);
        if self.trace.parts[part].times_of(record as usize).1 == 0 {
            return CallAccount { interruptions, cpu, ..CallAccount::default() };
        }
        let waiting = waits.waiting(at, row, record);
        let waiting_ns = waiting.map(|(wait, _)| wait);
        let mut parts = Parts::of_call(member.call(record).run_time, waiting_ns, off);
        if self.operations.communicators[of.key.communicator].origin.flags & communicator_flags::OUTSIDE != 0 {
            parts = parts.with_another_world();
        }
        let is_known = matches!(off, OffProcessor::Known(..));
        let interrupted_ns = Some(parts.interrupted).filter(|_| is_known);
        CallAccount { waiting_ns, interrupted_ns, interruptions, cpu }
    }
}

impl<'a> Waits<'a> {
    fn new(trace: &'a Trace, clock: &'a Clock, operation: &Operation) -> Waits<'a> {
        let found = operation.complete_rows().next().map(|row| members(trace, clock, operation, row));
        // Else nothing is known of waits; of interruptions it is.
        let (members, root) = found.unwrap_or_else(|| (Member::all(trace, clock, operation), None));
        let mut of_part = vec![u32::MAX; trace.parts.len()];
        (0u32..).zip(&members).for_each(|(at, member)| of_part[member.index] = at);
        let order = root.filter(|_| clock.is_synchronised()).and_then(|root| Order::of_operation(operation, root));
        let mut waits = Waits { members, of_part, order, awaited: Vec::new(), first_row: 0, per_row: 1 };
        let Some(order) = order else { return waits };
        // All ranks wait for the same one, but for prefixes.
        waits.per_row = if order == Order::Lower { waits.members.len() } else { 1 };
        let unknown = (u32::MAX, f64::NAN);
        let looked_at = operation.looked_at();
        waits.first_row = looked_at.start;
        waits.awaited = vec![unknown; looked_at.len() * waits.per_row];
        let (mut entries, mut awaited) = (Vec::new(), Vec::new());
        for row in operation.complete_rows() {
            let records = operation.records(row);
            entries.clear();
            entries.extend(waits.members.iter().map(|member| member.call(records.get(member.place)).enter));
            order.awaited(&entries, &mut awaited);
            let of_row = &mut waits.awaited[(row - waits.first_row) * waits.per_row..][..waits.per_row];
            match order {
                Order::AtRoot(root) => of_row[0] = (awaited[root].0 as u32, awaited[root].1),
                _ => of_row.iter_mut().zip(&awaited).for_each(|(of, &(other, entry))| *of = (other as u32, entry)),
            }
        }
        waits
    }

    /// The waiting of this member in the call with this record, ns, and the member it was for; `None`: not known.
    fn waiting(&self, at: usize, row: usize, record: u32) -> Option<(f64, usize)> {
        let order = self.order?;
        let place = row.checked_sub(self.first_row)? * self.per_row + if self.per_row == 1 { 0 } else { at };
        let &(other, entry) = self.awaited.get(place)?;
        let other = other as usize;
        let awaited = self.members.get(other)?;
        let waits = match order {
            Order::AtRoot(root) => at == root,
            _ => at != other,
        };
        let member = &self.members[at];
        let wait =
            if waits { order.wait(&member.call(record), entry, member.error_ns + awaited.error_ns) } else { 0.0 };
        Some((wait, other))
    }
}

/// On which processors the threads of a rank ran: where one migrated, it was interrupted.
struct Processors {
    of_thread: Vec<OfThread>,
    /// By the end of each run of records: the thread.
    runs: Vec<(u64, u32)>,
}

/// On which processors a thread ran; `None`: not known.
#[derive(Default)]
struct OfThread {
    /// The records up to which it ran on a processor, and that.
    before: Vec<(u64, Option<u32>)>,
    last: Option<u32>,
}

impl Processors {
    fn new(part: &Part) -> Processors {
        let known = |processor: u32| Some(processor).filter(|&processor| processor != NO_PROCESSOR);
        let first = |thread: &ThreadEntry| OfThread { before: Vec::new(), last: thread.first_processor.checked_sub(1) };
        let mut of_thread: Vec<OfThread> = part.threads().iter().map(first).collect();
        for entry in part.interruptions() {
            let Some(of) = of_thread.get_mut(entry.thread as usize) else { continue };
            if known(entry.processor_after) != of.last || known(entry.processor_before) != of.last {
                // In a call, the processor on which it returned counts.
                of.before.push((entry.record, known(entry.processor_before)));
                of.last = known(entry.processor_after);
            }
        }
        let watched = |by: u16| matches!(by, interruptions_by::EVENT_PAGE | interruptions_by::RSEQ);
        for (of, thread) in of_thread.iter_mut().zip(part.threads()) {
            // A migration may be among the interruptions without an entry.
            if !watched(thread.interruptions_by) || thread.unlisted > 0 {
                *of = OfThread::default();
            }
        }
        let mut behind = 0;
        let run = |run: &RunEntry| {
            behind += run.count;
            (behind, run.thread)
        };
        Processors { of_thread, runs: part.runs().iter().map(run).collect() }
    }

    fn of_record(&self, record: u32) -> Option<u32> {
        let record = u64::from(record);
        let run = self.runs.partition_point(|&(behind, _)| behind <= record);
        let thread = self.runs.get(run)?.1;
        let OfThread { before, last } = self.of_thread.get(thread as usize)?;
        match before.get(before.partition_point(|&(until, _)| until <= record)) {
            Some(&(_, processor)) => processor,
            None => *last,
        }
    }
}
