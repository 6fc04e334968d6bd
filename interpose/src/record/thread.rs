//! What a thread keeps: where its next record goes, and whether it is inside an MPI call already.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use mpitrace_format::layout::{DISTURBED, ThreadEntry};

use crate::counters::counter_reader::{Sampler, Sums};
use crate::identity::call_cache::{Cache, Found};
use crate::job::log;
use crate::record::chunk::{Columns, Drawn};
use crate::record::trace_buffer::TraceBuffer;
use crate::record::{mode, ticks, tls};

/// The state of one thread. Only that thread touches it.
pub struct Thread {
    /// The stack address at which the outermost wrapper stands that is now in an MPI call; 0: none. A wrapper that stands
    /// at a lower address was called from inside that call, by the MPI library or another tool: it only forwards.
    ///
    /// An address and not a depth, since a call that is left by `longjmp` never comes back to lower a depth.
    pub guard: usize,
    /// Index of the next record in the thread's chunk.
    pub next: usize,
    /// Index at which the chunk ends.
    pub end: usize,
    /// The columns of the chunk, in the order of [`mpitrace_format::layout::COLUMNS`].
    pub columns: Columns,
    /// The chunk's number; `None` before the first.
    pub chunk: Option<u32>,
    /// Which of the columns that not every record uses have memory in the chunk: `chunk_flags`.
    pub extended: u32,
    /// What a record needs beside the usual, bits of [`attention`].
    pub attention: u8,
    /// Reads the counters around a call; `None` before they are needed.
    pub sampler: Option<Box<Sampler>>,
    /// What code inside the stack has added on this thread.
    pub sums: Sums,
    /// Where chunks are drawn from; `None`: this thread's calls cannot be kept.
    pub live: Option<&'static TraceBuffer>,
    /// The operation that was last looked for in vain in `cache`.
    pub found_anew: Found,
    /// Operations that this thread called lately.
    pub cache: Cache,
    /// What is counted for the thread in the segment.
    pub entry: *mut ThreadEntry,
    /// Index of `entry`.
    pub index: u32,
}

/// What records of all threads need.
static ATTENTION: AtomicU8 = AtomicU8::new(0);

/// From now on the records of threads that make their first call need this too.
pub fn attend_to(attention: u8) {
    ATTENTION.fetch_or(attention, Ordering::Relaxed);
}

/// Bits of [`Thread::attention`].
pub mod attention {
    /// Calls have counters.
    pub const COUNTERS: u8 = 1;
    /// The tracer has delayed the next call.
    pub const DISTURBED: u8 = 2;
    /// Counters are read before and after each call.
    pub const SAMPLED: u8 = 4;
    /// Code inside the stack has added something on this thread.
    pub const INNER: u8 = 8;
    /// What there is to do after a call.
    pub const AFTER: u8 = SAMPLED | INNER;
}

impl Thread {
    /// The chunk that the thread fills now, which must exist.
    pub fn chunk_entry(&self) -> Drawn {
        let entry = match (self.live, self.chunk) {
            (Some(live), Some(chunk)) => live.chunk(chunk),
            _ => unreachable!("a record lies in a chunk"),
        };
        // SAFETY: the entry lies in the segment, and this thread has drawn it.
        unsafe { Drawn::now(entry) }
    }

    /// Takes the next chunk. False: the arrays are full.
    #[cold]
    #[inline(never)]
    pub fn draw(&mut self) -> bool {
        let Some(live) = self.live else { return false };
        let Some((chunk, columns, records)) = live.draw(self.index, self.chunk) else {
            return false;
        };
        self.chunk = Some(chunk);
        self.columns = columns;
        self.next = 0;
        self.end = records;
        self.extended = 0;
        true
    }

