//! The way of a call: two time stamps and a few stores.

use std::ffi::c_int;
use std::sync::atomic::{Ordering, compiler_fence};

use mpitrace_format::layout::{DISTURBED, OperationEntry, chunk_flags};

use crate::boundary::abi;
use crate::clocks;
use crate::counters::counter_reader::Reading;
use crate::counters::per_call;
use crate::identity::call_cache::{Call, Found};
use crate::identity::operations;
use crate::record::chunk::{Columns, Drawn};
use crate::record::thread::{self, Thread, attention};
use crate::record::{mode, ticks};

/// Counts a call and begins its record, all that comes before the time stamp of the entry; then goes on with `recorded`,
/// which gets the thread, the call, its operation, the number of the record and `forward`. Where there is no record the call
/// is forwarded, and `unrecorded` gets its result. Clocks are synchronised after `blocking` calls only.
///
/// No lock, no allocation, no system call and no MPI call lie on this way, but for an operation that the thread has not
/// called lately and for a full chunk.
#[inline(always)]
fn begin<F: FnOnce() -> c_int, R>(
    here: usize,
    blocking: bool,
    message: &impl Fn(*mut Thread) -> Call,
    forward: F,
    unrecorded: impl FnOnce(c_int) -> R,
    recorded: impl FnOnce(*mut Thread, &Call, Found, usize, F) -> R,
) -> R {
    let mode = mode::get();
    if mode == mode::OFF {
        return unrecorded(forward());
    }
    let mut thread = thread::current();
    if thread.is_null() {
        thread = thread::create();
    }
    // SAFETY: `thread` is this thread's own state, which only wrappers on this thread touch: those nested in the call see
    // the guard and leave it alone. A found operation's entries lie in the segment, and MPI orders the calls on them.
    unsafe {
        if here < (*thread).guard {
            return unrecorded(forward());
        }
        let call = message(thread);
        let found = *operations::find(thread, &call);
        if found.operation.is_null() {
            return unrecorded(untracked(thread, &found, blocking, forward));
        }
        let position = (*found.communicator).calls;
        (*found.communicator).calls = position + 1;
        let repetition = (*found.operation).calls;
        (*found.operation).calls = repetition + 1;

        let mut operation = found.number;
        if mode == mode::PAUSED {
            return unrecorded(unkept(thread, &found, &call, message, true, blocking, forward));
        }
        if (*thread).next == (*thread).end {
            if !(*thread).draw() {
                return unrecorded(unkept(thread, &found, &call, message, false, blocking, forward));
            }
            operation |= DISTURBED;
        }
        let record = (*thread).next;
        (*thread).columns.position.add(record).write(position);
        (*thread).columns.repetition.add(record).write(repetition);
        (*thread).columns.operation.add(record).write(operation);
        if (*thread).attention != 0 {
            attend(thread, record, call.key.communicator);
        }
        (*thread).guard = here;
        // The entry makes the record count, so it comes after the rest: a kill in between leaves no half record.
        compiler_fence(Ordering::Release);
        recorded(thread, &call, found, record, forward)
    }
}

/// Forwards a call whose operation the tables cannot hold. It has its place among the calls of its communicator all the same.
///
/// # Safety
/// `thread` is this thread's own.
#[cold]
#[inline(never)]
unsafe fn untracked(thread: *mut Thread, found: &Found, blocking: bool, forward: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller's promise; a communicator's entry lies in the segment, and MPI orders the calls on it.
    unsafe {
        (*(*thread).entry).untracked += 1;
        let result = thread::guarded(forward);
        if !found.communicator.is_null() && !abi::get().is_argument_error(result) {
            (*found.communicator).calls += 1;
            if blocking && (*found.communicator).calls >= (*found.communicator).sync_at {
                synchronise(thread, found);
            }
        }
        result
    }
}

/// Forwards a blocking collective, and records it. `message` tells what the call is; it may be asked twice.
#[inline(always)]
pub fn collective(message: impl Fn(*mut Thread) -> Call, forward: impl FnOnce() -> c_int) -> c_int {
    let recorded = |thread: *mut Thread, call: &Call, found: Found, record: usize, forward: _| {
        // SAFETY: the record lies in this thread's chunk.
        unsafe {
            let Columns { enter, exit, .. } = (*thread).columns;
            enter.add(record).write_volatile(ticks::now());
            let result = uncaught(thread, found, forward);
            exit.add(record).write_volatile(ticks::now());
            (*thread).guard = 0;
            (*thread).next = record + 1;
            if (*thread).attention & attention::AFTER != 0 {
                per_call::end(thread, record, call.key.communicator);
            }
            if result != 0 || found.open {
                afterwards(thread, &found, call, &message, result);
            }
            if (*found.communicator).calls >= (*found.communicator).sync_at {
                synchronise(thread, &found);
            }
            result
        }
    };
    begin(thread::frame(), true, &message, forward, |result| result, recorded)
}

