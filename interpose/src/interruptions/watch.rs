//! Watches what the operating system does to a thread: whether it was interrupted in a call or between two calls, and
//! for how long it was off its processor then.
//!
//! A call looks at one word before it and after it, which the kernel changes ([`mpitrace_platform::interruptions`]).
//! Only where it has changed is the thread's processor time read, and compared with that of an anchor, which is renewed
//! between calls: the two clocks run apart.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use mpitrace_format::layout::{InterruptionEntry, NO_PROCESSOR, interruption_flags, interruptions_by};
use mpitrace_platform::interruptions::{EventPage, Sequence, sees_sleep};

use crate::base::{errno, kernel, system};
use crate::interruptions::quota;

/// Which mechanisms are tried: values of [`choose`].
pub mod means {
    /// The page of an event, else a restartable sequence.
    pub const ANY: u8 = 0;
    pub const OFF: u8 = 1;
    /// The page of an event alone.
    pub const PAGE: u8 = 2;
    /// A restartable sequence alone.
    pub const SEQUENCE: u8 = 3;
}

static MEANS: AtomicU8 = AtomicU8::new(means::OFF);

/// Sets the method for threads that have not made a call yet: one of [`means`].
pub fn choose(means: u8) {
    MEANS.store(means, Ordering::Relaxed);
}

/// An anchor is renewed when it is so old, ns.
const RENEWED_AFTER: u64 = 10_000_000;
/// [`RENEWED_AFTER`] in ticks; 0: threads are not watched yet.
static RENEWED_AFTER_TICKS: AtomicU64 = AtomicU64::new(0);

/// Sets the speed of the ticks that anchors are renewed by.
pub fn set_hz(hz: f64) {
    RENEWED_AFTER_TICKS.store((RENEWED_AFTER as f64 * 1e-9 * hz) as u64, Ordering::Relaxed);
}

/// The word of a thread that is not watched.
static NEVER: AtomicU32 = AtomicU32::new(0);

/// By how much the two clocks may run apart before that was measured: they were 15 to 73 ppm apart on a virtual
/// machine.
const FIRST_RATE: f64 = 100e-6;

/// A quota holds a thread for longer: from a few ms to most of a period, which is 100 ms where nothing else was set.
const HELD_FROM: u64 = 1_000_000;

/// From so long a time off the processor on it is read for how much of it the thread was ready to run, ns. That takes
/// some 2 us.
const QUEUED_FROM: u64 = 100_000;

pub struct Watch {
    word: *const AtomicU32,
    /// The word's value at the last look.
    seen: u32,
    /// The tick from which on the anchor is to be renewed.
    renew_at: u64,
    by: By,
    anchor: Reading,
    /// The processor at the last look.
    processor: u32,
    /// Context switches up to the last look, voluntary ones and others.
    switches: [u64; 2],
    /// For how long a quota had held the threads of its groups when that was read last, ns.
    held: u64,
    /// For how long the thread was ready to run up to when that was read last, ns, and how much of the time off the
    /// processor since then was in looks that did not read it.
    queued: u64,
    unread: u64,
    /// By how much the clocks ran apart without an interruption, ns: the sum, the time that it is of, the most at once.
    apart: u64,
    apart_in: u64,
    most_apart: u64,
}

enum By {
    Page(EventPage),
    Sequence(Sequence),
    Nothing,
}

/// The facts that a thread states of itself when it begins to be watched.
#[derive(Clone, Copy, Default)]
pub struct Means {
    pub by: u16,
    /// Why it is not the page of an event: a number of errno.h.
    pub without_page: u16,
    /// 1 + the processor; 0: not known.
    pub first_processor: u32,
}

/// The thread's processor time and the clock's, ns.
#[derive(Clone, Copy, Default)]
struct Reading {
    clock: u64,
    processor_time: u64,
    /// How long it took to read both.
    width: u64,
}

impl Reading {
    fn now() -> Reading {
        let before = system::nanoseconds(libc::CLOCK_MONOTONIC_RAW);
        let processor_time = system::nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID);
        let width = system::nanoseconds(libc::CLOCK_MONOTONIC_RAW).saturating_sub(before);
        Reading { clock: before + width / 2, processor_time, width }
    }
}

