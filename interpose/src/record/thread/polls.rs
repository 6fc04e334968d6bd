//! Rows of polls on a thread ([`mpitrace_format::polls`]): what they wait for, and where they count.

use std::sync::OnceLock;

use mpitrace_format::layout::{
    AwaitedMessage, MOST_AWAITED, activity, awaited, interruption_flags, interruptions_by, off_place, off_reason,
    partner, wait_class,
};
use mpitrace_format::polls::{End, Limits, Row};

use crate::base::{system, ticks};
use crate::record::buffer::chunk::RecordPlace;
use crate::record::buffer::drawn::DrawnChunk;
use crate::record::thread::poll_state::{Polled, QUICK};
use crate::record::thread::state::{ThreadRef, attention};

fn ticks_of(ns: u64) -> u64 {
    ns.saturating_mul(limits().of_loop) / 1000
}

fn limits() -> Limits {
    static LIMITS: OnceLock<Limits> = OnceLock::new();
    *LIMITS.get_or_init(|| Limits::new(ticks::roughly_hz()))
}

impl ThreadRef {
    #[inline(always)]
    pub fn is_polling(self) -> bool {
        self.attention() & attention::POLLING != 0
    }

    /// Begins a quick poll of what has this key, where that is polled in this row already: true if it is to be stamped.
    #[inline(always)]
    pub fn poll_again(self, key: usize) -> Option<bool> {
        self.with_polls(|polls| {
            polls.find(key)?.quick += 1;
            Some(polls.row.poll())
        })
    }

    /// Begins a poll that is not quick, by the function with this word, and where the thread is in no row, a row.
    pub fn begin_poll(self, word: u32) {
        if self.is_polling() {
            self.with_polls(|polls| polls.row.poll());
            return self.begin_stamped_poll();
        }
        self.look_before_wait();
        let entry = self.entry();
        entry.set_activity(activity::next(entry.activity(), word));
        let off = self.off_so_far();
        let (by_clocks, tick) = (self.off_by_clocks(), ticks::now());
        let row = Row::new(tick, by_clocks.unwrap_or(0));
        self.with_polls(|polls| {
            polls.polled.iter_mut().for_each(|polled| (polled.key, polled.quick) = (0, 0));
            (polls.row, polls.off, polls.word) = (row, off, word);
            (polls.listed, polls.partner, polls.record, polls.counted) = (0, partner::NONE, None, 0);
        });
    }

    /// The first poll of a row took so many ticks, and counts apart from the row.
    pub fn count_first_poll(self, ticks: u64) {
        self.with_polls(|polls| polls.counted = ticks);
    }

    /// Before a poll with a stamp, which counts already.
    #[cold]
    #[inline(never)]
    pub fn begin_stamped_poll(self) {
        if self.with_polls(|polls| polls.row.is_open()) {
            let tick = ticks::now();
            let (off, behind) = self.off(tick);
            let (word, since) = self.with_polls(|polls| {
                polls.row.enter(tick, off, behind, limits());
                (polls.word, polls.row.only_polls_since())
            });
            // To those who look at the thread one that only polls waits in the function that it polls with.
            let entry = self.entry();
            let before = activity::left(entry.activity());
            entry.set_activity(if since == 0 { before } else { before | word });
            self.times().set_polled(tick, since);
        }
    }

    /// Behind a poll with a stamp that has found nothing.
    #[cold]
    #[inline(never)]
    pub fn end_stamped_poll(self) {
        if self.with_polls(|polls| polls.row.has_exit()) {
            let tick = ticks::now();
            let (off, behind) = self.off(tick);
            self.with_polls(|polls| polls.row.exit(tick, off, behind, limits()));
        }
    }

    /// Behind a poll that is not quick, and has found nothing.
    pub fn keep_polling(self) {
        if !self.is_polling() {
            // Whether the program polls again is seen when it does.
            let entry = self.entry();
            entry.set_activity(activity::left(entry.activity()));
            self.attend(attention::POLLING);
        }
        self.end_stamped_poll();
    }

    /// For how many ticks the thread was off its processor up to this one, from anywhere; the tick behind the look.
    fn off(self, tick: u64) -> (u64, u64) {
        let known = self.with_polls(|polls| polls.row.off());
        if self.is_interrupted() {
            let all = || self.times().off_ns().iter().flatten().sum::<u64>();
            let before = all();
            self.look_outside(tick, self.flags_of_row());
            return (known + ticks_of(all().saturating_sub(before)), ticks::now());
        }
        self.off_by_clocks().map_or((known, tick), |off| (off, ticks::now()))
    }

