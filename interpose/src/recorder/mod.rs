//! The recording of each call: two time stamps and a few stores.

pub mod activity;
mod afterwards;
pub mod algorithms;
pub mod check;
pub mod epochs;
mod managed;
pub mod message_records;
pub mod messages;
pub mod named_regions;
mod nested;
mod non_blocking;
mod own_statuses;
pub mod p2p;
mod region;
pub mod requests;
mod sited;
pub mod waiting;

use std::ffi::c_int;
use std::sync::atomic::{Ordering, compiler_fence};

pub use afterwards::failed_without_record;
pub use managed::managed;
pub use non_blocking::{Started, prepared, starting};

use mpitrace_format::amounts;
use mpitrace_format::layout::CommunicatorEntry;

use crate::base::entry::Entry;
use crate::base::ticks;
use crate::base::{mode, processor};
use crate::handles::call::{Call, Share};
use crate::handles::call_cache::KnownOperation;
use crate::operation::operations;
use crate::record::buffer::histograms::Unkept;
use crate::record::thread::{self, Record, ThreadRef, attention};
use afterwards::{
    LeftByException, after, afterwards, attend, begin_untracked, end_untracked, leave_error_handler, synchronise,
    take_back, unkept,
};

/// Counts a call and begins its record, all that comes before the time stamp of the entry; then goes on with
/// `recorded`, which gets the thread, the call, its operation, the record and `forward`. Where there is no record the
/// call is forwarded, and `unrecorded` gets its result and, of a call that was counted, when it was made; that of a
/// `blocking` call is counted in its histogram already. Clocks are synchronised after `blocking` calls only.
///
/// No lock, no allocation, no system call and no MPI call lie on this way, but for an operation that the thread has not
/// called lately and for a full chunk.
#[inline(always)]
fn begin<F: FnOnce() -> c_int, R>(
    here: usize,
    blocking: bool,
    message: &dyn Fn(ThreadRef) -> Call,
    forward: F,
    unrecorded: impl FnOnce(c_int, Option<Unkept>) -> R,
    recorded: impl FnOnce(ThreadRef, &Call, KnownOperation, Record, F) -> R,
) -> R {
    let mode = mode::get();
    let thread = if mode == mode::OFF { None } else { thread::current_or_new() };
    let Some(thread) = thread.filter(|thread| here >= thread.guard()) else { return unrecorded(forward(), None) };
    if thread.guard() != 0 {
        // The call before was left by longjmp, which an error handler does.
        leave_error_handler(thread);
    }
    if thread.is_polling() {
        thread.leave_row();
    }
    let call = message(thread);
    let Some(&found) = operations::find(thread, &call) else {
        let communicator = begin_untracked(thread, &call);
        let result = thread::guarded(forward);
        end_untracked(thread, communicator, blocking, result);
        return unrecorded(result, None);
    };
    let position = found.communicator.calls();
    found.communicator.set_calls(position + 1);
    let repetition = found.operation.calls();
    found.operation.set_calls(repetition + 1);
    add_amounts(found.communicator, &call, position);

    if mode != mode::PLAIN && check::is_on() {
        check::compare(thread, &call, &found, position);
    }
    let is_paused = mode == mode::PAUSED;
    let is_to_stay = !is_paused && (blocking || thread.is_to_stay(found.communicator, position));
    let Some(flags) = (if is_to_stay { thread.make_room() } else { None }) else {
        let (result, unkept) = unkept(thread, &found, &call, message, is_paused, blocking, forward);
        return unrecorded(result, unkept);
    };
    let record = thread.next_record();
    thread.describe(record, position, repetition, found.number | flags);
    if thread.attention() != 0 {
        attend(thread, record);
    }
    thread.set_guard(here);
    // What describes the call is stored before the tick is read, which then is as late as can be.
    compiler_fence(Ordering::Release);
    recorded(thread, &call, found, record, forward)
}

/// Adds this rank's share of the amounts of a call with this position to the sums of its communicator.
#[inline(always)]
fn add_amounts(communicator: Entry<CommunicatorEntry>, call: &Call, position: u64) {
    let Share { amounts, types, unknown } = call.amounts;
    if amounts != 0 {
        let [first, second] = amounts::factors(position).map(|factor| factor.wrapping_mul(amounts));
        let [one, other] = communicator.amounts();
        communicator.set_amounts([one.wrapping_add(first), other.wrapping_add(second)]);
    }
    if types != 0 || unknown != 0 {
        communicator.set_types(communicator.types().wrapping_add(types));
        communicator.set_unknown(communicator.unknown() | unknown);
    }
}

