//! What a thread keeps: where its next record goes, and whether it is inside an MPI call already.

use std::sync::atomic::{AtomicU32, Ordering};

use trace::trace::layout::{StretchEntry, ThreadEntry};

use crate::live::Live;
use crate::lookup::{Cache, Found};
use crate::recorder;

/// The state of one thread. Only that thread touches it.
pub struct Thread {
    /// The stack address at which the outermost wrapper stands that is now in an MPI call; 0: none. A wrapper that stands
    /// at a lower address was called from inside that call, by the MPI library or another tool: it only forwards.
    ///
    /// An address and not a depth, since a call that is left by `longjmp` never comes back to lower a depth.
    pub guard: usize,
    /// Index of the next record in the thread's stretch.
    pub next: usize,
    /// Index at which the stretch ends.
    pub end: usize,
    /// The columns of the stretch, in the order of [`trace::trace::layout::COLUMNS`].
    pub columns: Columns,
    /// The stretch's number; `None` before the first.
    pub stretch: Option<u32>,
    /// Whether the stretch's columns of requests have memory.
    pub extended: bool,
    /// Where stretches are drawn from; `None`: this thread's calls cannot be kept.
    pub live: Option<&'static Live>,
    /// The operation that was last looked for in vain in `cache`.
    pub found_anew: Found,
    /// Operations that this thread called lately.
    pub cache: Cache,
    /// What is counted for the thread in the segment.
    pub entry: *mut ThreadEntry,
    /// Index of `entry`.
    pub index: u32,
}

/// Where the columns of a stretch start.
#[derive(Clone, Copy)]
pub struct Columns {
    /// Ticks at the entry.
    pub enter: *mut u64,
    /// Ticks at the exit.
    pub exit: *mut u64,
    /// Positions on the communicator.
    pub position: *mut u64,
    /// Calls of the operation before.
    pub repetition: *mut u64,
    /// Operations.
    pub operation: *mut u32,
    /// Of non-blocking calls: ticks that starting took.
    pub init: *mut u64,
    /// Ticks spent in Test calls.
    pub test: *mut u64,
    /// Ticks spent in Wait calls.
    pub wait: *mut u64,
    /// Test calls.
    pub tests: *mut u32,
}

/// A stretch as it was drawn once: under `ring` it may be drawn again.
#[derive(Clone, Copy)]
pub struct Drawn {
    entry: *const StretchEntry,
    draw: u64,
}

impl Drawn {
    /// Whether the stretch still holds the same records.
    pub fn is_current(&self) -> bool {
        // SAFETY: entries lie in the segment, which stays mapped; a number that is just being changed differs from ours.
        unsafe { self.entry.read_volatile().draw == self.draw }
    }
}

impl Thread {
    /// The stretch that the thread fills now, which must exist.
    pub fn stretch_entry(&self) -> Drawn {
        let entry = match (self.live, self.stretch) {
            (Some(live), Some(stretch)) => live.stretch(stretch),
            _ => unreachable!("a record lies in a stretch"),
        };
        // SAFETY: the entry lies in the segment, and this thread has drawn it.
        Drawn { entry, draw: unsafe { (*entry).draw } }
    }
}

impl Columns {
    /// No stretch.
    pub const NONE: Columns = Columns {
        enter: std::ptr::null_mut(),
        exit: std::ptr::null_mut(),
        position: std::ptr::null_mut(),
        repetition: std::ptr::null_mut(),
        operation: std::ptr::null_mut(),
        init: std::ptr::null_mut(),
        test: std::ptr::null_mut(),
        wait: std::ptr::null_mut(),
        tests: std::ptr::null_mut(),
    };
}

