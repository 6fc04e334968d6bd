//! The memory of this library: malloc's, and where malloc fails a reserve.
//!
//! Rust ends a process in which an allocation fails, and the program must go on. So the first failure ends the
//! recording, and what is in progress then gets its memory from the reserve, which lies in the library's own data. What
//! may need more than that asks whether there is memory (`try_reserve`), or takes a reserve of its own first
//! ([`Held`]).

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::base::lock::lock;
use crate::base::mode;

#[global_allocator]
static ALLOCATOR: Allocator<System> = Allocator(System);

/// An allocation has failed: recording has ended.
static EXHAUSTED: AtomicBool = AtomicBool::new(false);

/// True if an allocation has failed, so that recording has ended.
pub fn is_exhausted() -> bool {
    EXHAUSTED.load(Ordering::Relaxed)
}

struct Allocator<A>(A);

// SAFETY: memory is the other allocator's, or the reserve's; each is given back to where it came from.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Allocator<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let place = unsafe { self.0.alloc(layout) };
        if place.is_null() { exhausted(layout) } else { place }
    }

    #[inline]
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        if !is_exhausted() || !reserve().give_back(place, layout) {
            // SAFETY: it is not the reserve's; for the rest the caller's promise.
            unsafe { self.0.dealloc(place, layout) };
        }
    }
}

/// Ends the recording, and takes memory from the reserve; null: there is none.
#[cold]
#[inline(never)]
fn exhausted(layout: Layout) -> *mut u8 {
    end_recording();
    reserve().take(layout)
}

fn end_recording() {
    EXHAUSTED.store(true, Ordering::Relaxed);
    mode::stop();
}

/// Bytes of the reserve. What is in progress in a thread takes some 10 KiB, packing a chunk more (it has a reserve of
/// its own).
const RESERVE: usize = 1 << 20;
/// No larger block comes from it: what wants that much asks whether there is memory, or holds a reserve of its own.
const MOST: usize = 1 << 17;
/// Blocks are powers of two, from this one on: all are aligned to it.
const LEAST: usize = 64;
/// So many powers: more than an address has bits for.
const SIZES: usize = 58;
/// Reserves at once: that of the library, and those that are held.
const AREAS: usize = 64;

#[repr(align(64))]
struct Memory(UnsafeCell<[u8; RESERVE]>);

// SAFETY: only the reserve gives addresses out, under its lock.
unsafe impl Sync for Memory {}

static MEMORY: Memory = Memory(UnsafeCell::new([0; RESERVE]));

static RESERVED: Mutex<Reserve> = Mutex::new({
    let mut areas = [const { Area::NONE }; AREAS];
    areas[0] = Area { start: MEMORY.0.get().cast(), bytes: RESERVE, used: 0 };
    Reserve { areas, free: [null_mut(); SIZES] }
});

fn reserve() -> MutexGuard<'static, Reserve> {
    lock(&RESERVED)
}

struct Reserve {
    areas: [Area; AREAS],
    /// The blocks that were given back, by size: in each lies the address of the next one.
    free: [*mut u8; SIZES],
}

// SAFETY: the addresses are of memory that no thread has to itself.
unsafe impl Send for Reserve {}

struct Area {
    /// Null: there is none.
    start: *mut u8,
    bytes: usize,
    /// So many from the start on have been blocks.
    used: usize,
}

impl Area {
    const NONE: Area = Area { start: null_mut(), bytes: 0, used: 0 };

    fn holds(&self, place: *mut u8) -> bool {
        place.addr().wrapping_sub(self.start.addr()) < self.bytes
    }
}

/// Which of the sizes a block has; `None`: none is so aligned.
fn size_of_block(layout: Layout) -> Option<usize> {
    let size = || (layout.size().max(LEAST).next_power_of_two() / LEAST).ilog2() as usize;
    (layout.align() <= LEAST).then(size)
}

impl Reserve {
    fn take(&mut self, layout: Layout) -> *mut u8 {
        let Some(size) = size_of_block(layout) else { return null_mut() };
        let first = self.free[size];
        if !first.is_null() {
            // SAFETY: a block that was given back, and holds the address of the next one.
            self.free[size] = unsafe { first.cast::<*mut u8>().read() };
            return first;
        }
        let bytes = LEAST << size;
        let [initial, held @ ..] = &mut self.areas;
        let initial = Some(initial).filter(|_| bytes <= MOST);
        let mut areas = held.iter_mut().chain(initial);
        let Some(area) = areas.find(|area| area.bytes - area.used >= bytes) else { return null_mut() };
        area.used += bytes;
        area.start.wrapping_add(area.used - bytes)
    }

    fn holds(&self, place: *mut u8) -> bool {
        self.areas.iter().any(|area| area.holds(place))
    }