/// What a record needs beside the usual.
///
/// # Safety
/// `thread` is this thread's own, and has begun the record.
#[cold]
#[inline(never)]
unsafe fn attend(thread: *mut Thread, record: usize, communicator: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let columns = &(*thread).columns;
        if (*thread).attention & attention::COUNTERS != 0 {
            per_call::before(columns, record);
        }
        if (*thread).attention & attention::DISTURBED != 0 {
            *columns.operation.add(record) |= DISTURBED;
            (*thread).attention &= !attention::DISTURBED;
        }
        if (*thread).attention & attention::AFTER != 0 {
            per_call::begin(thread, record, communicator);
        }
    }
}

/// Forwards what starts a non-blocking collective, and begins its record: the result, and what is left to be recorded when
/// the request is found complete.
#[inline(always)]
pub fn starting(message: impl Fn(*mut Thread) -> Call, forward: impl FnOnce() -> c_int) -> (c_int, Option<Started>) {
    let recorded = |thread: *mut Thread, call: &Call, found: Found, record: usize, forward: _| {
        // SAFETY: the record lies in this thread's chunk; the columns of requests are used only where they have memory.
        unsafe {
            let extended = (*thread).extend_at(record, chunk_flags::EXTENDED);
            let columns = (*thread).columns;
            let enter = ticks::now();
            columns.enter.add(record).write_volatile(enter);
            let result = uncaught(thread, found, forward);
            let returned = ticks::now();
            (*thread).guard = 0;
            (*thread).next = record + 1;
            if extended {
                columns.init.add(record).write(returned.wrapping_sub(enter));
            }
            if (*thread).attention & attention::AFTER != 0 {
                per_call::end(thread, record, call.key.communicator);
            }
            if result != 0 || found.open {
                afterwards(thread, &found, call, &message, result);
            }
            let started = Started { columns, record, extended, returned, chunk: (*thread).chunk_entry() };
            (result, (result == 0).then_some(started))
        }
    };
    begin(thread::frame(), false, &message, forward, |result| (result, None), recorded)
}

/// Forwards; a C++ exception passes through, and takes the count of the call back.
///
/// # Safety
/// `thread` is this thread's own; `found` has been counted, and the record that `next` leads to is its.
#[inline(always)]
unsafe fn uncaught(thread: *mut Thread, found: Found, forward: impl FnOnce() -> c_int) -> c_int {
    let left_by_exception = LeftByException { thread, found };
    let result = forward();
    std::mem::forget(left_by_exception);
    result
}

/// Stands where the communicator's handle is not at hand: no variable is bound to it.
const NO_COMMUNICATOR: usize = 0;

/// Counts a start of a persistent collective and begins its record; `None` where it is not kept. The call that starts it
/// comes next, then [`Begun::started`] or [`Begun::take_back`].
pub fn prepared(found: &Found, position: u64) -> Option<Begun> {
    let mode = mode::get();
    let mut thread = thread::current();
    if mode == mode::OFF {
        return None;
    }
    if thread.is_null() {
        thread = thread::create();
    }
    // SAFETY: `thread` is this thread's own; the operation's entry lies in the segment, and MPI lets no two threads start
    // the same request.
    unsafe {
        let repetition = (*found.operation).calls;
        (*found.operation).calls = repetition + 1;
        let full = (*thread).next == (*thread).end;
        if mode == mode::PAUSED || full && !(*thread).draw() {
            (*(*thread).entry).paused += u64::from(mode == mode::PAUSED);
            if (*thread).attention & attention::COUNTERS != 0 {
                per_call::skipped();
            }
            return None;
        }
        let record = (*thread).next;
        let columns = (*thread).columns;
        columns.position.add(record).write(position);
        columns.repetition.add(record).write(repetition);
        columns.operation.add(record).write(found.number | if full { DISTURBED } else { 0 });
        let extended = (*thread).extend_at(record, chunk_flags::EXTENDED);
        if (*thread).attention != 0 {
            attend(thread, record, NO_COMMUNICATOR);
        }
        compiler_fence(Ordering::Release);
        columns.enter.add(record).write_volatile(ticks::now());
        (*thread).next = record + 1;
        let chunk = (*thread).chunk_entry();
        Some(Begun { thread, operation: found.operation, columns, record, extended, chunk })
    }
}