impl Watch {
    pub const fn none() -> Watch {
        Watch {
            word: &raw const NEVER,
            seen: 0,
            renew_at: u64::MAX,
            by: By::Nothing,
            anchor: Reading { clock: 0, processor_time: 0, width: 0 },
            processor: NO_PROCESSOR,
            switches: [0; 2],
            held: 0,
            queued: 0,
            unread: 0,
            apart: 0,
            apart_in: 0,
            most_apart: 0,
        }
    }

    /// Begins to watch the calling thread.
    pub fn open() -> (Watch, Means) {
        let means = MEANS.load(Ordering::Relaxed);
        let mut watch = Watch { processor: system::processor(), ..Watch::none() };
        let mut said = Means { first_processor: watch.processor.wrapping_add(1), ..Means::default() };
        if means == means::OFF {
            said.by = interruptions_by::OFF;
            return (watch, said);
        }
        if means != means::SEQUENCE {
            match EventPage::open() {
                Ok(page) if *PAGE_WORKS.get_or_init(|| sees_sleep(page.word())) => watch.by = By::Page(page),
                Ok(_) => said.without_page = libc::ENOSYS as u16,
                Err(error) => said.without_page = error as u16,
            }
        }
        if matches!(watch.by, By::Nothing)
            && means != means::PAGE
            && let Some(sequence) = Sequence::of_thread()
        {
            if *SEQUENCE_WORKS.get_or_init(|| sees_sleep(sequence.word())) && sequence.arm() {
                watch.by = By::Sequence(sequence);
            } else {
                sequence.disarm();
            }
        }
        (said.by, watch.word) = match &watch.by {
            By::Page(page) => (interruptions_by::EVENT_PAGE, std::ptr::from_ref(page.word())),
            By::Sequence(sequence) => (interruptions_by::RSEQ, std::ptr::from_ref(sequence.word())),
            By::Nothing => (interruptions_by::NONE, &raw const NEVER),
        };
        watch.seen = watch.value();
        // Also where interruptions are not seen the processor time is read now and then: it dates a rank that is
        // killed.
        watch.renew_at = 0;
        watch.anchor = Reading::now();
        if said.by != interruptions_by::NONE {
            watch.switches = system::switches();
            watch.held = errno::kept(quota::held_ns).unwrap_or(0);
            watch.queued = errno::kept(kernel::queued_ns).unwrap_or(0);
        }
        (watch, said)
    }

    #[inline(always)]
    fn value(&self) -> u32 {
        // SAFETY: the static, or the word of `by`, which lives as long as this.
        unsafe { (*self.word).load(Ordering::Relaxed) }
    }

    /// True if the kernel has interrupted the thread since the last look.
    #[inline(always)]
    pub fn is_interrupted(&self) -> bool {
        self.value() != self.seen
    }

    /// True if the anchor is due to be renewed at this tick.
    #[inline(always)]
    pub fn is_due(&self, tick: u64) -> bool {
        tick >= self.renew_at
    }

    /// Looks after [`Watch::is_interrupted`], at this tick: what has happened since the look before. `None`: the kernel
    /// has not done that, or the thread can be watched no longer.
    #[cold]
    pub fn look(&mut self, tick: u64) -> Option<InterruptionEntry> {
        let value = self.value();
        let switches = match &self.by {
            By::Page(_) => EventPage::switches(self.seen, value),
            By::Sequence(sequence) if value == 0 && sequence.arm() => 0,
            // Another user of the thread's area.
            By::Sequence(_) => {
                *self = Watch { by: By::Nothing, ..Watch::none() };
                return None;
            }
            By::Nothing => return None,
        };
        self.seen = self.value();
        let before = std::mem::replace(&mut self.anchor, Reading::now());
        let (elapsed_ns, off_ns) = self.since(before);
        let [voluntary, others] = self.switched();
        let switches = if switches == 0 { voluntary + others } else { switches };
        let throttled_ns = if others > 0 && off_ns >= HELD_FROM { self.throttled().min(off_ns) } else { 0 };
        let queued_ns = self.queued(off_ns, others > 0);
        let processor_before = std::mem::replace(&mut self.processor, system::processor());
        self.renew_at = tick.saturating_add(RENEWED_AFTER_TICKS.load(Ordering::Relaxed));
        Some(InterruptionEntry {
            off_ns,
            error_ns: self.error(before, elapsed_ns),
            elapsed_ns,
            flags: interruption_flags::TIMED
                | interruption_flags::REASON
                | if queued_ns.is_some() { interruption_flags::QUEUED } else { 0 },
            switches,
            processor_before,
            processor_after: self.processor,
            voluntary: voluntary.min(switches),
            throttled_ns,
            queued_ns: queued_ns.unwrap_or(0),
            ..InterruptionEntry::default()
        })
    }

