//! Error handlers of the program: while one runs, its thread is seen to be in it, and the call is known to have failed.
//!
//! MPI is given a stub in place of the program's function. The stub changes a word of the thread's entry, keeps the
//! error code in the thread's state, and jumps to the function: all arguments, also those that only the library knows
//! of, stay where they are, and the stub is in no backtrace and in no exception's way. Where all stubs are taken, MPI
//! is given the function itself.
//!
//! The result of a call does not always show that it failed: MPICH 5 returns MPI_SUCCESS where an error handler of the
//! program has returned. The output arguments of such a call hold what they held before.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::record::thread;

/// How many functions of a program can be seen.
const STUBS: usize = 16;

/// The functions that the stubs lead to; 0: none yet.
static FUNCTIONS: [AtomicUsize; STUBS] = [const { AtomicUsize::new(0) }; STUBS];

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

    /// The result that the library has returned.
    pub fn result(&self, outcome: c_int) -> c_int {
        if self.0.get() { 0 } else { outcome }
    }
}

/// The stub that leads to a function. `None`: there is none left.
fn stub_of(function: usize) -> Option<usize> {
    let base = stubs::base().filter(|_| function != 0)?;
    let place = FUNCTIONS.iter().position(|known| {
        let taken = known.compare_exchange(0, function, Ordering::AcqRel, Ordering::Acquire);
        taken.is_ok() || taken == Err(function)
    })?;
    Some(base + place * stubs::BYTES)
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod stubs {
    use mpitrace_format::layout::{ThreadEntry, activity};

    use super::FUNCTIONS;
    use crate::record::thread::{PLACE_OF_ATTENTION, PLACE_OF_ENTRY, PLACE_OF_ERROR, attention};

    /// Bytes of a stub.
    pub const BYTES: usize = 16;

    unsafe extern "C" {
        fn mpitrace_error_handlers();
    }

    /// Where the first one lies.
    pub fn base() -> Option<usize> {
        Some(mpitrace_error_handlers as *const () as usize)
    }

    /// A stub. It may be jumped to where the processor checks that (`hint #34` is `bti c`).
    #[cfg(target_arch = "x86_64")]
    macro_rules! stub {
        ($number:literal) => {
            concat!("endbr64\nmov r10d, ", stringify!($number), "\njmp 2f")
        };
    }
    #[cfg(target_arch = "aarch64")]
    macro_rules! stub {
        ($number:literal) => {
            concat!("hint #34\nmov w16, #", stringify!($number), "\nb 2f")
        };
    }

    /// The code that all stubs go on with. The thread's word is reached as in record/tls.rs; a thread that has made no
    /// call has none. The second argument of every handler is the address of the error code.
    ///
    /// Only r10 and r11 change, which hold nothing where a function begins.
    #[cfg(target_arch = "x86_64")]
    macro_rules! rest {
        () => {
            "mov r11, qword ptr fs:[0]
            add r11, qword ptr [rip + mpitrace_thread@GOTTPOFF]
            mov r11, qword ptr [r11]
            test r11, r11
            je 3f
            push rax
            mov eax, dword ptr [rsi]
            mov dword ptr [r11 + {error}], eax
            pop rax
            or byte ptr [r11 + {attention}], {handled}
            mov r11, qword ptr [r11 + {entry}]
            or dword ptr [r11 + {activity}], {handler}
            3:
            lea r11, [rip + {functions}]
            jmp qword ptr [r11 + 8 * r10]"
        };
    }
    /// The same; only x9 to x11, x16 and x17 change.
    #[cfg(target_arch = "aarch64")]
    macro_rules! rest {
        () => {
            "mrs x17, tpidr_el0
            adrp x9, :gottprel:mpitrace_thread
            ldr x9, [x9, :gottprel_lo12:mpitrace_thread]
            ldr x9, [x17, x9]
            cbz x9, 3f
            ldr w10, [x1]
            mov w11, #{error}
            str w10, [x9, x11]
            mov w11, #{attention}
            ldrb w10, [x9, x11]
            orr w10, w10, #{handled}
            strb w10, [x9, x11]
            mov w11, #{entry}
            ldr x9, [x9, x11]
            ldr w10, [x9, #{activity}]
            orr w10, w10, #{handler}
            str w10, [x9, #{activity}]
            3:
            adrp x11, {functions}
            add x11, x11, :lo12:{functions}
            ldr x16, [x11, x16, lsl #3]
            br x16"
        };
    }

    macro_rules! stubs {
        ($($number:literal)*) => {
            core::arch::global_asm!(
                ".pushsection .text.mpitrace_error_handlers,\"ax\",@progbits",
                ".p2align 4",
                ".hidden mpitrace_error_handlers",
                ".globl mpitrace_error_handlers",
                ".type mpitrace_error_handlers, @function",
                "mpitrace_error_handlers:",
                $(".p2align 4", stub!($number),)*
                ".p2align 4",
                "2:",
                rest!(),
                ".popsection",
                entry = const PLACE_OF_ENTRY,
                error = const PLACE_OF_ERROR,
                attention = const PLACE_OF_ATTENTION,
                handled = const attention::HANDLED,
                activity = const std::mem::offset_of!(ThreadEntry, activity),
                handler = const activity::ERROR_HANDLER,
                functions = sym FUNCTIONS,
            );
        };
    }

    stubs!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod stubs {
    pub const BYTES: usize = 16;

    /// There are none.
    pub fn base() -> Option<usize> {
        None
    }
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::*;
    use crate::record::thread;
    use mpitrace_format::layout::activity;

    type Handler = extern "C" fn(usize, &c_int, usize, usize, usize, usize, usize, f64) -> f64;

    extern "C" fn weighed(
        a: usize,
        b: &c_int,
        c: usize,
        d: usize,
        e: usize,
        f: usize,
        on_stack: usize,
        real: f64,
    ) -> f64 {
        [a, *b as usize, c, d, e, f, on_stack].iter().fold(real, |sum, &value| 2.0 * sum + value as f64)
    }

    #[test]
    fn a_stub_passes_all_arguments_on_and_its_thread_is_seen_in_the_handler() {
        let thread = thread::current_or_new().unwrap();
        let place = stub_of(weighed as *const () as usize).unwrap();
        assert_eq!(stub_of(weighed as *const () as usize), Some(place), "one for each function");
        // SAFETY: the stub leads to a function of this type.
        let stub: Handler = unsafe { std::mem::transmute(place) };
        assert_eq!(stub(1, &2, 3, 4, 5, 6, 7, 0.5), weighed(1, &2, 3, 4, 5, 6, 7, 0.5));
        assert_eq!(activity::of(thread.entry().activity()).0, activity::ERROR_HANDLER);
        assert_eq!((thread.outcome(0), thread.outcome(0)), (2, 0), "the error, once");
        // On a thread without a state.
        std::thread::spawn(move || assert_eq!(stub(1, &0, 0, 0, 0, 0, 0, 0.0), 64.0)).join().unwrap();
        for other in 1..STUBS {
            assert_eq!(stub_of(8 * other), Some(place + other * stubs::BYTES));
        }
        assert_eq!(stub_of(8 * STUBS), None, "none is left");
        assert_eq!(stub_of(0), None);

        // A library that hides errors, and one that does not.
        let failing = |error: c_int, returned| {
            move || {
                stub(0, &error, 0, 0, 0, 0, 0, 0.0);
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