// One word of thread-local storage, reached with two instructions. A `thread_local!` of a shared library goes through
// __tls_get_addr, 2 to 5 ns a call; the initial-exec model that a preloaded library may use cannot be asked for in Rust.
#[cfg(target_arch = "x86_64")]
mod slot {
    use super::Thread;

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
    fn place() -> *mut *mut Thread {
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
    pub fn get() -> *mut Thread {
        // SAFETY: the word exists as long as its thread runs, and starts as null.
        unsafe { *place() }
    }

    pub fn set(thread: *mut Thread) {
        // SAFETY: as above; no other thread can reach it.
        unsafe { *place() = thread };
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod slot {
    use super::Thread;

    thread_local!(static SLOT: std::cell::Cell<*mut Thread> = const { std::cell::Cell::new(std::ptr::null_mut()) });

    #[inline(always)]
    pub fn get() -> *mut Thread {
        SLOT.with(std::cell::Cell::get)
    }

    pub fn set(thread: *mut Thread) {
        SLOT.with(|slot| slot.set(thread));
    }
}

/// This thread's state; null before its first call, and after the thread-local storage is gone.
#[inline(always)]
pub fn current() -> *mut Thread {
    slot::get()
}

/// This thread's state, made where there is none yet.
pub fn current_or_new() -> *mut Thread {
    let thread = current();
    if thread.is_null() { create() } else { thread }
}

/// Makes this thread's state.
#[cold]
#[inline(never)]
pub fn create() -> *mut Thread {
    let thread = recorder::adopt_thread();
    slot::set(thread);
    let key = exit_key();
    // SAFETY: the key was made by pthread_key_create; the destructor takes what is stored here.
    unsafe { libc::pthread_setspecific(key, thread.cast()) };
    thread
}

/// The stack address of the caller's frame, as far as comparing frames of one stack needs it.
#[inline(always)]
pub fn frame() -> usize {
    let here: usize;
    // SAFETY: copies the stack pointer.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!("mov {}, rsp", out(reg) here, options(nomem, nostack, preserves_flags))
    };
    // SAFETY: copies the stack pointer.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("mov {}, sp", out(reg) here, options(nomem, nostack, preserves_flags))
    };
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let marker = 0u8;
        here = (&raw const marker).addr();
    }
    here
}

/// Runs `call` as one that the MPI library may nest other MPI calls in: they are only forwarded.
#[inline(always)]
pub fn guarded<R>(call: impl FnOnce() -> R) -> R {
    let here = frame();
    if is_nested(here) {
        return call();
    }
    let mut thread = current();
    if thread.is_null() {
        if !recorder::is_on() {
            return call();
        }
        thread = create();
    }
    let _guard = Guard::hold(thread, here);
    call()
}

/// Whether this thread is inside an MPI call that the program made, seen from a wrapper that stands at `here`.
#[inline(always)]
pub fn is_nested(here: usize) -> bool {
    let thread = current();
    // SAFETY: a non-null slot holds this thread's own state, which nobody else touches.
    !thread.is_null() && here < unsafe { (*thread).guard }
}

/// Holds [`Thread::guard`] until it is dropped, also where a C++ exception passes through.
struct Guard(*mut Thread);

impl Guard {
    /// Marks the thread as being inside a call made from the frame at `here`.
    #[inline(always)]
    fn hold(thread: *mut Thread, here: usize) -> Guard {
        // SAFETY: the caller passes its own thread's state.
        unsafe { (*thread).guard = here };
        Guard(thread)
    }
}

impl Drop for Guard {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the state lives until its thread has ended, and this runs on that thread.
        unsafe { (*self.0).guard = 0 };
    }
}

/// The key whose destructor gives a thread's state back when the thread ends.
fn exit_key() -> libc::pthread_key_t {
    const UNMADE: u32 = u32::MAX;
    static KEY: AtomicU32 = AtomicU32::new(UNMADE);
    unsafe extern "C" fn ended(thread: *mut libc::c_void) {
        slot::set(std::ptr::null_mut());
        recorder::release_thread(thread.cast());
    }
    let known = KEY.load(Ordering::Acquire);
    if known != UNMADE {
        return known;
    }
    let mut key = 0;
    // SAFETY: `key` outlives the call; the destructor gets what `create` stored.
    unsafe { libc::pthread_key_create(&raw mut key, Some(ended)) };
    match KEY.compare_exchange(UNMADE, key, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => key,
        Err(other) => {
            // SAFETY: nobody has used the key that lost the race.
            unsafe { libc::pthread_key_delete(key) };
            other
        }
    }
}
