//! The tables in the trace buffer: strings, communicators, operations, threads and what else has entries.

use mpitrace_format::layout::*;
use mpitrace_format::strings;

use crate::base::entry::Entry;
use crate::base::errno;
use crate::record::buffer::layout::*;
use crate::record::buffer::trace_buffer::{State, TraceBuffer};

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
    pub fn add_thread(&self, entry: ThreadEntry) -> Option<(u32, Entry<ThreadEntry>, Entry<LiveThreadTimes>)> {
        // Both tables have as many entries.
        self.extend(THREAD_TIMES, 1)?;
        let (number, entry) = self.add(entry)?;
        let (_, times) = self.add(LiveThreadTimes::default())?;
        Some((number, entry, times))
    }

    pub fn thread_times(&self) -> impl Iterator<Item = Entry<LiveThreadTimes>> {
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

    /// Gives each table that any rank uses its first page, while the folder has room: a record whose operation lies in
    /// private memory is lost in a kill.
    pub(super) fn reserve_first_pages(&self) {
        let mut state = self.lock();
        for table in [STRINGS, COMMUNICATORS, OPERATIONS, THREADS, THREAD_TIMES, CHUNKS] {
            let (offset, length) = (self.layout.regions[table].offset, PAGE.min(self.length_of(table)));
            if !self.give_file_memory(&mut state, offset, length) {
                break;
            }
            state.reserved[table] = length;
        }
    }

    /// Bytes of a table, of whole pages.
    fn length_of(&self, table: usize) -> u64 {
        round_up(self.layout.regions[table].capacity * ENTRY_SIZES[table] as u64, PAGE)
    }

    /// Gives the first `bytes` of a table memory: from the first that the folder has no room for on private memory,
    /// which the header says. Where it has no room for a whole step it may have it for what is needed.
    pub(super) fn reserve(&self, state: &mut State, table: usize, bytes: u64) -> bool {
        if bytes <= state.reserved[table] {
            return true;
        }
        let Region { offset, .. } = self.layout.regions[table];
        let from = state.reserved[table];
        let [step, least] = [STEP, PAGE].map(|step| round_up(bytes, step).min(self.length_of(table)));
        let mut private_from = self.header.private_from();
        let target = errno::kept(|| {
            if state.file.is_none() {
                return self.memory.touch(offset + from, step - from).then_some(step);
            }
            let given =
                |target: &u64| private_from[table] == 0 && self.give_file_memory(state, offset + from, target - from);
            if let Some(target) = [step, least].into_iter().find(given) {
                return Some(target);
            }
            if private_from[table] == 0 {
                private_from[table] = 1 + from;
                self.header.set_private_from(private_from);
            }
            self.give_private_memory(offset + from, step - from).then_some(step)
        });
        state.reserved[table] = target.unwrap_or(from);
        target.is_some()
    }

    pub fn entry<T: Listed>(&self, number: u64) -> Entry<T> {
        self.memory.entry(self.layout.regions[T::TABLE].offset + number * size_of::<T>() as u64)
    }
}
