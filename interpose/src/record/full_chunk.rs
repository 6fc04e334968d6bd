//! Packs the records of a full chunk into a block, which goes to a block file: the chunk is used for new records.

use std::io;

use mpitrace_format::layout::*;
use mpitrace_format::live_records::{self, Counted, LiveTables, RankClock};
use mpitrace_format::packed::Numbering;

use crate::base::allocator::Held;
use crate::base::log;
use crate::record::entry::Entry;
use crate::record::layout::OPERATIONS;
use crate::record::trace_buffer::{State, TraceBuffer};

impl TraceBuffer {
    /// Writes the records of a full chunk to a block file. False: that cannot be done, and never will be again.
    pub(super) fn spill_chunk(&self, state: &mut State, start: u64, entry: Entry<ChunkEntry>) -> bool {
        // Copies of the columns, and what each of them is packed as.
        let (records, columns) = (self.layout.header.chunk_records, u64::from(self.layout.header.rank.columns));
        let takes = (1 << 18) + 128 * records * columns + 16 * self.tables[OPERATIONS].used();
        let Some(_held) = Held::bytes(takes) else { return false };
        let Some(mut spill) = state.spill.take() else { return false };
        // A child that has no handlers of fork (made by `clone`) is not known to be one otherwise.
        if spill.process != std::process::id() {
            return false;
        }
        // The rank and the process are known before anything is recorded, and stay.
        let rank = self.header.rank();
        let written = match self.packed(start, entry, &rank) {
            Some(block) => spill.add(&block, &rank),
            None => Err(io::ErrorKind::InvalidData.into()),
        };
        match &written {
            // A kill from here on finds them. What was written stays part of the trace whatever fails later.
            Ok(references) => self.header.set_blocks(*references),
            Err(error) => log::warn_on_node(
                "spill",
                &format!(
                    "cannot write blocks to the segment folder or to that of the trace: {error}; \
                     further calls are counted and not kept"
                ),
            ),
        }
        state.spill = Some(spill);
        written.is_ok()
    }

    /// The block of a full chunk.
    fn packed(&self, start: u64, entry: Entry<ChunkEntry>, rank: &RankHeader) -> Option<Vec<u8>> {
        let header = &self.layout.header;
        let records = header.chunk_records as usize;
        let chunk = ChunkEntry { draw: entry.draw(), thread: entry.thread(), flags: entry.flags() };
        let load = |column: &ColumnEntry| {
            let place = start + column.offset;
            Some(match column.element_size {
                4 => self.memory.load::<u32>(place, records).into_iter().map(u64::from).collect(),
                _ => self.memory.load::<u64>(place, records),
            })
        };
        let clock = RankClock::new(rank, &self.text(rank.pretended));
        let rows = live_records::rows(header, &chunk, 0, load, self, clock.as_ref())?;
        let operations = self.tables[OPERATIONS].used() as u32;
        let numbering = Numbering::new((0..operations).map(|number| self.operation(number).communicator()).collect());
        Some(rows.pack(&numbering, chunk.draw, chunk.thread))
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
}
