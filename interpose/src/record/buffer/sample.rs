//! A sample of the calls, in memory of a fixed size: whole records of the same repetitions on all ranks
//! ([`mpitrace_format::layout::level`]), and every other call in the histogram of its operation.
//!
//! A call is recorded as any other, so that all is known of it while the program is in it. When it has returned its
//! record stays if its level is the rank's or higher; else it is counted, and the next call is recorded in its place.
//! Where a thread has filled its chunks, the rank's level rises: the records that no longer fit are counted, the others
//! move together. They keep their order.

use std::cmp::Reverse;
use std::mem::offset_of;
use std::sync::atomic::Ordering;

use mpitrace_format::layout::*;
use mpitrace_format::publication;

use crate::base::entry::Entry;
use crate::record::buffer::chunk::RecordPlace;
use crate::record::buffer::layout::{CHUNKS, ENTRY_SIZES, INTERRUPTIONS, LONG_CALLS};
use crate::record::buffer::trace_buffer::{NewChunk, State, TraceBuffer};

/// Chunks of a sample that begins while the program runs: as many records as one from the first call on has, in four
/// chunks at least. The smallest chunk has 16.
const LATER: usize = 64;

/// The tables whose entries are of a record, which begin with its number.
const BESIDE: [usize; 2] = [LONG_CALLS, INTERRUPTIONS];
const _: () = assert!(offset_of!(LongCallEntry, record) == 0 && offset_of!(InterruptionEntry, record) == 0);

impl TraceBuffer {
    #[inline(always)]
    pub fn is_sample(&self) -> bool {
        self.sample.is_on.load(Ordering::Relaxed)
    }

    /// The lowest level of the records that stay, see [`mpitrace_format::layout::level`].
    #[inline(always)]
    pub(in crate::record) fn sample_level(&self) -> u32 {
        self.sample.level()
    }

    /// Lets it hold a sample from when block files have more bytes than this.
    pub fn sample_beyond(&self, bytes: u64) {
        self.sample.beyond.store(bytes, Ordering::Relaxed);
    }

    /// Begins the sample where block files are large enough for that: the chunks with the first records, which go to
    /// the block files as well, are its own.
    pub(super) fn begin_sample_if_large(&self, state: &mut State) -> bool {
        let bytes = state.spill.as_ref().map_or(0, |spill| spill.bytes());
        if bytes <= self.sample.beyond.load(Ordering::Relaxed) {
            return false;
        }
        let mut empty = 0;
        let mut chunks = [0; LATER];
        let wanted = (1024 / self.layout.header.chunk_records as usize).clamp(4, LATER);
        while empty < wanted
            && let Some(Reverse((_, chunk))) = state.filled.pop()
            && self.spill_chunk(state, chunk.into())
        {
            self.empty(state, chunk.into());
            chunks[empty] = chunk;
            empty += 1;
        }
        state.filled.clear();
        state.filled.extend(chunks[..empty].iter().map(|&chunk| Reverse((0, chunk))));
        self.sample.from.store(state.draws, Ordering::Relaxed);
        self.update_rank(|rank| rank.keeps = keeps::SAMPLE);
        self.sample.is_on.store(true, Ordering::Relaxed);
        true
    }

    /// A chunk for a thread that has none with room: an empty one, else its own ones with the records that stay.
    /// `None`: it has none.
    pub(super) fn draw_of_sample(&self, state: &mut State, thread: u32) -> Option<NewChunk> {
        if thread & MESSAGES != 0 {
            return None;
        }
        if let Some(Reverse((_, chunk))) = state.filled.pop() {
            return Some(self.begin_chunk(state, chunk.into(), thread, false));
        }
        let unused = self.tables[CHUNKS].used();
        if unused < self.layout.chunks && (unused < state.given || self.give_chunks_memory(state)) {
            return Some(self.begin_chunk(state, unused, thread, true));
        }
        let mut chunks = std::mem::take(&mut state.of_thread);
        let from = self.sample.from.load(Ordering::Relaxed);
        chunks.clear();
        chunks.extend((0..self.tables[CHUNKS].used() as u32).filter_map(|chunk| {
            let entry = self.chunk(chunk);
            (entry.thread() == thread && entry.draw() > from).then(|| (entry.draw(), chunk))
        }));
        chunks.sort_unstable();
        let new = (!chunks.is_empty()).then(|| self.thin(state, &chunks, thread));
        state.of_thread = chunks;
        new
    }

    fn places(&self, draw: u64, chunk: u32) -> impl Iterator<Item = (RecordPlace, usize)> + Clone {
        let columns = self.columns(chunk, draw);
        // SAFETY: the caller's thread has drawn the chunk, and holds the lock.
        let place = move |record| (unsafe { RecordPlace::new(columns, record) }, record);
        (0..self.layout.header.chunk_records as usize).map(place).filter(|(place, _)| place.enter() != 0)
    }

