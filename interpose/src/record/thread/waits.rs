//! The time in calls that can wait and are not recorded, for each thread.

use std::sync::atomic::{AtomicBool, Ordering};

use mpitrace_format::layout::{elsewhere, recorded, wait_class};

use crate::base::ticks;
use crate::record::thread::interval::Interval;
use crate::record::thread::partners;
use crate::record::thread::state::{Record, ThreadRef, attention};

static STAMPED: AtomicBool = AtomicBool::new(false);

pub fn start() {
    STAMPED.store(true, Ordering::Relaxed);
}

#[inline(always)]
pub fn are_stamped() -> bool {
    STAMPED.load(Ordering::Relaxed)
}

/// A call that can wait, until this is dropped, also where a C++ exception passes through. The calls that it nests are
/// only forwarded.
pub struct Waiting {
    thread: ThreadRef,
    class: usize,
    enter: u64,
    /// The call has records of messages, with the same time stamps.
    is_kept: bool,
}

impl Waiting {
    /// Begins one of this class on the thread, from a wrapper that stands at `here`. `None`: it has no time stamps.
    #[inline(always)]
    pub fn begin(thread: ThreadRef, here: usize, class: Option<usize>) -> Option<Waiting> {
        let class = class.filter(|_| are_stamped())?;
        thread.look_before_wait();
        thread.set_guard(here);
        let enter = ticks::now();
        thread.times().set_last(enter, 1 + class as u32);
        Some(Waiting { thread, class, enter, is_kept: false })
    }

    /// Begins one whose message call has begun.
    pub fn begin_kept(thread: ThreadRef, here: usize, class: Option<usize>) -> Option<Waiting> {
        let class = class.filter(|_| are_stamped())?;
        thread.set_guard(here);
        let enter = thread.with_messages(|messages| messages.enter);
        thread.times().set_last(enter, 1 + class as u32);
        Some(Waiting { thread, class, enter, is_kept: true })
    }
}

impl Drop for Waiting {
    #[inline(always)]
    fn drop(&mut self) {
        let exit = if self.is_kept { self.thread.end_of_message_call() } else { ticks::now() };
        self.thread.set_guard(0);
        self.thread.times().set_last(exit, 0);
        self.thread.add_wait(self.class, exit.wrapping_sub(self.enter));
        self.thread.look_after_wait(exit);
    }
}

impl ThreadRef {
    /// Adds to the time of a class: a call of it has returned.
    #[inline(always)]
    pub fn add_wait(self, class: usize, ticks: u64) {
        self.times().add_ticks(class, ticks);
        if class == wait_class::POINT_TO_POINT {
            partners::waited(self, self.partner(), ticks);
        }
        self.attend(attention::WAITED);
    }

    /// Stores, in the record of a collective that is about to begin, the time in calls that can wait since the one
    /// before: in point-to-point calls, with the partner with the most of it, and in others, with their kind. What a
    /// record holds that was taken back stays in it for the next one.
    #[inline(never)]
    pub fn store_p2p(self, record: Record) {
        self.set_attention(self.attention() & !attention::WAITED);
        let sum = self.times().ticks(wait_class::POINT_TO_POINT);
        let ticks = sum.wrapping_sub(self.p2p_stored());
        if ticks != 0
            && let Some(place) = self.place_with(record, &recorded::P2P)
        {
            place.add_p2p(ticks, self.with_interval(Interval::take));
            self.set_p2p_stored(sum);
        }
        let (sums, before) = (self.elsewhere(), self.elsewhere_stored());
        if sums != before
            && let Some(place) = self.place_with(record, &recorded::ELSEWHERE)
        {
            place.add_elsewhere(std::array::from_fn(|kind| sums[kind].wrapping_sub(before[kind])));
            self.set_elsewhere_stored(sums);
        }
    }

    fn elsewhere(self) -> [u64; 3] {
        elsewhere::CLASSES.map(|class| self.times().ticks(class))
    }

    /// Drops the time that [`ThreadRef::store_p2p`] would store: its call is not kept.
    pub fn skip_p2p(self) {
        self.set_attention(self.attention() & !attention::WAITED);
        self.set_p2p_stored(self.times().ticks(wait_class::POINT_TO_POINT));
        self.set_elsewhere_stored(self.elsewhere());
        let _ = self.with_interval(Interval::take);
    }

    /// The ticks in all calls that can wait, but for those of recorded collectives, since this was asked last.
    pub fn take_waits(self) -> u64 {
        let sum = (0..wait_class::REQUESTS).map(|class| self.times().ticks(class)).sum();
        let ticks = u64::wrapping_sub(sum, self.waits_taken());
        self.set_waits_taken(sum);
        ticks
    }
}
