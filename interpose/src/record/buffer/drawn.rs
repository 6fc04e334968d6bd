//! A chunk between two times that it is drawn.

use mpitrace_format::layout::{ChunkEntry, LongCallEntry};
use mpitrace_format::publication;

use crate::base::entry::Entry;
use crate::record::buffer::chunk::RecordPlace;
use crate::record::buffer::trace_buffer::TraceBuffer;

/// A chunk as it was drawn once: it may be drawn again.
#[derive(Clone, Copy)]
pub struct DrawnChunk {
    buffer: &'static TraceBuffer,
    entry: Entry<ChunkEntry>,
    draw: u64,
}

impl DrawnChunk {
    pub fn now(buffer: &'static TraceBuffer, chunk: u32) -> DrawnChunk {
        let entry = buffer.chunk(chunk);
        DrawnChunk { buffer, entry, draw: entry.draw() }
    }

    pub fn is_same(&self, other: &DrawnChunk) -> bool {
        self.draw == other.draw
    }

    /// True if the chunk still holds the same records: a number that is just being changed differs from ours.
    pub fn is_current(&self) -> bool {
        publication::is_unchanged(self.entry.draw_word(), self.draw)
    }

    /// Stores something in one of its records, unless the chunk holds others by now (false). It is not drawn again
    /// meanwhile: `store` may draw nothing and give nothing memory.
    pub fn while_current(&self, store: impl FnOnce()) -> bool {
        self.buffer.while_none_is_drawn(|| {
            let current = self.is_current();
            if current {
                store();
            }
            current
        })
    }

    /// Stores the exit of a call in its record, which lies in the chunk: that is current, and the one that the calling
    /// thread fills.
    #[inline(always)]
    pub fn store_exit_of_own(&self, place: &RecordPlace, tick: u64) {
        if let Some(long_call) = place.set_exit(place.enter(), tick) {
            self.buffer.add_long_call(long_call);
        }
    }

    /// Stores the exit of a call in its record, which lies in the chunk; beside it, where the record is in a file
    /// already. False: the record is gone.
    pub fn store_exit(&self, place: &RecordPlace, tick: u64) -> bool {
        let mut long_call = None;
        let is_current = self.while_current(|| long_call = place.set_exit(place.enter(), tick));
        let is_spilled = !is_current && !self.buffer.is_sample();
        if is_spilled {
            long_call = Some(LongCallEntry { record: place.number(), exit: tick });
        }
        long_call.into_iter().for_each(|long_call| self.buffer.add_long_call(long_call));
        is_current || is_spilled
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, Mutex};

    use bytemuck::Zeroable;
    use mpitrace_format::layout::{NOT_RETURNED, RankHeader, live_columns};

    use super::*;

    /// One thread finds a call complete while another one draws the call's chunk again: the chunk is empty then, or the
    /// call is stored in it, before it was emptied.
    #[test]
    fn nothing_is_stored_in_a_chunk_that_is_drawn_again() {
        const TURNS: usize = 2000;
        let rank = RankHeader { capacity: 16, ..RankHeader::zeroed() };
        let buffer = TraceBuffer::create(&[], "", rank, &live_columns(0)).unwrap();
        let mut chunk = buffer.draw(0, None).unwrap();
        let (meet, call) = (Barrier::new(2), Mutex::new(None));
        let mut late = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..TURNS {
                    meet.wait();
                    let (place, drawn): (RecordPlace, DrawnChunk) = call.lock().unwrap().take().unwrap();
                    while drawn.is_current() {
                        drawn.while_current(|| assert!(place.set_exit(place.enter(), 777).is_none()));
                    }
                    meet.wait();
                }
            });
            for _ in 0..TURNS {
                // SAFETY: the chunk has 16 records, and this thread has drawn it.
                let place = unsafe { RecordPlace::new(chunk.columns, 3) };
                *call.lock().unwrap() = Some((place, DrawnChunk::now(buffer, chunk.number)));
                meet.wait();
                chunk = buffer.draw_again(chunk.number, 0);
                meet.wait();
                // SAFETY: as above.
                let place = unsafe { RecordPlace::new(chunk.columns, 3) };
                late += usize::from(place.duration() != NOT_RETURNED);
            }
        });
        assert_eq!(late, 0, "of {TURNS} calls were stored among the records of another draw");
    }
}
