//! The time of one rank: the whole run, and what of it was spent in collective calls.

use std::collections::HashMap;

use mpitrace_format::layout::{InterruptionEntry, interruption_flags, state};
use mpitrace_statistics::parallel;
use mpitrace_trace::clock::{Clock, RankClock};
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::{Part, Trace};

use super::OperationAccount;
use super::beside::Beside;
use super::ending::{self, HowEnded, Hung, RankEnd};
use super::meeting::{Meeting, Met, Wait};
use super::open_call::{OpenCall, open_calls};
use super::parts::Parts;
use super::polled::Polled;
use super::rank_parts::{RankPart, RankParts};
use super::spans::{Span, in_collectives as ticks_in_collectives, spans};
use super::thread::Thread;
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
    /// The time of its other threads that make MPI calls: a part of it is in `parts`.
    pub beside: Beside,
    /// True if calls that can wait were timed, beside collectives.
    pub is_timed: bool,
    /// True if the thread's processor time is known: without it all outside of the calls is [`RankPart::Other`].
    pub is_divided: bool,
}

impl RankAccount {
    /// Time off the processor outside of calls, by reason. Where it may have waited for another thread of the rank the
    /// reason is not known.
    pub fn off(&self) -> Off {
        let [preempted, asleep, throttled] =
            [RankPart::Preempted, RankPart::Asleep, RankPart::Throttled].map(|part| self.parts[part]);
        let unknown = self.beside.uncounted_ns().min(asleep);
        Off { preempted, asleep: asleep - unknown, throttled, unknown }
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
    let mut beside: HashMap<u32, Parts> = HashMap::new();
    for (&(rank, parts), &of_others) in accounts.iter().flat_map(|of| of.ranks.iter().zip(&of.beside)) {
        *complete.entry(rank).or_default() += parts.without(of_others);
        *beside.entry(rank).or_default() += of_others;
    }
    let mut io: HashMap<u32, f64> = HashMap::new();
    accounts.iter().flat_map(OperationAccount::io_ns).for_each(|(rank, ns)| *io.entry(rank).or_default() += ns);
    let parts = trace.parts.iter().enumerate().map(|(index, part)| (part, clock.of_part(index)));
    let mut ends = parallel::map(parts.clone().collect(), |(part, clock)| RankEnd::new(part, clock));
    let open = open_calls(trace, operations);
    ending::date_by_job(trace, clock, &mut ends);
    for (end, (part, open)) in ends.iter_mut().zip(trace.parts.iter().zip(&open)) {
        if open.is_some() || part.finalize_enter().is_some() {
            end.is_in_a_call();
        }
    }
    let hung = ending::hung(trace, clock, &ends, knot);
    // On one node the ranks meet behind the library's own work, else before it.
    let is_library_first = clock.domains.len() < 2;
    let met = |index: usize| Met {
        init: Wait { ns: at_init.map_or(0.0, |meeting| meeting.wait(index)), is_library_first: true },
        finalize: Wait { ns: at_finalize.map_or(0.0, |meeting| meeting.wait(index)), is_library_first },
    };
    let known = ends.into_iter().zip(hung).zip(open).enumerate();
    parallel::map(parts.zip(known).collect(), |((part, clock), (index, ((end, hung), open)))| {
        let complete = [&complete, &beside].map(|of| of.get(&part.rank()).copied().unwrap_or_default());
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

/// The account of a rank, of whose complete calls these are the parts: of the thread that called MPI_Init, and of
/// others.
fn account(
    part: &Part,
    clock: &RankClock,
    [complete, others]: [Parts; 2],
    met: Met,
    mut ending: Ending,
) -> RankAccount {
    let mut wall_ns = ending.end.at_ns;
    let init_thread = part.main_thread();
    let not_kept = not_kept(part);
    let in_collectives = |thread| clock.ticks_ns(ticks_in_collectives(part, thread) + not_kept).min(wall_ns);
    let mut collectives_ns = in_collectives(None);
    let of_thread = if part.threads().len() < 2 { collectives_ns } else { in_collectives(Some(init_thread)) };
    let thread = Thread::new(part, clock, met);
    let mut parts = thread.divide(wall_ns, of_thread, complete);
    ending.add_to(&mut parts, part, clock, &mut wall_ns);
    settle(&mut parts, clock.ticks_ns(around(part)));
    collectives_ns += parts.sum_of(&RankPart::COLLECTIVES) - of_thread;
    let is_alone = part.threads().len() < 2;
    let beside = if is_alone { Beside::default() } else { Beside::count(part, clock, others, &mut parts) };
    let off_processor = off_processor(part).map(|off| off.without(Off { asleep: beside.counted_ns, ..Off::default() }));
    // Beyond that time it was off its processor in the tracer.
    let off_processor =
        off_processor.map(|off| if off.sum() > parts.running() { off.to(parts.running()) } else { off });
    RankAccount {
        rank: part.rank(),
        wall_ns,
        collectives_ns,
        end: ending.end,
        hung: ending.hung,
        message_waiting_ns: 0.0,
        parts,
        off_processor,
        beside,
        polled: Polled::new(part, clock),
        is_timed: part.waits_are_stamped(),
        is_divided: thread.on_processor.is_some(),
    }
}

/// Ticks in which the thread that called MPI_Init was in recorded calls before the return of MPI_Init or behind the
/// entry of MPI_Finalize, as a program with sessions may be.
fn around(part: &Part) -> u64 {
    let first = part.info().first_anchor.tick;
    let begin = first.saturating_add(part.rank_times().init);
    let end = part.finalize_enter().unwrap_or(u64::MAX);
    let records = part.records();
    if records == 0 || part.times_of(0).0 >= begin && part.times_of(records - 1).1 <= end {
        return 0;
    }
    let outside = [Span { begin: 0, end: begin }, Span { begin: end.max(begin), end: u64::MAX }];
    let own = spans(part, Some(part.main_thread()));
    outside.iter().map(|outside| outside.common(&own)).sum()
}

/// Takes what the parts have beyond the whole time: up to so many ns out of MPI_Init and MPI_Finalize, since the rank
/// was in other calls meanwhile. The rest, by which clocks, processor times and interruptions differ, is taken out of
/// computing, and then out of the time off the processor outside of calls.
fn settle(parts: &mut RankParts, around_ns: f64) {
    let mut take = |from: &[RankPart], most: f64| {
        let mut left = most.min(-parts[RankPart::Other]).max(0.0);
        for &part in from {
            let ns = parts[part].min(left).max(0.0);
            parts[part] -= ns;
            parts[RankPart::Other] += ns;
            left -= ns;
        }
    };
    let in_init_and_finalize =
        [RankPart::WaitingInit, RankPart::Tracer, RankPart::Init, RankPart::WaitingFinalize, RankPart::Finalize];
    take(&in_init_and_finalize, around_ns);
    let outside = [RankPart::Computing, RankPart::Asleep, RankPart::Preempted, RankPart::Throttled];
    take(&outside, f64::INFINITY);
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
pub(super) fn not_kept(part: &Part) -> u64 {
    part.operations().iter().filter(|entry| !entry.is_region()).fold(0, |sum, entry| sum.saturating_add(entry.ticks))
}

#[cfg(test)]
mod tests {
    use super::super::Account;
    use super::*;
    use crate::reasons::Because;

    #[test]
    fn parts_that_are_more_than_the_whole_are_settled() {
        let parts = |of: &[(RankPart, f64)]| {
            let mut parts = RankParts::default();
            of.iter().for_each(|&(part, ns)| parts[part] = ns);
            parts
        };
        let mut all = parts(&[
            (RankPart::WaitingInit, 100.0),
            (RankPart::Tracer, 40.0),
            (RankPart::Computing, 30.0),
            (RankPart::Waiting, 120.0),
            (RankPart::Other, -140.0),
        ]);
        // It was in calls for 120 ns before MPI_Init returned.
        settle(&mut all, 120.0);
        let settled = parts(&[(RankPart::Tracer, 20.0), (RankPart::Computing, 10.0), (RankPart::Waiting, 120.0)]);
        assert_eq!(all, settled);
        settle(&mut all, 120.0);
        assert_eq!(all, settled, "there is nothing beyond the whole");
        let mut all = parts(&[
            (RankPart::Computing, 10.0),
            (RankPart::Asleep, 50.0),
            (RankPart::Other, -40.0),
            (RankPart::Io, 80.0),
        ]);
        settle(&mut all, 0.0);
        assert_eq!(all, parts(&[(RankPart::Asleep, 20.0), (RankPart::Io, 80.0)]), "nor off the processor");
    }

    /// Two ranks wait for one that computes for 30 ns of its run, and sleeps for 200.
    #[test]
    fn a_sleep_is_never_computing() {
        let mut rank = RankAccount { is_divided: true, ..RankAccount::default() };
        (rank.parts[RankPart::Computing], rank.parts[RankPart::Asleep]) = (30.0, 200.0);
        assert_eq!(rank.off_beyond_computing(260.0, 2), Off { asleep: 200.0, ..Off::default() });
        assert_eq!(rank.off_beyond_computing(60.0, 2), Off::default());
    }

    /// The other thread was in MPI for up to 90 ns of the sleep of 145 ns: the middle is counted as its own.
    #[test]
    fn a_thread_that_may_have_waited_for_another_one_is_not_said_to_have_slept() {
        let beside = Beside { in_mpi_most_ns: 90.0, counted_ns: 45.0, ..Beside::default() };
        let mut rank = RankAccount { beside, ..RankAccount::default() };
        rank.parts[RankPart::Asleep] = 100.0;
        assert_eq!(rank.off(), Off { asleep: 55.0, unknown: 45.0, ..Off::default() });
        let account = Account { ranks: vec![rank], ..Account::default() };
        let lost = account.losses(true).into_iter().find(|loss| loss.because == Some(Because::Asleep));
        assert_eq!(lost.map(|loss| loss.ns), Some(55.0));
        rank.parts[RankPart::Asleep] = 40.0;
        assert_eq!(rank.off(), Off { unknown: 40.0, ..Off::default() });
    }
}
