//! The tables of a segment, as far as the file has them.

use std::path::Path;

use bytemuck::Pod;

use crate::TraceError;
use crate::layout::*;

/// The tables of a segment.
pub(super) struct Tables<'a> {
    pub strings: &'a [u8],
    pub communicators: &'a [CommunicatorEntry],
    pub operations: &'a [OperationEntry],
    pub threads: &'a [ThreadEntry],
    pub thread_times: &'a [LiveThreadTimes],
    pub partners: &'a [PartnerEntry],
    pub messages: &'a [MessageEntry],
    pub counters: &'a [CounterEntry],
    pub syncs: &'a [SyncEntry],
    pub probes: &'a [ProbeEntry],
    pub interruptions: &'a [InterruptionEntry],
    pub long_calls: &'a [LongCallEntry],
    pub chunks: &'a [ChunkEntry],
    pub histograms: &'a [Buckets],
}

impl<'a> Tables<'a> {
    /// The tables of this process (`is_this_process`), or as far as another process finds them in the file.
    pub(super) fn find(
        path: &Path,
        bytes: &'a [u8],
        header: &SegmentHeader,
        is_this_process: bool,
    ) -> Result<Tables<'a>, TraceError> {
        let find = Find { path, bytes, header, is_this_process };
        let mut tables = Tables {
            strings: find.table(&header.strings, table::STRINGS, "strings")?,
            communicators: find.table(&header.communicators, table::COMMUNICATORS, "communicators")?,
            operations: find.table(&header.operations, table::OPERATIONS, "operations")?,
            threads: find.table(&header.threads, table::THREADS, "threads")?,
            thread_times: find.table(&header.thread_times, table::THREAD_TIMES, "sums of threads")?,
            partners: find.table(&header.partners, table::PARTNERS, "partners")?,
            messages: find.table(&header.messages, table::MESSAGES, "messages")?,
            counters: find.table(&header.counters, table::COUNTERS, "counters")?,
            syncs: find.table(&header.syncs, table::SYNCS, "synchronisations")?,
            probes: find.table(&header.probes, table::PROBES, "probes")?,
            interruptions: find.table(&header.interruptions, table::INTERRUPTIONS, "interruptions")?,
            long_calls: find.table(&header.long_calls, table::LONG_CALLS, "long calls")?,
            chunks: find.table(&header.chunks, table::CHUNKS, "chunks")?,
            histograms: find.table(&header.histograms, table::HISTOGRAMS, "histograms")?,
        };
        if !is_this_process {
            tables.check(header).map_err(|what| TraceError::damaged(path, what))?;
            tables.leave_out_what_leads_nowhere();
        }
        Ok(tables)
    }

    /// The conditions that a reader relies on: the segments go when the trace is on disk.
    fn check(&self, header: &SegmentHeader) -> Result<(), &'static str> {
        let rank = &header.rank;
        let starting = rank.state == state::STARTING && rank.rank == NO_RANK;
        if rank.rank >= rank.world_size && !starting {
            return Err("has a rank outside its MPI_COMM_WORLD");
        }
        let communicators = header.communicators.used.min(header.communicators.capacity);
        if self.operations.iter().any(|operation| u64::from(operation.communicator) >= communicators) {
            return Err("has an operation without a communicator");
        }
        Ok(())
    }

    /// Leaves out the operations behind the first whose communicator is lost, and those of messages behind the first
    /// whose communicator or start is: no reader takes an entry that leads nowhere.
    fn leave_out_what_leads_nowhere(&mut self) {
        let (communicators, messages) = (self.communicators.len(), self.messages.len());
        let lost = self.operations.iter().position(|entry| entry.communicator as usize >= communicators);
        self.operations = &self.operations[..lost.unwrap_or(self.operations.len())];
        let leads_nowhere = |entry: &MessageEntry| {
            let communicator = (entry.partner >> 32).checked_sub(1);
            communicator.is_some_and(|number| number as usize >= communicators) || entry.start as usize > messages
        };
        let lost = self.messages.iter().position(leads_nowhere);
        self.messages = &self.messages[..lost.unwrap_or(messages)];
        // A start that was left out now.
        let messages = self.messages.len();
        let lost = self.messages.iter().position(|entry| entry.start as usize > messages);
        self.messages = &self.messages[..lost.unwrap_or(messages)];
    }
}

/// Where the tables of a segment lie.
struct Find<'f, 'a> {
    path: &'f Path,
    bytes: &'a [u8],
    header: &'f SegmentHeader,
    is_this_process: bool,
}

impl<'a> Find<'_, 'a> {
    /// A table, as far as the file has it. Nothing behind that is looked at: to read a hole of a file takes memory, and
    /// where the folder has none the reader dies of SIGBUS.
    fn table<T: Pod>(&self, region: &Region, number: usize, what: &str) -> Result<&'a [T], TraceError> {
        let used = region.used.min(region.capacity);
        let all = used.checked_mul(size_of::<T>() as u64);
        let all = all
            .and_then(|length| slice(self.bytes, region.offset, length))
            .ok_or_else(|| TraceError::damaged(self.path, format!("the table of {what} leads out of the segment")))?;
        let there = if self.is_this_process { used } else { used.min(in_file(self.header, number, size_of::<T>())) };
        let table = &all[..there as usize * size_of::<T>()];
        bytemuck::try_cast_slice(table).map_err(|_| TraceError::damaged(self.path, "has a table that is not aligned"))
    }
}

/// How many entries of a table, from the first on, lie in the file (bytes, for strings).
pub(super) fn in_file(header: &SegmentHeader, table: usize, size: usize) -> u64 {
    header.private_from[table].checked_sub(1).map_or(u64::MAX, |from| from / size as u64)
}

pub(super) fn slice(bytes: &[u8], offset: u64, length: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)
}
