//! What happens at each call: two time stamps and a few stores.

mod afterwards;
mod non_blocking;
mod region;

use std::ffi::c_int;
use std::sync::atomic::{Ordering, compiler_fence};

pub use non_blocking::{Started, prepared, starting};
pub use region::{Region, begin_region};

use crate::counters::per_call;
use crate::identity::call_cache::{Call, Found};
use crate::identity::operations;
use crate::record::thread::{self, Record, ThreadRef, attention};
use crate::record::{mode, ticks};
use afterwards::{LeftByException, afterwards, attend, begin_untracked, end_untracked, synchronise, unkept};

/// Counts a call and begins its record, all that comes before the time stamp of the entry; then goes on with
/// `recorded`, which gets the thread, the call, its operation, the record and `forward`. Where there is no record the
/// call is forwarded, and `unrecorded` gets its result. Clocks are synchronised after `blocking` calls only.
///
/// No lock, no allocation, no system call and no MPI call lie on this way, but for an operation that the thread has not
/// called lately and for a full chunk.
#[inline(always)]
fn begin<F: FnOnce() -> c_int, R>(
    here: usize,
    blocking: bool,
    message: &impl Fn(ThreadRef) -> Call,
    forward: F,
    unrecorded: impl FnOnce(c_int) -> R,
    recorded: impl FnOnce(ThreadRef, &Call, Found, Record, F) -> R,
) -> R {
    let mode = mode::get();
    if mode == mode::OFF {
        return unrecorded(forward());
    }
    let thread = thread::current_or_new();
    if here < thread.guard() {
        return unrecorded(forward());
    }
    let call = message(thread);
    let Some(&found) = operations::find(thread, &call) else {
        let communicator = begin_untracked(thread, &call);
        let result = thread::guarded(forward);
        end_untracked(thread, communicator, blocking, result);
        return unrecorded(result);
    };
    let position = found.communicator.calls();
    found.communicator.set_calls(position + 1);
    let repetition = found.operation.calls();
    found.operation.set_calls(repetition + 1);

    if mode == mode::PAUSED {
        return unrecorded(unkept(thread, &found, &call, message, true, blocking, forward));
    }
    let Some(flags) = thread.make_room() else {
        return unrecorded(unkept(thread, &found, &call, message, false, blocking, forward));
    };
    let record = thread.next_record();
    thread.describe(record, position, repetition, found.number | flags);
    if thread.attention() != 0 {
        attend(thread, record, call.key.communicator);
    }
    thread.set_guard(here);
    // The entry makes the record count, so it comes after the rest: a kill in between leaves no half record.
    compiler_fence(Ordering::Release);
    recorded(thread, &call, found, record, forward)
}

/// Forwards a blocking collective, and records it. `message` tells what the call is; it may be asked twice.
#[inline(always)]
pub fn collective(message: impl Fn(ThreadRef) -> Call, forward: impl FnOnce() -> c_int) -> c_int {
    let recorded = |thread: ThreadRef, call: &Call, found: Found, record: Record, forward: _| {
        let stamps = thread.stamps(record);
        stamps.enter(ticks::now());
        let result = uncaught(thread, found, forward);
        stamps.exit(ticks::now());
        thread.set_guard(0);
        thread.go_behind(record);
        if thread.attention() & attention::AFTER != 0 {
            per_call::end(thread, record, call.key.communicator);
        }
        if result != 0 || found.open {
            afterwards(thread, &found, call, &message, result);
        }
        if found.communicator.is_sync_due() {
            synchronise(thread, &found);
        }
        result
    };
    begin(thread::frame(), true, &message, forward, |result| result, recorded)
}

/// Forwards; a C++ exception passes through, and takes the count of the call back.
#[inline(always)]
fn uncaught(thread: ThreadRef, found: Found, forward: impl FnOnce() -> c_int) -> c_int {
    let left_by_exception = LeftByException { thread, found };
    let result = forward();
    std::mem::forget(left_by_exception);
    result
}
