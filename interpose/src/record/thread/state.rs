//! The state of a thread: where its next record goes, and whether it is inside an MPI call already.

use std::alloc::Layout;
use std::any::Any;
use std::ffi::c_int;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

use mpitrace_format::layout::{
    DISTURBED, INNER_COUNTERS, LiveThreadTimes, RecordColumn, ThreadEntry, chunk_flags, partner, wait_class,
};

use crate::base::entry::Entry;
use crate::base::errno;
use crate::base::ticks;
use crate::handles::call_cache::{Cache, KnownOperation};
use crate::interruptions::watch::Watch;
use crate::record::buffer::chunk::{Columns, RecordPlace};
use crate::record::buffer::drawn::DrawnChunk;
use crate::record::buffer::trace_buffer::TraceBuffer;
use crate::record::thread::interval::Interval;
use crate::record::thread::message_state::MessageRecords;
use crate::record::thread::poll_state::Polls;
use crate::record::thread::sends::Sends;
use crate::record::thread::tls;

/// The state of one thread. Only that thread touches it, through [`ThreadRef`].
pub(super) struct Thread {
    /// The stack address at which the outermost wrapper stands that is now in an MPI call; 0: none. A wrapper that
    /// stands at a lower address was called from inside that call, by the MPI library or another tool: it only
    /// forwards.
    ///
    /// An address and not a depth, since a call that is left by `longjmp` never comes back to lower a depth.
    guard: usize,
    /// Index of the next record in the thread's chunk.
    next: usize,
    end: usize,
    pub(super) columns: Columns,
    pub(super) watch: Watch,
    chunk: Option<u32>,
    /// Which of the columns that not every record uses have memory in the chunk: `chunk_flags`.
    extended: u32,
    attention: u16,
    /// The error code that an error handler of the program was called with last.
    error: c_int,
    /// The numbers of two functions that the call has entered ([`mpitrace_format::algorithms`]), with
    /// [`attention::ALGORITHM`].
    algorithm: u32,
    /// The reader of the counters around a call, for [`ThreadRef::with_reader`]; `None` before they are needed.
    pub(super) reader: Option<Box<dyn Any>>,
    /// The sum of ticks in point-to-point calls that was stored in records.
    p2p_stored: u64,
    /// The sums of [`mpitrace_format::layout::elsewhere::CLASSES`] that were stored.
    elsewhere_stored: [u64; 3],
    /// The sum of ticks in calls that can wait that was taken for a counter.
    waits_taken: u64,
    /// The partner of the call that can wait which the thread is in, or has left: one of `layout::partner`.
    partner: u64,
    pub(super) interval: Interval,
    pub(super) sends: Sends,
    pub(super) messages: MessageRecords,
    pub(super) polls: Polls,
    pub(super) sums: Sums,
    /// Where chunks are drawn from; `None`: this thread's calls cannot be kept.
    buffer: Option<&'static TraceBuffer>,
    /// The operation that was found last, where `cache` did not hold it.
    pub(super) found_last: Option<KnownOperation>,
    pub(super) cache: Cache,
    pub(super) entry: Entry<ThreadEntry>,
    times: Entry<LiveThreadTimes>,
    index: u32,
}

/// Sums of the user counters on a thread since it began.
pub struct Sums {
    /// By slot; those of timers in ticks.
    pub sum: [u64; INNER_COUNTERS],
    /// When a timer was started, ticks; 0: it is not running.
    pub started: [u64; INNER_COUNTERS],
}

impl Sums {
    #[inline(always)]
    pub fn add(&mut self, slot: usize, value: u64) {
        self.sum[slot] = self.sum[slot].wrapping_add(value);
    }
}

/// Ends what another layer keeps for a thread that ends.
static AT_END: OnceLock<fn()> = OnceLock::new();

/// Runs `work` on each thread that ends from now on; the first one who asks is served.
pub fn at_end(work: fn()) {
    let _ = AT_END.set(work);
}

static ATTENTION: AtomicU16 = AtomicU16::new(0);

/// From now on the records of threads that make their first call need this too.
pub fn attend_to(attention: u16) {
    ATTENTION.fetch_or(attention, Ordering::Relaxed);
}

