//! One word of thread-local storage, reached with two instructions on x86-64 and four on arm64.
//!
//! A `thread_local!` of a shared library goes through `__tls_get_addr`, 2 to 5 ns a call; the initial-exec model that a
//! preloaded library may use cannot be asked for in Rust.

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

pub use place::get;

/// Takes the state of a thread that ends.
pub type Ended = fn(*mut c_void);

/// The function that [`set`] was given, the same for all threads.
static ENDED: OnceLock<Ended> = OnceLock::new();

/// Keeps this thread's state, for which `ended` is called when the thread ends.
pub fn set(state: *mut c_void, ended: Ended) {
    let _ = ENDED.set(ended);
    place::set(state);
    let Some(key) = exit_key() else { return };
    // SAFETY: the key was made by pthread_key_create; its destructor takes what is stored here.
    unsafe { libc::pthread_setspecific(key, state) };
}

/// The key whose destructor gives a thread's state back when the thread ends. `None`: the program has used up all keys,
/// and the state of a thread that ends is not used again.
fn exit_key() -> Option<libc::pthread_key_t> {
    const UNMADE: u32 = u32::MAX;
    static KEY: AtomicU32 = AtomicU32::new(UNMADE);
    unsafe extern "C" fn at_end(state: *mut c_void) {
        place::set(std::ptr::null_mut());
        if let Some(ended) = ENDED.get() {
            ended(state);
        }
    }
    let known = KEY.load(Ordering::Acquire);
    if known != UNMADE {
        return Some(known);
    }
    let mut key = 0;
    // SAFETY: `key` outlives the call; the destructor gets what `set` stored.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(at_end)) } != 0 {
        return None;
    }
    match KEY.compare_exchange(UNMADE, key, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(key),
        Err(other) => {
            // SAFETY: no thread has used the key that lost the race.
            unsafe { libc::pthread_key_delete(key) };
            Some(other)
        }
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
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
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_a_word_of_its_own_that_starts_as_null() {
        let (mut here, mut there) = (0u8, 0u8);
        let before = get();
        place::set((&raw mut here).cast());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(get().is_null());
                place::set((&raw mut there).cast());
                assert_eq!(get(), (&raw mut there).cast());
                place::set(std::ptr::null_mut());
            });
        });
        assert_eq!(get(), (&raw mut here).cast());
        place::set(before);
    }
}
