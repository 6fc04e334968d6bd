//! Calls that are not on the way of most: calls that are not kept, that fail, that need more than two time stamps.

use std::ffi::c_int;

use mpitrace_format::layout::{
    CommunicatorEntry, IN_COLLECTIVE, INTERRUPTED, INTERRUPTED_BEFORE, activity, chunk_flags,
};
use mpitrace_format::publication::StoredRecord;

use crate::base::entry::Entry;
use crate::base::ticks;
use crate::clocks;
use crate::counters::per_call;
use crate::handles::call::Call;
use crate::handles::call_cache::KnownOperation;
use crate::handles::communicator::Communicator;
use crate::mpi::abi;
use crate::operation::{operations, registry};
use crate::record::buffer::histograms::Unkept;
use crate::record::thread::{self, Record, ThreadRef, attention};
use crate::recorder::activity::Within;
use crate::recorder::named_regions;

/// Before a call whose operation the tables cannot hold: its communicator, where that is known. The call has its place
/// among those of its communicator all the same.
#[cold]
#[inline(never)]
pub fn begin_untracked(thread: ThreadRef, call: &Call) -> Option<&'static Communicator> {
    let _ = thread.take_error();
    let entry = thread.entry();
    entry.set_untracked(entry.untracked() + 1);
    thread::catch_panic(|| registry::lock()?.communicators.get(&call.key.communicator).copied())
}

/// After it. The call itself is forwarded in between, where its arguments still lie in registers: a function that got
/// them would have every call store them.
#[cold]
#[inline(never)]
pub fn end_untracked(thread: ThreadRef, known: Option<&'static Communicator>, blocking: bool, result: c_int) {
    if let Some(known) = known
        && !abi::get().is_argument_error(thread.outcome(result))
    {
        let entry = known.entry();
        entry.set_calls(entry.calls() + 1);
        if blocking && entry.is_sync_due() {
            synchronise(thread, entry);
        }
    }
}

#[cold]
#[inline(never)]
pub fn attend(thread: ThreadRef, record: Record) {
    let _ = thread.take_error();
    // Of a call that is not recorded, as MPI_Comm_dup, in which the library makes collectives.
    let _ = thread.take_algorithm();
    if thread.attention() & attention::COUNTERS != 0 {
        per_call::before(&thread.place(record));
    }
    if thread.attention() & attention::DISTURBED != 0 {
        thread.place(record).disturb();
        thread.set_attention(thread.attention() & !attention::DISTURBED);
    }
    if thread.attention() & attention::WAITED != 0 {
        thread.store_p2p(record);
    }
    if thread.attention() & attention::INTERRUPTED != 0 {
        thread.place(record).mark(INTERRUPTED_BEFORE);
        thread.set_attention(thread.attention() & !attention::INTERRUPTED);
    }
    if thread.attention() & attention::COUNTED != 0 {
        per_call::begin(thread, record);
    }
}

/// The further work after a recorded call: its counters are read, its algorithm is kept. Returns the outcome, an error
/// code or 0.
#[cold]
#[inline(never)]
pub fn after(thread: ThreadRef, record: Record, result: c_int) -> c_int {
    if thread.attention() & attention::COUNTED != 0 {
        per_call::end(thread, record);
    }
    let outcome = thread.outcome(result);
    // The record of a call that failed is taken back, and the next one in its place may have none.
    let is_kept = thread.attention() & attention::ALGORITHM != 0 && outcome == 0;
    if !is_kept || !thread.extend_at(record, chunk_flags::ALGORITHM) || !thread.keep_algorithm(record) {
        let _ = thread.take_algorithm();
    }
    outcome
}

/// Dropped only where a C++ exception (an error handler's) passes through a call: it counts as refused. The call was
/// counted, and the record that the thread's next one leads to is its.
pub struct LeftByException<'f> {
    pub thread: ThreadRef,
    pub found: &'f KnownOperation,
}

impl Drop for LeftByException<'_> {
    #[cold]
    fn drop(&mut self) {
        self.thread.set_guard(0);
        self.thread.place(self.thread.next_record()).withdraw();
        refused(self.thread, self.found);
    }
}

/// The rest after a call that failed, or whose operation was not known before. The thread's last record
/// is the call's.
#[cold]
#[inline(never)]
pub fn afterwards(
    thread: ThreadRef,
    found: &KnownOperation,
    call: &Call,
    message: &dyn Fn(ThreadRef) -> Call,
    result: c_int,
) {
    let record = thread.last_record();
    let place = thread.place(record);
    if result != 0 {
        take_back(thread, found, result);
        return;
    }
    if let Some((number, repetition)) =
        thread::catch_panic(|| operations::settle(found, &call.key, &|| message(thread)))
    {
        place.change_operation(number, repetition);
    }
}

/// After a call that failed: its record, the thread's last one, is taken back.
#[cold]
#[inline(never)]
pub fn take_back(thread: ThreadRef, found: &KnownOperation, result: c_int) {
    withdraw(thread);
    failed(thread, found, result);
}

