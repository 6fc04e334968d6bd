//! Packs the records of a chunk into a block, which goes to a block file: while the program runs, where the chunk is
//! needed for new records, and at its end, where its memory is given back.

use std::io;
use std::sync::atomic::Ordering;

use mpitrace_format::layout::*;
use mpitrace_format::live_records::{self, Counted, LiveTables, RankClock};
use mpitrace_format::packed::Numbering;
use mpitrace_format::publication;

use crate::base::log;
use crate::record::buffer::layout::{CHUNKS, MESSAGE_CALLS, OPERATIONS, range_of};
use crate::record::buffer::spill::When;
use crate::record::buffer::trace_buffer::{State, TraceBuffer};

/// Bytes of records that are packed on the heap at the end: no block file is made for them.
const FEW: u64 = 1 << 20;

impl TraceBuffer {
    /// Writes the records of a full chunk to a block file. False: that cannot be done, and never will be again.
    pub(super) fn spill_chunk(&self, state: &mut State, chunk: u64) -> bool {
        match self.write_chunk(state, chunk, self.layout.header.chunk_records as usize, When::Running) {
            Ok(()) => return true,
            Err(None) => {}
            Err(Some(error)) => log::warn_on_node(
                "spill",
                &format!(
                    "cannot write blocks to the segment folder or to that of the trace: {error}; \
                     further calls are counted and not kept"
                ),
            ),
        }
        false
    }

    /// Writes the records that are in memory to the block file in the segment's folder, and gives the memory of each
    /// chunk back when its block counts. To be called when nothing is recorded any more. The records stay where they
    /// are if they are few, or if the file takes no more.
    ///
    /// A block is not put in the place of its chunk: a kill would leave neither.
    pub fn pack_all(&self) {
        let mut state = self.lock();
        let (header, used) = (&self.layout.header, self.tables[CHUNKS].used());
        let are_few = used * range_of(header, 0).1 <= FEW;
        if are_few || self.is_sample() || !state.spill.as_ref().is_some_and(|spill| spill.is_in_memory()) {
            return;
        }
        // A thread that began a call before must find no chunk that was packed.
        self.full.store(true, Ordering::Relaxed);
        let mut chunks: Vec<(u64, u32)> = Vec::new();
        // A number that grows with the arrays: beyond what the reserve can give.
        if chunks.try_reserve_exact(used as usize).is_err() {
            return;
        }
        // By thread, then by draw, of which there are never 2^40.
        let chunk = |index: u32| {
            let entry = self.chunk(index);
            (entry.draw() != 0).then(|| (u64::from(entry.thread()) << 40 | entry.draw(), index))
        };
        chunks.extend((0..used as u32).filter_map(chunk));
        chunks.sort_unstable();
        self.pack_chunks(&mut state, &chunks);
        state.spill.iter_mut().for_each(|spill| spill.held = None);
    }

    /// Packs chunks in this order, up to the first that no block takes.
    fn pack_chunks(&self, state: &mut State, chunks: &[(u64, u32)]) {
        let header = &self.layout.header;
        for index in chunks.iter().map(|&(_, index)| u64::from(index)) {
            let enter: Vec<u64> = self.memory.load(self.start_of(index as u32), header.chunk_records as usize);
            let records = enter.partition_point(|&tick| tick != 0);
            if records > 0 && self.write_chunk(state, index, records, When::AtTheEnd).is_err() {
                return;
            }
            publication::withdraw(self.chunk(index as u32).draw_word());
            self.give_back(state, index);
        }
    }

    /// Writes the first records of a chunk, at least one, to a block file.
    ///
    /// # Errors
    /// No file takes it; `None`: there is no memory to pack it in, or this process is to write none.
    fn write_chunk(&self, state: &mut State, chunk: u64, records: usize, when: When) -> Result<(), Option<io::Error>> {
        // A child that has no handlers of fork (made by `clone`) is not known to be one otherwise.
        if state.spill.as_ref().is_some_and(|spill| spill.process != std::process::id()) {
            state.spill = None;
        }
        let spill = state.spill.as_mut().ok_or(None)?;
        let (header, operations) = (&self.layout.header, self.tables[OPERATIONS].used());
        let messages = self.tables[MESSAGE_CALLS].used();
        // Copies of the columns, and what each of them is packed as.
        let takes =
            (1 << 18) + 128 * header.chunk_records * u64::from(header.rank.columns) + 16 * (operations + messages);
        if !spill.holds(takes.next_power_of_two(), when) {
            return Err(None);
        }
        // The communicator of an operation stays.
        let known = spill.numbering.len() as u32;
        spill.numbering.extend((known..operations as u32).map(|number| self.operation(number).communicator()));
        let known = spill.message_numbering.len() as u64;
        spill.message_numbering.extend((known..messages).map(|_| 0));
        // The rank and the process are known before anything is recorded, and stay.
        let rank = self.header.rank();
        let numbering = match self.chunk(chunk as u32).thread() & MESSAGES {
            0 => &spill.numbering,
            _ => &spill.message_numbering,
        };
        let block = self.packed(chunk, records, &rank, numbering).ok_or(io::ErrorKind::InvalidData);
        let written = block.map_err(io::Error::from).and_then(|block| spill.add(&block, &rank, when));
        // A kill from here on finds them. What was written stays part of the trace whatever fails later.
        self.header.set_blocks(written.map_err(Some)?);
        Ok(())
    }

