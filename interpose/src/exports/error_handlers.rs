//! Error handlers of the program: while one runs, its thread is seen to be in it, and the call is known to have failed.
//!
//! MPI is given a stub in place of the program's function, which notes the error in the thread's state and calls the
//! function. Where all stubs are taken, MPI is given the function itself.
//!
//! The result of a call does not always show that it failed: MPICH 5 returns MPI_SUCCESS where an error handler of the
//! program has returned. The output arguments of such a call hold what they held before.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use mpitrace_format::layout::activity;

use crate::base::program;
use crate::record::thread::{self, attention};

/// A handler gets the address of a handle and that of the error code, and what else a library passes: Open MPI a text,
/// MPICH a 0. All arguments that lie in registers are passed on.
type Handler = unsafe extern "C-unwind" fn(usize, usize, usize, usize, usize, usize);

const COUNT: usize = 16;

/// The functions that the stubs lead to; 0: none yet.
static FUNCTIONS: [AtomicUsize; COUNT] = [const { AtomicUsize::new(0) }; COUNT];

static STUBS: [Handler; COUNT] = [
    stub::<0>, stub::<1>, stub::<2>, stub::<3>, stub::<4>, stub::<5>, stub::<6>, stub::<7>, stub::<8>, stub::<9>,
    stub::<10>, stub::<11>, stub::<12>, stub::<13>, stub::<14>, stub::<15>,
];

/// C++ exceptions and `longjmp` pass through: nothing here has to be undone.
unsafe extern "C-unwind" fn stub<const PLACE: usize>(a: usize, error: usize, c: usize, d: usize, e: usize, f: usize) {
    // A thread that has made no call has no state.
    if let Some(thread) = thread::current() {
        thread.set_error(program::int(error));
        thread.attend(attention::HANDLED);
        let entry = thread.entry();
        entry.set_activity(entry.activity() | activity::ERROR_HANDLER);
    }
    let function = std::ptr::with_exposed_provenance::<c_void>(FUNCTIONS[PLACE].load(Ordering::Relaxed));
    // SAFETY: the program has given this function to MPI as a handler, and the arguments are those that the library
    // calls one with.
    unsafe { std::mem::transmute::<*const c_void, Handler>(function)(a, error, c, d, e, f) }
}

/// `MPI_Comm_create_errhandler` and its like.
pub fn create(forward: &dyn Fn(usize) -> c_int, function: usize) -> c_int {
    forward(stub_of(function).unwrap_or(function))
}

/// True if the library has hidden that a call failed.
#[derive(Default)]
pub struct Hidden(Cell<bool>);

impl Hidden {
    /// Forwards: what came of the call, an error code or 0.
    pub fn outcome(&self, forward: &dyn Fn() -> c_int) -> c_int {
        let Some(thread) = thread::current() else { return forward() };
        // The call may be one that an error handler makes: what is known of the call outside stays.
        let outside = thread.take_error();
        let result = forward();
        let outcome = thread.outcome(result);
        self.0.set(outcome != result);
        thread.put_error_back(outside);
        outcome
    }

    pub fn result(&self, outcome: c_int) -> c_int {
        if self.0.get() { 0 } else { outcome }
    }
}

/// The stub that leads to a function. `None`: there is none left.
fn stub_of(function: usize) -> Option<usize> {
    let place = FUNCTIONS.iter().filter(|_| function != 0).position(|known| {
        let taken = known.compare_exchange(0, function, Ordering::AcqRel, Ordering::Acquire);
        taken.is_ok() || taken == Err(function)
    })?;
    Some((STUBS[place] as *const c_void).expose_provenance())
}

#[cfg(test)]
mod tests {
    use super::*;

    static SUM: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C-unwind" fn weighed(a: usize, error: usize, c: usize, d: usize, e: usize, f: usize) {
        let sum = [a, program::int(error) as usize, c, d, e, f].iter().fold(0, |sum, &value| 10 * sum + value);
        SUM.store(sum, Ordering::Relaxed);
    }

    #[test]
    fn a_stub_passes_all_arguments_on_and_its_thread_is_seen_in_the_handler() {
        let thread = thread::current_or_new().unwrap();
        let function = (weighed as *const c_void).expose_provenance();
        let place = stub_of(function).unwrap();
        assert_eq!(stub_of(function), Some(place), "one for each function");
        let call = move |error: c_int| {
            let (error, stub) = (&raw const error, std::ptr::with_exposed_provenance::<c_void>(place));
            // SAFETY: the stub leads to a function of this type.
            unsafe { std::mem::transmute::<*const c_void, Handler>(stub)(1, error.expose_provenance(), 3, 4, 5, 6) };
        };
        call(2);
        assert_eq!(SUM.load(Ordering::Relaxed), 123_456);
        assert_eq!(activity::decoded(thread.entry().activity()).0, activity::ERROR_HANDLER);
        assert_eq!((thread.outcome(0), thread.outcome(0)), (2, 0), "the error, once");
        // On a thread without a state.
        std::thread::spawn(move || call(7)).join().unwrap();
        assert_eq!(SUM.load(Ordering::Relaxed), 173_456);
        let mut places: Vec<usize> = (1..COUNT).map(|other| stub_of(8 * other).unwrap()).collect();
        places.push(place);
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), COUNT);
        assert_eq!(stub_of(8 * COUNT), None, "none is left");
        assert_eq!(stub_of(0), None);

        // A library that hides errors, and one that does not.
        let failing = |error: c_int, returned| {
            move || {
                call(error);
                returned
            }
        };
        for returned in [0, 9] {
            let hidden = Hidden::default();
            let outcome = hidden.outcome(&failing(9, returned));
            assert_eq!((outcome, hidden.result(outcome)), (9, returned));
        }
        // A call that the handler makes, well, on its way.
        let hidden = Hidden::default();
        let outcome = hidden.outcome(&|| {
            failing(7, 0)();
            assert_eq!(Hidden::default().outcome(&|| 0), 0);
            0
        });
        assert_eq!((outcome, hidden.result(outcome)), (7, 0));
        assert_eq!(thread.outcome(0), 0);
    }
}
