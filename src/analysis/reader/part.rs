//! What one rank recorded: its tables and columns, where they lie in the mapped file.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use memmap2::Mmap;
use mpitrace_format::layout::*;
use mpitrace_format::{metadata, strings};

/// What one rank recorded.
#[derive(Debug)]
pub struct Part {
    pub(super) map: Arc<Mmap>,
    pub(super) header: PartHeader,
    pub(super) metadata: Range<usize>,
    pub(super) strings: Range<usize>,
    pub(super) communicators: Range<usize>,
    pub(super) operations: Range<usize>,
    pub(super) threads: Range<usize>,
    pub(super) runs: Range<usize>,
    pub(super) counters: Range<usize>,
    pub(super) syncs: Range<usize>,
    pub(super) probes: Range<usize>,
    pub(super) interruptions: Range<usize>,
    pub(super) columns: Vec<ColumnPlace>,
}

/// What became of the requests of non-blocking calls, a value for each record; 0 for the other calls.
#[derive(Clone, Copy, Debug)]
pub struct Requests<'a> {
    /// Ticks that the starting call took.
    pub init: &'a [u64],
    /// Ticks spent in Test calls for the request.
    pub test: &'a [u64],
    /// Ticks spent in Wait calls for the request.
    pub wait: &'a [u64],
    /// Test calls for the request.
    pub tests: &'a [u32],
}

/// Where a column lies.
#[derive(Debug)]
pub(super) struct ColumnPlace {
    pub(super) name: String,
    pub(super) element_size: u32,
    pub(super) bytes: Range<usize>,
}
impl Part {
    /// The world rank.
    pub fn rank(&self) -> u32 {
        self.header.rank.rank
    }

    /// What is known of the rank.
    pub fn info(&self) -> &RankHeader {
        &self.header.rank
    }

    /// Whether the rank did not reach Finalize, or records of it were lost.
    pub fn incomplete(&self) -> bool {
        self.header.incomplete != 0
    }

    /// Calls kept.
    pub fn records(&self) -> usize {
        self.header.records as usize
    }

    /// Calls not kept since the arrays were full: those counted, less those kept and those made while paused; and those
    /// that could not be counted since the tables were full.
    pub fn dropped(&self) -> u64 {
        let calls = self.operations().iter().fold(0u64, |sum, operation| sum.saturating_add(operation.calls));
        let untracked = self.threads().iter().fold(0u64, |sum, thread| sum.saturating_add(thread.untracked));
        let failed = self.threads().iter().fold(0u64, |sum, thread| sum.saturating_add(thread.failed_in_place));
        let kept_back = self.paused().saturating_add(failed);
        calls.saturating_sub(self.header.records).saturating_sub(kept_back).saturating_add(untracked)
    }

    /// Calls made while the program had paused recording.
    pub fn paused(&self) -> u64 {
        self.threads().iter().fold(0, |sum, thread| sum.saturating_add(thread.paused))
    }

    /// The run metadata as this rank saw it.
    pub fn metadata(&self) -> metadata::Metadata {
        metadata::decode(&self.map[self.metadata.clone()]).unwrap_or_default()
    }

    /// The communicators that this rank knew, in the order in which it met them.
    pub fn communicators(&self) -> &[CommunicatorEntry] {
        self.typed(&self.communicators)
    }

    /// The operations that this rank took part in, in the order of their first calls.
    pub fn operations(&self) -> &[OperationEntry] {
        self.typed(&self.operations)
    }

    /// The threads that made calls.
    pub fn threads(&self) -> &[ThreadEntry] {
        self.typed(&self.threads)
    }

    /// Which thread made which records: the runs follow each other.
    pub fn runs(&self) -> &[RunEntry] {
        self.typed(&self.runs)
    }

    /// Ticks at the entry of each call.
    pub fn enter(&self) -> &[u64] {
        self.typed(&self.columns[0].bytes)
    }

    /// Ticks at the exit of each call; 0: it did not return.
    pub fn exit(&self) -> &[u64] {
        self.typed(&self.columns[1].bytes)
    }

    /// Each call's position on its communicator.
    pub fn position(&self) -> &[u64] {
        self.typed(&self.columns[2].bytes)
    }

    /// How many calls of the same operation this rank had begun before.
    pub fn repetition(&self) -> &[u64] {
        self.typed(&self.columns[3].bytes)
    }

    /// Index of each call's operation, with [`DISTURBED`], [`INTERRUPTED`] and [`INTERRUPTED_BEFORE`].
    pub fn operation(&self) -> &[u32] {
        self.typed(&self.columns[4].bytes)
    }

    /// What is known of the request of each call; `None` where no call of this rank had one.
    pub fn requests(&self) -> Option<Requests<'_>> {
        let column = |index: usize| {
            let (name, size) = REQUEST_COLUMNS[index];
            self.columns.iter().find(|column| column.name == name && column.element_size == size)
        };
        Some(Requests {
            init: self.typed(&column(0)?.bytes),
            test: self.typed(&column(1)?.bytes),
            wait: self.typed(&column(2)?.bytes),
            tests: self.typed(&column(3)?.bytes),
        })
    }

    /// The counters that this rank was asked for.
    pub fn counters(&self) -> &[CounterEntry] {
        self.typed(&self.counters)
    }

    /// The counters that could be had: their names, and a value for each call.
    pub fn counter_values(&self) -> impl Iterator<Item = (String, &[u64])> {
        self.counters().iter().filter_map(|counter| Some((self.text(counter.name)?, self.counter(counter)?)))
    }

    /// The values of a counter, one for each call; `None` where it could not be had.
    pub fn counter(&self, counter: &CounterEntry) -> Option<&[u64]> {
        let name = counter_column(counter.column.checked_sub(1)? as usize);
        let column = self.columns.iter().find(|column| column.name == name && column.element_size == 8)?;
        Some(self.typed(&column.bytes))
    }

    /// The synchronisations of the clocks, on leaders of a clock domain.
    pub fn syncs(&self) -> &[SyncEntry] {
        self.typed(&self.syncs)
    }

    /// What they have learnt of the pairs that this rank keeps.
    pub fn probes(&self) -> &[ProbeEntry] {
        self.typed(&self.probes)
    }

    /// The interruptions that have an entry, in the order of their records; those before a call come before those in it.
    pub fn interruptions(&self) -> &[InterruptionEntry] {
        self.typed(&self.interruptions)
    }

    /// The interruptions in a call, and before it since its thread's kept call before; none has an entry where the table
    /// was full ([`ThreadEntry::unlisted`]), while the flags of `operation` are always there.
    pub fn interruptions_of(&self, record: u32) -> &[InterruptionEntry] {
        let all = self.interruptions();
        let first = all.partition_point(|entry| entry.record < u64::from(record));
        let behind = all[first..].partition_point(|entry| entry.record == u64::from(record));
        &all[first..first + behind]
    }

    /// Under a pretended clock the true ticks of each call's entry and exit.
    pub fn true_ticks(&self) -> Option<[&[u64]; 2]> {
        let column = |index: usize| {
            let (name, size) = TRUE_COLUMNS[index];
            self.columns.iter().find(|column| column.name == name && column.element_size == size)
        };
        Some([self.typed(&column(0)?.bytes), self.typed(&column(1)?.bytes)])
    }

    /// The text behind a string reference.
    pub fn text(&self, reference: u32) -> Option<String> {
        strings::text(&self.map[self.strings.clone()], reference)
    }

    fn typed<T: Pod>(&self, range: &Range<usize>) -> &[T] {
        // Size and alignment were checked when the part was opened.
        bytemuck::cast_slice(&self.map[range.clone()])
    }
}
