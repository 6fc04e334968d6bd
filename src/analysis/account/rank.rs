//! The time of one rank: the whole run, and what of it was spent in collective calls.

use std::collections::HashMap;

use mpitrace_format::layout::{OPERATION_MASK, OperationEntry, interruption_flags, off_place, wait_class};
use mpitrace_statistics::parallel;
use mpitrace_trace::clock::{Clock, RankClock};
use mpitrace_trace::reader::{Part, Trace};

use super::OperationAccount;
use super::member::init_thread;
use super::parts::Parts;
use super::rank_parts::{RankPart, RankParts};
use crate::reasons::Off;

/// The time of one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankAccount {
    /// The world rank.
    pub rank: u32,
    /// From MPI_Init to MPI_Finalize, ns; of a rank whose end is not known to the last that is known of it.
    pub wall_ns: f64,
    /// True if it has finished.
    pub end_is_known: bool,
    /// In collective calls, ns, also in those that were not kept and whose times were counted: when threads are in kept
    /// calls at the same time, or one call completes several requests, it counts once.
    pub collectives_ns: f64,
    /// The time of the thread that called MPI_Init; these add up to `wall_ns`.
    pub parts: RankParts,
    /// The part of [`RankPart::PointToPoint`] that is waiting for other ranks, ns, where message calls were recorded; else
    /// the time in these calls while another rank was late ([`super::LatePartner`]).
    pub message_waiting_ns: f64,
    /// True if calls that can wait were timed, beside collectives.
    pub is_timed: bool,
    /// True if the thread's processor time is known: without it all outside of the calls is [`RankPart::Other`].
    pub is_divided: bool,
}

impl RankAccount {
    /// Time off the processor outside of calls, by reason.
    pub fn off(&self) -> Off {
        let [preempted, asleep, throttled] =
            [RankPart::Preempted, RankPart::Asleep, RankPart::Throttled].map(|part| self.parts[part]);
        Off { preempted, asleep, throttled, unknown: 0.0 }
    }

    /// Between MPI_Init and MPI_Finalize and outside of MPI calls, ns.
    pub fn useful_ns(&self) -> f64 {
        self.wall_ns
            - self.parts.sum_of(&[RankPart::Init, RankPart::Finalize, RankPart::Tracer])
            - self.parts.sum_of(&RankPart::MPI)
    }
}

/// The parts in calls that can wait, beside collectives.
const CALLS: [(usize, RankPart); 4] = [
    (wait_class::POINT_TO_POINT, RankPart::PointToPoint),
    (wait_class::ONE_SIDED, RankPart::OneSided),
    (wait_class::IO, RankPart::Io),
    (wait_class::OTHER_MPI, RankPart::OtherMpi),
];

/// The known times of the thread that called MPI_Init, beside its collective calls; ns.
#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    /// In MPI calls that can wait ([`CALLS`]).
    calls: [f64; 4],
    init: f64,
    finalize: f64,
    /// In the tracer, and of that between MPI_Init and MPI_Finalize.
    tracer: f64,
    between: f64,
    /// On its processor between MPI_Init and MPI_Finalize; `None`: not recorded.
    on_processor: Option<f64>,
    /// Off its processor in collective calls, in `calls`, and outside of both.
    off: [Off; 3],
}

