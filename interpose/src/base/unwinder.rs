//! The functions of the unwinder (libgcc_s), found when they are needed first.
//!
//! The Rust library and exceptions that pass through a wrapper need them. Were libgcc_s linked, the loader would map it
//! into every process that the tracer is preloaded into, which costs more than all else of the tracer there. So each is
//! a jump here, to what the process calls by the name: its own unwinder, as C++ programs have one, else libgcc_s, which
//! is loaded in MPI_Init. The stack is at each jump as at a call, since unwinding starts there.

use std::arch::global_asm;
use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::base::{loader, symbol};

/// The code of a function: a jump to what was found, else to what is found now. At most three arguments are kept.
#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    () => {
        "mov rax, qword ptr [rip + {functions} + 8 * {index}]
        test rax, rax
        jz 2f
        jmp rax
        2:
        push rdi
        push rsi
        push rdx
        mov edi, {index}
        call {find}
        pop rdx
        pop rsi
        pop rdi
        jmp rax"
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    () => {
        "adrp x16, {functions}
        add x16, x16, :lo12:{functions}
        ldr x16, [x16, 8 * {index}]
        cbz x16, 2f
        br x16
        2:
        stp x29, x30, [sp, -48]!
        stp x0, x1, [sp, 16]
        str x2, [sp, 32]
        mov x0, {index}
        bl {find}
        mov x16, x0
        ldr x2, [sp, 32]
        ldp x0, x1, [sp, 16]
        ldp x29, x30, [sp], 48
        br x16"
    };
}

/// Declares the functions, which no other object sees.
macro_rules! functions {
    ($count:literal: $($index:literal $name:literal)*) => {
        const NAMES: [&str; $count] = [$(concat!($name, "\0")),*];
        $(
            global_asm!(
                concat!(".pushsection .text.", $name, ",\"ax\",@progbits"),
                concat!(".globl ", $name),
                concat!(".hidden ", $name),
                concat!(".type ", $name, ", @function"),
                concat!($name, ":"),
                jump!(),
                concat!(".size ", $name, ", . - ", $name),
                ".popsection",
                functions = sym FUNCTIONS,
                find = sym find,
                index = const $index,
            );
        )*
    };
}

functions! { 14:
    0 "_Unwind_Backtrace"
    1 "_Unwind_DeleteException"
    2 "_Unwind_FindEnclosingFunction"
    3 "_Unwind_GetCFA"
    4 "_Unwind_GetDataRelBase"
    5 "_Unwind_GetIP"
    6 "_Unwind_GetIPInfo"
    7 "_Unwind_GetLanguageSpecificData"
    8 "_Unwind_GetRegionStart"
    9 "_Unwind_GetTextRelBase"
    10 "_Unwind_RaiseException"
    11 "_Unwind_Resume"
    12 "_Unwind_SetGR"
    13 "_Unwind_SetIP"
}

/// The functions that were found.
static FUNCTIONS: [AtomicPtr<u8>; NAMES.len()] = [const { AtomicPtr::new(std::ptr::null_mut()) }; _];

/// Finds all of them, and loads the library that has them where none is. False: there is none.
pub fn load() -> bool {
    (0..NAMES.len()).all(|index| !look_up(index).is_null())
}

/// The function of this number. Called from where it is called, which cannot go on without it.
extern "C" fn find(index: usize) -> *mut u8 {
    let found = look_up(index);
    if found.is_null() { std::process::abort() } else { found }
}

fn look_up(index: usize) -> *mut u8 {
    let Ok(name) = CStr::from_bytes_with_nul(NAMES[index].as_bytes()) else { return std::ptr::null_mut() };
    // SAFETY: a library that ends nothing and starts nothing when it is loaded. It is never closed: the program may
    // close what has brought it along.
    let library = unsafe { libc::dlopen(c"libgcc_s.so.1".as_ptr(), libc::RTLD_LAZY) };
    let mut found = symbol::data(name);
    if found.is_null() && !library.is_null() {
        found = loader::look_up(library, name);
    }
    FUNCTIONS[index].store(found.cast(), Ordering::Relaxed);
    found.cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_whether_the_functions_were_found_before_or_not() {
        for _ in 0..2 {
            let caught = std::panic::catch_unwind(|| std::hint::black_box(None::<u8>).is_some() || panic!("caught"));
            assert!(caught.is_err());
            assert!(load() && FUNCTIONS.iter().all(|function| !function.load(Ordering::Relaxed).is_null()));
            FUNCTIONS.iter().for_each(|function| function.store(std::ptr::null_mut(), Ordering::Relaxed));
        }
    }
}
