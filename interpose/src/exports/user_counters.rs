//! The C API: names become numbers once, and the rest is a store.

use std::ffi::{CStr, c_char, c_int};

use mpitrace_format::layout::{INNER_COUNTERS, OPERATION_MASK, counter_column, name_of};

use crate::base::mode;
use crate::counters::user_counters as names;
use crate::job::output;
use crate::job::run::RUN;
use crate::record::thread::{self, ThreadRef, attention};
use crate::record::ticks;
use crate::recorder::named_regions;

/// No counter, timer or region.
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
        thread.add(slot, value);
    }
}

/// Starts a timer, also one that is running: then anew.
#[unsafe(no_mangle)]
pub extern "C" fn mpitrace_timer_start(timer: c_int) {
    let slot = timer as usize;
    if let Some(thread) = state(slot) {
        thread.replace_started(slot, ticks::now());
    }
}

/// Stops a timer: what has passed since it was started counts for the call or region in progress on this thread. One
/// that is not running stays as it is.
#[unsafe(no_mangle)]
pub extern "C" fn mpitrace_timer_stop(timer: c_int) {
    let now = ticks::now();
    let slot = timer as usize;
    if let Some(thread) = state(slot) {
        let started = thread.replace_started(slot, 0);
        if started != 0 {
            thread.add(slot, now.wrapping_sub(started));
        }
    }
}

/// Begins a repetition of a region on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn mpitrace_region_begin(region: c_int) {
    // Within a recorded call (a user's reduction, the library) the record that comes next is that call's.
    let inside = thread::is_nested(thread::frame());
    if mode::is_on() && region >= 0 {
        thread::catch_panic(|| named_regions::begin(region as usize, inside));
    }
}

/// Ends it.
#[unsafe(no_mangle)]
pub extern "C" fn mpitrace_region_end(region: c_int) {
    if region >= 0 {
        named_regions::end(region as usize);
    }
}

/// The values of a counter or timer in the repetitions of a region that this rank has kept so far, in their order: as
/// many as there are, of which the first `capacity` are stored.
///
/// # Safety
/// `values` has room for `capacity` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpitrace_values(region: c_int, counter: c_int, values: *mut u64, capacity: usize) -> usize {
    let (Ok(region), Ok(counter)) = (usize::try_from(region), usize::try_from(counter)) else { return 0 };
    let found = thread::catch_panic(|| values_of_region(region, counter)).unwrap_or_default();
    if !values.is_null() {
        for (index, value) in found.iter().take(capacity).enumerate() {
            // SAFETY: the C program promises room for `capacity` values, and the index is below.
            unsafe { values.add(index).write(*value) };
        }
    }
    found.len()
}

/// The values of a slot in the repetitions of a region that are kept.
fn values_of_region(number: usize, slot: usize) -> Option<Vec<u64>> {
    let operation = named_regions::operation_number(number)?;
    let name = counter_column(names::column(slot)?);
    let (content, _held) = output::content_of(RUN.get()?)?;
    // No rank has used the counter yet: each repetition had 0 of it.
    let column = content.columns.iter().find(|column| name_of(&column.name) == name).map(|column| column.number);
    let mut found = Vec::new();
    for rows in content.records_in_memory() {
        let values = rows.others.iter().find(|(number, _)| Some(*number) == column).map(|(_, values)| values);
        let is_meant =
            |record: &usize| rows.operation[*record] & OPERATION_MASK == operation && rows.exit[*record] != 0;
        let kept = (0..rows.enter.len()).filter(is_meant);
        found.extend(kept.map(|record| values.map_or(0, |values| values[record])));
    }
    Some(found)
}
