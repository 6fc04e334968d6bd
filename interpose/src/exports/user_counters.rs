//! The C API: names become numbers once, and the rest is a store.

use std::ffi::{CStr, c_char, c_int, c_void};

use mpitrace_format::layout::INNER_COUNTERS;

use crate::base::mode;
use crate::base::ticks;
use crate::counters::user_counters as names;
use crate::record::thread::{self, ThreadRef, attention};
use crate::recorder::named_regions;

const NONE: c_int = -1;

/// # Safety
/// A C string, or null.
unsafe fn text<'t>(place: *const c_char) -> Option<&'t str> {
    if place.is_null() {
        return None;
    }
    // SAFETY: not null, and a C string as the caller promises.
    unsafe { CStr::from_ptr(place) }.to_str().ok().filter(|text| !text.is_empty())
}

/// # Safety
/// Both are C strings, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpitrace_counter(name: *const c_char, unit: *const c_char) -> c_int {
    // SAFETY: the C program promises strings (include/mpitrace.h).
    let (name, unit) = unsafe { (text(name), text(unit).unwrap_or("times")) };
    thread::catch_panic(|| names::slot(name?, unit, false)).map_or(NONE, |slot| slot as c_int)
}

/// # Safety
/// A C string, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpitrace_timer(name: *const c_char) -> c_int {
    // SAFETY: the C program promises a string (include/mpitrace.h).
    let name = unsafe { text(name) };
    thread::catch_panic(|| names::slot(name?, "ns", true)).map_or(NONE, |slot| slot as c_int)
}

/// # Safety
/// A C string, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpitrace_region(name: *const c_char) -> c_int {
    // SAFETY: the C program promises a string (include/mpitrace.h).
    let name = unsafe { text(name) };
    thread::catch_panic(|| named_regions::number(name?)).map_or(NONE, |number| number as c_int)
}

/// This thread's state, which has something of the stack's inside to show from now on; `None` before MPI_Init and after
/// MPI_Finalize, and for a number that is no slot.
#[inline(always)]
fn state(slot: usize) -> Option<ThreadRef> {
    if slot >= INNER_COUNTERS {
        return None;
    }
    let thread = match thread::current() {
        Some(thread) => thread,
        None if !mode::is_on() => return None,
        None => thread::create()?,
    };
    thread.attend(attention::INNER);
    Some(thread)
}

/// Adds to a counter, for the call or region in progress on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn mpitrace_add(counter: c_int, value: u64) {
    let slot = counter as usize;
    if let Some(thread) = state(slot) {
        thread.with_sums(|sums| sums.add(slot, value));
    }
}

/// Starts a timer, also one that is running: then anew.
#[unsafe(no_mangle)]
pub extern "C" fn mpitrace_timer_start(timer: c_int) {
    let slot = timer as usize;
    if let Some(thread) = state(slot) {
        thread.with_sums(|sums| sums.started[slot] = ticks::now());
    }
}

/// Stops a timer: what has passed since it was started counts for the call or region in progress on this thread. One
/// that is not running stays as it is.
#[unsafe(no_mangle)]
pub extern "C" fn mpitrace_timer_stop(timer: c_int) {
    let now = ticks::now();
    let slot = timer as usize;
    if let Some(thread) = state(slot) {
        thread.with_sums(|sums| match std::mem::take(&mut sums.started[slot]) {
            0 => {}
            started => sums.add(slot, now.wrapping_sub(started)),
        });
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn mpitrace_region_begin(region: c_int) {
    // Within a recorded call (a user's reduction, the library) the record that comes next is that call's.
    let inside = thread::is_nested(thread::frame());
    if mode::is_on() && region >= 0 {
        named_regions::begin(region as usize, inside);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn mpitrace_region_end(region: c_int) {
    if region >= 0 {
        named_regions::end(region as usize);
    }
}

/// Calls `work(data)`, whose MPI calls are only forwarded: those of a benchmark's harness (include/mpitrace_bench.c),
/// by whatever names it calls MPI.
///
/// # Safety
/// A function that may be called with this argument.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn mpitrace_unrecorded(work: unsafe extern "C-unwind" fn(*mut c_void), data: *mut c_void) {
    // SAFETY: the caller promises both.
    thread::guarded(|| unsafe { work(data) });
}
