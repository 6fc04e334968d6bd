//! When the chunks of a trace buffer get their memory: seldom, many at once, and always before it is touched.

use std::ops::Range;
use std::sync::atomic::Ordering;

use mpitrace_format::layout::chunk_flags::{self, OF_GROUPS};

use crate::base::log;
use crate::base::own_file::OwnFile;
use crate::record::buffer::layout::{CHUNKS, ENTRY_SIZES, chunks_at_once, range_of};
use crate::record::buffer::trace_buffer::{IN_PRIVATE_MEMORY, State, TraceBuffer};

/// Chunks leave this much room in the folder to tables, of all ranks there, but no more than a quarter of the folder: a
/// record whose operation found no room is lost in a kill, wherever it lies itself.
const LEFT_TO_TABLES: u64 = 1 << 20;

impl TraceBuffer {
    /// Gives the next chunks memory for the columns that every record has, as many as hold 16384 records, and for the
    /// columns of [`OF_GROUPS`] that a chunk of the ones before has used. False: there is none for the first of them.
    pub(super) fn give_chunks_memory(&self, state: &mut State) -> bool {
        let header = &self.layout.header;
        let first = state.given;
        let end = (first + chunks_at_once(header)).min(self.layout.chunks);
        if !self.reserve(state, CHUNKS, end * ENTRY_SIZES[CHUNKS] as u64) {
            return false;
        }
        for index in first..end {
            let (start, length) = self.place_of(index, 0);
            let Some(private) = self.give_memory(state, start, length) else { break };
            state.extended[index as usize] |= private;
            state.given = index + 1;
        }
        let (given, in_use) = (first..state.given, std::mem::take(&mut state.in_use));
        // Most chunks use those where one does.
        for flag in OF_GROUPS.into_iter().filter(|flag| in_use & flag != 0) {
            self.give_ahead(state, flag, given.clone());
        }
        state.given > first
    }

    /// Takes the columns of a chunk that are used with this one of the `chunk_flags` into use, which are 0: true where
    /// memory was taken for them just now (some 10 us a chunk). `None`: there is none. Those of [`OF_GROUPS`] get
    /// theirs together with those of the next chunks.
    pub fn extend_chunk(&self, chunk: u32, flag: u32) -> Option<bool> {
        self.extend_locked(&mut self.lock(), chunk, flag)
    }

    /// [`TraceBuffer::extend_chunk`] for a caller that holds the lock.
    pub(super) fn extend_locked(&self, state: &mut State, chunk: u32, flag: u32) -> Option<bool> {
        let takes_memory = state.extended[chunk as usize] & flag == 0;
        let mut private = 0;
        if takes_memory {
            let (start, length) = self.place_of(chunk.into(), flag);
            private = self.give_memory(state, start, length)?;
            state.extended[chunk as usize] |= flag;
            if OF_GROUPS.contains(&flag) {
                let behind = u64::from(chunk) + 1..state.given;
                self.give_ahead(state, flag, behind);
            }
        }
        state.in_use |= flag;
        let entry = self.chunk(chunk);
        entry.set_flags(entry.flags() | flag | private);
        Some(takes_memory)
    }

    /// Clears the columns of a chunk that not every record uses: it is drawn again, and what it held is gone.
    pub(super) fn clear_extended(&self, state: &State, chunk: u64) {
        let extended = state.extended[chunk as usize];
        for flag in chunk_flags::ON_DEMAND.into_iter().filter(|flag| extended & flag != 0) {
            let (start, length) = self.place_of(chunk, flag);
            self.memory.fill(start, length, 0);
        }
    }

    /// Gives the columns with this flag of these chunks memory ahead of their use, as far as there is some.
    fn give_ahead(&self, state: &mut State, flag: u32, chunks: Range<u64>) {
        for chunk in chunks {
            let index = chunk as usize;
            if state.extended[index] & flag != 0 {
                continue;
            }
            let (start, length) = self.place_of(chunk, flag);
            let has_room = |file: &mut OwnFile| file.leaves(length, LEFT_TO_TABLES) && file.allocate(start, length);
            if state.file.as_mut().is_some_and(|file| !has_room(file)) || !self.memory.touch(start, length) {
                return;
            }
            state.extended[index] |= flag;
        }
    }

    /// Gives the memory of a chunk back, whose records count no more. A thread that stores there nevertheless does so
    /// in private memory.
    pub(super) fn give_back(&self, state: &mut State, chunk: u64) {
        // Private memory counts against the program's limits: only what the chunk has used is replaced.
        let used = state.extended[chunk as usize];
        for flag in [0].into_iter().chain(chunk_flags::ON_DEMAND).filter(|flag| used & flag == *flag) {
            let (start, length) = self.place_of(chunk, flag);
            if self.memory.replace(start, length)
                && let Some(file) = &mut state.file
            {
                file.release(start, length);
            }
        }
    }

    /// Gives the memory of a buffer that was removed back, but for the page of its header, and closes its files: what
    /// the program does behind MPI_Finalize may take long. A store that comes nevertheless goes to private memory.
    /// False: it was not removed.
    pub fn give_back_all(&self) -> bool {
        if !self.removed.load(Ordering::Relaxed) {
            return false;
        }
        let mut state = self.lock();
        state.spill = None;
        (0..state.given).for_each(|chunk| self.give_back(&mut state, chunk));
        for (region, reserved) in self.layout.regions.iter().zip(state.reserved) {
            if self.memory.replace(region.offset, reserved)
                && let Some(file) = &mut state.file
            {
                file.release(region.offset, reserved);
            }
        }
        state.file = None;
        true
    }

    /// Where the columns of a chunk lie that are used with a flag: offset and bytes.
    fn place_of(&self, chunk: u64, flag: u32) -> (u64, u64) {
        let header = &self.layout.header;
        let (offset, length) = range_of(header, flag);
        (header.records_offset + chunk * header.chunk_bytes + offset, length)
    }

    /// Gives a range of a chunk, of whole pages, memory: in the file (0), else private in its place
    /// (`chunk_flags::PRIVATE`). `None`: there is none. Tables may grow by [`LEFT_TO_TABLES`] yet.
    fn give_memory(&self, state: &mut State, offset: u64, length: u64) -> Option<u32> {
        if state.file.is_none() {
            return self.memory.touch(offset, length).then_some(0);
        }
        let leaves_room = state.file.as_ref().is_some_and(|file| file.leaves(length, LEFT_TO_TABLES));
        if leaves_room && self.give_file_memory(state, offset, length) {
            return Some(0);
        }
        self.give_private_memory(offset, length).then_some(chunk_flags::PRIVATE)
    }

    /// Gives a range memory in the file; false: it has none.
    pub(super) fn give_file_memory(&self, state: &mut State, offset: u64, length: u64) -> bool {
        state.file.as_mut().is_some_and(|file| file.allocate(offset, length)) && self.memory.touch(offset, length)
    }

    /// Puts private memory in the place of a range, for which the folder has no room; false: there is none.
    pub(super) fn give_private_memory(&self, offset: u64, length: u64) -> bool {
        if !self.memory.replace(offset, length) {
            return false;
        }
        if !IN_PRIVATE_MEMORY.swap(true, Ordering::Relaxed) {
            log::warn_on_node(
                "room",
                "no room left for the trace buffer: further records are lost if the program is killed \
                 (MPITRACE_SEGMENT_DIR names another folder)",
            );
        }
        self.memory.touch(offset, length)
    }
}