/// After a call that was to make a communicator and has given MPI_COMM_NULL: no other call can belong to it.
pub fn made_nothing(thread: ThreadRef, found: &KnownOperation) {
    withdraw(thread);
    uncount(found);
}

fn withdraw(thread: ThreadRef) {
    let record = thread.last_record();
    let place = thread.place(record);
    place.take_back();
    if place.is_marked(INTERRUPTED | INTERRUPTED_BEFORE) {
        thread.attend(attention::INTERRUPTED);
    }
    thread.go_back_to(record);
}

/// The clocks are synchronised after this call of a communicator. The next one of this thread counts as perturbed by
/// it, and so do its regions in progress.
#[cold]
#[inline(never)]
pub fn synchronise(thread: ThreadRef, communicator: Entry<CommunicatorEntry>) {
    thread.as_tracer(|| clocks::after_call(communicator));
    thread.skip_interruptions(ticks::now());
    thread.attend(attention::DISTURBED);
    named_regions::disturb();
}

/// After a call that returned an error. Where the library refused an argument, it was matched with nothing on the other
/// ranks, and its count is taken back; after any other error the other ranks may have taken it for theirs, and go on
/// counting.
#[cold]
#[inline(never)]
fn failed(thread: ThreadRef, found: &KnownOperation, result: c_int) {
    leave_error_handler(thread);
    if abi::get().is_argument_error(result) {
        refused(thread, found);
    } else {
        let entry = thread.entry();
        entry.set_failed(entry.failed() + 1);
        entry.set_failed_in_place(entry.failed_in_place() + 1);
    }
}

/// A call that is recorded has come back, or was left: if an error handler of the program ran in it, it does no more.
pub fn leave_error_handler(thread: ThreadRef) {
    let entry = thread.entry();
    entry.set_activity(activity::left(entry.activity()));
}

fn refused(thread: ThreadRef, found: &KnownOperation) {
    leave_error_handler(thread);
    uncount(found);
    let entry = thread.entry();
    entry.set_failed(entry.failed() + 1);
}

/// After a call without a record that returned an error to a wrapper that stands at `here`.
#[cold]
#[inline(never)]
pub fn failed_without_record(here: usize) {
    if !thread::is_passing(here)
        && let Some(thread) = thread::current_or_new()
    {
        let entry = thread.entry();
        entry.set_failed_others(entry.failed_others().saturating_add(1));
    }
}

fn uncount(found: &KnownOperation) {
    found.communicator.set_calls(found.communicator.calls() - 1);
    found.operation.set_calls(found.operation.calls() - 1);
}

#[cold]
#[inline(never)]
fn begin_unkept(thread: ThreadRef) {
    let _ = thread.take_error();
    if thread.attention() & attention::COUNTERS != 0 {
        per_call::skipped();
    }
    if thread.attention() & attention::IN_SAMPLE != 0 {
        thread.skip_p2p();
    }
}

/// Forwards a call that is counted and not kept: paused, or the arrays are full. `None` where it failed or was paused.
#[inline(always)]
pub fn unkept(
    thread: ThreadRef,
    found: &KnownOperation,
    call: &Call,
    message: &dyn Fn(ThreadRef) -> Call,
    paused: bool,
    blocking: bool,
    forward: impl FnOnce() -> c_int,
) -> (c_int, Option<Unkept>) {
    if thread.attention() & (attention::COUNTERS | attention::HANDLED | attention::IN_SAMPLE) != 0 {
        begin_unkept(thread);
    }
    let within = Within::enter(thread, activity::in_function(activity::OTHER_MPI, found.operation.function()));
    // While recording is paused a call has no time stamps, which are most of what it would cost.
    let now = || if paused { 0 } else { ticks::now() };
    let enter = now();
    let stamp = |tick, inside| {
        if !paused {
            thread.times().set_last(tick, inside);
        }
    };
    stamp(enter, if blocking { IN_COLLECTIVE } else { 0 });
    let result = thread::guarded(forward);
    let exit = now();
    stamp(exit, 0);
    drop(within);
    let outcome = thread.outcome(result);
    if outcome != 0 {
        failed(thread, found, outcome);
        return (result, None);
    }
    let entry = thread.entry();
    entry.set_paused(entry.paused() + u64::from(paused));
    let mut unkept = Unkept { buffer: thread.buffer(), operation: found.operation, enter, exit };
    if found.open
        && let Some((number, _)) = thread::catch_panic(|| operations::settle(found, &call.key, &|| message(thread)))
        && let Some(buffer) = unkept.buffer
    {
        unkept.operation = buffer.operation(number);
    }
    if blocking {
        if !paused {
            unkept.count(true);
        }
        if found.communicator.is_sync_due() {
            synchronise(thread, found.communicator);
        }
    }
    (result, Some(unkept).filter(|_| !paused))
}