    /// Ticks that the thread was off its processor by its processor time, where its interruptions are not seen.
    fn off_by_clocks(self) -> Option<u64> {
        if !matches!(self.entry().interruptions_by(), interruptions_by::OFF | interruptions_by::NONE) {
            return None;
        }
        let [all, ran] = [libc::CLOCK_MONOTONIC_RAW, libc::CLOCK_THREAD_CPUTIME_ID].map(system::nanoseconds);
        Some(ticks_of(all.saturating_sub(ran)))
    }

    /// For how long it was off its processor between its calls, and anywhere but for its sleep, ns.
    fn off_so_far(self) -> [u64; 2] {
        let all = self.times().off_ns();
        let asleep: u64 = all.iter().map(|of_place| of_place[off_reason::ASLEEP]).sum();
        [all[off_place::BETWEEN].iter().sum(), all.iter().flatten().sum::<u64>() - asleep]
    }

    /// A sleep between two polls is waiting; preempted is a thread in what it mostly does.
    fn flags_of_row(self) -> u32 {
        let [_, preempted] = self.off_so_far();
        let computes =
            self.with_polls(|polls| polls.row.is_computing(ticks_of(preempted.saturating_sub(polls.off[1]))));
        interruption_flags::BETWEEN | if computes { 0 } else { interruption_flags::WAITING }
    }

    /// The row polls what has this key too, where there is room: its handles, and the partner of all so far.
    pub fn keep_poll(self, key: usize, handles: [u64; QUICK], partner: u64) {
        self.with_polls(|polls| {
            polls.partner = partner;
            if let Some(free) = polls.find(0) {
                *free = Polled { key, quick: 0, handles };
            }
        });
    }

    /// The row is also for this message.
    pub fn poll_for(self, partner: u64, tag: i32, flags: u32) {
        let (listed, last) = self.with_polls(|polls| (polls.listed, polls.last_listed));
        if listed > 0 {
            let more = if listed < MOST_AWAITED { awaited::MORE } else { awaited::CUT };
            self.await_message(listed - 1, last.partner, last.tag, last.flags | more);
        }
        if listed < MOST_AWAITED {
            self.await_message(listed, partner, tag, flags);
            let message = AwaitedMessage { partner, tag, flags };
            self.with_polls(|polls| (polls.listed, polls.last_listed) = (listed + 1, message));
        }
    }

    /// The row polls the request of the collective with this record, or something else; it waits for one `alone`.
    pub fn poll_collective(self, record: Option<(RecordPlace, DrawnChunk)>, alone: bool) {
        let known = self.with_polls(|polls| {
            polls.record = polls.record.or(record);
            polls.record
        });
        if let Some((place, chunk)) = known {
            chunk.while_current(|| if alone { place.begin_wait() } else { place.add_wait(0) });
        }
    }

    /// Another call of MPI ends the row.
    #[cold]
    #[inline(never)]
    pub fn leave_row(self) {
        let tick = ticks::now();
        let (off, behind) = self.off(tick);
        self.with_polls(|polls| {
            if polls.row.is_open() {
                polls.row.enter(tick, off, behind, limits());
            }
        });
        self.end_row(tick, off, End::Call);
    }

    /// The row ends with a poll that has found something at this tick, of this partner, or has failed.
    pub fn found(self, partner: u64, tick: u64) {
        self.with_polls(|polls| polls.partner = partner);
        let (off, _) = self.off(tick);
        self.end_row(tick, off, End::Poll);
    }

    fn end_row(self, tick: u64, off: u64, end: End) {
        self.set_attention(self.attention() & !attention::POLLING);
        let entry = self.entry();
        entry.set_activity(activity::left(entry.activity()));
        let (row, off_before, counted, partner, record, quick) = self.with_polls(|polls| {
            let quick: u64 = polls.polled.iter().map(|polled| polled.quick).sum();
            polls.polled.iter_mut().for_each(|polled| polled.key = 0);
            let row = polls.row.end(tick, off, end, limits());
            (row, polls.off, polls.counted, polls.partner, polls.record.take(), quick)
        });
        self.times().add_polls(row);
        let off_between = self.off_so_far()[0].saturating_sub(off_before[0]);
        let waiting = (row.ticks - row.computing).saturating_sub(counted + ticks_of(off_between));
        let class = if record.is_some() { wait_class::REQUESTS } else { wait_class::POINT_TO_POINT };
        if let Some((place, chunk)) = record {
            chunk.while_current(|| {
                place.add_wait(0);
                place.add_tests(waiting, quick);
            });
        }
        self.times().set_last(tick, 0);
        self.set_partner(partner);
        self.add_wait(class, waiting);
        self.look_after_wait(tick);
    }
}
