//! One word of thread-local storage, reached with two instructions on x86-64 and four on arm64.
//!
//! A `thread_local!` of a shared library goes through `__tls_get_addr`, 2 to 5 ns a call; the initial-exec model that a
//! preloaded library may use cannot be asked for in Rust.

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
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr fs:[0]",
            "add {0}, qword ptr [rip + mpitrace_thread@GOTTPOFF]",
            out(reg) place,
            options(pure, nomem, nostack)
        );
    }
    // SAFETY: computes the address of this thread's copy of the word above (ELF TLS, initial-exec), and reads its
    // entry in the global offset table alone.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!(
            "mrs {thread}, tpidr_el0",
            "adrp {place}, :gottprel:mpitrace_thread",
            "ldr {place}, [{place}, :gottprel_lo12:mpitrace_thread]",
            "add {place}, {place}, {thread}",
            place = out(reg) place,
            thread = out(reg) _,
            options(pure, nomem, nostack, preserves_flags)
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
    // SAFETY: the word exists as long as its thread runs; no other thread can reach it.
    unsafe { *place() = state };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_a_word_of_its_own_that_starts_as_null() {
        let (mut here, mut there) = (0u8, 0u8);
        let before = get();
        set((&raw mut here).cast());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(get().is_null());
                set((&raw mut there).cast());
                assert_eq!(get(), (&raw mut there).cast());
                set(std::ptr::null_mut());
            });
        });
        assert_eq!(get(), (&raw mut here).cast());
        set(before);
    }
}
