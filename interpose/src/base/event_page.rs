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
    pub capabilities: AtomicU64,
    pub counter_width: AtomicU16,
    pub time_shift: AtomicU16,
    pub time_mult: AtomicU32,
}

const _: () = assert!(std::mem::offset_of!(Page, offset) == 16 && std::mem::offset_of!(Page, capabilities) == 40);
const _: () = assert!(std::mem::offset_of!(Page, time_mult) == 52 && size_of::<Page>() == 56);

#[inline(always)]
pub fn fields(page: &MappedPage) -> &Page {
    // SAFETY: mapped as long as `page` lives, aligned to a page; all fields are atomics.
    unsafe { page.start().cast().as_ref() }
}

/// Bits of [`Page::capabilities`]. Bit 0 is deprecated and says nothing.
pub mod capability {
    /// The counter may be read by user space.
    pub const COUNTER: u64 = 1 << 2;
    /// The kernel says how fast the processor's clock runs.
    #[cfg(any(target_arch = "x86_64", test))]
    pub const TIME: u64 = 1 << 3;
}

/// How often the loop is tried: the kernel changes the page when the thread is switched or a counter overflows, so that
/// even a second try is rare.
const TRIES: usize = 100;

pub trait Instructions {
    /// The counter of this number, whatever it counts; `None`: there is no instruction for it.
    fn counter(&self, number: u32) -> Option<u64>;
}

/// The values that a page gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageReading {
    /// Since the event was opened, not scaled.
    pub count: u64,
    /// How long the group was to count, and as long it did, ns. It stands still between two changes of the page.
    pub times: u64,
}

/// The count of the calling thread's event and its times; `None`: they have to be asked of the kernel, as where the
/// group has ever had to wait for a counter, so that its times differ.
#[inline(always)]
pub fn read(page: &Page, instructions: &impl Instructions) -> Option<PageReading> {
    at_rest::<true>(page, instructions)
}

/// The count alone, for the members of a group, whose times are the leader's; `None`: it has to be asked of the kernel.
#[inline(always)]
pub fn count(page: &Page, instructions: &impl Instructions) -> Option<u64> {
    Some(at_rest::<false>(page, instructions)?.count)
}

/// The loop; without `TIMES` they are 0. It is one function, whose ways out are known each by itself: with little
/// optimisation, too, nothing is put together and taken apart again.
#[inline(always)]
fn at_rest<const TIMES: bool>(page: &Page, instructions: &impl Instructions) -> Option<PageReading> {
    let mut tries = TRIES;
    loop {
        // An odd number, while the kernel writes, becomes one that the lock does not come back to.
        let sequence = page.lock.load(Ordering::Acquire) & !1;
        if page.capabilities.load(Ordering::Relaxed) & capability::COUNTER == 0 {
            return None;
        }
        let index = page.index.load(Ordering::Relaxed);
        let mut count = page.offset.load(Ordering::Relaxed);
        if index != 0 {
            let width = u32::from(page.counter_width.load(Ordering::Relaxed));
            count = count.wrapping_add(extended(instructions.counter(index - 1)?, width));
        }
        let mut times = 0;
        let mut is_shared = false;
        if TIMES {
            times = page.time_enabled.load(Ordering::Relaxed);
            is_shared = times != page.time_running.load(Ordering::Relaxed);
        }
        fence(Ordering::Acquire);
        if page.lock.load(Ordering::Relaxed) == sequence {
            return (!is_shared).then_some(PageReading { count: count as u64, times });
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