    fn packed(&self, chunk: u64, records: usize, rank: &RankHeader, numbering: &Numbering) -> Option<Vec<u8>> {
        let header = &self.layout.header;
        let (start, entry) = (self.start_of(chunk as u32), self.chunk(chunk as u32));
        let entry = ChunkEntry { draw: entry.draw(), thread: entry.thread(), flags: entry.flags() };
        let load = |column: &ColumnEntry| {
            let place = start + column.offset;
            Some(match column.element_size {
                4 => self.memory.load::<u32>(place, records).into_iter().map(u64::from).collect(),
                _ => self.memory.load::<u64>(place, records),
            })
        };
        let clock = match rank.pretended {
            0 => None,
            text => Some(RankClock::new(rank, &self.text(text))?),
        };
        let rows = live_records::rows(header, &entry, load, self, clock.as_ref())?;
        Some(rows.pack(numbering, entry.draw, entry.thread))
    }
}

impl LiveTables for TraceBuffer {
    fn counted(&self, operation: u32) -> Option<Counted> {
        let entry = self.operation(operation);
        let communicator = self.communicator(entry.communicator());
        let is_counted = communicator.flags() & communicator_flags::FOLDED == 0;
        Some(Counted {
            calls: entry.calls(),
            positions_from: entry.positions_from(),
            on_communicator: is_counted.then(|| communicator.calls()),
        })
    }

    fn exit(&self, record: u64) -> Option<u64> {
        self.exit_of(record)
    }

    fn has_message(&self, operation: u32) -> bool {
        u64::from(operation) < self.tables[MESSAGE_CALLS].used()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::os::unix::fs::MetadataExt;
    use std::path::{Path, PathBuf};

    use bytemuck::Zeroable;
    use mpitrace_format::packed::Block;
    use mpitrace_format::publication::StoredRecord;
    use mpitrace_format::segment;

    use super::*;
    use crate::record::buffer::chunk::RecordPlace;

    /// A buffer in one of these folders, of a world of one rank with one operation.
    fn buffer(folders: &[PathBuf], capacity: u64) -> &'static TraceBuffer {
        let rank = RankHeader { capacity, world_size: 1, ..RankHeader::zeroed() };
        let buffer = TraceBuffer::create(folders, "packer", rank, &live_columns(0)).unwrap();
        buffer.add_thread(ThreadEntry::default()).unwrap();
        buffer.add(CommunicatorEntry { calls: capacity, ..Zeroable::zeroed() }).unwrap();
        buffer.add(OperationEntry { calls: capacity, ..Zeroable::zeroed() }).unwrap();
        buffer
    }

    /// Draws a chunk, and fills its first records with calls of 50 ticks: the number of the first call is `first`.
    fn fill(buffer: &'static TraceBuffer, first: usize, records: usize) {
        let chunk = buffer.draw(0, None).unwrap();
        for record in 0..records {
            // SAFETY: this thread has drawn the chunk, and the record lies in it.
            let place = unsafe { RecordPlace::new(chunk.columns, record) };
            let call = (first + record) as u64;
            place.describe(call, call, 0);
            place.begin(1000 + 100 * call);
            assert!(place.set_exit(place.enter(), place.enter() + 50).is_none());
        }
    }

    #[test]
    fn a_block_has_the_columns_that_the_chunk_has_in_use_and_no_others() {
        let buffer = buffer(&[], 1 << 12);
        fill(buffer, 0, 15);
        let numbering = Numbering::new(vec![0]);
        let bytes = buffer.packed(0, 15, &buffer.rank(), &numbering).unwrap();
        let block = Block::parse(&bytes, &numbering).unwrap();
        assert_eq!(block.header.columns, (1 << COLUMNS.len()) - 1, "none of a simulated clock");
        let rows = block.rows().unwrap();
        assert_eq!(rows.position, (0..15).collect::<Vec<_>>());
        assert!(rows.enter.iter().zip(&rows.exit).all(|(enter, exit)| exit - enter == 50));
    }

    /// How many records another process finds after a kill.
    fn found(folder: &Path) -> u64 {
        let path = folder.join("packer");
        let mut words = vec![0u64; std::fs::metadata(&path).unwrap().len() as usize / 8];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        File::open(&path).unwrap().read_exact(bytes).unwrap();
        let files = segment::block_files(&path, bytes).unwrap().into_iter();
        let files = files.map(|path| (path.clone(), std::sync::Arc::new(File::open(path).unwrap()))).collect();
        segment::read_with(&path, bytes, false, files).unwrap().records()
    }

    /// A kill after any step of the end leaves all records: in their chunk, in a block, and once only where they are in
    /// both.
    #[test]
    fn all_records_are_found_at_each_step_and_chunks_give_their_memory_back() {
        const CHUNKS: usize = 50;
        let folder = std::env::temp_dir().join(format!("mpitrace-packer-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let buffer = buffer(std::slice::from_ref(&folder), 1 << 16);
        buffer.spill_to(folder.join("beside"));
        let records = buffer.layout.header.chunk_records as usize;
        (0..CHUNKS).for_each(|chunk| fill(buffer, chunk * records, records));
        fill(buffer, CHUNKS * records, 3);
        let all = (CHUNKS * records + 3) as u64;
        let blocks = || std::fs::metadata(folder.join("packer")).unwrap().blocks();
        let before = blocks();
        assert_eq!(found(&folder), all);
        buffer.write_chunk(&mut buffer.lock(), 0, records, When::AtTheEnd).unwrap();
        assert_eq!(found(&folder), all, "the block of a chunk that counts still");
        publication::withdraw(buffer.chunk(0).draw_word());
        assert_eq!(found(&folder), all);
        buffer.give_back(&mut buffer.lock(), 0);
        assert_eq!(found(&folder), all);
        buffer.pack_all();
        assert_eq!(found(&folder), all);
        assert_eq!(buffer.whole_content().unwrap().records(), all);
        assert!(before - blocks() >= (CHUNKS * records * 24 / 512) as u64, "{} of {before} blocks", blocks());
        buffer.remove();
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