/// Bits of what a record needs beside the usual.
pub mod attention {
    pub const COUNTERS: u16 = 1;
    /// The tracer has delayed the next call.
    pub const DISTURBED: u16 = 2;
    /// Counters are read before and after each call.
    pub const SAMPLED: u16 = 4;
    /// Code inside the stack has added something on this thread.
    pub const INNER: u16 = 8;
    /// The thread was interrupted between two records and in a call that is not kept.
    pub const INTERRUPTED: u16 = 16;
    /// An error handler of the program was called, in this call or before it.
    pub const HANDLED: u16 = 32;
    /// A call that can wait has returned since the last record.
    pub const WAITED: u16 = 64;
    /// A function that is an algorithm of a collective was entered, in this call or before it.
    pub const ALGORITHM: u16 = 128;
    /// Not every call stays in the records: those that are not in the sample are counted when they have returned.
    pub const IN_SAMPLE: u16 = 256;
    /// The thread is in a row of polls: another call ends it.
    pub const POLLING: u16 = 512;
    /// Counters to be read after a call.
    pub const COUNTED: u16 = SAMPLED | INNER;
    pub const AFTER: u16 = COUNTED | HANDLED | ALGORITHM | IN_SAMPLE;
}

/// Where what the call has entered lies in a thread's state, bytes: for code that is no Rust.
pub const PLACE_OF_ALGORITHM: usize = std::mem::offset_of!(Thread, algorithm);
/// The place of the flags that say what its records need.
pub const PLACE_OF_ATTENTION: usize = std::mem::offset_of!(Thread, attention);

/// Writes each field of a [`Thread`] but the cache; one that is missing is an error.
macro_rules! fill {
    ($place:ident, $($field:ident: $value:expr,)*) => {
        $((&raw mut (*$place).$field).write($value);)*
        let _ = |Thread { cache: _, $($field: _,)* }: &Thread| {};
    };
}

impl Thread {
    /// A new state, made in its place: some threads have less stack than it is large. `None`: there is no memory for
    /// it.
    pub(super) fn new(
        buffer: Option<&'static TraceBuffer>,
        entry: Entry<ThreadEntry>,
        times: Entry<LiveThreadTimes>,
        index: u32,
    ) -> Option<Box<Thread>> {
        // SAFETY: the type has a size.
        let place: *mut Thread = unsafe { std::alloc::alloc(Layout::new::<Thread>()) }.cast();
        if place.is_null() {
            return None;
        }
        // SAFETY: the memory has the layout of a `Thread`, and is the box's when all of it is written.
        unsafe {
            Cache::fill(&raw mut (*place).cache);
            fill!(
                place,
                guard: 0,
                next: 0,
                end: 0,
                columns: Columns::NONE,
                watch: Watch::none(),
                chunk: None,
                extended: 0,
                attention: ATTENTION.load(Ordering::Relaxed),
                error: 0,
                algorithm: 0,
                reader: None,
                p2p_stored: 0,
                elsewhere_stored: [0; 3],
                waits_taken: 0,
                partner: partner::NONE,
                interval: Interval::NEW,
                sends: Sends::NEW,
                messages: MessageRecords::NEW,
                polls: Polls::NEW,
                sums: Sums { sum: [0; _], started: [0; _] },
                buffer: buffer,
                found_last: None,
                entry: entry,
                times: times,
                index: index,
            );
            Some(Box::from_raw(place))
        }
    }
}

/// A record that the thread has begun, in the chunk that it fills until that record is finished.
#[derive(Clone, Copy)]
pub struct Record(pub(super) usize);

/// The calling thread's own state.
///
/// It is made by [`current`] and [`create`] only, on the thread itself, and cannot be sent to another (a `NonNull` is
/// not `Send`). So its fields are read and written here by one thread; that is the reason why all of the blocks below
/// are sound. Wrappers that are nested in a call, and code inside the stack that counts, run on the same thread between
/// two such accesses: so no reference to a field outlives the method that made it, but for those of the cache and the
/// reader, which nested code does not use.
#[derive(Clone, Copy)]
pub struct ThreadRef(pub(super) NonNull<Thread>);

