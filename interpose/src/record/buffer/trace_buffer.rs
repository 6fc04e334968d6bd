//! The trace buffer: a rank's tables and arrays in a shared mapping of a file in node-local memory, so that they
//! survive the process. The file and its header are called a segment in the trace format.
//!
//! Address space is set aside for all of it at once; memory is taken chunk by chunk, and always before it is touched: a
//! sparse file on a full file system would be a SIGBUS waiting to happen. What finds no room there is put into private
//! memory in its place, and one line says so.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use mpitrace_format::layout::*;
use mpitrace_format::part::Content;
use mpitrace_format::publication;
use mpitrace_format::{TraceError, segment};
use mpitrace_platform::node_files;

use crate::base::entry::Entry;
use crate::base::lock::lock;
use crate::base::memory::{Mapping, map_file};
use crate::base::own_file::OwnFile;
use crate::base::ticks;
use crate::base::{kernel, system};
use crate::record::buffer::chunk::Columns;
use crate::record::buffer::layout::*;
use crate::record::buffer::spill::{BlockPlace, Spill};
use crate::record::buffer::unkept::{HistogramRows, Sample};

pub struct TraceBuffer {
    pub(super) memory: &'static Mapping,
    /// Where it lies; `None`: all of it lies in private memory.
    path: Option<PathBuf>,
    pub(super) layout: &'static Layout,
    /// The header in the mapping. Its fields are reached one by one: the companion reads them at any time.
    pub header: Entry<SegmentHeader>,
    pub(super) tables: [Entry<Region>; REGIONS],
    pub(super) state: Mutex<State>,
    /// Nothing more can be drawn: looked at before the lock is taken.
    pub(super) full: AtomicBool,
    /// Its files have no names any more.
    pub(super) removed: AtomicBool,
    pub(super) rows: Box<HistogramRows>,
    pub(super) sample: Sample,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) file: Option<OwnFile>,
    /// Bytes of each table that have memory.
    pub(super) reserved: [u64; REGIONS],
    pub(super) draws: u64,
    /// The tick of the last anchor that was taken for a chunk.
    anchored: u64,
    /// Chunks that have memory.
    pub(super) given: u64,
    /// The chunks that are full and may be drawn again, with the numbers of their draws: the lowest first. Of a sample
    /// those that hold nothing.
    pub(super) filled: BinaryHeap<Reverse<(u64, u32)>>,
    /// Room for the chunks of a thread, with the numbers of their draws.
    pub(super) of_thread: Vec<(u64, u32)>,
    /// For each chunk, which of the columns that not every record uses have memory, and whether the others have private
    /// memory: `chunk_flags`.
    pub(super) extended: Vec<u32>,
    /// Which of them have come into use since chunks got memory.
    pub(super) in_use: u32,
    /// Where the blocks of full chunks go; `None`: nowhere.
    pub(super) spill: Option<Spill>,
}

pub struct NewChunk {
    pub number: u32,
    pub columns: Columns,
    /// How many records it has room for, and the first of them that is free.
    pub records: usize,
    pub first: usize,
    /// Which of its columns that not every record uses are in use: `chunk_flags`.
    pub extended: u32,
    /// Drawing it took long: memory was taken for it (some hundred us), or the records that it held were counted or
    /// written to a file.
    pub took_long: bool,
}

/// A chunk that takes no memory gets an anchor if the last one is this many ticks old: 6 ms of a TSC of 2.6 GHz.
const ANCHORED_AFTER: u64 = 1 << 24;

/// Something lies in private memory, as the folder had no room for it.
pub(super) static IN_PRIVATE_MEMORY: AtomicBool = AtomicBool::new(false);

/// By what tables and records are divided where address space is limited, in turn.
const DIVISORS: [(u64, u64); 6] = [(1, 1), (16, 1), (256, 1), (256, 4), (256, 16), (256, 64)];
/// The tracer takes one part in this many of the free address space: the rest is for the program.
const SHARE: u64 = 4;

