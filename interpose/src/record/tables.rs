//! The tables in the trace buffer: strings, communicators, operations, threads and what else has entries.

use mpitrace_format::layout::*;
use mpitrace_format::strings;

use crate::base::errno;
use crate::record::entry::Entry;
use crate::record::layout::*;
use crate::record::trace_buffer::{State, TraceBuffer};

/// Memory for a table is taken in steps of this many bytes.
const STEP: u64 = 64 << 10;

impl TraceBuffer {
    /// Adds a text to the string area. 0 where it is full.
    pub fn add_string(&self, text: &[u8]) -> u32 {
        let space = strings::space(text.len());
        let Some(start) = self.extend(STRINGS, space) else { return 0 };
        let place = self.layout.regions[STRINGS].offset + start;
        self.memory.store(place, &(text.len() as u32).to_ne_bytes());
        self.memory.store(place + 4, text);
        self.tables[STRINGS].set_used(start + space);
        start as u32
    }

    pub fn add_communicator(&self, entry: CommunicatorEntry) -> Option<(u32, Entry<CommunicatorEntry>)> {
        self.add(COMMUNICATORS, entry)
    }

    pub fn add_operation(&self, entry: OperationEntry) -> Option<u32> {
        self.add(OPERATIONS, entry).map(|(number, _)| number)
    }

    pub fn most_operations(&self) -> u64 {
        self.layout.regions[OPERATIONS].capacity
    }

    pub fn communicator(&self, number: u32) -> Entry<CommunicatorEntry> {
        self.entry(COMMUNICATORS, number.into())
    }

    pub fn operation(&self, number: u32) -> Entry<OperationEntry> {
        self.entry(OPERATIONS, number.into())
    }

    /// Adds a thread: its number, and the places of its entry and of its sums.
    pub fn add_thread(&self, entry: ThreadEntry) -> Option<(u32, Entry<ThreadEntry>, Entry<ThreadTimes>)> {
        // Both tables have as many entries.
        self.extend(THREAD_TIMES, 1)?;
        let (number, entry) = self.add(THREADS, entry)?;
        let (_, times) = self.add(THREAD_TIMES, ThreadTimes::default())?;
        Some((number, entry, times))
    }

    pub fn thread_times(&self) -> impl Iterator<Item = Entry<ThreadTimes>> {
        (0..self.tables[THREAD_TIMES].used()).map(|number| self.entry(THREAD_TIMES, number))
    }

    /// The first entry of the table of partners, all of which have memory; `None`: there is none for them.
    pub fn make_partners(&self) -> Option<Entry<PartnerEntry>> {
        self.extend(PARTNERS, PARTNER_ENTRIES as u64)?;
        self.tables[PARTNERS].set_used(PARTNER_ENTRIES as u64);
        Some(self.entry(PARTNERS, 0))
    }

    pub fn add_message(&self, entry: MessageEntry) -> Option<u32> {
        self.add(MESSAGE_CALLS, entry).map(|(number, _)| number)
    }

    pub fn message(&self, number: u32) -> Entry<MessageEntry> {
        self.entry(MESSAGE_CALLS, number.into())
    }

    pub fn add_counter(&self, entry: CounterEntry) -> Option<Entry<CounterEntry>> {
        self.add(COUNTERS, entry).map(|(_, place)| place)
    }

    pub fn add_sync(&self, entry: SyncEntry) {
        self.add(SYNCS, entry);
    }

    pub fn add_probe(&self, entry: ProbeEntry) {
        self.add(PROBES, entry);
    }

    /// Adds an interruption. Where the table is full it takes the place of the first one under `ring`; else false.
    pub fn add_interruption(&self, entry: InterruptionEntry) -> bool {
        self.put(INTERRUPTIONS, entry)
    }

    /// Adds the exit of a call that lasted longer than its record can hold, in the same way: else it has none.
    #[cold]
    #[inline(never)]
    pub fn add_long_call(&self, entry: LongCallEntry) {
        self.put(LONG_CALLS, entry);
    }

    fn add<T>(&self, table: usize, entry: T) -> Option<(u32, Entry<T>)> {
        let number = self.extend(table, 1)?;
        // It counts only when it is written.
        let place = self.entry(table, number);
        place.write(entry);
        self.tables[table].set_used(number + 1);
        Some((number as u32, place))
    }

    /// Adds an entry that any thread may add at any time. False: there is no room.
    fn put<T>(&self, table: usize, entry: T) -> bool {
        let mut state = self.lock();
        let (used, capacity) = (self.tables[table].used(), self.layout.regions[table].capacity);
        let number = used % capacity;
        let has_room = used < capacity || self.is_ring();
        if !has_room || !self.reserve(&mut state, table, (number + 1) * ENTRY_SIZES[table] as u64) {
            return false;
        }
        self.entry(table, number).write(entry);
        self.tables[table].set_used(used + 1);
        true
    }

    /// Takes memory for `more` entries: the first one's number. They count as used only when the table says so; the
    /// callers hold the registry's lock, or the threads', in between.
    fn extend(&self, table: usize, more: u64) -> Option<u64> {
        let mut state = self.lock();
        let used = self.tables[table].used();
        let enough = used + more <= self.layout.regions[table].capacity;
        (enough && self.reserve(&mut state, table, (used + more) * ENTRY_SIZES[table] as u64)).then_some(used)
    }

    /// Gives the first `bytes` of a table memory.
    pub(super) fn reserve(&self, state: &mut State, table: usize, bytes: u64) -> bool {
        if bytes <= state.reserved[table] {
            return true;
        }
        let Region { offset, capacity, .. } = self.layout.regions[table];
        let whole = round_up(capacity * ENTRY_SIZES[table] as u64, PAGE);
        let target = round_up(bytes, STEP).min(whole);
        let from = state.reserved[table];
        let mut private = false;
        let given = errno::kept(|| self.give_memory(state, offset + from, target - from, &mut private));
        if given {
            state.reserved[table] = target;
        }
        given
    }

    pub(super) fn entry<T>(&self, table: usize, number: u64) -> Entry<T> {
        assert_eq!(size_of::<T>(), ENTRY_SIZES[table], "a table has entries of one type");
        self.memory.entry(self.layout.regions[table].offset + number * size_of::<T>() as u64)
    }
}