    /// True if a record stays at a level. That of a request that is not complete goes: it is counted when it is.
    fn stays(&self, place: &RecordPlace, level: u32) -> bool {
        let operation = self.operation(place.operation());
        let is_region = operation.positions_from() != 0;
        let number = if is_region { place.repetition() } else { place.position() };
        let key = self.communicator(operation.communicator()).key();
        place.duration() != NOT_RETURNED && mpitrace_format::layout::level(key, number) >= level
    }

    /// Makes room in the full chunks of the calling thread, in the order of their draws: at least a quarter of it.
    fn thin(&self, state: &mut State, chunks: &[(u64, u32)], thread: u32) -> NewChunk {
        let all = chunks.len() * self.layout.header.chunk_records as usize;
        let staying = |level: u32| {
            let places = chunks.iter().flat_map(|&(draw, chunk)| self.places(draw, chunk));
            places.filter(|(place, _)| self.stays(place, level)).count()
        };
        // Another thread may have raised it.
        while staying(self.sample.level()) > all * 3 / 4 && self.sample.level() <= u64::BITS {
            self.sample.level.fetch_add(1, Ordering::Relaxed);
        }
        let level = self.sample.level();
        for &(draw, chunk) in chunks {
            let going = self.places(draw, chunk).filter(|(place, _)| !self.stays(place, level));
            self.count_group(state, going, draw);
        }
        let flags = chunks.iter().fold(0, |flags, &(_, chunk)| flags | self.chunk(chunk).flags());
        let extended = chunk_flags::ON_DEMAND.into_iter().filter(|&flag| {
            flags & flag != 0 && chunks.iter().all(|&(_, chunk)| self.extend_locked(state, chunk, flag).is_some())
        });
        let extended = extended.fold(0, |flags, flag| flags | flag);
        // A kill from here on leaves none of them, some 20 us.
        chunks.iter().for_each(|&(_, chunk)| publication::withdraw(self.chunk(chunk).draw_word()));
        let before = state.draws;
        let records = self.layout.header.chunk_records as usize;
        let number = |kept: usize| live_record(before + 1 + (kept / records) as u64, (kept % records) as u32);
        let mut kept = 0;
        for &(draw, chunk) in chunks {
            for (place, record) in self.places(draw, chunk).filter(|(place, _)| self.stays(place, level)) {
                let (_, other) = chunks[kept / records];
                self.move_record((chunk, record), (other, kept % records), extended);
                if place.duration() == LONG || place.is_marked(INTERRUPTED | INTERRUPTED_BEFORE) {
                    self.rename(live_record(draw, record as u32), number(kept));
                }
                kept += 1;
            }
        }
        let (last, _) = chunks[chunks.len() - 1];
        self.rename(live_record(last, records as u32), number(kept));
        let is_gone = |record: u64| chunks.iter().any(|(draw, _)| *draw == of_live_record(record).0);
        self.retain(|record| !is_gone(record));
        self.begin_again(state, chunks, kept, extended, thread)
    }

    /// The chunks that hold the records that were kept, in draws of new numbers; the others are empty.
    fn begin_again(
        &self,
        state: &mut State,
        chunks: &[(u64, u32)],
        kept: usize,
        extended: u32,
        thread: u32,
    ) -> NewChunk {
        let records = self.layout.header.chunk_records as usize;
        let (last, first) = (kept / records, kept % records);
        for (place, &(_, chunk)) in chunks.iter().enumerate() {
            if place > last {
                self.empty(state, chunk.into());
                state.filled.push(Reverse((0, chunk)));
                continue;
            }
            if place == last {
                self.clear(chunk, first, extended);
            }
            state.draws += 1;
            let entry = self.chunk(chunk);
            entry.set_thread(thread);
            entry.set_flags(entry.flags() & chunk_flags::PRIVATE | extended);
            publication::publish(entry.draw_word(), state.draws);
        }
        self.anchor(state, true);
        let (_, number) = chunks[last];
        NewChunk { number, columns: self.columns(number, state.draws), records, first, extended, took_long: true }
    }

    /// Moves the values of a record, of a chunk and with a number in it, to another place.
    fn move_record(&self, from: (u32, usize), to: (u32, usize), extended: u32) {
        let header = &self.layout.header;
        let columns = header.columns[..header.rank.columns as usize].iter();
        for column in columns.filter(|column| column.on_demand == 0 || extended & column.on_demand != 0) {
            let size = u64::from(column.element_size);
            let place = |(chunk, record)| self.start_of(chunk) + column.offset + record as u64 * size;
            self.memory.copy(place(from), place(to), size);
        }
    }

    /// Interruptions and long calls of a record get its new number.
    fn rename(&self, from: u64, to: u64) {
        for record in BESIDE.iter().flat_map(|&table| self.records_of(table)).filter(|record| record.read() == from) {
            record.write(to);
        }
    }