impl TraceBuffer {
    /// Makes a buffer in the first of `folders` that takes one, else in private memory. It lasts as long as the
    /// process.
    ///
    /// Where the process may not have so much address space (`ulimit -v`) the tables are made smaller, then the arrays.
    pub fn create(
        folders: &[PathBuf],
        name: &str,
        rank: RankHeader,
        columns: &[ColumnEntry],
    ) -> Option<&'static TraceBuffer> {
        let most = kernel::address_space_left().map(|left| left / SHARE);
        let made = DIVISORS.iter().find_map(|&(tables, records)| {
            let rank = RankHeader { capacity: rank.capacity.div_ceil(records), ..rank };
            let layout = Layout::new(rank, columns, CAPACITIES.map(|capacity| capacity / tables))?;
            let fits = most.is_none_or(|most| layout.length <= most);
            fits.then(|| TraceBuffer::of_layout(folders, name, layout)).flatten()
        });
        made.map(|buffer| &*Box::leak(Box::new(buffer)))
    }

    fn of_layout(folders: &[PathBuf], name: &str, layout: Layout) -> Option<TraceBuffer> {
        let in_folder = folders.iter().find_map(|folder| map_file(&folder.join(name), layout.length, layout.least));
        let (memory, file) = match in_folder {
            Some((memory, file)) => (memory, Some(file)),
            None => (Mapping::private(layout.length)?, None),
        };
        let memory: &'static Mapping = Box::leak(Box::new(memory));
        let layout: &'static Layout = Box::leak(Box::new(layout));
        let header: Entry<SegmentHeader> = memory.entry(0);
        header.write(layout.header);
        // The same regions, in the header that lies in the mapping.
        let mut copied = layout.header;
        let start = (&raw const copied).addr();
        let tables =
            regions_of(&mut copied).map(|region| memory.entry((std::ptr::from_mut(region).addr() - start) as u64));
        let chunks = layout.chunks as usize;
        // Room for all of them: no call asks for memory when a chunk is full.
        let (mut extended, mut filled, mut of_thread) = (Vec::new(), BinaryHeap::new(), Vec::new());
        extended.try_reserve_exact(chunks).ok()?;
        extended.resize(chunks, 0);
        filled.try_reserve(chunks).ok()?;
        of_thread.try_reserve_exact(chunks).ok()?;
        let path = file.as_ref().map(|file| file.path().to_owned());
        let state = Mutex::new(State { file, filled, of_thread, extended, ..State::default() });
        let full = AtomicBool::new(chunks == 0);
        let sample = Sample::new(layout.header.rank.keeps == keeps::SAMPLE);
        let (removed, rows) = (AtomicBool::new(false), HistogramRows::new());
        let buffer = TraceBuffer { memory, path, layout, header, tables, state, full, removed, rows, sample };
        buffer.reserve_first_pages();
        Some(buffer)
    }

    /// The folder that it lies in; `None`: private memory.
    pub fn folder(&self) -> Option<&Path> {
        self.path.as_deref().and_then(Path::parent)
    }

    /// Bytes of all of it, of which most have no memory.
    pub fn length(&self) -> u64 {
        self.layout.length
    }

    /// True if all of it lies in the folder, so that it survives the process.
    pub fn is_in_folder(&self) -> bool {
        self.path.is_some() && !IN_PRIVATE_MEMORY.load(Ordering::Relaxed)
    }

    /// Lets the blocks of full chunks be written to a file in the folder of the segment, else to this file.
    /// The caller stores no other strings meanwhile.
    pub fn spill_to(&self, path: PathBuf) {
        let segment = self.path.as_ref().map(|path| path.as_os_str().to_owned());
        let in_memory = segment.map(|mut name| {
            name.push(node_files::BLOCKS);
            PathBuf::from(name)
        });
        let place = |path: PathBuf, is_in_memory| {
            let reference = self.add_string(path.as_os_str().as_bytes());
            BlockPlace { path, reference, is_in_memory }
        };
        let places = in_memory.map(|path| place(path, true)).into_iter().chain([place(path, false)]);
        self.lock().spill = Some(Spill::new(places.collect()));
    }

    pub fn while_none_is_drawn<R>(&self, work: impl FnOnce() -> R) -> R {
        let _state = self.lock();
        work()
    }

    pub fn rank(&self) -> RankHeader {
        let _state = self.lock();
        self.header.rank()
    }

    pub fn change_rank(&self, change: impl FnOnce(&mut RankHeader)) {
        let _state = self.lock();
        self.update_rank(change);
    }

    /// The caller holds the lock.
    pub(super) fn update_rank(&self, change: impl FnOnce(&mut RankHeader)) {
        let mut rank = self.header.rank();
        change(&mut rank);
        self.header.set_rank(rank);
    }

    /// Memory that reading and writing what it holds takes at most, bytes: copies of the tables, and the blocks of the
    /// records in memory.
    pub fn reading_takes(&self) -> u64 {
        let header = &self.layout.header;
        let tables = (0..CHUNKS).map(|table| {
            self.tables[table].used().min(self.layout.regions[table].capacity) * ENTRY_SIZES[table] as u64
        });
        let drawn = (0..self.tables[CHUNKS].used()).filter(|&chunk| self.chunk(chunk as u32).draw() != 0).count();
        let records = drawn as u64 * header.chunk_records;
        let columns = u64::from(header.rank.columns) - COLUMNS_ON_DEMAND as u64;
        (8 << 20) + 8 * tables.sum::<u64>() + records * 9 * columns
    }

    /// The content that it holds, with what was written to files: to be called when nothing is recorded any more.
    pub fn whole_content(&self) -> Result<Content<'_>, TraceError> {
        let files = self.lock().spill.as_mut().map(Spill::readers);
        let files = files.unwrap_or(Ok(Vec::new()));
        let files = files.map_err(|error| TraceError::io(Path::new("a block file"), error))?;
        // SAFETY: only the header, the used entries of the tables and the chunks that were drawn are read, which have
        // memory, and nothing is stored there any more.
        let bytes = unsafe { self.memory.bytes() };
        segment::read_with(Path::new("the live records"), bytes, true, files)
    }

    /// Removes the block files, and the one that names them: what they held is safe elsewhere, or not wanted.
    pub fn remove(&self) {
        if let Some(spill) = &self.lock().spill {
            spill.remove();
        }
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
        self.removed.store(true, Ordering::Relaxed);
    }

    /// Draws a chunk for a thread that has filled the one before (if any). `None`: the arrays are full.
    pub fn draw(&self, thread: u32, filled: Option<u32>) -> Option<NewChunk> {
        if self.full.load(Ordering::Relaxed) {
            return None;
        }
        let mut state = self.lock();
        // Another thread may have met the end, or MPI_Finalize packed all chunks, while this one waited.
        if self.full.load(Ordering::Relaxed) {
            return None;
        }
        if self.is_sample() {
            return self.draw_of_sample(&mut state, thread);
        }
        if let Some(filled) = filled {
            state.filled.push(Reverse((self.chunk(filled).draw(), filled)));
        }
        if self.begin_sample_if_large(&mut state) {
            return self.draw_of_sample(&mut state, thread);
        }
        let first_time = state.draws < self.layout.chunks;
        let index = match first_time {
            true => state.draws,
            false => state.filled.pop()?.0.1.into(),
        };

        let takes_memory = first_time && index >= state.given;
        if takes_memory && !self.give_chunks_memory(&mut state) {
            self.full.store(true, Ordering::Relaxed);
            return None;
        }
        if !first_time {
            if !self.spill_chunk(&mut state, index) {
                self.full.store(true, Ordering::Relaxed);
                return None;
            }
            self.empty(&state, index);
        }
        Some(self.begin_chunk(&mut state, index, thread, takes_memory || !first_time))
    }

    pub(super) fn empty(&self, state: &State, index: u64) {
        // The entry counts as never drawn until what the chunk held is gone: a kill in between leaves no record twice.
        publication::withdraw(self.chunk(index as u32).draw_word());
        self.clear_extended(state, index);
    }

    /// Draws a chunk again whose records are of no interest.
    #[cfg(test)]
    pub(super) fn draw_again(&self, chunk: u32, thread: u32) -> NewChunk {
        let mut state = self.lock();
        self.empty(&state, chunk.into());
        self.begin_chunk(&mut state, chunk.into(), thread, false)
    }

    /// Clears the entries and the exits of a chunk from this record on, its counters, and the columns with these flags.
    pub(super) fn clear(&self, chunk: u32, first: usize, extended: u32) {
        let (header, start) = (&self.layout.header, self.start_of(chunk));
        for (index, column) in header.columns[..header.rank.columns as usize].iter().enumerate() {
            let size = u64::from(column.element_size);
            let byte = match column.on_demand {
                0 if index < 2 => 0,
                // A call whose end never comes has no values, whatever the chunk held before.
                0 if index >= LIVE_COLUMNS.len() => 0xff,
                flag if extended & flag != 0 => 0,
                _ => continue,
            };
            let first = first as u64 * size;
            self.memory.fill(start + column.offset + first, header.chunk_records * size - first, byte);
        }
    }

    pub(super) fn begin_chunk(&self, state: &mut State, index: u64, thread: u32, took_long: bool) -> NewChunk {
        self.clear(index as u32, 0, 0);
        state.draws += 1;
        let entry = self.chunk(index as u32);
        entry.set_thread(thread);
        entry.set_flags(state.extended[index as usize] & chunk_flags::PRIVATE);
        publication::publish(entry.draw_word(), state.draws);
        let used = self.tables[CHUNKS];
        used.set_used(used.used().max(index + 1));
        self.anchor(state, took_long);
        let columns = self.columns(index as u32, state.draws);
        let records = self.layout.header.chunk_records as usize;
        NewChunk { number: index as u32, columns, records, first: 0, extended: 0, took_long }
    }

    /// Reads the clocks together, where that is due.
    pub(super) fn anchor(&self, state: &mut State, is_due: bool) {
        let tick = ticks::now();
        if is_due || tick.wrapping_sub(state.anchored) > ANCHORED_AFTER {
            state.anchored = tick;
            self.update_rank(|rank| rank.last_anchor = ticks::anchor());
        }
    }

    pub(super) fn start_of(&self, chunk: u32) -> u64 {
        self.layout.header.records_offset + u64::from(chunk) * self.layout.header.chunk_bytes
    }

    pub(super) fn columns(&self, chunk: u32, draw: u64) -> Columns {
        Columns::new(self.memory, self.start_of(chunk), &self.layout.header, draw)
    }

    pub fn chunk(&self, chunk: u32) -> Entry<ChunkEntry> {
        self.entry(chunk.into())
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// The name of the trace buffer's file of this process for a job.
pub fn segment_name(job_key: u64) -> String {
    let prefix = node_files::prefix(system::user());
    format!("{prefix}{job_key:016x}-{}{}", std::process::id(), node_files::SEGMENT)
}
