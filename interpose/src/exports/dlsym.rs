//! `dlsym`: a program that opens MPI by itself and asks its handle for a function gets the wrapper of this library.
//!
//! Julia, `ctypes` and programs that choose among MPI libraries reach MPI so. Only a name of MPI by a handle is looked
//! at; all else goes on to the next `dlsym` with registers and stack as they came, since the loader tells by the return
//! address who asks for RTLD_NEXT and RTLD_DEFAULT.
//!
//! A wrapper takes the place of a function only where it would forward to that very function. Another tool that has a
//! definition of its own behind this library, and asks the handle for what it forwards to, gets the library's: else
//! both would call each other without end.

use std::ffi::{CStr, c_char, c_void};

use crate::base::{errno, loader, symbol};

// Unit tests do not export it: ThreadSanitizer calls `dlsym` before it can watch a function, and would watch this one.
/// See `dlsym(3)`. RTLD_DEFAULT is 0 and RTLD_NEXT is -1.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[cfg_attr(not(test), unsafe(no_mangle))]
#[cfg_attr(test, allow(dead_code))]
unsafe extern "C" fn dlsym() {
    core::arch::naked_asm!(
        "endbr64",
        "lea rax, [rdi + 1]",
        "cmp rax, 1",
        "jbe 2f",
        "mov rax, rsi",
        "test rax, rax",
        "je 2f",
        "cmp byte ptr [rax], 0x50", // P
        "jne 3f",
        "inc rax",
        "3:",
        "cmp byte ptr [rax], 0x4d", // M
        "jne 2f",
        "cmp byte ptr [rax + 1], 0x50", // P
        "jne 2f",
        "cmp byte ptr [rax + 2], 0x49", // I
        "jne 2f",
        "cmp byte ptr [rax + 3], 0x5f", // _
        "jne 2f",
        "jmp {by_handle}",
        "2:",
        "mov rax, qword ptr [rip + {next}]",
        "test rax, rax",
        "je 4f",
        "jmp rax",
        "4:",
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {find_next}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        by_handle = sym by_handle,
        next = sym loader::NEXT,
        find_next = sym loader::find_next,
    );
}

/// See `dlsym(3)`. `hint #34` is `bti c`.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[cfg_attr(not(test), unsafe(no_mangle))]
#[cfg_attr(test, allow(dead_code))]
unsafe extern "C" fn dlsym() {
    core::arch::naked_asm!(
        "hint #34",
        "add x9, x0, #1",
        "cmp x9, #1",
        "b.ls 2f",
        "cbz x1, 2f",
        "mov x9, x1",
        "ldrb w10, [x9]",
        "cmp w10, #0x50", // P
        "b.ne 3f",
        "add x9, x9, #1",
        "3:",
        "ldrb w10, [x9]",
        "cmp w10, #0x4d", // M
        "b.ne 2f",
        "ldrb w10, [x9, #1]",
        "cmp w10, #0x50", // P
        "b.ne 2f",
        "ldrb w10, [x9, #2]",
        "cmp w10, #0x49", // I
        "b.ne 2f",
        "ldrb w10, [x9, #3]",
        "cmp w10, #0x5f", // _
        "b.ne 2f",
        "b {by_handle}",
        "2:",
        "adrp x16, {next}",
        "ldr x16, [x16, :lo12:{next}]",
        "cbz x16, 4f",
        "br x16",
        "4:",
        "stp x29, x30, [sp, #-32]!",
        "mov x29, sp",
        "stp x0, x1, [sp, #16]",
        "bl {find_next}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        "br x16",
        by_handle = sym by_handle,
        next = sym loader::NEXT,
        find_next = sym loader::find_next,
    );
}

/// A name that begins as one of MPI's, by the handle of a library.
extern "C" fn by_handle(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    let found = loader::next(handle, name);
    if found.is_null() {
        return found;
    }
    // SAFETY: the loader has just read the C string of the program.
    let wrapper = errno::kept(|| wrapper_of(found, unsafe { CStr::from_ptr(name) }));
    // Once more, so that dlerror has nothing to say of what was looked for here.
    loader::next(handle, name);
    wrapper.unwrap_or(found)
}

/// The wrapper that forwards to this function of the name.
fn wrapper_of(found: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    let wrapper = symbol::in_this_library(name)?;
    (symbol::next_definition(name) == found).then_some(wrapper)
}
