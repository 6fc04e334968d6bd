//! Copies the trace buffer into a file while threads go on recording: a segment that outlives the node.

use std::io;
use std::path::Path;
use std::sync::TryLockError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytemuck::bytes_of;
use mpitrace_format::layout::{ChunkEntry, RankHeader, chunk_flags};
use mpitrace_platform::time::sleep;

use crate::base::own_file::OwnFile;
use crate::base::ticks;
use crate::record::buffer::layout::{range_of, *};
use crate::record::buffer::trace_buffer::TraceBuffer;

impl TraceBuffer {
    /// Writes what is in use to a new file, where it lies in the buffer.
    ///
    /// How far tables are used is read before what they hold, so that each entry that counts is whole. A chunk that is
    /// drawn again meanwhile is left out.
    pub fn copy_to(&self, path: &Path) -> io::Result<()> {
        let mut file = OwnFile::create_private(path)?;
        let header = &self.layout.header;
        let used = self.tables.map(|table| table.used());
        let mut copied = *header;
        copied.rank = RankHeader { last_anchor: ticks::anchor(), ..self.rank_at_the_end() };
        (copied.metadata, copied.run, copied.blocks) =
            (self.header.metadata(), self.header.run(), self.header.blocks());
        (copied.times, copied.finalize) = (self.header.times(), self.header.finalize());
        for (region, used) in regions_of(&mut copied).into_iter().zip(used) {
            region.used = used;
        }
        for (region, (used, size)) in self.layout.regions.iter().zip(used.into_iter().zip(ENTRY_SIZES)).take(CHUNKS) {
            self.memory.write_to(&file, region.offset, used.min(region.capacity) * size as u64)?;
        }
        for chunk in 0..used[CHUNKS] {
            let entry = self.copy_chunk(&file, chunk)?;
            let place = self.layout.regions[CHUNKS].offset + chunk * ENTRY_SIZES[CHUNKS] as u64;
            file.write_all_at(bytes_of(&entry), place)?;
        }
        // Without it the file is no segment.
        file.write_all_at(bytes_of(&copied), 0)?;
        file.settle()
    }

    /// The facts of the rank, also where the process ends while one of its threads changes them and does not go on.
    fn rank_at_the_end(&self) -> RankHeader {
        const TRIES: u32 = 100;
        for _ in 0..TRIES {
            match self.state.try_lock() {
                Err(TryLockError::WouldBlock) => sleep(Duration::from_millis(1)),
                _held => break,
            }
        }
        self.header.rank()
    }

    /// Records in private memory, which are gone with the process.
    pub fn records_in_private_memory(&self) -> u64 {
        let (header, used) = (&self.layout.header, self.tables[CHUNKS].used());
        let is_private = |flags: u32| self.folder().is_none() || flags & chunk_flags::PRIVATE != 0;
        let lost =
            (0..used as u32).filter(|&chunk| self.chunk(chunk).draw() != 0 && is_private(self.chunk(chunk).flags()));
        let records = |chunk: u32| {
            let entered = self.start_of(chunk) + header.columns[0].offset;
            let entered: Vec<u64> = self.memory.load(entered, header.chunk_records as usize);
            entered.iter().filter(|tick| **tick != 0).count() as u64
        };
        lost.map(records).sum()
    }

    /// Copies a chunk: its entry in the copy.
    fn copy_chunk(&self, file: &OwnFile, chunk: u64) -> io::Result<ChunkEntry> {
        let header = &self.layout.header;
        let entry = self.chunk(chunk as u32);
        let draw = entry.draw_word().load(Ordering::Acquire);
        if draw == 0 {
            return Ok(ChunkEntry::default());
        }
        let flags = entry.flags();
        let start = header.records_offset + chunk * header.chunk_bytes;
        for flag in [0].into_iter().chain(chunk_flags::ON_DEMAND) {
            if flag == 0 || flags & flag != 0 {
                let (offset, length) = range_of(header, flag);
                self.memory.write_to(file, start + offset, length)?;
            }
        }
        let is_the_same = entry.draw_word().load(Ordering::Acquire) == draw;
        // What lies in private memory does so no more.
        let flags = flags & !chunk_flags::PRIVATE;
        Ok(if is_the_same { ChunkEntry { draw, thread: entry.thread(), flags } } else { ChunkEntry::default() })
    }
}
