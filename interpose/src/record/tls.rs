//! One word of thread-local storage, reached with two instructions.
//!
//! A `thread_local!` of a shared library goes through `__tls_get_addr`, 2 to 5 ns a call; the initial-exec model that a
//! preloaded library may use cannot be asked for in Rust.

pub use place::{get, set};

#[cfg(target_arch = "x86_64")]
mod place {
    use std::ffi::c_void;

    core::arch::global_asm!(
        ".pushsection .tbss.mpitrace_thread,\"awT\",@nobits",
        ".p2align 3",
        ".globl mpitrace_thread",
        ".hidden mpitrace_thread",
        ".type mpitrace_thread, @object",
        "mpitrace_thread:",
        ".zero 8",
        ".size mpitrace_thread, 8",
        ".popsection",
    );

    #[inline(always)]
    fn place() -> *mut *mut c_void {
        let place;
        // SAFETY: computes the address of this thread's copy of the word above (ELF TLS, initial-exec).
        unsafe {
            core::arch::asm!(
                "mov {0}, qword ptr fs:[0]",
                "add {0}, qword ptr [rip + mpitrace_thread@GOTTPOFF]",
                out(reg) place,
                options(pure, nomem, nostack)
            );
        }
        place
    }

    #[inline(always)]
    pub fn get() -> *mut c_void {
        // SAFETY: the word exists as long as its thread runs, and starts as null.
        unsafe { *place() }
    }

    pub fn set(state: *mut c_void) {
        // SAFETY: as above; no other thread can reach it.
        unsafe { *place() = state };
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod place {
    use std::cell::Cell;
    use std::ffi::c_void;

    thread_local!(static SLOT: Cell<*mut c_void> = const { Cell::new(std::ptr::null_mut()) });

    #[inline(always)]
    pub fn get() -> *mut c_void {
        SLOT.with(Cell::get)
    }

    pub fn set(state: *mut c_void) {
        SLOT.with(|slot| slot.set(state));
    }
}
