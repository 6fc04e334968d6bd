//! The live segment: a rank's tables and arrays in a shared mapping of a file in node-local memory, so that they survive
//! the process.
//!
//! Address space is set aside for all of it at once; memory is taken chunk by chunk, and always before it is touched: a
//! sparse file on a full file system would be a SIGBUS waiting to happen. What finds no room there is put into private
//! memory in its place, and one line says so.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::Zeroable;
use mpitrace_format::layout::*;
use mpitrace_format::strings;
use mpitrace_platform::node_files;

use crate::job::log;
use crate::record::chunk::{Columns, range_of};
use crate::record::memory::{allocate, map, map_file, touch};
use crate::record::ticks;

/// The segment of this rank.
pub struct TraceBuffer {
    base: *mut u8,
    length: u64,
    /// `None`: the whole segment lies in private memory.
    file: Option<(File, PathBuf)>,
    chunks: u64,
    state: Mutex<State>,
    /// Nothing more can be drawn: looked at before the lock is taken.
    full: AtomicBool,
}

// SAFETY: the tables are changed under `state` only; a chunk belongs to the thread that has drawn it.
unsafe impl Send for TraceBuffer {}
// SAFETY: as above.
unsafe impl Sync for TraceBuffer {}

#[derive(Default)]
struct State {
    /// Bytes of each region that have memory: strings, communicators, operations, threads, counters, syncs, probes, chunks.
    reserved: [u64; REGIONS],
    draws: u64,
    /// For each chunk, whether a thread is filling it.
    in_use: Vec<bool>,
    /// For each chunk, which of the columns that not every record uses have memory: `chunk_flags`.
    extended: Vec<u32>,
}

const REGIONS: usize = 8;
const STRINGS: usize = 0;
const COMMUNICATORS: usize = 1;
const OPERATIONS: usize = 2;
const THREADS: usize = 3;
const COUNTERS: usize = 4;
const SYNCS: usize = 5;
const PROBES: usize = 6;
const CHUNKES: usize = 7;

/// How many entries (bytes, for strings) each region can hold: address space only.
const CAPACITIES: [u64; CHUNKES] = [64 << 20, 1 << 20, 1 << 20, 1 << 12, 1 << 12, 1 << 16, 1 << 20];
const ENTRY_SIZES: [usize; REGIONS] = [
    1,
    size_of::<CommunicatorEntry>(),
    size_of::<OperationEntry>(),
    size_of::<ThreadEntry>(),
    size_of::<CounterEntry>(),
    size_of::<SyncEntry>(),
    size_of::<ProbeEntry>(),
    size_of::<ChunkEntry>(),
];
/// Memory for a table is taken in steps of this many bytes.
const STEP: u64 = 64 << 10;

/// Records of a chunk: a 64th of all, so that several threads get their share and the memory taken stays close to what
/// is used; 16384 at most (576 KiB: 0.35 ms to take, measured at 12 ms for 20 MiB).
fn chunk_records(capacity: u64) -> u64 {
    (capacity / 64).next_power_of_two().clamp(16, MAX_CHUNK_RECORDS)
}

impl TraceBuffer {
    /// Makes a segment in the first of `folders` that takes one, else in private memory.
    ///
    /// Where the process may not have so much address space (`ulimit -v`) the tables are made smaller.
    pub fn create(folders: &[PathBuf], name: &str, rank: RankHeader, columns: &[ColumnEntry]) -> Option<TraceBuffer> {
        [1, 16, 256].iter().find_map(|divisor| {
            let capacities = CAPACITIES.map(|capacity| capacity / divisor);
            TraceBuffer::create_sized(folders, name, rank, columns, capacities)
        })
    }

