//! A stub for each function that is an algorithm. It changes no register that holds an argument, nor the stack: the
//! functions differ in theirs. Only r11 (arm64: x9 to x11, x16, x17) changes, which holds nothing where a function
//! begins.
//!
//! The first one in a call sets [`attention::ALGORITHM`] and the lower half of the thread's word, the next one the
//! upper half. On a thread without a state there is no call to note it for.

use crate::base::symbol::{PLACE_OF_ADDRESS, Symbol};
use crate::record::thread::{PLACE_OF_ALGORITHM, PLACE_OF_ATTENTION, attention};
use crate::recorder::algorithms::destination;

/// The thread's word is reached as in record/thread/tls.rs.
#[cfg(target_arch = "x86_64")]
macro_rules! stub {
    () => {
        "endbr64
        mov r11, qword ptr fs:[0]
        add r11, qword ptr [rip + mpitrace_thread@GOTTPOFF]
        mov r11, qword ptr [r11]
        test r11, r11
        je 3f
        test byte ptr [r11 + {attention}], {entered}
        jne 2f
        or byte ptr [r11 + {attention}], {entered}
        mov dword ptr [r11 + {algorithm}], {index} + 1
        3:
        mov r11, qword ptr [rip + {symbols} + {address}]
        cmp r11, 1
        jbe 4f
        jmp r11
        2:
        cmp word ptr [r11 + {algorithm} + 2], 0
        jne 3b
        mov word ptr [r11 + {algorithm} + 2], {index} + 1
        jmp 3b
        4:
        mov r11d, {index}
        jmp {look_up}"
    };
}
/// `hint #34` is `bti c`.
#[cfg(target_arch = "aarch64")]
macro_rules! stub {
    () => {
        "hint #34
        mrs x17, tpidr_el0
        adrp x9, :gottprel:mpitrace_thread
        ldr x9, [x9, :gottprel_lo12:mpitrace_thread]
        ldr x9, [x17, x9]
        cbz x9, 3f
        mov w17, #{algorithm}
        add x17, x9, x17
        mov w11, #{attention}
        ldrb w10, [x9, x11]
        tst w10, #{entered}
        b.ne 2f
        orr w10, w10, #{entered}
        strb w10, [x9, x11]
        mov w10, #{index} + 1
        str w10, [x17]
        3:
        adrp x16, {symbols} + {address}
        ldr x16, [x16, :lo12:{symbols} + {address}]
        cmp x16, #1
        b.ls 4f
        br x16
        2:
        ldrh w10, [x17, #2]
        cbnz w10, 3b
        mov w10, #{index} + 1
        strh w10, [x17, #2]
        b 3b
        4:
        mov w17, #{index}
        b {look_up}"
    };
}

/// Looks the function up, with all arguments kept that are in registers: they are addresses and integers.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn look_up() {
    core::arch::naked_asm!(
        "push rax",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "mov edi, r11d",
        "call {destination}",
        "mov r11, rax",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "pop rax",
        "jmp r11",
        destination = sym destination,
    );
}

#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn look_up() {
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-96]!",
        "mov x29, sp",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "stp x6, x7, [sp, #64]",
        "str x8, [sp, #80]",
        "mov w0, w17",
        "bl {destination}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x2, x3, [sp, #32]",
        "ldp x4, x5, [sp, #48]",
        "ldp x6, x7, [sp, #64]",
        "ldr x8, [sp, #80]",
        "ldp x29, x30, [sp], #96",
        "br x16",
        destination = sym destination,
    );
}

macro_rules! stubs {
    ($($index:literal $name:ident,)*) => {
        $(
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    stub!(),
                    index = const $index,
                    attention = const PLACE_OF_ATTENTION,
                    entered = const attention::ALGORITHM,
                    algorithm = const PLACE_OF_ALGORITHM,
                    symbols = sym SYMBOLS,
                    address = const $index * size_of::<Symbol>() + PLACE_OF_ADDRESS,
                    look_up = sym look_up,
                );
            }
        )*

        const COUNT: usize = [$($index),*].len();

        /// The library's functions.
        pub static SYMBOLS: [Symbol; COUNT] = [const { Symbol::new() }; COUNT];

        /// Their names, each with a zero byte behind it.
        pub const NAMES: &str = concat!($(stringify!($name), "\0"),*);

        #[cfg(test)]
        pub static ADDRESSES: [unsafe extern "C" fn(); COUNT] = [$($name),*];
    };
}

include!(concat!(env!("OUT_DIR"), "/algorithms.rs"));
