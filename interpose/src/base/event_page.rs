//! A counter read without a system call: the page that the kernel keeps for an event (`perf_event_mmap_page`).
//!
//! [`read`] and [`count`] are the loop that linux/perf_event.h documents. They are made of the page, whose fields are
//! atomics so that a page in ordinary memory does as well, and of the instructions ([`Instructions`]).

use std::sync::atomic::{AtomicI64, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

use mpitrace_platform::perf::MappedPage;

/// The part of the page from which the counter is read.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Page {
    pub version: AtomicU32,
    pub compatible_version: AtomicU32,
    /// Sequence lock: what was read counts if it has not changed meanwhile. Odd while the kernel writes, which another
    /// thread can see and the counted one cannot.
    pub lock: AtomicU32,
    /// Number of the counter and 1; 0: the event is on none.
    pub index: AtomicU32,
    /// The number to add to the counter; the count itself where the event is on none.
    pub offset: AtomicI64,
    /// ns.
    pub time_enabled: AtomicU64,
    /// ns.
    pub time_running: AtomicU64,
    /// Bits of [`capability`].
    pub capabilities: AtomicU64,
    /// How many bits the counter has.
    pub counter_width: AtomicU16,
    pub time_shift: AtomicU16,
    pub time_mult: AtomicU32,
    /// ns.
    pub time_offset: AtomicU64,
    pub time_zero: AtomicU64,
    pub size: AtomicU32,
    pub reserved: AtomicU32,
    /// Ticks at the last update of a clock that has fewer bits than 64.
    pub time_cycles: AtomicU64,
    pub time_mask: AtomicU64,
}

const _: () = assert!(size_of::<Page>() == 96);
const _: () = assert!(std::mem::offset_of!(Page, offset) == 16 && std::mem::offset_of!(Page, capabilities) == 40);
const _: () = assert!(std::mem::offset_of!(Page, time_mult) == 52 && std::mem::offset_of!(Page, time_mask) == 88);

/// The fields of a mapped page.
#[inline(always)]
pub fn fields(page: &MappedPage) -> &Page {
    // SAFETY: mapped as long as `page` lives, aligned to a page; all fields are atomics.
    unsafe { page.start().cast().as_ref() }
}

/// Bits of [`Page::capabilities`]. Bit 0 is deprecated and says nothing.
pub mod capability {
    /// The counter may be read by user space.
    pub const COUNTER: u64 = 1 << 2;
    /// The time can be computed from the processor's clock.
    pub const TIME: u64 = 1 << 3;
    /// That clock has fewer bits than 64.
    pub const SHORT_TIME: u64 = 1 << 5;
}

/// How often the loop is tried: the kernel changes the page when the thread is switched or a counter overflows, so that
/// even a second try is rare.
const TRIES: usize = 100;

/// Reads counters and the clock.
pub trait Instructions {
    /// The counter of this number, whatever it counts; `None`: there is no instruction for it.
    fn counter(&self, number: u32) -> Option<u64>;
    /// The clock that [`Page::time_mult`] is for, ticks.
    fn ticks(&self) -> u64;
}

/// The values that a page gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageReading {
    /// Since the event was opened, not scaled.
    pub count: u64,
    /// How long the group was to count, ns. Both times stand still between two changes of the page as long as they are
    /// equal.
    pub enabled: u64,
    /// How long it counted, ns.
    pub running: u64,
}

/// The count of the calling thread's event and its times; `None`: they have to be asked of the kernel.
#[inline(always)]
pub fn read(page: &Page, instructions: &impl Instructions) -> Option<PageReading> {
    at_rest::<true>(page, instructions)
}

/// The count alone, for the members of a group, whose times are the leader's; `None`: it has to be asked of the kernel.
#[inline(always)]
pub fn count(page: &Page, instructions: &impl Instructions) -> Option<u64> {
    Some(at_rest::<false>(page, instructions)?.count)
}

/// The loop; without `TIMES` both times are 0. It is one function, whose ways out are known each by itself: with little
/// optimisation, too, nothing is put together and taken apart again.
#[inline(always)]
fn at_rest<const TIMES: bool>(page: &Page, instructions: &impl Instructions) -> Option<PageReading> {
    let mut tries = TRIES;
    loop {
        // An odd number, while the kernel writes, becomes one that the lock does not come back to.
        let sequence = page.lock.load(Ordering::Acquire) & !1;
        let capabilities = page.capabilities.load(Ordering::Relaxed);
        if capabilities & capability::COUNTER == 0 {
            return None;
        }
        let index = page.index.load(Ordering::Relaxed);
        let mut count = page.offset.load(Ordering::Relaxed);
        if index != 0 {
            let width = u32::from(page.counter_width.load(Ordering::Relaxed));
            count = count.wrapping_add(extended(instructions.counter(index - 1)?, width));
        }
        let (mut enabled, mut running) = (0, 0);
        if TIMES {
            enabled = page.time_enabled.load(Ordering::Relaxed);
            running = page.time_running.load(Ordering::Relaxed);
            // Nearly always equal: the group has never had to wait for a counter, and no clock is needed.
            if enabled != running {
                (enabled, running) = shared_times(page, instructions, capabilities, index, enabled, running)?;
            }
        }
        fence(Ordering::Acquire);
        if page.lock.load(Ordering::Relaxed) == sequence {
            return Some(PageReading { count: count as u64, enabled, running });
        }
        tries -= 1;
        if tries == 0 {
            return None;
        }
        std::hint::spin_loop();
    }
}

/// A counter of `width` bits, 1 to 64, as a signed number: the kernel starts counters below 0, so that they overflow in
/// good time.
#[inline(always)]
fn extended(counter: u64, width: u32) -> i64 {
    // 64 - width, as far as a shift looks at it.
    let unused = width.wrapping_neg();
    counter.wrapping_shl(unused).cast_signed().wrapping_shr(unused)
}

/// Both times of an event that shares the counters with others, ns: at the page's last update, and since then.
#[cold]
fn shared_times(
    page: &Page,
    instructions: &impl Instructions,
    capabilities: u64,
    index: u32,
    enabled: u64,
    running: u64,
) -> Option<(u64, u64)> {
    // Without a clock the page knows only the times of the last switch.
    if capabilities & capability::TIME == 0 {
        return None;
    }
    let since = since_update(page, instructions.ticks(), capabilities);
    Some((enabled.wrapping_add(since), if index == 0 { running } else { running.wrapping_add(since) }))
}

/// Time since the kernel wrote the page, ns: offset + ticks * mult / 2^shift, without losing the upper bits.
fn since_update(page: &Page, ticks: u64, capabilities: u64) -> u64 {
    let mult = u64::from(page.time_mult.load(Ordering::Relaxed));
    let shift = u32::from(page.time_shift.load(Ordering::Relaxed)) & 63;
    let mut ticks = ticks;
    if capabilities & capability::SHORT_TIME != 0 {
        let last = page.time_cycles.load(Ordering::Relaxed);
        ticks = last.wrapping_add(ticks.wrapping_sub(last) & page.time_mask.load(Ordering::Relaxed));
    }
    let (quotient, remainder) = (ticks >> shift, ticks & ((1 << shift) - 1));
    let offset = page.time_offset.load(Ordering::Relaxed);
    offset.wrapping_add(quotient.wrapping_mul(mult)).wrapping_add(remainder.wrapping_mul(mult) >> shift)
}