    fn create_sized(
        folders: &[PathBuf],
        name: &str,
        rank: RankHeader,
        columns: &[ColumnEntry],
        capacities: [u64; CHUNKES],
    ) -> Option<TraceBuffer> {
        let mut header = SegmentHeader {
            magic: SEGMENT_MAGIC,
            version: VERSION,
            byte_order: BYTE_ORDER_MARK,
            rank: RankHeader { columns: columns.len() as u32, ..rank },
            chunk_records: chunk_records(rank.capacity),
            ..SegmentHeader::zeroed()
        };
        let mut offset = 0;
        let mut before = 0;
        for (entry, column) in header.columns.iter_mut().zip(columns) {
            // What is used on demand starts on a page of its own.
            offset = round_up(offset, if column.on_demand == before { SECTION_ALIGNMENT } else { PAGE });
            *entry = ColumnEntry { offset, ..*column };
            offset += header.chunk_records * u64::from(column.element_size);
            before = column.on_demand;
        }
        header.chunk_bytes = round_up(offset, PAGE);
        // Under `ring` one chunk is always being refilled.
        let chunks = rank.capacity.div_ceil(header.chunk_records) + u64::from(rank.ring);
        let mut all = [chunks; REGIONS];
        all[..CHUNKES].copy_from_slice(&capacities);
        let capacities = all;
        let mut end = round_up(size_of::<SegmentHeader>() as u64, PAGE);
        let regions = capacities.map(|capacity| Region { offset: 0, capacity, used: 0 });
        let mut placed = regions;
        for (region, size) in placed.iter_mut().zip(ENTRY_SIZES) {
            region.offset = end;
            end = round_up(end + region.capacity * size as u64, PAGE);
        }
        placed[STRINGS].used = strings::FIRST;
        [
            header.strings,
            header.communicators,
            header.operations,
            header.threads,
            header.counters,
            header.syncs,
            header.probes,
            header.chunks,
        ] = placed;
        header.records_offset = end;
        let length = end + chunks.checked_mul(header.chunk_bytes)?;

        let in_folder = folders.iter().find_map(|folder| map_file(&folder.join(name), length));
        let (base, file) = match in_folder {
            Some((base, file, path)) => (base, Some((file, path))),
            None => (map(None, std::ptr::null_mut(), length)?, None),
        };
        let state =
            State { in_use: vec![false; chunks as usize], extended: vec![0; chunks as usize], ..State::default() };
        let live =
            TraceBuffer { base, length, file, chunks, state: Mutex::new(state), full: AtomicBool::new(chunks == 0) };
        // SAFETY: the mapping is at least a header long; its first page was given memory by `map_file`.
        unsafe { base.cast::<SegmentHeader>().write(header) };
        Some(live)
    }

    /// The folder that the segment lies in; `None`: private memory.
    pub fn folder(&self) -> Option<&Path> {
        self.file.as_ref().and_then(|(_, path)| path.parent())
    }

    /// Whether a call was not kept since the arrays were full.
    pub fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// The segment's header.
    pub fn header(&self) -> *mut SegmentHeader {
        self.base.cast()
    }