    /// Gives the columns that are used with this one of the `chunk_flags` memory in the chunk, where they have none yet; the
    /// record at which that is done is disturbed by it. False: there is none.
    #[inline(always)]
    pub fn extend_at(&mut self, record: usize, flag: u32) -> bool {
        if self.extended & flag == 0 {
            if matches!((self.live, self.chunk), (Some(live), Some(chunk)) if live.extend_chunk(chunk, flag)) {
                self.extended |= flag;
            }
            // SAFETY: the record lies in this thread's chunk.
            unsafe { *self.columns.operation.add(record) |= DISTURBED };
        }
        self.extended & flag != 0
    }
}

/// This thread's state; null before its first call, and after the thread-local storage is gone.
#[inline(always)]
pub fn current() -> *mut Thread {
    tls::get().cast()
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
    let thread = adopt();
    tls::set(thread.cast());
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
        if !mode::is_on() {
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
        tls::set(std::ptr::null_mut());
        release(thread.cast());
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

static THREADS: Mutex<Threads> = Mutex::new(Threads { live: None, idle: Vec::new() });

struct Threads {
    live: Option<&'static TraceBuffer>,
    /// States of threads that have ended, with what is left of their chunks.
    idle: Vec<Idle>,
}

struct Idle(*mut Thread);

// SAFETY: an idle state belongs to no thread.
unsafe impl Send for Idle {}

/// Gives threads a segment to draw their chunks from, this one the first: not within its first call.
pub fn start(live: &'static TraceBuffer) {
    threads().live = Some(live);
    // SAFETY: the state is this thread's own.
    unsafe { (*current_or_new()).draw() };
}

/// The state for a thread that makes its first call: that of one that has ended, else a new one.
fn adopt() -> *mut Thread {
    // SAFETY: has no preconditions.
    let tid = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
    let mut threads = threads();
    if let Some(Idle(idle)) = threads.idle.pop() {
        // SAFETY: an idle state belongs to no thread; its entry stays mapped.
        unsafe { (*(*idle).entry).tid = tid };
        return idle;
    }
    let live = threads.live;
    let added = live.and_then(|live| live.add_thread(ThreadEntry { tid, ..ThreadEntry::default() }));
    // More threads at once than the table holds: their calls are counted, not kept.
    let (index, entry) = added.unwrap_or_else(|| (0, Box::into_raw(Box::default())));
    Box::into_raw(Box::new(Thread {
        guard: 0,
        next: 0,
        end: 0,
        columns: Columns::NONE,
        chunk: None,
        extended: 0,
        attention: ATTENTION.load(Ordering::Relaxed),
        sampler: None,
        sums: Sums::ZERO,
        live: live.filter(|_| added.is_some()),
        found_anew: Found::NONE,
        cache: Cache::new(),
        entry,
        index,
    }))
}

/// Takes the state of a thread that has ended.
fn release(thread: *mut Thread) {
    // SAFETY: the thread has given its state up. Its counters count nobody else.
    unsafe {
        (*thread).guard = 0;
        (*thread).sampler = None;
        (*thread).sums.started = Sums::ZERO.started;
    }
    threads().idle.push(Idle(thread));
}

fn threads() -> std::sync::MutexGuard<'static, Threads> {
    THREADS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Forwards, guarded; the result, how many ticks that took, and the tick at its end.
pub fn timed(forward: impl FnOnce() -> std::ffi::c_int) -> (std::ffi::c_int, u64, u64) {
    let before = ticks::now();
    let result = guarded(forward);
    let after = ticks::now();
    (result, after.wrapping_sub(before), after)
}

/// Whether a call made from the frame at `here` is none of the program's own, or comes when nothing is traced.
#[inline(always)]
pub fn is_passing(here: usize) -> bool {
    !mode::is_on() || is_nested(here)
}

/// Runs what must not harm the program: MPI calls that it makes are not recorded, and a fault in the tracer ends the
/// tracing and not the program.
pub fn catch_panic<R>(work: impl FnOnce() -> Option<R>) -> Option<R> {
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| guarded(work)));
    caught.unwrap_or_else(|_| {
        mode::stop();
        log::warn("internal error; the program goes on untraced");
        None
    })
}
