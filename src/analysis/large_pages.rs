//! An allocator that asks the system for large pages where an allocation is large.
//!
//! A column of 100 million values takes 200 000 pages of 4 KiB, and as many page faults when it is first written: more
//! time than what is computed. Most systems give pages of 2 MiB where they are asked for ("madvise" in
//! /sys/kernel/mm/transparent_hugepage/enabled).

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, with large pages for large allocations: for `#[global_allocator]` in a program, not in a
/// library that lives in other people's processes.
#[derive(Clone, Copy, Debug)]
pub struct LargePages;

/// Smaller allocations, bytes, are left as they are: a large page that is hardly used would be wasted.
const LARGE: usize = 8 << 20;
/// The system takes advice for whole pages of this many bytes.
const PAGE: usize = 4096;

// SAFETY: all memory comes from the system's allocator and goes back to it under the layout that it came with; advice
// on how it is backed changes nothing that a program can see.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of the system's allocator.
        advised(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        advised(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        advised(unsafe { System.realloc(start, layout, size) }, size)
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(start, layout) }
    }
}

fn advised(start: *mut u8, length: usize) -> *mut u8 {
    if length >= LARGE && !start.is_null() {
        let skipped = start.align_offset(PAGE);
        // SAFETY: whole pages within an allocation that was just made; where the system refuses nothing has changed.
        unsafe { libc::madvise(start.add(skipped).cast(), (length - skipped) & !(PAGE - 1), libc::MADV_HUGEPAGE) };
    }
    start
}
