//! Calls that make or free what other calls are on.

use std::ffi::c_int;

use crate::base::ticks;
use crate::counters::per_call;
use crate::handles::call::Call;
use crate::handles::call_cache::KnownOperation;
use crate::handles::communicator::Communicator;
use crate::operation::handle::{self, HandleKind};
use crate::operation::operations;
use crate::record::thread::{self, Record, ThreadRef, attention};
use crate::recorder::afterwards::{afterwards, made_nothing, synchronise};
use crate::recorder::{begin, uncaught};

/// Forwards and records a blocking call of the program's own. `finish` gets its result after the second time stamp,
/// with or without a record, and gives the communicator that the call has made, where there is one: a call on
/// [`handle::of_new`] is on that. `forward` and `finish` are called once.
#[inline(never)]
pub fn managed(
    message: &dyn Fn(ThreadRef) -> Call,
    forward: &dyn Fn() -> c_int,
    finish: &dyn Fn(c_int) -> Option<&'static Communicator>,
) -> c_int {
    let recorded =
        |thread: ThreadRef, call: &Call, found: KnownOperation, record: Record, forward: &dyn Fn() -> c_int| {
            let enter = thread.enter(record, ticks::now);
            let result = uncaught(thread, found, forward);
            thread.exit(record, enter, ticks::now);
            thread.set_guard(0);
            thread.go_behind(record);
            if thread.attention() & attention::COUNTED != 0 {
                per_call::end(thread, record);
            }
            let made = finish(result).filter(|_| is_on_new(call.key.communicator));
            if let Some(made) = made {
                if let Some((number, repetition, position)) = operations::begin_on_new(&call.key, made) {
                    thread.place(record).move_to(number, repetition, position);
                }
            } else if result == 0 && is_on_new(call.key.communicator) {
                made_nothing(thread, &found);
            } else if result != 0 || found.open {
                afterwards(thread, &found, call, message, result);
            }
            if found.communicator.is_sync_due() {
                synchronise(thread, found.communicator);
            }
            result
        };
    let unrecorded = |result, _| {
        if let Some(made) = finish(result)
            && let Some(thread) = thread::current()
            && let key = message(thread).key
            && is_on_new(key.communicator)
        {
            operations::begin_on_new(&key, made);
        }
        result
    };
    begin(thread::frame(), true, message, forward, unrecorded, recorded)
}

/// True if a call on this handle is on the communicator that it makes.
fn is_on_new(handle: usize) -> bool {
    handle::kind(handle).0 == HandleKind::New
}