    /// Context switches since the last look, voluntary ones and others.
    fn switched(&mut self) -> [u32; 2] {
        let before = std::mem::replace(&mut self.switches, system::switches());
        std::array::from_fn(|kind| self.switches[kind].saturating_sub(before[kind]) as u32)
    }

    /// For how much of a time off the processor the thread was ready to run, ns. `None`: it is too short to ask, or the
    /// kernel does not state it. `was_preempted`: some of its switches were not voluntary.
    fn queued(&mut self, off_ns: u64, was_preempted: bool) -> Option<u64> {
        if off_ns < QUEUED_FROM {
            self.unread += if was_preempted { off_ns } else { 0 };
            return None;
        }
        let queued = errno::kept(kernel::queued_ns)?;
        let since = queued.saturating_sub(std::mem::replace(&mut self.queued, queued));
        Some(since.saturating_sub(std::mem::take(&mut self.unread)).min(off_ns))
    }

    /// For how long a quota has held the threads of its groups since this was asked last, ns.
    fn throttled(&mut self) -> u64 {
        let Some(held) = errno::kept(quota::held_ns) else { return 0 };
        held.saturating_sub(std::mem::replace(&mut self.held, held))
    }

    /// Renews the anchor where there was no interruption.
    #[cold]
    pub fn renew(&mut self, tick: u64) {
        let before = std::mem::replace(&mut self.anchor, Reading::now());
        if !self.is_interrupted() {
            let (elapsed, apart) = self.since(before);
            self.apart += apart;
            self.apart_in += elapsed;
            self.most_apart = self.most_apart.max(apart);
        } else {
            // It came while the clocks were read. The next look takes the time from before it.
            self.anchor = before;
        }
        self.renew_at = tick.saturating_add(RENEWED_AFTER_TICKS.load(Ordering::Relaxed));
    }

    /// Time on the clock since another reading, and what the processor time lacks of it, ns.
    fn since(&self, before: Reading) -> (u64, u64) {
        let elapsed = self.anchor.clock.saturating_sub(before.clock);
        let ran = self.anchor.processor_time.saturating_sub(before.processor_time);
        (elapsed, elapsed.saturating_sub(ran))
    }

    /// By how much the time off the processor may be wrong: by what the two readings took, and by what the clocks run
    /// apart, at the rate and in the steps that were measured on this thread.
    fn error(&self, before: Reading, elapsed: u64) -> u64 {
        let rate = match self.apart_in {
            0 => FIRST_RATE,
            time => (self.apart as f64 / time as f64).max(FIRST_RATE),
        };
        before.width + self.anchor.width + self.most_apart.max((rate * elapsed as f64) as u64)
    }

    /// The thread's processor time at the last reading, ns.
    pub fn processor_ns(&self) -> u64 {
        self.anchor.processor_time
    }

    /// In a child that was forked off the page is not mapped.
    pub fn forget(&mut self) {
        (self.word, self.seen, self.renew_at) = (&raw const NEVER, 0, u64::MAX);
    }

    /// The thread ends. Its page stays mapped until another thread takes its state: to unmap it now would keep other
    /// threads that end from theirs. glibc gives the stack of each back to the system, which UCX does within a spin
    /// lock of its own: of a thousand threads at once 500 waited to unmap while 200 spun, for minutes on two
    /// processors.
    pub fn close(&mut self) {
        match &self.by {
            By::Sequence(sequence) => sequence.disarm(),
            By::Page(_) => return self.forget(),
            By::Nothing => (),
        }
        *self = Watch::none();
    }
}

