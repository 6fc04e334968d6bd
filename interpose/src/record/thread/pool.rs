//! The states of threads: made for those that make their first call, taken from those that have ended.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock};

use mpitrace_format::layout::{LiveThreadTimes, ThreadEntry};

use crate::base::entry::Entry;
use crate::base::lock::lock;
use crate::base::{errno, system};
use crate::record::buffer::trace_buffer::TraceBuffer;
use crate::record::thread::state::{Thread, ThreadRef, current};
use crate::record::thread::tls;

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
    lock(&THREADS).buffer = Some(buffer);
    if let Some(thread) = current_or_new() {
        thread.draw();
    }
}

/// The state for a thread that makes its first call: that of one that has ended, else a new one. `None`: there is no
/// memory for it.
fn adopt() -> Option<Box<Thread>> {
    let tid = system::thread();
    let mut threads = lock(&THREADS);
    if let Some(Idle(idle)) = threads.idle.pop() {
        idle.entry.set_tid(tid);
        return Some(idle);
    }
    let buffer = threads.buffer;
    let added = buffer.and_then(|buffer| buffer.add_thread(ThreadEntry { tid, ..ThreadEntry::default() }));
    // More threads at once than the table holds: their calls are counted, not kept.
    let unlisted = || (0, Entry::unlisted(ThreadEntry::default()), Entry::unlisted(LiveThreadTimes::default()));
    let (index, entry, times) = added.unwrap_or_else(unlisted);
    Thread::new(buffer.filter(|_| added.is_some()), entry, times, index)
}

fn release(thread: Box<Thread>) {
    let idle = &mut lock(&THREADS).idle;
    match idle.try_reserve(1) {
        Ok(()) => idle.push(Idle(thread)),
        Err(_) => std::mem::forget(thread),
    }
}

/// This thread's state, made where there is none yet. `None`: there is no memory for it.
pub fn current_or_new() -> Option<ThreadRef> {
    current().or_else(create)
}

#[cold]
#[inline(never)]
pub fn create() -> Option<ThreadRef> {
    let thread = NonNull::from(Box::leak(errno::kept(adopt)?));
    tls::set(thread.as_ptr().cast());
    if let Some(key) = exit_key() {
        // SAFETY: the key was made by pthread_key_create; its destructor takes what is stored here.
        unsafe { libc::pthread_setspecific(key, thread.as_ptr().cast()) };
    }
    let thread = ThreadRef(thread);
    thread.begin_to_watch();
    Some(thread)
}

/// The key whose destructor gives a thread's state back when the thread ends. `None`: the program has used up all keys,
/// and the state of a thread that ends is not used again.
fn exit_key() -> Option<libc::pthread_key_t> {
    static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();
    unsafe extern "C" fn at_end(state: *mut c_void) {
        tls::set(std::ptr::null_mut());
        let Some(thread) = NonNull::new(state.cast::<Thread>()) else { return };
        ThreadRef(thread).give_up();
        // SAFETY: `create` has leaked the box, and the thread whose state it was has ended.
        release(unsafe { Box::from_raw(thread.as_ptr()) });
    }
    if let Some(&key) = KEY.get() {
        return Some(key);
    }
    let mut key = 0;
    // SAFETY: `key` outlives the call; the destructor gets what `create` stored.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(at_end)) } != 0 {
        // Not kept: the program may give keys back.
        return None;
    }
    let kept = *KEY.get_or_init(|| key);
    if kept != key {
        // SAFETY: no thread has used the key that lost the race.
        unsafe { libc::pthread_key_delete(key) };
    }
    Some(kept)
}
