//! The frames above a wrapper on its thread's stack, by the unwinder that every process with C++ or Rust in it has.

use std::ffi::{c_int, c_void};

#[repr(C)]
struct Context(c_void);

unsafe extern "C" {
    fn _Unwind_Backtrace(
        step: unsafe extern "C" fn(*mut Context, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut Context) -> usize;
    fn _Unwind_GetCFA(context: *mut Context) -> usize;
}

/// Calls `visit` for each frame, from the innermost one out, with the address at which it goes on and with where the
/// stack stood when it made its call, until `visit` returns false.
pub fn frames(mut visit: &mut dyn FnMut(usize, usize) -> bool) {
    unsafe extern "C" fn step(context: *mut Context, argument: *mut c_void) -> c_int {
        const GO_ON: c_int = 0;
        const STOP: c_int = 4;
        // SAFETY: `argument` is the reference below, which outlives the unwinding and is not used elsewhere meanwhile.
        let visit = unsafe { &mut *argument.cast::<&mut dyn FnMut(usize, usize) -> bool>() };
        // SAFETY: the context is the unwinder's own, valid during this step.
        let (address, stack) = unsafe { (_Unwind_GetIP(context), _Unwind_GetCFA(context)) };
        if visit(address, stack) { GO_ON } else { STOP }
    }
    // SAFETY: `step` is as the unwinder wants it, and unwinds nothing.
    unsafe { _Unwind_Backtrace(step, (&raw mut visit).cast()) };
}

/// The return address that lies at a place of the calling thread's stack, above the caller.
pub fn return_address(place: usize) -> usize {
    // SAFETY: the place was found by the unwinder in this call or in an earlier one of the same wrapper, whose frame
    // has one size: it is the word above that frame, on a stack that is in use.
    unsafe { std::ptr::with_exposed_provenance::<usize>(place).read() }
}
