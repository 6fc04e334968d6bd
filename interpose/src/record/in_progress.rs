//! The calls in which threads are at this moment, as another thread of the process sees them.
//!
//! Nothing is asked of the threads. A thread may leave its call at any time, and what is found of it here is then of the
//! call that it was in.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use mpitrace_format::layout::{NOT_RETURNED, OPERATION_MASK, ThreadEntry, activity, live_record};
use mpitrace_format::strings;

use crate::record::entry::Entry;
use crate::record::layout::*;
use crate::record::trace_buffer::TraceBuffer;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InProgress {
    pub thread: u32,
    /// The function's plain C name; empty: not known.
    pub function: String,
    pub call: Call,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// A record that has not returned: its number, and the operation's. A non-blocking call may have returned all the
    /// same.
    Recorded { record: u64, operation: u32 },
    /// A call that is not recorded, and whether it is the one that was found at the look before.
    Other { same: bool },
}

impl TraceBuffer {
    /// The calls in which threads are; of each thread one at most.
    pub fn in_progress(&self) -> Vec<InProgress> {
        let mut latest: Vec<Option<(u64, u64)>> = vec![None; self.tables[THREADS].used() as usize];
        for chunk in 0..self.tables[CHUNKS].used() {
            let entry = self.chunk(chunk as u32);
            let (draw, thread) = (entry.draw_word().load(Ordering::Acquire), entry.thread());
            if let Some(latest) = latest.get_mut(thread as usize)
                && draw > latest.map_or(0, |(draw, _)| draw)
            {
                *latest = Some((draw, chunk));
            }
        }
        let found = (0..).zip(latest).filter_map(|(thread, latest)| {
            let recorded = latest.and_then(|(draw, chunk)| self.last_open(draw, chunk));
            if let Some((record, operation)) = recorded {
                let function = self.text(self.operation(operation).function());
                return Some(InProgress { thread, function, call: Call::Recorded { record, operation } });
            }
            let entry: Entry<ThreadEntry> = self.entry(thread.into());
            let (word, same) = entry.look_at_activity();
            let (what, function) = activity::decoded(word);
            let function = self.text(function);
            (what != activity::COMPUTING).then_some(InProgress { thread, function, call: Call::Other { same } })
        });
        found.collect()
    }

    /// The last record of a chunk, if its call has not returned: its number, and the operation's.
    fn last_open(&self, draw: u64, chunk: u64) -> Option<(u64, u32)> {
        let header = &self.layout.header;
        let start = header.records_offset + chunk * header.chunk_bytes;
        let word = |column: usize, record: u64| {
            let place = self.memory.range(start + header.columns[column].offset + record * 4, 4).cast::<u32>();
            // SAFETY: the place lies within a chunk that was drawn, which has memory, and is aligned; its thread stores
            // whole words there.
            unsafe { AtomicU32::from_ptr(place) }.load(Ordering::Relaxed)
        };
        let has_entered = |record: &u64| {
            let place = self.memory.range(start + header.columns[0].offset + record * 8, 8).cast::<u64>();
            // SAFETY: as above.
            unsafe { AtomicU64::from_ptr(place) }.load(Ordering::Acquire) != 0
        };
        let last = (0..header.chunk_records).take_while(has_entered).last()?;
        let operation = word(4, last) & OPERATION_MASK;
        let known = u64::from(operation) < self.tables[OPERATIONS].used();
        (word(1, last) == NOT_RETURNED && known).then(|| (live_record(draw, last as u32), operation))
    }

    /// A text of the string area; empty: there is none.
    pub fn text(&self, reference: u32) -> String {
        let used = self.tables[STRINGS].used();
        // SAFETY: the used part of the string area has memory and does not change any more.
        let area = unsafe { self.memory.bytes() };
        let start = self.layout.regions[STRINGS].offset as usize;
        strings::text(&area[start..start + used as usize], reference).unwrap_or_default()
    }
}