    /// The numbers of the records that the entries of one of the tables of [`BESIDE`] are of.
    fn records_of(&self, table: usize) -> impl Iterator<Item = Entry<u64>> {
        let place = move |number| self.layout.regions[table].offset + number * ENTRY_SIZES[table] as u64;
        (0..self.tables[table].used()).map(move |number| self.memory.entry(place(number)))
    }

    /// Leaves the interruptions and long calls of those records. The caller holds the lock.
    pub(in crate::record) fn retain(&self, stays: impl Fn(u64) -> bool) {
        for table in BESIDE {
            let (mut left, size) = (0, ENTRY_SIZES[table] as u64);
            let place = |number: u64| self.layout.regions[table].offset + number * size;
            for (number, _) in (0..).zip(self.records_of(table)).filter(|(_, record)| stays(record.read())) {
                if left < number {
                    self.memory.copy(place(number), place(left), size);
                }
                left += 1;
            }
            self.tables[table].set_used(left);
        }
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;
    use mpitrace_format::publication::StoredRecord;

    use super::*;

    /// Calls of some 3 ms, now and then of 2 s, in which or before which the thread was interrupted, on two
    /// communicators in turn; positions go far beyond 32 bits.
    #[test]
    fn the_records_of_the_highest_levels_stay_and_all_others_are_counted() {
        const CALLS: u64 = 60_000;
        const APART: u64 = 1 << 18;
        let rank = RankHeader { keeps: keeps::SAMPLE, capacity: 1024, world_size: 1, ..RankHeader::zeroed() };
        let buffer = TraceBuffer::create(&[], "sample", rank, &live_columns(0)).unwrap();
        buffer.add_thread(ThreadEntry::default()).unwrap();
        let keys = [[5, 6], [7, 8]];
        for (number, key) in (0..).zip(keys) {
            buffer.add(CommunicatorEntry { key, ..Zeroable::zeroed() }).unwrap();
            buffer.add(OperationEntry { communicator: number, ..Zeroable::zeroed() }).unwrap();
        }
        let mut chunk = buffer.draw(0, None).unwrap();
        let mut next = chunk.first;
        for call in 0..CALLS {
            let (operation, position) = ((call % 2) as u32, call / 2 * APART);
            buffer.communicator(operation).set_calls(position + 1);
            buffer.operation(operation).set_calls(call / 2 + 1);
            let ticks = if call % 1000 < 2 { 5 << 30 } else { 8_000_000 + call };
            if next == chunk.records {
                chunk = buffer.draw(0, Some(chunk.number)).unwrap();
                next = chunk.first;
            }
            if level(keys[operation as usize], position as u32) < buffer.sample.level() {
                buffer.count_unkept(buffer.operation(operation), ticks, true);
                continue;
            }
            // SAFETY: this thread has drawn the chunk, and the record lies in it.
            let place = unsafe { RecordPlace::new(chunk.columns, next) };
            assert_eq!((place.enter(), place.duration()), (0, NOT_RETURNED));
            place.describe(position, call / 2, operation);
            place.begin(1000 + call);
            place.set_exit(1000 + call, 1000 + call + ticks).into_iter().for_each(|long| buffer.add_long_call(long));
            if call % 64 == 0 {
                place.mark(INTERRUPTED);
                let entry = InterruptionEntry { record: place.number(), off_ns: call, ..Zeroable::zeroed() };
                assert!(buffer.put(entry));
            }
            next += 1;
        }
        let k = buffer.sample.level();
        assert!((5..8).contains(&k), "{k}");
        let content = buffer.whole_content().unwrap();
        let operations: &[OperationEntry] = bytemuck::cast_slice(content.operations);
        let timed: u64 = operations.iter().map(|operation| operation.timed).sum();
        let counted: u64 = content.histograms.iter().map(|entry| entry.calls).sum();
        assert_eq!((timed, counted), (CALLS - content.records(), timed));
        let fits = |call: &u64| level(keys[(call % 2) as usize], (call / 2 * APART) as u32) >= k;
        let expected: Vec<u64> = (0..CALLS).filter(fits).collect();
        let mut found = Vec::new();
        for rows in content.records_in_memory() {
            for (record, enter) in rows.enter.iter().enumerate() {
                let call = enter - 1000;
                let ticks = if call % 1000 < 2 { 5 << 30 } else { 8_000_000 + call };
                let stored = (rows.position[record], rows.repetition[record], rows.exit[record] - enter);
                assert_eq!(stored, (call / 2 * APART, call / 2, ticks));
                found.push(call);
            }
        }
        assert!(found == expected, "{} instead of {}", found.len(), expected.len());
        let interrupted: Vec<(u64, u64)> =
            (0..).zip(&expected).filter(|(_, call)| *call % 64 == 0).map(|(record, call)| (record, *call)).collect();
        let seen: Vec<(u64, u64)> = content.interruptions.iter().map(|entry| (entry.record, entry.off_ns)).collect();
        assert!(interrupted.len() > 3 && seen == interrupted, "{seen:?} {interrupted:?}");
        assert!(buffer.tables[CHUNKS].used() <= 4);
    }
}
