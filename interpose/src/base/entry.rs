//! Entries of the tables in the trace buffer, and of its header: fields are read and written one by one, by address.
//!
//! An entry is never borrowed. The companion may map the same file, another thread may look at another field of it, and
//! Finalize reads all of them as bytes: a reference would claim that nobody does.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use mpitrace_format::layout::{
    AwaitedMessage, BLOCK_FILES, ChunkEntry, CommunicatorEntry, CounterEntry, FinalizeTimes, LastStamp,
    LiveThreadTimes, LongCallEntry, MessageEntry, OperationEntry, PollTimes, ProcessorTime, RankHeader, RankTimes,
    Region, SegmentHeader, ThreadEntry, ThreadTimes, off_place, off_reason, table,
};
use mpitrace_format::publication;

use crate::base::memory::Mapping;

/// The place of an entry. It lasts as long as the process.
///
/// MPI orders the calls of a communicator, so that no two threads count at once in its entry and in those of its
/// operations. The entry of a thread is that thread's, the one of a chunk its thread's; all others are changed under
/// the registry's lock or the buffer's. That is why the methods below can be called from safe code.
#[derive(Debug)]
pub struct Entry<T>(NonNull<T>);

impl<T> Clone for Entry<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Entry<T> {}

// SAFETY: it stays where it is, and is written to by one thread at a time (see above).
unsafe impl<T> Send for Entry<T> {}
// SAFETY: a shared place can do no more than a copied one.
unsafe impl<T> Sync for Entry<T> {}

impl<T> Entry<T> {
    /// # Safety
    /// The place is not null, aligned, large enough and lasts.
    pub unsafe fn new(place: *mut T) -> Entry<T> {
        // SAFETY: not null, as the caller promises.
        Entry(unsafe { NonNull::new_unchecked(place) })
    }

    /// One in memory of its own, which no table lists.
    pub fn unlisted(entry: T) -> Entry<T> {
        Entry(NonNull::from(Box::leak(Box::new(entry))))
    }

    pub fn as_ptr(self) -> *mut T {
        self.0.as_ptr()
    }

    /// Stores all of it: before it counts, or where it belongs to the caller alone.
    pub fn write(self, entry: T) {
        // SAFETY: the place is valid for as long as the process lasts (`at`).
        unsafe { self.0.write(entry) };
    }
}

/// Reads and writes single fields; those behind the semicolon are words that several threads or processes use at once,
/// and that are used in this way only while the program runs.
macro_rules! fields {
    ($($entry:ident {
        $($field:ident $set:ident: $kind:ty),* $(; $($word:ident: $atomic:ident = $($place:ident).+),*)?
    })*) => { $(
        impl Entry<$entry> { $(
            #[inline(always)]
            #[allow(dead_code, reason = "not every field is both read and written")]
            pub fn $field(self) -> $kind {
                // SAFETY: the place is valid (`Entry::new`); only the field is read, and no reference is made.
                unsafe { (&raw const (*self.0.as_ptr()).$field).read() }
            }

            #[inline(always)]
            #[allow(dead_code, reason = "not every field is both read and written")]
            pub fn $set(self, value: $kind) {
                // SAFETY: the place is valid (`Entry::new`); only the field is written, by one thread at a time.
                unsafe { (&raw mut (*self.0.as_ptr()).$field).write(value) };
            }
        )*
        $($(
            #[inline(always)]
            pub fn $word(self) -> &'static $atomic {
                // SAFETY: the place is valid for as long as the process lasts (`Entry::new`), and aligned.
                unsafe { $atomic::from_ptr(&raw mut (*self.0.as_ptr()).$($place).+) }
            }
        )*)?
        }
    )* };
}