impl Thread {
    fn new(part: &Part, clock: &RankClock) -> Thread {
        let ns = |ticks: u64| clock.ticks_ns(ticks);
        let mut thread = Thread::default();
        let times = part.rank_times();
        thread.init = ns(times.init_library);
        thread.tracer = ns(times.init.saturating_sub(times.init_library));
        if let Some(times) = part.finalize_times() {
            thread.finalize = ns(times.library);
            thread.tracer += ns(times.whole - times.library);
        }
        match part.init_thread() {
            Some((_, times)) => {
                thread.calls = CALLS.map(|(class, _)| ns(times.ticks[class]));
                let between = ns(times.ticks[wait_class::TRACER]);
                (thread.between, thread.tracer) = (between, thread.tracer + between);
                thread.off = times.off_ns.map(Off::of_reasons);
                let [first, last] = times.processor;
                let is_known = first.tick > 0 && last.tick > first.tick;
                thread.on_processor = is_known.then(|| last.ns.saturating_sub(first.ns) as f64);
            }
            None => {
                let init_thread = init_thread(part);
                for entry in part.interruptions().iter().filter(|entry| entry.thread == init_thread) {
                    let between = entry.flags & interruption_flags::BETWEEN != 0;
                    let place = if between { off_place::BETWEEN } else { off_place::IN_COLLECTIVE };
                    thread.off[place] += Off::of_entry(entry);
                }
            }
        }
        thread
    }

    /// The time of a rank in its parts: so long in collective calls, of which these are the parts of those that were
    /// complete on all ranks.
    fn divide(&self, wall_ns: f64, collectives_ns: f64, complete: Parts) -> RankParts {
        let mut parts = RankParts::default();
        // Of requests that one call completes each has its full time, and tests of them may be anywhere.
        let scale = (collectives_ns / complete.run_time.max(1.0)).min(1.0);
        parts[RankPart::Waiting] = scale * complete.waiting;
        parts[RankPart::Interrupted] = scale * complete.interrupted;
        parts[RankPart::Perturbed] = scale * complete.perturbed;
        parts[RankPart::Communication] = collectives_ns - parts.sum();
        CALLS.into_iter().zip(self.calls).for_each(|((_, part), ns)| parts[part] = ns);
        let [in_collectives, in_calls, outside] = self.off;
        // What it ran in these calls and in the tracer.
        let in_calls = parts.sum() - in_collectives.sum() - in_calls.sum() + self.between;
        (parts[RankPart::Init], parts[RankPart::Finalize]) = (self.init, self.finalize);
        // The tracer was off its processor for what would exceed the processor time: that is among the time outside.
        let ran = self.on_processor.map_or(0.0, |ns| ns - in_calls);
        parts[RankPart::Tracer] = self.tracer - (-ran).clamp(0.0, self.between);
        parts[RankPart::Preempted] = outside.preempted;
        parts[RankPart::Asleep] = outside.asleep;
        parts[RankPart::Throttled] = outside.throttled;
        parts[RankPart::Computing] = ran.max(0.0);
        parts[RankPart::Other] = wall_ns - parts.sum();
        parts
    }
}

/// The accounts of all ranks, whose operations have these accounts.
pub(super) fn accounts(trace: &Trace, clock: &Clock, operations: &[OperationAccount]) -> Vec<RankAccount> {
    let mut complete: HashMap<u32, Parts> = HashMap::new();
    for (&(rank, parts), &beside) in operations.iter().flat_map(|of| of.ranks.iter().zip(&of.beside)) {
        *complete.entry(rank).or_default() += parts.without(beside);
    }
    let parts = trace.parts.iter().enumerate().map(|(index, part)| (part, clock.of_part(index)));
    parallel::map(parts.collect(), |(part, clock)| {
        account(part, clock, complete.get(&part.rank()).copied().unwrap_or_default())
    })
}

fn account(part: &Part, clock: &RankClock, complete: Parts) -> RankAccount {
    let info = part.info();
    let finalized = part.rank_times().finalize_enter;
    let last = part.last_tick().max(info.last_anchor.tick).max(finalized).max(info.first_anchor.tick);
    let wall_ns = match part.finalize_times().filter(|_| finalized > 0) {
        Some(times) => clock.duration_ns(info.first_anchor.tick, finalized) + clock.ticks_ns(times.whole),
        None => clock.duration_ns(info.first_anchor.tick, last),
    };
    let init_thread = init_thread(part);
    let not_kept = not_kept(part);
    let in_collectives = |thread| clock.ticks_ns(in_collectives(part, thread) + not_kept).min(wall_ns);
    let collectives_ns = in_collectives(None);
    let of_thread = if part.threads().len() < 2 { collectives_ns } else { in_collectives(Some(init_thread)) };
    let thread = Thread::new(part, clock);
    RankAccount {
        rank: part.rank(),
        wall_ns,
        collectives_ns,
        end_is_known: !part.incomplete(),
        message_waiting_ns: 0.0,
        parts: thread.divide(wall_ns, of_thread, complete),
        is_timed: part.waits_are_stamped(),
        is_divided: thread.on_processor.is_some(),
    }
}