/// The answer to whether a method detects a thread's sleep, tested by the first thread that needs it.
static PAGE_WORKS: OnceLock<bool> = OnceLock::new();
static SEQUENCE_WORKS: OnceLock<bool> = OnceLock::new();

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    fn watched(means: u8) -> Option<(Watch, Means)> {
        choose(means);
        set_hz(1e9);
        let (watch, said) = Watch::open();
        (said.by != interruptions_by::NONE).then_some((watch, said))
    }

    /// One test, since the means are the process'.
    #[test]
    fn a_sleep_is_seen_and_timed_by_either_mechanism() {
        for (means, by) in [(means::PAGE, interruptions_by::EVENT_PAGE), (means::SEQUENCE, interruptions_by::RSEQ)] {
            let Some((mut watch, said)) = watched(means) else { continue };
            assert_eq!(said.by, by);
            let wanted = std::time::Duration::from_millis(20);
            let began = std::time::Instant::now();
            std::thread::sleep(wanted);
            let slept = began.elapsed();
            assert!(watch.is_interrupted());
            let seen = watch.look(0).unwrap();
            // All but what the thread ran itself, which is not so long on a processor of its own.
            let most = slept.as_nanos() as u64 + seen.elapsed_ns;
            assert!(seen.off_ns + seen.error_ns >= wanted.as_nanos() as u64 - 1_000_000, "{seen:?}");
            assert!(seen.off_ns <= seen.elapsed_ns && seen.elapsed_ns <= most, "{seen:?}");
            // It slept; it may have been preempted as well.
            assert!(seen.voluntary > 0 && seen.voluntary <= seen.switches, "{seen:?}");
            let reasons = interruption_flags::TIMED | interruption_flags::REASON;
            assert_eq!(seen.flags & !interruption_flags::QUEUED, reasons);
            // Looked at: nothing is left, unless the thread was interrupted again just now.
            assert!(!watch.is_interrupted() || watch.look(0).is_some_and(|again| again.off_ns < seen.off_ns));
            sleep_among_yields(&mut watch);
            watch.close();
            assert!(!watch.is_interrupted() && !watch.is_due(u64::MAX - 1));
        }
        choose(means::OFF);
        let (watch, said) = Watch::open();
        assert_eq!(said.by, interruptions_by::OFF);
        assert!(!watch.is_interrupted());
    }

    /// A sleep is one beside many switches of a thread that gives way to others.
    fn sleep_among_yields(watch: &mut Watch) {
        let Some(queued_ns) = kernel::queued_ns() else {
            println!("skipped: the kernel does not state for how long a thread was ready to run");
            return;
        };
        let began = std::time::Instant::now();
        let over = AtomicBool::new(false);
        let wanted = std::time::Duration::from_millis(100);
        let seen = std::thread::scope(|scope| {
            for _ in 0..2 * std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        std::hint::spin_loop()
                    }
                });
            }
            if watch.is_interrupted() {
                watch.look(0);
            }
            (0..20).for_each(|_| std::thread::yield_now());
            std::thread::sleep(wanted);
            // All but the time for which the thread was ready to run. It may have slept while it made the others.
            let most = began.elapsed().as_nanos() as u64 - (kernel::queued_ns().unwrap_or(0) - queued_ns);
            let seen = watch.look(0);
            over.store(true, Ordering::Relaxed);
            seen.map(|seen| (seen, most))
        });
        let (seen, most) = seen.unwrap();
        let [_, asleep, ..] = seen.off_by_reason();
        let error = seen.error_ns + 1_000_000;
        assert!(asleep + error >= wanted.as_nanos() as u64 && asleep <= most + error, "{seen:?}, {most}");
    }

    #[test]
    fn the_error_grows_with_the_time_and_with_the_steps_that_were_seen() {
        let mut watch = Watch::none();
        let before = Reading::default();
        let short = watch.error(before, 1_000_000);
        assert!(short < watch.error(before, 1_000_000_000));
        (watch.apart, watch.apart_in, watch.most_apart) = (50_000, 1_000_000_000, 40_000);
        assert!(watch.error(before, 1_000_000) >= 40_000 && short < 40_000);
    }
}
