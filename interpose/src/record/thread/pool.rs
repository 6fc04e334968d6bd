//! The states of threads: made for those that make their first call, taken from those that have ended.

use std::sync::{Mutex, MutexGuard, PoisonError};

use mpitrace_format::layout::{ThreadEntry, ThreadTimes};

use crate::base::{errno, system};
use crate::record::entry::Entry;
use crate::record::thread::state::{Thread, ThreadRef, current};
use crate::record::thread::tls;
use crate::record::trace_buffer::TraceBuffer;
use std::ptr::NonNull;

static THREADS: Mutex<Threads> = Mutex::new(Threads { buffer: None, idle: Vec::new() });

struct Threads {
    buffer: Option<&'static TraceBuffer>,
    /// States of threads that have ended, with what is left of their chunks.
    idle: Vec<Idle>,
}

struct Idle(Box<Thread>);

// SAFETY: an idle state belongs to no thread; what its thread alone could use (its counters) is gone.
unsafe impl Send for Idle {}

/// Gives threads a trace buffer to draw their chunks from, this one the first: not within its first call.
pub fn start(buffer: &'static TraceBuffer) {
    threads().buffer = Some(buffer);
    if let Some(thread) = current_or_new() {
        thread.draw();
    }
}

/// The state for a thread that makes its first call: that of one that has ended, else a new one. `None`: there is no
/// memory for it.
fn adopt() -> Option<Box<Thread>> {
    let tid = system::thread();
    let mut threads = threads();
    if let Some(Idle(idle)) = threads.idle.pop() {
        idle.entry().set_tid(tid);
        return Some(idle);
    }
    let buffer = threads.buffer;
    let added = buffer.and_then(|buffer| buffer.add_thread(ThreadEntry { tid, ..ThreadEntry::default() }));
    // More threads at once than the table holds: their calls are counted, not kept.
    let (index, entry, times) =
        added.unwrap_or_else(|| (0, Entry::unlisted(ThreadEntry::default()), Entry::unlisted(ThreadTimes::default())));
    Thread::new(buffer.filter(|_| added.is_some()), entry, times, index)
}

/// Takes the state of a thread that has ended.
fn release(thread: Box<Thread>) {
    let idle = &mut threads().idle;
    match idle.try_reserve(1) {
        Ok(()) => idle.push(Idle(thread)),
        Err(_) => std::mem::forget(thread),
    }
}

/// This thread's state, made where there is none yet. `None`: there is no memory for it.
pub fn current_or_new() -> Option<ThreadRef> {
    current().or_else(create)
}

/// Makes this thread's state. `None`: there is no memory for it.
#[cold]
#[inline(never)]
pub fn create() -> Option<ThreadRef> {
    let thread = NonNull::from(Box::leak(errno::kept(adopt)?));
    tls::set(thread.as_ptr().cast(), ended);
    let thread = ThreadRef(thread);
    thread.begin_to_watch();
    Some(thread)
}

/// Gives the state of this thread, which ends, to the next one.
fn ended(thread: *mut std::ffi::c_void) {
    let Some(thread) = NonNull::new(thread.cast::<Thread>()) else { return };
    ThreadRef(thread).give_up();
    // SAFETY: `create` has leaked the box, and the thread whose state it was has ended.
    release(unsafe { Box::from_raw(thread.as_ptr()) });
}

fn threads() -> MutexGuard<'static, Threads> {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner)
}