fields! {
    CommunicatorEntry {
        key set_key: [u64; 2], calls set_calls: u64, size set_size: u32, rank set_rank: u32, name set_name: u32,
        flags set_flags: u32, sync_at set_sync_at: u64, amounts set_amounts: [u32; 2], made_of set_made_of: u32,
        unknown set_unknown: u16, types set_types: u16
    }
    OperationEntry {
        calls set_calls: u64, bytes set_bytes: u64, communicator set_communicator: u32, function set_function: u32,
        histogram set_histogram: u32, timed set_timed: u64, positions_from set_positions_from: u32;
        calls_word: AtomicU64 = calls, timed_word: AtomicU64 = timed, ticks_word: AtomicU64 = ticks
    }
    LongCallEntry { record set_record: u64, exit set_exit: u64 }
    ThreadEntry {
        tid set_tid: u32, paused set_paused: u64, failed set_failed: u32, untracked set_untracked: u64,
        failed_in_place set_failed_in_place: u64, interruptions_by set_interruptions_by: u16,
        without_page set_without_page: u16, first_processor set_first_processor: u32,
        failed_others set_failed_others: u32;
        activity_word: AtomicU32 = activity
    }
    CounterEntry { flags set_flags: u32; total: AtomicU64 = total }
    ChunkEntry { draw set_draw: u64, thread set_thread: u32, flags set_flags: u32; draw_word: AtomicU64 = draw }
    Region { ; used_word: AtomicU64 = used }
    SegmentHeader {
        rank set_rank: RankHeader, metadata set_metadata: u32, run set_run: u32, blocks set_blocks: [u32; BLOCK_FILES],
        times set_times: RankTimes, finalize set_finalize: FinalizeTimes,
        private_from set_private_from: [u64; table::COUNT];
    }
}

impl<T: Copy> Entry<T> {
    /// All of it, which stays the same meanwhile.
    pub fn read(self) -> T {
        // SAFETY: the place is valid (`Entry::new`), and the caller has it for itself.
        unsafe { self.0.read() }
    }
}

impl Entry<CommunicatorEntry> {
    /// True if clocks are to be synchronised after the last call that was counted.
    #[inline(always)]
    pub fn is_sync_due(self) -> bool {
        self.calls() >= self.sync_at()
    }
}

impl Entry<OperationEntry> {
    /// Counts a start of a persistent request: its repetition. Threads may start several of one operation at once.
    pub fn count_start(self) -> u64 {
        self.calls_word().fetch_add(1, Ordering::Relaxed)
    }

