//! Calls that the program has made and those that are nested in them: only the former are recorded.

use std::ffi::c_int;

use crate::base::processor::frame;
use crate::base::ticks;
use crate::base::{errno, log, mode};
use crate::record::thread::pool::create;
use crate::record::thread::state::{ThreadRef, current};

/// Runs `call`, in which the MPI library may nest other MPI calls: they are only forwarded.
#[inline(always)]
pub fn guarded<R>(call: impl FnOnce() -> R) -> R {
    let here = frame();
    let thread = match current() {
        Some(thread) => Some(thread).filter(|thread| here >= thread.guard()),
        None if mode::is_on() => create(),
        None => None,
    };
    let Some(thread) = thread else { return call() };
    guarded_on(thread, here, call)
}

/// As [`guarded`], on the calling thread, in a wrapper that stands at `here` and is not nested.
#[inline(always)]
pub fn guarded_on<R>(thread: ThreadRef, here: usize, call: impl FnOnce() -> R) -> R {
    thread.set_guard(here);
    let _guard = Guard(thread);
    call()
}

/// True if this thread is inside an MPI call that the program made, seen from a wrapper that stands at `here`.
#[inline(always)]
pub fn is_nested(here: usize) -> bool {
    current().is_some_and(|thread| here < thread.guard())
}

/// Holds [`Thread::guard`] until it is dropped, also where a C++ exception passes through.
struct Guard(ThreadRef);

impl Drop for Guard {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.set_guard(0);
    }
}

/// Forwards, guarded; the result, how many ticks that took, and the tick at its end.
pub fn timed(forward: impl Fn() -> c_int) -> (c_int, u64, u64) {
    let before = ticks::now();
    let result = guarded(forward);
    let after = ticks::now();
    (result, after.wrapping_sub(before), after)
}

/// True if a call made from the frame at `here` is none of the program's own, or comes when nothing is traced.
#[inline(always)]
pub fn is_passing(here: usize) -> bool {
    !mode::is_on() || is_nested(here)
}

/// Runs what must not harm the program: MPI calls that it makes are not recorded, and a fault in the tracer ends the
/// tracing and not the program. `errno` stays as it was.
pub fn catch_panic<R>(work: impl FnOnce() -> Option<R>) -> Option<R> {
    let caught = errno::kept(|| std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| guarded(work))));
    caught.unwrap_or_else(|_| {
        mode::stop();
        log::warn("internal error; the program goes on untraced");
        None
    })
}
