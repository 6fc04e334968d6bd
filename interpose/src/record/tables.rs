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

    pub fn most_operations(&self) -> u64 {
        self.layout.regions[OPERATIONS].capacity
    }

    pub fn communicator(&self, number: u32) -> Entry<CommunicatorEntry> {
        self.entry(number.into())
    }

    pub fn operation(&self, number: u32) -> Entry<OperationEntry> {
        self.entry(number.into())
    }

    /// Adds a thread: its number, and the places of its entry and of its sums.
    pub fn add_thread(&self, entry: ThreadEntry) -> Option<(u32, Entry<ThreadEntry>, Entry<ThreadTimes>)> {
        // Both tables have as many entries.
        self.extend(THREAD_TIMES, 1)?;
        let (number, entry) = self.add(entry)?;
        let (_, times) = self.add(ThreadTimes::default())?;
        Some((number, entry, times))
    }

    pub fn thread_times(&self) -> impl Iterator<Item = Entry<ThreadTimes>> {
        (0..self.tables[THREAD_TIMES].used()).map(|number| self.entry(number))
    }

    /// The first entry of the table of partners, all of which have memory; `None`: there is none for them.
    pub fn make_partners(&self) -> Option<Entry<PartnerEntry>> {
        self.extend(PARTNERS, PARTNER_ENTRIES as u64)?;
        self.tables[PARTNERS].set_used(PARTNER_ENTRIES as u64);
        Some(self.entry(0))
    }

    /// Adds the exit of a call that lasted longer than its record can hold, in the same way: else it has none.
    #[cold]
    #[inline(never)]
    pub fn add_long_call(&self, entry: LongCallEntry) {
        self.put(entry);
    }

    /// A text of the string area; empty: there is none.
    pub fn text(&self, reference: u32) -> String {
        let used = self.tables[STRINGS].used();
        // SAFETY: the used part of the string area has memory and does not change any more.
        let area = unsafe { self.memory.bytes() };
        let start = self.layout.regions[STRINGS].offset as usize;
        strings::text(&area[start..start + used as usize], reference).unwrap_or_default()
    }

    /// Adds an entry to its table: its number and its place. `None`: the table is full.
    pub fn add<T: Listed>(&self, entry: T) -> Option<(u32, Entry<T>)> {
        let number = self.extend(T::TABLE, 1)?;
        // It counts only when it is written.
        let place = self.entry(number);
        place.write(entry);
        self.tables[T::TABLE].set_used(number + 1);
        Some((number as u32, place))
    }

    /// Adds an entry that any thread may add at any time. False where the table is full.
    pub fn put<T: Listed>(&self, entry: T) -> bool {
        let table = T::TABLE;
        let mut state = self.lock();
        let (used, capacity) = (self.tables[table].used(), self.layout.regions[table].capacity);
        if used == capacity || !self.reserve(&mut state, table, (used + 1) * ENTRY_SIZES[table] as u64) {
            return false;
        }
        self.entry(used).write(entry);
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
        let given = errno::kept(|| self.give_memory(state, offset + from, target - from)).is_some();
        if given {
            state.reserved[table] = target;
        }
        given
    }

    pub fn entry<T: Listed>(&self, number: u64) -> Entry<T> {
        self.memory.entry(self.layout.regions[T::TABLE].offset + number * size_of::<T>() as u64)
    }
}