/// Ticks of the collective calls that were not kept.
fn not_kept(part: &Part) -> u64 {
    part.operations().iter().filter(|entry| !entry.is_region()).fold(0, |sum, entry| sum.saturating_add(entry.ticks))
}

/// Ticks at which this thread, or at least one thread, was in a kept collective call, or in a call that started, tested or
/// waited for one.
fn in_collectives(part: &Part, thread: Option<u32>) -> u64 {
    let mut union = Union::default();
    if for_each_span(part, thread, |begin, end| union.add(begin, end)) {
        return union.sum;
    }
    let mut spans = Vec::new();
    for_each_span(part, thread, |begin, end| {
        spans.push((begin, end));
        true
    });
    spans.sort_unstable();
    let mut union = Union::default();
    spans.into_iter().for_each(|(begin, end)| {
        union.add(begin, end);
    });
    union.sum
}

/// The ticks from which to which a rank, or one of its threads, was in its calls, until one is refused: then false.
fn for_each_span(part: &Part, thread: Option<u32>, mut add: impl FnMut(u64, u64) -> bool) -> bool {
    let has_regions = part.operations().iter().any(OperationEntry::is_region);
    let is_region = |operation: u32| part.operations()[(operation & OPERATION_MASK) as usize].is_region();
    let requests = part.request_columns().map(|[init, _, wait, _]| [init, wait]);
    let mut runs = part.runs().iter();
    let mut run = (0, 0);
    for block in part.blocks() {
        while run.0 <= block.range.start as u64 {
            let Some(next) = runs.next() else { break };
            run = (run.0 + next.count, next.thread);
        }
        if thread.is_some_and(|thread| thread != run.1) {
            continue;
        }
        let [enter, exit] = block.times();
        let operations = if has_regions { block.operation() } else { Vec::new() };
        for (place, (enter, exit)) in enter.into_iter().zip(exit).enumerate() {
            if operations.get(place).is_some_and(|&operation| is_region(operation)) {
                continue;
            }
            let record = block.range.start + place;
            let request =
                requests.map(|columns| columns.map(|column| column.get(record))).filter(|[init, _]| *init > 0);
            let spans = match request {
                // Where its tests lie is not known; they are short.
                Some([init, wait]) => [(enter, enter + init), (exit.saturating_sub(wait), exit)],
                None => [(enter, exit), (exit, exit)],
            };
            if !spans.into_iter().all(|(begin, end)| begin >= end || add(begin, end)) {
                return false;
            }
        }
    }
    true
}

/// The length of the union of spans.
#[derive(Default)]
struct Union {
    sum: u64,
    last: u64,
    until: u64,
}

