//! The time of one rank: the whole run, and what of it was spent in collective calls.

use std::collections::HashMap;

use mpitrace_format::layout::{
    InterruptionEntry, OPERATION_MASK, OperationEntry, interruption_flags, off_place, state, wait_class,
};
use mpitrace_statistics::parallel;
use mpitrace_trace::clock::{Clock, RankClock};
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::{Part, Trace};

use super::OperationAccount;
use super::ending::{self, HowEnded, Hung, RankEnd};
use super::meeting::{Meeting, Met, Wait};
use super::open_call::{OpenCall, open_calls};
use super::parts::Parts;
use super::polled::Polled;
use super::rank_parts::{CALLS, RankPart, RankParts};
use crate::reasons::Off;

/// The time of one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankAccount {
    /// The world rank.
    pub rank: u32,
    /// From MPI_Init to MPI_Finalize, ns; of a rank that did not come to its end to [`RankEnd::at_ns`].
    pub wall_ns: f64,
    /// When it ended, and how that is known.
    pub end: RankEnd,
    /// For how long it hung then. The time is [`RankPart::Hung`] too.
    pub hung: Hung,
    /// In collective calls, ns, also in those that were not kept and whose times were counted: when threads are in kept
    /// calls at the same time, or one call completes several requests, it counts once.
    pub collectives_ns: f64,
    /// The time of the thread that called MPI_Init; these add up to `wall_ns`.
    pub parts: RankParts,
    /// The part of [`RankPart::PointToPoint`] that is waiting for other ranks, ns, where message calls were recorded;
    /// else the time in these calls while another rank was late ([`super::LatePartner`]).
    pub message_waiting_ns: f64,
    /// The time of the same thread off its processor between MPI_Init and MPI_Finalize, in calls and outside of them;
    /// `None`: not known.
    pub off_processor: Option<Off>,
    /// Calls that test requests or look for messages: a label over this time.
    pub polled: Polled,
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

    /// The part of a time for which others wait, and of which no other reason is known, that the rank cannot have
    /// computed: each of `waiting` ranks waits for the same time. It was off its processor then, for the reasons of its
    /// whole run.
    pub(crate) fn off_beyond_computing(&self, ns: f64, waiting: usize) -> Off {
        let computed = self.parts[RankPart::Computing] * waiting as f64;
        if self.is_divided { self.off().to((ns - computed).max(0.0)) } else { Off::default() }
    }

    /// Between MPI_Init and MPI_Finalize and outside of MPI calls, ns.
    pub fn useful_ns(&self) -> f64 {
        self.wall_ns
            - self.parts.sum_of(&RankPart::IN_INIT_AND_FINALIZE)
            - self.parts.sum_of(&[RankPart::Hung, RankPart::Tracer])
            - self.parts.sum_of(&RankPart::MPI)
    }
}

/// The known times of the thread that called MPI_Init, beside its collective calls; ns.
#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    /// In MPI calls that can wait ([`CALLS`]).
    calls: [f64; 4],
    init: f64,
    waiting_init: f64,
    finalize: f64,
    waiting_finalize: f64,
    /// In the tracer, and of that between MPI_Init and MPI_Finalize.
    tracer: f64,
    between: f64,
    /// On its processor between MPI_Init and MPI_Finalize; `None`: not recorded.
    on_processor: Option<f64>,
    /// Off its processor in collective calls, in `calls`, and outside of both.
    off: [Off; 3],
}