    /// False: the block is not the reserve's.
    fn give_back(&mut self, place: *mut u8, layout: Layout) -> bool {
        let Some(size) = size_of_block(layout).filter(|_| self.holds(place)) else { return false };
        // SAFETY: a block of the reserve, which is aligned and larger than an address, and was given up.
        unsafe { place.cast::<*mut u8>().write(self.free[size]) };
        self.free[size] = place;
        true
    }
}

/// A further reserve, for work that takes memory in proportion to what was recorded. It goes with this, unless some of
/// it was needed.
pub struct Held(NonNull<u8>);

// SAFETY: it is the address of memory that no thread has to itself.
unsafe impl Send for Held {}

impl Held {
    /// Sets so many bytes (not 0) aside, which take no memory before they are needed. `None`: that cannot be done, or
    /// memory is exhausted already.
    pub fn bytes(bytes: u64) -> Option<Held> {
        Self::of_area(bytes, end_recording)
    }

    /// Holds memory for data that can be left out: unlike with [`Held::bytes`], a failure changes nothing.
    pub fn bytes_if_any(bytes: u64) -> Option<Held> {
        Self::of_area(bytes, || ())
    }

    fn of_area(bytes: u64, refused: impl FnOnce()) -> Option<Held> {
        let bytes = usize::try_from(bytes).ok()?;
        let mut reserve = reserve();
        let area = reserve.areas.iter_mut().find(|area| area.bytes == 0).filter(|_| !is_exhausted())?;
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, which changes no other.
        let start = unsafe { libc::mmap(null_mut(), bytes, access, kind, -1, 0) };
        if start == libc::MAP_FAILED {
            refused();
            return None;
        }
        *area = Area { start: start.cast(), bytes, used: 0 };
        NonNull::new(area.start).map(Held)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut reserve = reserve();
        let area = reserve.areas.iter_mut().find(|area| area.start == self.0.as_ptr() && area.used == 0);
        if let Some(area) = area.map(|area| std::mem::replace(area, Area::NONE)) {
            // SAFETY: mapped above with these bytes, of which none was given out.
            unsafe { libc::munmap(area.start.cast(), area.bytes) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, 8).unwrap()
    }

    #[test]
    fn blocks_of_a_reserve_are_apart_and_are_given_out_again() {
        let mut memory = vec![0u64; 1 << 10];
        let area = Area { start: memory.as_mut_ptr().cast(), bytes: 8 << 10, used: 0 };
        let mut reserve = Reserve { areas: [const { Area::NONE }; AREAS], free: [null_mut(); SIZES] };
        reserve.areas[0] = area;
        let sizes = [1, 64, 65, 1000, 8, 2000];
        let places: Vec<usize> = sizes.iter().map(|&bytes| reserve.take(layout(bytes)).addr()).collect();
        for ((place, bytes), next) in places.iter().zip(sizes).zip(&places[1..]) {
            assert!(place + bytes <= *next && place % 8 == 0, "{places:x?}");
        }
        assert!(reserve.take(layout(5000)).is_null(), "there is no room for it");
        assert!(reserve.take(Layout::from_size_align(1, 128).unwrap()).is_null());
        let [first, last] = [0, 5].map(|index| memory.as_mut_ptr().cast::<u8>().with_addr(places[index]));
        assert!(reserve.give_back(first, layout(1)) && reserve.give_back(last, layout(2000)));
        assert!(!reserve.give_back((&raw mut memory).cast(), layout(1)), "that is not its own");
        assert_eq!([reserve.take(layout(1500)), reserve.take(layout(64))], [last, first]);
    }

    #[test]
    fn what_is_held_gives_out_large_blocks_and_goes_when_none_was_needed() {
        let mut memory = vec![0u64; MOST / 4];
        let mut reserve = Reserve { areas: [const { Area::NONE }; AREAS], free: [null_mut(); SIZES] };
        reserve.areas[0] = Area { start: memory.as_mut_ptr().cast(), bytes: 2 * MOST, used: 0 };
        assert!(reserve.take(layout(MOST + 1)).is_null(), "the library's own is for small ones");
        reserve.areas[1] = Area { start: memory.as_mut_ptr().cast(), bytes: 2 * MOST, used: 0 };
        assert!(!reserve.take(layout(MOST + 1)).is_null());

        let held = [1 << 20, 1 << 30].map(|bytes| Held::bytes(bytes).unwrap());
        assert_ne!(held[0].0, held[1].0);
        let places = held.each_ref().map(|held| held.0.as_ptr());
        assert!(places.iter().all(|&place| super::reserve().holds(place)));
        drop(held);
        assert!(places.iter().all(|&place| !super::reserve().holds(place)));
    }
}