/// The record of a persistent collective that is being started.
pub struct Begun {
    thread: *mut Thread,
    operation: *mut OperationEntry,
    columns: Columns,
    record: usize,
    extended: bool,
    chunk: Drawn,
}

impl Begun {
    /// The starting call has returned well, at this tick.
    pub fn started(self, returned: u64) -> Started {
        let Begun { thread, columns, record, extended, chunk, .. } = self;
        // SAFETY: the record lies in this thread's chunk, whose columns of requests have memory if it says so; the thread is
        // the one that has begun it.
        unsafe {
            if extended {
                let enter = columns.enter.add(record).read();
                columns.init.add(record).write(returned.wrapping_sub(enter));
            }
            if (*thread).attention & attention::AFTER != 0 && columns.enter == (*thread).columns.enter {
                per_call::end(thread, record, NO_COMMUNICATOR);
            }
        }
        Started { columns, record, extended, returned, chunk }
    }

    /// The starting call has failed. To be called for the last one begun first.
    pub fn take_back(self) {
        // SAFETY: this thread began the record; it is its last one, unless a chunk was drawn in between.
        unsafe {
            (*self.operation).calls -= 1;
            (*(*self.thread).entry).failed += 1;
            if self.chunk.is_current() && (*self.thread).next == self.record + 1 {
                self.columns.enter.add(self.record).write_volatile(0);
                (*self.thread).next = self.record;
            }
        }
    }
}

/// Begins the record of a repetition of a region, which the caller has counted; `None` where it is not kept.
pub fn begin_region(found: &Found, position: u64, repetition: u64) -> Option<Region> {
    let mode = mode::get();
    if mode == mode::OFF {
        return None;
    }
    let thread = thread::current_or_new();
    // SAFETY: `thread` is this thread's own; the operation's entry lies in the segment, and the caller has numbered the
    // repetition.
    unsafe {
        let full = (*thread).next == (*thread).end;
        if mode == mode::PAUSED || full && !(*thread).draw() {
            (*(*thread).entry).paused += u64::from(mode == mode::PAUSED);
            return None;
        }
        let record = (*thread).next;
        let columns = (*thread).columns;
        columns.position.add(record).write(position);
        columns.repetition.add(record).write(repetition);
        columns.operation.add(record).write(found.number | if full { DISTURBED } else { 0 });
        let reading = per_call::begin_region(thread, record);
        let number = (*thread).chunk?;
        compiler_fence(Ordering::Release);
        columns.enter.add(record).write_volatile(ticks::now());
        (*thread).next = record + 1;
        Some(Region { columns, record, reading, number, chunk: (*thread).chunk_entry() })
    }
}

/// A repetition of a region in progress. It ends on the thread that has begun it.
pub struct Region {
    columns: Columns,
    record: usize,
    /// What the counters stood at; `None`: there were none yet.
    reading: Option<Reading>,
    /// The chunk's number.
    number: u32,
    chunk: Drawn,
}

impl Region {
    /// Ends it.
    pub fn end(self) {
        let exit = ticks::now();
        if !self.chunk.is_current() {
            return;
        }
        let thread = thread::current_or_new();
        // SAFETY: the record lies in a chunk that this thread has drawn.
        unsafe {
            per_call::end_region(thread, self.reading, self.number, &self.columns, self.record);
            self.columns.exit.add(self.record).write_volatile(exit);
        }
    }
}

/// A non-blocking collective under way.
pub struct Started {
    columns: Columns,
    record: usize,
    /// Whether the columns of requests have memory.
    extended: bool,
    /// When the starting call returned, ticks.
    pub returned: u64,
    /// Tells whether the chunk is still the one in which the record was begun.
    chunk: Drawn,
}

// SAFETY: the pointers lead into the segment, which stays mapped; one thread at a time completes a request.
unsafe impl Send for Started {}

impl Started {
    /// Adds time that the program spent in a Wait for it, ticks.
    pub fn add_wait(&self, ticks: u64) {
        if self.extended && self.chunk.is_current() {
            // SAFETY: the chunk is still this one's, and its columns of requests have memory.
            unsafe { *self.columns.wait.add(self.record) += ticks };
        }
    }

    /// Adds a Test for it and the time that it took, ticks.
    pub fn add_test(&self, ticks: u64) {
        if self.extended && self.chunk.is_current() {
            // SAFETY: as above.
            unsafe {
                *self.columns.test.add(self.record) += ticks;
                *self.columns.tests.add(self.record) += 1;
            }
        }
    }