impl Thread {
    fn new(part: &Part, clock: &RankClock, met: Met) -> Thread {
        let ns = |ticks: u64| clock.ticks_ns(ticks);
        let mut thread = Thread::default();
        let times = part.rank_times();
        let begun = met.init.divide(ns(times.init), ns(times.init_library));
        (thread.waiting_init, thread.init, thread.tracer) = (begun.waiting, begun.library, begun.tracer);
        if let Some(times) = part.finalize_times() {
            let ended = met.finalize.divide(ns(times.whole), ns(times.library));
            (thread.waiting_finalize, thread.finalize) = (ended.waiting, ended.library);
            thread.tracer += ended.tracer;
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
                let init_thread = part.main_thread();
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
        (parts[RankPart::Init], parts[RankPart::WaitingInit]) = (self.init, self.waiting_init);
        (parts[RankPart::Finalize], parts[RankPart::WaitingFinalize]) = (self.finalize, self.waiting_finalize);
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

/// The accounts of all ranks, whose operations have these accounts. `knot`: see [`ending::hung`].
pub(super) fn accounts(
    trace: &Trace,
    clock: &Clock,
    operations: &Operations,
    accounts: &[OperationAccount],
    [at_init, at_finalize]: [Option<&Meeting>; 2],
    knot: &[u32],
) -> Vec<RankAccount> {
    let mut complete: HashMap<u32, Parts> = HashMap::new();
    for (&(rank, parts), &beside) in accounts.iter().flat_map(|of| of.ranks.iter().zip(&of.beside)) {
        *complete.entry(rank).or_default() += parts.without(beside);
    }
    let mut io: HashMap<u32, f64> = HashMap::new();
    accounts.iter().flat_map(OperationAccount::io_ns).for_each(|(rank, ns)| *io.entry(rank).or_default() += ns);
    let parts = trace.parts.iter().enumerate().map(|(index, part)| (part, clock.of_part(index)));
    let ends = parallel::map(parts.clone().collect(), |(part, clock)| RankEnd::new(part, clock));
    let hung = ending::hung(trace, clock, &ends, knot);
    let open = open_calls(trace, operations);
    // On one node the ranks meet behind the library's own work, else before it.
    let is_library_first = clock.domains.len() < 2;
    let met = |index: usize| Met {
        init: Wait { ns: at_init.map_or(0.0, |meeting| meeting.wait(index)), is_library_first: true },
        finalize: Wait { ns: at_finalize.map_or(0.0, |meeting| meeting.wait(index)), is_library_first },
    };
    let known = ends.into_iter().zip(hung).zip(open).enumerate();
    parallel::map(parts.zip(known).collect(), |((part, clock), (index, ((end, hung), open)))| {
        let complete = complete.get(&part.rank()).copied().unwrap_or_default();
        let mut account = self::account(part, clock, complete, met(index), Ending { end, hung, open });
        let io = io.get(&part.rank()).copied().unwrap_or(0.0).min(account.parts[RankPart::Communication]);
        account.parts[RankPart::Communication] -= io;
        account.parts[RankPart::Io] += io;
        account
    })
}

/// How the time of a rank ended.
#[derive(Clone, Copy, Debug)]
struct Ending {
    end: RankEnd,
    hung: Hung,
    open: Option<OpenCall>,
}

impl Ending {
    /// Adds to the parts of a rank, which has so many ns, the time of the call that it was in up to when it hung, and
    /// that from then on.
    fn add_to(&mut self, parts: &mut RankParts, part: &Part, clock: &RankClock, wall_ns: &mut f64) {
        if self.end.how == HowEnded::Finalized && part.finalize_times().is_some() {
            return;
        }
        let first = part.info().first_anchor.tick;
        let since = |tick: u64| clock.duration_ns(first, tick.max(first));
        let left = |enter: f64, hung: f64| (*wall_ns - hung - enter).max(0.0);
        let mut add = |of: RankPart, ns: f64| {
            parts[of] += ns;
            parts[RankPart::Other] -= ns;
        };
        add(RankPart::Hung, self.hung.ns);
        if let Some(enter) = part.finalize_enter() {
            add(RankPart::Finalize, left(since(enter), self.hung.ns));
        } else if let Some(open) = self.open {
            add(open.part, left(since(open.enter), self.hung.ns));
        } else if part.info().state == state::STARTING && part.rank_times().init == 0 {
            add(RankPart::Init, left(0.0, self.hung.ns));
        }
        // The sums prove that it lived for so long.
        let beyond = (-parts[RankPart::Other]).max(0.0);
        if self.end.how == HowEnded::LastStamp {
            *wall_ns += beyond;
            self.end.outlived(*wall_ns);
        } else {
            let beyond = beyond.min(self.hung.ns);
            self.hung = self.hung.shorter(beyond);
            parts[RankPart::Hung] -= beyond;
        }
        parts[RankPart::Other] = *wall_ns - (parts.sum() - parts[RankPart::Other]);
    }
}

fn account(part: &Part, clock: &RankClock, complete: Parts, met: Met, mut ending: Ending) -> RankAccount {
    let mut wall_ns = ending.end.at_ns;
    let init_thread = part.main_thread();
    let not_kept = not_kept(part);
    let in_collectives = |thread| clock.ticks_ns(in_collectives(part, thread) + not_kept).min(wall_ns);
    let mut collectives_ns = in_collectives(None);
    let of_thread = if part.threads().len() < 2 { collectives_ns } else { in_collectives(Some(init_thread)) };
    let thread = Thread::new(part, clock, met);
    let mut parts = thread.divide(wall_ns, of_thread, complete);
    ending.add_to(&mut parts, part, clock, &mut wall_ns);
    collectives_ns += parts.sum_of(&RankPart::COLLECTIVES) - of_thread;
    RankAccount {
        rank: part.rank(),
        wall_ns,
        collectives_ns,
        end: ending.end,
        hung: ending.hung,
        message_waiting_ns: 0.0,
        parts,
        off_processor: off_processor(part),
        polled: Polled::new(part, clock),
        is_timed: part.waits_are_stamped(),
        is_divided: thread.on_processor.is_some(),
    }
}

/// The time off the processor of the thread that called MPI_Init: see [`RankAccount::off_processor`].
fn off_processor(part: &Part) -> Option<Off> {
    let (thread, times) = part.init_thread()?;
    let is_watched = part.thread_runs().iter().any(|run| !run.is_beside && run.is_watched);
    let untimed = |entry: &InterruptionEntry| entry.thread == thread && entry.flags & interruption_flags::TIMED == 0;
    if !is_watched || part.interruptions().iter().any(untimed) {
        return None;
    }
    let mut sum = Off::default();
    times.off_ns.into_iter().for_each(|ns| sum += Off::of_reasons(ns));
    Some(sum)
}

/// Ticks of the collective calls that were not kept.
fn not_kept(part: &Part) -> u64 {
    part.operations().iter().filter(|entry| !entry.is_region()).fold(0, |sum, entry| sum.saturating_add(entry.ticks))
}

/// Ticks at which this thread, or at least one thread, was in a kept collective call, or in a call that started, tested
/// or waited for one.
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
    let requests = part.request_columns().map(|[init, test, wait, _]| [init, test, wait]);
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
                requests.map(|columns| columns.map(|column| column.get(record))).filter(|[init, ..]| *init > 0);
            let spans = match request {
                // A row of tests lies before the wait, or is one.
                Some([init, test, wait]) => {
                    let behind = exit.saturating_sub(test.saturating_add(wait)).max(enter + init).min(exit);
                    [(enter, enter + init), (behind, exit)]
                }
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
            init: 50.0,
            waiting_init: 10.0,
            finalize: 15.0,
            waiting_finalize: 25.0,
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

    /// Two ranks wait for one that computes for 30 ns of its run, and sleeps for 200.
    #[test]
    fn a_sleep_is_never_computing() {
        let mut rank = RankAccount { is_divided: true, ..RankAccount::default() };
        (rank.parts[RankPart::Computing], rank.parts[RankPart::Asleep]) = (30.0, 200.0);
        assert_eq!(rank.off_beyond_computing(260.0, 2), Off { asleep: 200.0, ..Off::default() });
        assert_eq!(rank.off_beyond_computing(60.0, 2), Off::default());
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
            let own = Thread { init, finalize, tracer, between, ..Thread::default() };
            let thread = Thread { calls, on_processor: processor, off, ..own };
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