/// Forwards a blocking collective, and records it. `message` describes the call; it may be called twice. `plain`:
/// [`mode::is_plain`].
///
/// Most calls are like the one before: recorded in a chunk that has room, of the operation that the thread called last,
/// with nothing else to do. These have a way of their own, on which all stays in registers. What `message` and
/// `forward` were made of is copied for the other way only where that is taken.
#[inline(always)]
pub fn collective<M, F>(plain: bool, message: M, forward: F) -> c_int
where
    M: Fn(ThreadRef) -> Call + Copy,
    F: Fn() -> c_int + Copy,
{
    if plain
        && let Some(thread) = thread::current()
        && thread.attention() == 0
        && !thread.is_full()
    {
        if thread.guard() == 0
            && let call = message(thread)
            && call.known
            && let Some(found) = thread.cached_again(&call.key)
            && let position = found.communicator.calls()
            && position + 1 < found.communicator.sync_at()
        {
            add_amounts(found.communicator, &call, position);
            return collective_again(thread, found, position, thread::frame(), &forward);
        }
        if thread::frame() < thread.guard() {
            return forward();
        }
    } else if !plain && !mode::is_on() {
        return forward();
    }
    collective_aside(thread::frame(), message, forward)
}

/// Leaves the way of most calls: what a call is made of is copied here, and what follows is compiled once for all.
#[cold]
#[inline(never)]
pub fn collective_aside<M, F>(here: usize, message: M, forward: F) -> c_int
where
    M: Fn(ThreadRef) -> Call,
    F: Fn() -> c_int,
{
    collective_of_any_kind(here, &message, &forward)
}

/// Forwards and records a blocking collective that is like the one before. `found` is in the thread's cache, which
/// changes only when the thread makes another call: those that are nested in this one are only forwarded.
#[inline(always)]
fn collective_again(
    thread: ThreadRef,
    found: &KnownOperation,
    position: u64,
    here: usize,
    forward: &(impl Fn() -> c_int + ?Sized),
) -> c_int {
    found.communicator.set_calls(position + 1);
    let repetition = found.operation.calls();
    found.operation.set_calls(repetition + 1);
    let record = thread.next_record();
    thread.describe(record, position, repetition, found.number);
    thread.set_guard(here);
    // What describes the call is stored before the tick is read, which then is as late as can be.
    compiler_fence(Ordering::Release);
    let enter = thread.enter(record, processor::ticks_in_order);
    let left_by_exception = LeftByException { thread, found };
    let result = forward();
    std::mem::forget(left_by_exception);
    thread.exit(record, enter, processor::ticks_in_order);
    thread.set_guard(0);
    thread.go_behind(record);
    if thread.attention() & attention::AFTER != 0 {
        if result == 0 && thread.attention() == attention::ALGORITHM && thread.keep_algorithm(record) {
            return result;
        }
        // Code inside the stack has counted for the first time on this thread, in this call, or the call has failed.
        match after(thread, record, result) {
            0 => thread.settle(found.operation, found.communicator),
            outcome => take_back(thread, found, outcome),
        }
        return result;
    }
    if result != 0 {
        take_back(thread, found, result);
    }
    result
}

/// Forwards a blocking collective of any kind, from a wrapper that stands at `here`. One that differs from those that
/// are like the one before in nothing but its operation, which the thread called lately, or in calls that can wait
/// before it, is recorded as they are.
#[inline(never)]
fn collective_of_any_kind(here: usize, message: &dyn Fn(ThreadRef) -> Call, forward: &dyn Fn() -> c_int) -> c_int {
    if mode::is_plain()
        && let Some(thread) = thread::current()
        && thread.attention() & !(attention::WAITED | attention::IN_SAMPLE) == 0
        && !thread.is_full()
        && thread.guard() == 0
        && let call = message(thread)
        && call.known
        && let Some(found) = thread.cached(&call.key)
        && let position = found.communicator.calls()
        && position + 1 < found.communicator.sync_at()
    {
        if thread.attention() & attention::WAITED != 0 {
            thread.store_p2p(thread.next_record());
        }
        add_amounts(found.communicator, &call, position);
        return collective_again(thread, found, position, here, forward);
    }
    let recorded = |thread: ThreadRef, call: &Call, found: KnownOperation, record: Record, forward: _| {
        let enter = thread.enter(record, ticks::now);
        let result = uncaught(thread, found, forward);
        thread.exit(record, enter, ticks::now);
        thread.set_guard(0);
        thread.go_behind(record);
        let mut outcome = result;
        if thread.attention() & attention::AFTER != 0 {
            outcome = after(thread, record, result);
        }
        if outcome != 0 || found.open {
            afterwards(thread, &found, call, message, outcome);
        }
        if outcome == 0 {
            let number = thread.place(record).operation();
            let operation = thread.buffer().map_or(found.operation, |buffer| buffer.operation(number));
            thread.settle(operation, found.communicator);
        }
        if found.communicator.is_sync_due() {
            synchronise(thread, found.communicator);
        }
        result
    };
    begin(here, true, message, forward, |result, _| result, recorded)
}

/// Forwards; a C++ exception passes through, and takes the count of the call back.
#[inline(always)]
fn uncaught(thread: ThreadRef, found: KnownOperation, forward: impl FnOnce() -> c_int) -> c_int {
    let left_by_exception = LeftByException { thread, found: &found };
    let result = forward();
    std::mem::forget(left_by_exception);
    result
}