impl Union {
    /// False: it begins before the one before it, and was not added.
    fn add(&mut self, begin: u64, end: u64) -> bool {
        if begin < self.last {
            return false;
        }
        self.last = begin;
        self.sum += end.saturating_sub(begin.max(self.until));
        self.until = self.until.max(end);
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn off(ns: f64) -> Off {
        Off { preempted: ns, ..Off::default() }
    }

    /// A rank of 1000 ns, of which it ran for 500 between MPI_Init and MPI_Finalize and 100 in these.
    #[test]
    fn computing_is_what_the_thread_ran_outside_of_calls() {
        let thread = Thread {
            calls: [200.0, 0.0, 0.0, 10.0],
            init: 60.0,
            finalize: 40.0,
            tracer: 20.0,
            between: 10.0,
            on_processor: Some(500.0),
            off: [off(50.0), off(120.0), Off { asleep: 100.0, unknown: 30.0, ..off(80.0) }],
        };
        let complete = Parts { run_time: 150.0, waiting: 60.0, interrupted: 10.0, ..Parts::default() };
        let parts = thread.divide(1000.0, 180.0, complete);
        assert_eq!(parts.sum_of(&RankPart::COLLECTIVES), 180.0);
        assert_eq!((parts[RankPart::Waiting], parts[RankPart::Communication]), (60.0, 110.0));
        // Of 180 + 210 ns in calls it was off its processor for 170.
        assert_eq!(parts[RankPart::Computing], 500.0 - 220.0 - 10.0);
        assert_eq!((parts[RankPart::Preempted], parts[RankPart::Asleep]), (80.0, 100.0));
        assert_eq!(parts[RankPart::Other], 1000.0 - (180.0 + 210.0 + 60.0 + 40.0 + 20.0 + 270.0 + 180.0));
        let unknown = Thread { on_processor: None, ..thread }.divide(1000.0, 180.0, complete);
        assert_eq!((unknown[RankPart::Computing], unknown[RankPart::Other]), (0.0, 310.0));
    }

    /// The tracer worked for 10 ns between calls, of which its thread was off its processor for 8.
    #[test]
    fn time_off_the_processor_in_the_tracer_counts_once() {
        let outside = off(8.0);
        let thread = Thread { tracer: 10.0, between: 10.0, on_processor: Some(2.0), ..Thread::default() };
        let parts =
            Thread { off: [Off::default(), Off::default(), outside], ..thread }.divide(10.0, 0.0, Parts::default());
        let found = [RankPart::Tracer, RankPart::Preempted, RankPart::Other].map(|part| parts[part]);
        assert_eq!(found, [2.0, 8.0, 0.0]);
    }

    proptest! {
        #[test]
        fn the_parts_add_up_to_the_time_of_the_rank(
            calls in prop::array::uniform4(0.0..1e9f64), own in prop::array::uniform4(0.0..1e9f64),
            processor in prop::option::of(0.0..1e10f64), outside in prop::array::uniform3(0.0..1e9f64),
            collectives in 0.0..1e9f64, complete in prop::array::uniform4(0.0..1e9f64)
        ) {
            let [init, finalize, tracer, between] = own;
            let off = outside.map(off);
            let between = between.min(tracer);
            let thread = Thread { calls, init, finalize, tracer, between, on_processor: processor, off };
            let [waiting, interrupted, perturbed, communication] = complete;
            let run_time = complete.iter().sum();
            let complete = Parts { run_time, waiting, interrupted, perturbed, communication, ..Parts::default() };
            let parts = thread.divide(1e10, collectives, complete);
            prop_assert!((parts.sum() - 1e10).abs() < 1e-3);
            prop_assert!((parts.sum_of(&RankPart::COLLECTIVES) - collectives).abs() < 1e-3);
            let others = RankPart::ALL.iter().filter(|&&part| part != RankPart::Other);
            prop_assert!(others.clone().all(|&part| parts[part] >= -1e-6), "{:?}", parts);
        }
    }

    fn union(spans: &[(u64, u64)]) -> Option<u64> {
        let mut union = Union::default();
        spans.iter().all(|&(begin, end)| union.add(begin, end)).then_some(union.sum)
    }

    #[test]
    fn what_overlaps_counts_once() {
        assert_eq!(union(&[(0, 10), (5, 12), (6, 7), (20, 21)]), Some(13));
        assert_eq!(union(&[(5, 10), (0, 3)]), None);
        assert_eq!(union(&[]), Some(0));
    }
}
