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

/// Where on the stack the return address `caller` of a wrapper lies, whose frame begins at `here` and ends below
/// `outside`, as [`frames`] has found both; `None`: not found. On x86-64 it is the word that the call has pushed.
#[cfg(not(target_arch = "aarch64"))]
pub fn place_of_return(here: usize, outside: usize, caller: usize) -> Option<usize> {
    let place = outside.checked_sub(size_of::<usize>())?;
    (place > here && return_address(place) == caller).then_some(place)
}

/// The place of the return address on arm64: a function that calls others keeps it in its frame record: the place of
/// the record before it, then the address. `x29` holds the place of the last one (AAPCS64, "The Frame Pointer").
#[cfg(target_arch = "aarch64")]
pub fn place_of_return(here: usize, outside: usize, caller: usize) -> Option<usize> {
    use crate::base::processor;

    const ADDRESS: usize = size_of::<usize>();
    let (mut record, lowest) = (processor::frame_record(), processor::frame());
    // Code that keeps no frame records may have anything in x29: only what lies in frames that are in use is read.
    while record >= lowest && record + ADDRESS < outside && record.is_multiple_of(align_of::<usize>()) {
        if record >= here {
            return (return_address(record + ADDRESS) == caller).then_some(record + ADDRESS);
        }
        let before = return_address(record);
        if before <= record {
            return None;
        }
        record = before;
    }
    None
}

/// The return address that lies at a place of the calling thread's stack, above the caller.
pub fn return_address(place: usize) -> usize {
    // SAFETY: the place was found by the unwinder in this call or in an earlier one of the same wrapper, whose frame
    // has one size: it is a word of that frame or the one above it, on a stack that is in use.
    unsafe { std::ptr::with_exposed_provenance::<usize>(place).read() }
}