/// Reads and writes single fields of a [`Thread`].
macro_rules! fields {
    ($($field:ident $set:ident: $kind:ty;)*) => { $(
        #[inline(always)]
        pub fn $field(self) -> $kind {
            // SAFETY: this thread's own state, which lasts as long as the thread; the field is copied.
            unsafe { (&raw const (*self.0.as_ptr()).$field).read() }
        }

        #[inline(always)]
        #[allow(dead_code, reason = "not every field changes after the state was made")]
        pub fn $set(self, value: $kind) {
            // SAFETY: this thread's own state, which lasts as long as the thread; the field needs no drop.
            unsafe { (&raw mut (*self.0.as_ptr()).$field).write(value) };
        }
    )* };
}

impl ThreadRef {
    fields! {
        guard set_guard: usize;
        next set_next: usize;
        end set_end: usize;
        columns set_columns: Columns;
        chunk set_chunk: Option<u32>;
        extended set_extended: u32;
        attention set_attention: u16;
        error set_error: c_int;
        algorithm set_algorithm: u32;
        buffer set_buffer: Option<&'static TraceBuffer>;
        entry set_entry: Entry<ThreadEntry>;
        times set_times: Entry<LiveThreadTimes>;
        index set_index: u32;
        p2p_stored set_p2p_stored: u64;
        elsewhere_stored set_elsewhere_stored: [u64; 3];
        waits_taken set_waits_taken: u64;
        partner set_partner: u64;
    }

    #[inline(always)]
    pub fn attend(self, attention: u16) {
        self.set_attention(self.attention() | attention);
    }

    /// The outcome of a call that has returned: its result, or, where that is 0, the error code that an error handler
    /// of the program was called with in it ([`crate::exports::error_handlers`]).
    #[inline(always)]
    pub fn outcome(self, result: c_int) -> c_int {
        if self.attention() & attention::HANDLED == 0 { result } else { self.outcome_with_handler(result) }
    }

    #[cold]
    #[inline(never)]
    fn outcome_with_handler(self, result: c_int) -> c_int {
        let handled = self.take_error().unwrap_or(0);
        if result == 0 { handled } else { result }
    }

    /// The error code that an error handler of the program was called with since this was asked last.
    pub fn take_error(self) -> Option<c_int> {
        let handled = self.attention() & attention::HANDLED != 0;
        self.set_attention(self.attention() & !attention::HANDLED);
        handled.then(|| self.error())
    }

    /// The algorithm that was entered since this was asked last.
    #[inline(always)]
    pub fn take_algorithm(self) -> Option<u32> {
        let entered = self.attention() & attention::ALGORITHM != 0;
        self.set_attention(self.attention() & !attention::ALGORITHM);
        entered.then(|| self.algorithm())
    }

    /// Undoes [`ThreadRef::take_error`].
    pub fn put_error_back(self, error: Option<c_int>) {
        if let Some(error) = error {
            self.set_error(error);
            self.attend(attention::HANDLED);
        }
    }

    #[inline(always)]
    pub fn is_full(self) -> bool {
        self.next() == self.end()
    }

    /// The next record, for which the chunk has room.
    #[inline(always)]
    pub fn next_record(self) -> Record {
        Record(self.next())
    }

    #[inline(always)]
    pub fn last_record(self) -> Record {
        Record(self.next() - 1)
    }

    /// True if it is the last record of the chunk that the thread fills.
    pub fn is_last(self, record: Record) -> bool {
        self.next() == record.0 + 1
    }

    /// The record has begun: the next one lies behind it.
    #[inline(always)]
    pub fn go_behind(self, record: Record) {
        self.set_next(record.0 + 1);
    }

    /// The record is taken back: the next one lies in its place.
    #[inline(always)]
    pub fn go_back_to(self, record: Record) {
        self.set_next(record.0);
    }

    #[inline(always)]
    pub fn place(self, record: Record) -> RecordPlace {
        // SAFETY: a record is made by `next_record` where the chunk has room, and by `last_record`; the chunk is the
        // one that this thread fills until the record is finished.
        unsafe { RecordPlace::new(self.columns(), record.0) }
    }