    /// Takes back a start that was counted as this repetition. False: another thread has counted one since, and it
    /// stays.
    pub fn take_back_start(self, repetition: u64) -> bool {
        self.calls_word().compare_exchange(repetition + 1, repetition, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

impl Entry<MessageEntry> {
    /// Counts a call: how many came before. Threads may make calls of one operation at once.
    pub fn count(self) -> u64 {
        // SAFETY: the place is valid (`Entry::new`) and aligned; the count is changed in this way only while the
        // program runs.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.0.as_ptr()).calls) }.fetch_add(1, Ordering::Relaxed)
    }
}

impl Entry<ThreadEntry> {
    /// Where the thread is outside of the recorded calls. The companion may look at any time.
    #[inline(always)]
    pub fn set_activity(self, word: u32) {
        self.activity_word().store(word, Ordering::Relaxed);
    }

    #[inline(always)]
    pub fn activity(self) -> u32 {
        self.activity_word().load(Ordering::Relaxed)
    }

    /// Counts an interruption that has no entry of its own, with the time off the processor, ns.
    pub fn count_unlisted(self, off_ns: u64) {
        // SAFETY: the place is valid (`Entry::new`); both fields are changed by their thread alone.
        unsafe {
            (*self.0.as_ptr()).unlisted += 1;
            (*self.0.as_ptr()).unlisted_off_ns += off_ns;
        }
    }
}

impl Entry<LiveThreadTimes> {
    /// Begins with these sums, and without a stamp.
    pub fn begin(self, times: ThreadTimes) {
        self.write(LiveThreadTimes { times, ..LiveThreadTimes::default() });
    }

    /// Stores the last stamp: the thread has entered a call then ([`LastStamp::inside`]), or left it (0).
    #[inline(always)]
    pub fn set_last(self, tick: u64, inside: u32) {
        // SAFETY: the place is valid (`Entry::new`); the stamp is changed by its thread alone.
        unsafe { (*self.0.as_ptr()).last = LastStamp { tick, inside, padding: 0 } };
    }

    /// Adds to the ticks of this one of [`mpitrace_format::layout::wait_class`].
    #[inline(always)]
    pub fn add_ticks(self, class: usize, ticks: u64) {
        // SAFETY: the place is valid (`Entry::new`); the sums are changed by their thread alone.
        unsafe { (*self.0.as_ptr()).times.ticks[class] += ticks };
    }

    #[inline(always)]
    pub fn ticks(self, class: usize) -> u64 {
        // SAFETY: the place is valid (`Entry::new`).
        unsafe { (*self.0.as_ptr()).times.ticks[class] }
    }

    /// Stores the last stamp of a thread that polls; it does nothing else since a tick, or since 0: not known.
    pub fn set_polled(self, tick: u64, since: u64) {
        self.set_last(tick, LastStamp::POLLING);
        // SAFETY: the place is valid (`Entry::new`); the sums are changed by their thread alone.
        unsafe { (*self.0.as_ptr()).polls.since = since };
    }

    /// Adds a row of polls, which has ended.
    pub fn add_polls(self, row: PollTimes) {
        // SAFETY: the place is valid (`Entry::new`); the sums are changed by their thread alone.
        unsafe { (*self.0.as_ptr()).polls = (*self.0.as_ptr()).polls.with(row) };
    }

    pub fn off_ns(self) -> [[u64; off_reason::COUNT]; off_place::COUNT] {
        // SAFETY: the place is valid (`Entry::new`).
        unsafe { (*self.0.as_ptr()).times.off_ns }
    }

    /// Adds time off the processor, ns, by its place and reason.
    pub fn add_off(self, place: usize, reason: usize, ns: u64) {
        // SAFETY: the place is valid (`Entry::new`); the sums are changed by their thread alone.
        unsafe { (*self.0.as_ptr()).times.off_ns[place][reason] += ns };
    }

    /// Stores a message that the thread waits for.
    #[inline(always)]
    pub fn set_awaited(self, number: usize, message: AwaitedMessage) {
        // SAFETY: the place is valid (`Entry::new`); the messages are changed by their thread alone.
        unsafe { (*self.0.as_ptr()).times.awaits[number] = message };
    }

    pub fn set_processor_time(self, reading: ProcessorTime) {
        // SAFETY: the place is valid (`Entry::new`); the reading is changed by its thread alone.
        unsafe { (*self.0.as_ptr()).times.processor[1] = reading };
    }
}

impl Entry<Region> {
    pub fn used(self) -> u64 {
        self.used_word().load(Ordering::Relaxed)
    }

    /// So many entries count, which are stored.
    pub fn set_used(self, used: u64) {
        publication::publish(self.used_word(), used);
    }
}

impl Mapping {
    pub fn entry<T>(&'static self, offset: u64) -> Entry<T> {
        let place = self.range(offset, size_of::<T>() as u64).cast::<T>();
        assert!(place.is_aligned(), "an entry where entries lie");
        // SAFETY: it lies within the mapping, which lasts, and is aligned.
        unsafe { Entry::new(place) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_on_several_threads_have_repetitions_of_their_own() {
        const STARTS: u64 = 100_000;
        let entry = Entry::unlisted(OperationEntry::default());
        let mut counted: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| (0..STARTS).map(|_| entry.count_start()).collect::<Vec<_>>())).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        counted.sort_unstable();
        assert!(counted.into_iter().eq(0..4 * STARTS));
        assert!(!entry.take_back_start(4 * STARTS - 2), "another one was counted since");
        assert!(entry.take_back_start(4 * STARTS - 1));
        assert_eq!(entry.calls(), 4 * STARTS - 1);
    }
}