    /// All bytes of the segment.
    ///
    /// # Safety
    /// Nothing may be recorded while they are in use. Bytes that have no memory must not be read: those of the tables'
    /// used entries and of the chunks drawn have.
    pub unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping has this length.
        unsafe { std::slice::from_raw_parts(self.base, self.length as usize) }
    }

    /// Removes the file: what it held is safe elsewhere, or not wanted.
    pub fn remove(&self) {
        if let Some((_, path)) = &self.file {
            let _ = std::fs::remove_file(path);
        }
    }

    /// Adds a text to the string area. 0 where it is full.
    pub fn add_string(&self, text: &[u8]) -> u32 {
        let Some(start) = self.extend(STRINGS, strings::space(text.len())) else {
            return 0;
        };
        // SAFETY: `extend` has given these bytes memory, and nobody else has them.
        unsafe {
            let place = self.base.add((self.region(STRINGS).offset + start) as usize);
            place.cast::<u32>().write(text.len() as u32);
            place.add(4).copy_from_nonoverlapping(text.as_ptr(), text.len());
        }
        self.use_up_to(STRINGS, start + strings::space(text.len()));
        start as u32
    }

    /// Adds a communicator: its number and its place.
    pub fn add_communicator(&self, entry: CommunicatorEntry) -> Option<(u32, *mut CommunicatorEntry)> {
        self.add(COMMUNICATORS, entry)
    }

    /// Adds an operation: its number.
    pub fn add_operation(&self, entry: OperationEntry) -> Option<u32> {
        self.add(OPERATIONS, entry).map(|(number, _)| number)
    }

    /// The place of an operation.
    pub fn operation(&self, number: u32) -> *mut OperationEntry {
        // SAFETY: the number came from `add_operation`.
        unsafe { self.entry(OPERATIONS, number.into()) }
    }

    /// Adds a thread: its number and its place.
    pub fn add_thread(&self, entry: ThreadEntry) -> Option<(u32, *mut ThreadEntry)> {
        self.add(THREADS, entry)
    }

    /// Adds a counter: its place.
    pub fn add_counter(&self, entry: CounterEntry) -> Option<*mut CounterEntry> {
        self.add(COUNTERS, entry).map(|(_, place)| place)
    }

    /// Adds a synchronisation.
    pub fn add_sync(&self, entry: SyncEntry) {
        self.add(SYNCS, entry);
    }

    /// Adds what a synchronisation has learnt of a pair.
    pub fn add_probe(&self, entry: ProbeEntry) {
        self.add(PROBES, entry);
    }

    /// Draws a chunk for a thread that has filled the one before (if any): its columns and how many records it holds.
    /// `None`: the arrays are full.
    pub fn draw(&self, thread: u32, filled: Option<u32>) -> Option<(u32, Columns, usize)> {
        if self.full.load(Ordering::Relaxed) {
            return None;
        }
        let mut state = self.lock();
        // SAFETY: the header was written when the segment was made; these fields never change.
        let header = unsafe { &*self.header() };
        if let Some(filled) = filled {
            state.in_use[filled as usize] = false;
        }
        let ring = header.rank.ring != 0;
        let index = if state.draws < self.chunks {
            state.draws
        } else if ring {
            let oldest = (0..self.chunks).filter(|&index| !state.in_use[index as usize]);
            // SAFETY: the index is below the number of chunks; entries are changed under this lock only.
            oldest.min_by_key(|&index| unsafe { (*self.entry::<ChunkEntry>(CHUNKES, index)).draw })?
        } else {
            self.full.store(true, Ordering::Relaxed);
            return None;
        };

        let start = header.records_offset + index * header.chunk_bytes;
        // SAFETY: the chunk lies within the mapping.
        let place = unsafe { self.base.add(start as usize) };
        let first_time = state.draws < self.chunks;
        let mut private = false;
        if first_time {
            let reserved = self.reserve(&mut state, CHUNKES, (index + 1) * ENTRY_SIZES[CHUNKES] as u64);
            if !reserved || !self.give_memory(start, range_of(header, 0).1, &mut private) {
                self.full.store(true, Ordering::Relaxed);
                return None;
            }
        }
        // SAFETY: as above.
        let entry: *mut ChunkEntry = unsafe { self.entry(CHUNKES, index) };
        // SAFETY: the whole chunk lies there.
        let columns = unsafe { Columns::at(place, header) };
        // SAFETY: entry and chunk have memory, and belong to nobody at this moment. The entry counts as never drawn
        // until what the chunk held is gone: a kill in between leaves no record twice.
        unsafe {
            if !first_time {
                private = (*entry).flags & chunk_flags::PRIVATE != 0;
                (*entry).draw = 0;
                columns.enter.write_bytes(0, header.chunk_records as usize);
                columns.exit.write_bytes(0, header.chunk_records as usize);
            }
            // A call whose end never comes has no values, whatever the chunk held before.
            let counters = header.rank.columns as usize - COLUMNS.len() - REQUEST_COLUMNS.len() - INNER_COUNTERS;
            columns.counters.write_bytes(0xff, counters * columns.stride);
            state.draws += 1;
            let flags = if private { chunk_flags::PRIVATE } else { 0 };
            entry.write(ChunkEntry { draw: state.draws, thread, flags });
            let used = &raw mut (*self.header()).chunks.used;
            used.write(used.read().max(index + 1));
            (*self.header()).rank.last_anchor = ticks::anchor();
        }
        state.in_use[index as usize] = true;
        let records = if ring {
            header.chunk_records
        } else {
            header.chunk_records.min(header.rank.capacity - index * header.chunk_records)
        };
        Some((index as u32, columns, records as usize))
    }

    /// Gives the columns of a chunk that are used with this one of the `chunk_flags` memory, and clears them. False: there
    /// is none.
    pub fn extend_chunk(&self, chunk: u32, flag: u32) -> bool {
        let mut state = self.lock();
        // SAFETY: the header never changes in these fields; the chunk belongs to the caller.
        let header = unsafe { &*self.header() };
        let (offset, length) = range_of(header, flag);
        let start = header.records_offset + u64::from(chunk) * header.chunk_bytes + offset;
        let mut private = false;
        if state.extended[chunk as usize] & flag != 0 {
            // Drawn again, under `ring`: what it held is gone.
            // SAFETY: the columns have memory, and belong to the caller.
            unsafe { self.base.add(start as usize).write_bytes(0, length as usize) };
        } else if !self.give_memory(start, length, &mut private) {
            return false;
        }
        state.extended[chunk as usize] |= flag;
        // SAFETY: as above.
        unsafe {
            let entry = self.chunk(chunk);
            (*entry).flags |= flag | if private { chunk_flags::PRIVATE } else { 0 };
        }
        true
    }

    /// The entry of a chunk.
    pub fn chunk(&self, chunk: u32) -> *mut ChunkEntry {
        // SAFETY: the number came from `draw`.
        unsafe { self.entry(CHUNKES, chunk.into()) }
    }

    fn add<T>(&self, region: usize, entry: T) -> Option<(u32, *mut T)> {
        let number = self.extend(region, 1)?;
        // SAFETY: `extend` has given the entry memory, and nobody else has it. It counts only when it is written.
        let place = unsafe {
            let place: *mut T = self.entry(region, number);
            place.write(entry);
            place
        };
        self.use_up_to(region, number + 1);
        Some((number as u32, place))
    }

    /// Takes memory for `more` entries: the first one's number. They count as used only after [`TraceBuffer::use_up_to`]; the
    /// callers hold the registry's lock in between.
    fn extend(&self, region: usize, more: u64) -> Option<u64> {
        let mut state = self.lock();
        let Region { used, capacity, .. } = self.region(region);
        if used + more > capacity || !self.reserve(&mut state, region, (used + more) * ENTRY_SIZES[region] as u64) {
            return None;
        }
        Some(used)
    }

    fn use_up_to(&self, region: usize, used: u64) {
        // SAFETY: the header is mapped; each table is extended by one thread at a time (see `extend`).
        unsafe { (*self.region_place(region)).used = used };
    }

    /// Gives the first `bytes` of a region memory.
    fn reserve(&self, state: &mut State, region: usize, bytes: u64) -> bool {
        if bytes <= state.reserved[region] {
            return true;
        }
        let Region { offset, capacity, .. } = self.region(region);
        let whole = round_up(capacity * ENTRY_SIZES[region] as u64, PAGE);
        let target = round_up(bytes, STEP).min(whole);
        let from = state.reserved[region];
        let mut private = false;
        let given = self.give_memory(offset + from, target - from, &mut private);
        if given {
            state.reserved[region] = target;
        }
        given
    }

    /// Gives a range, of whole pages, memory: in the file, else private in its place.
    fn give_memory(&self, offset: u64, length: u64, private: &mut bool) -> bool {
        // SAFETY: the range lies within the mapping.
        let place = unsafe { self.base.add(offset as usize) };
        match &self.file {
            Some((file, _)) if allocate(file, offset, length) => {}
            Some(_) => {
                if map(None, place, length).is_none() {
                    return false;
                }
                *private = true;
                static SAID: AtomicBool = AtomicBool::new(false);
                if !SAID.swap(true, Ordering::Relaxed) {
                    log::warn_on_node(
                        "no room left for the live records: what comes now would be lost if the program were killed (MPITRACE_SEGMENT_DIR names another folder)",
                    );
                }
            }
            None => {}
        }
        touch(place, length);
        true
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn region(&self, region: usize) -> Region {
        // SAFETY: the header is mapped and initialised.
        unsafe { *self.region_place(region) }
    }

    fn region_place(&self, region: usize) -> *mut Region {
        let header = self.header();
        // SAFETY: the header is mapped.
        unsafe {
            match region {
                STRINGS => &raw mut (*header).strings,
                COMMUNICATORS => &raw mut (*header).communicators,
                OPERATIONS => &raw mut (*header).operations,
                THREADS => &raw mut (*header).threads,
                COUNTERS => &raw mut (*header).counters,
                SYNCS => &raw mut (*header).syncs,
                PROBES => &raw mut (*header).probes,
                _ => &raw mut (*header).chunks,
            }
        }
    }

    /// # Safety
    /// The region holds entries of this type, and the number is below its capacity.
    unsafe fn entry<T>(&self, region: usize, number: u64) -> *mut T {
        let start = self.region(region).offset + number * size_of::<T>() as u64;
        // SAFETY: the caller's promise.
        unsafe { self.base.add(start as usize).cast() }
    }
}

/// The name of the segment of this process for a job.
pub fn segment_name(job_key: u64) -> String {
    // SAFETY: has no preconditions.
    let uid = unsafe { libc::getuid() };
    format!("{}{job_key:016x}-{}{}", node_files::prefix(uid), std::process::id(), node_files::SEGMENT)
}