    /// It was found complete at this tick; the first time counts.
    pub fn complete(&self, tick: u64) {
        if self.chunk.is_current() {
            // SAFETY: as above.
            unsafe {
                let exit = self.columns.exit.add(self.record);
                if exit.read() == 0 {
                    exit.write_volatile(tick);
                }
            }
        }
    }
}

/// Dropped only where a C++ exception (an error handler's) passes through a call: it counts as refused.
struct LeftByException {
    thread: *mut Thread,
    found: Found,
}

impl Drop for LeftByException {
    #[cold]
    fn drop(&mut self) {
        // SAFETY: made and dropped in `collective`, on the thread itself, with the record that `next` leads to begun.
        unsafe {
            (*self.thread).guard = 0;
            (*self.thread).columns.enter.add((*self.thread).next).write_volatile(0);
            refused(self.thread, &self.found);
        }
    }
}

/// What is left to do after a call that failed, or whose operation could not be told before.
///
/// # Safety
/// `thread` is this thread's own; its last record is the call's.
#[cold]
#[inline(never)]
unsafe fn afterwards(
    thread: *mut Thread,
    found: &Found,
    call: &Call,
    message: &dyn Fn(*mut Thread) -> Call,
    result: c_int,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let record = (*thread).next - 1;
        let columns = (*thread).columns;
        if result != 0 {
            columns.enter.add(record).write_volatile(0);
            columns.exit.add(record).write_volatile(0);
            (*thread).next = record;
            failed(thread, found, result);
            return;
        }
        if let Some((number, repetition)) =
            thread::catch_panic(|| operations::settle(found, &call.key, || message(thread)))
        {
            let disturbed = columns.operation.add(record).read() & DISTURBED;
            columns.operation.add(record).write(number | disturbed);
            columns.repetition.add(record).write(repetition);
        }
    }
}

/// The clocks are synchronised after this call, and the next one of this thread counts as disturbed by it.
///
/// # Safety
/// `thread` is this thread's own; `found` is of a call that it has just made.
#[cold]
#[inline(never)]
unsafe fn synchronise(thread: *mut Thread, found: &Found) {
    // SAFETY: the caller's promise; MPI orders the calls of a communicator.
    unsafe {
        clocks::after_call(found.communicator);
        (*thread).attention |= attention::DISTURBED;
    }
}

/// After a call that returned an error. Where the library refused an argument, it was matched with nothing on the other ranks,
/// and its count is taken back; after any other error the other ranks may have taken it for theirs, and go on counting.
///
/// # Safety
/// `thread` is this thread's own; `found` has been counted.
unsafe fn failed(thread: *mut Thread, found: &Found, result: c_int) {
    // SAFETY: the caller's promise.
    unsafe {
        if abi::get().is_argument_error(result) {
            refused(thread, found);
        } else {
            (*(*thread).entry).failed += 1;
            (*(*thread).entry).failed_in_place += 1;
        }
    }
}

/// Takes back the count of a call that the library refused.
///
/// # Safety
/// `thread` is this thread's own; `found` has been counted.
unsafe fn refused(thread: *mut Thread, found: &Found) {
    // SAFETY: the caller's promise.
    unsafe {
        (*found.communicator).calls -= 1;
        (*found.operation).calls -= 1;
        (*(*thread).entry).failed += 1;
    }
}

/// Forwards a call that is counted and not kept: paused, or the arrays are full.
///
/// # Safety
/// `thread` is this thread's own; `found` has been counted.
#[inline(always)]
unsafe fn unkept(
    thread: *mut Thread,
    found: &Found,
    call: &Call,
    message: &dyn Fn(*mut Thread) -> Call,
    paused: bool,
    blocking: bool,
    forward: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    if unsafe { (*thread).attention } & attention::COUNTERS != 0 {
        per_call::skipped();
    }
    let result = thread::guarded(forward);
    if result != 0 {
        // SAFETY: the caller's promise.
        unsafe { failed(thread, found, result) };
        return result;
    }
    // SAFETY: as above.
    unsafe { (*(*thread).entry).paused += u64::from(paused) };
    if found.open {
        thread::catch_panic(|| operations::settle(found, &call.key, || message(thread)));
    }
    // SAFETY: as above.
    unsafe {
        if blocking && (*found.communicator).calls >= (*found.communicator).sync_at {
            synchronise(thread, found);
        }
    }
    result
}