    /// The chunk that the thread fills now, which must exist.
    pub fn drawn(self) -> DrawnChunk {
        match (self.buffer(), self.chunk()) {
            (Some(buffer), Some(chunk)) => DrawnChunk::now(buffer, chunk),
            _ => unreachable!("a record lies in a chunk"),
        }
    }

    /// Takes the next chunk where this one is full: the flags of the next record, which is perturbed where that took
    /// long. `None`: the arrays are full.
    #[inline(always)]
    pub fn make_room(self) -> Option<u32> {
        if self.is_full() { self.draw() } else { Some(0) }
    }

    /// Takes the next chunk: see [`ThreadRef::make_room`].
    #[cold]
    #[inline(never)]
    pub fn draw(self) -> Option<u32> {
        let buffer = self.buffer()?;
        let new = self.as_tracer(|| buffer.draw(self.index(), self.chunk()))?;
        self.set_chunk(Some(new.number));
        self.set_columns(new.columns);
        self.set_next(new.first);
        self.set_end(new.records);
        self.set_extended(new.extended);
        if buffer.is_sample() {
            self.attend(attention::IN_SAMPLE);
        }
        Some(if new.took_long { DISTURBED } else { 0 })
    }

    /// Does work of the tracer's, whose time counts as such. `errno` stays as it was.
    pub fn as_tracer<R>(self, work: impl FnOnce() -> R) -> R {
        let before = ticks::now();
        let result = errno::kept(work);
        self.times().add_ticks(wait_class::TRACER, ticks::now().wrapping_sub(before));
        result
    }

    /// Gives the columns that are used with this one of the `chunk_flags` memory in the chunk, where they have none
    /// yet; the record at which that took long is perturbed by it. False: there is none.
    #[inline(always)]
    pub fn extend_at(self, record: Record, flag: u32) -> bool {
        if self.extended() & flag == 0 {
            if let (Some(buffer), Some(chunk)) = (self.buffer(), self.chunk())
                && let Some(took_memory) = self.as_tracer(|| buffer.extend_chunk(chunk, flag))
            {
                self.set_extended(self.extended() | flag);
                if !took_memory {
                    return true;
                }
            }
            self.place(record).disturb();
        }
        self.extended() & flag != 0
    }

    /// Where a record lies, for values in the group of this column, which gets memory; `None`: there is none.
    #[inline(always)]
    pub fn place_with(self, record: Record, column: &RecordColumn) -> Option<RecordPlace> {
        self.extend_at(record, column.flag).then(|| self.place(record))
    }

    /// Where a record of a request lies: its columns get memory, where there is some.
    #[inline(always)]
    pub fn place_of_request(self, record: Record) -> RecordPlace {
        let extended = self.extend_at(record, chunk_flags::EXTENDED);
        self.place(record).with_requests(extended)
    }

    /// In a child that was forked off: what is counted for the thread goes to no entry of the trace buffer any more,
    /// which the child shares. Nothing is allocated, since the program may have an allocator of its own.
    pub fn leave_entry(self) {
        static NOWHERE: [AtomicU64; size_of::<LiveThreadTimes>() / 8] = [const { AtomicU64::new(0) }; _];
        // SAFETY: the static is as large as the larger of both, is aligned, lasts, may change, and nothing reads it.
        // The child has one thread.
        unsafe {
            self.set_entry(Entry::new(NOWHERE.as_ptr().cast::<ThreadEntry>().cast_mut()));
            self.set_times(Entry::new(NOWHERE.as_ptr().cast::<LiveThreadTimes>().cast_mut()));
        }
    }

    /// The thread has ended. Its counters count no other thread.
    pub(super) fn give_up(self) {
        self.set_guard(0);
        if let Some(end) = AT_END.get() {
            end();
        }
        // SAFETY: this thread's own state, which it gives up; nothing of it is borrowed.
        unsafe {
            (*self.0.as_ptr()).reader = None;
            (*self.0.as_ptr()).watch.close();
            (*self.0.as_ptr()).sums.started = [0; _];
        }
    }
}

/// This thread's state; `None` before its first call, and after the thread-local storage is gone.
#[inline(always)]
pub fn current() -> Option<ThreadRef> {
    NonNull::new(tls::get().cast()).map(ThreadRef)
}
