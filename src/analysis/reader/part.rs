//! What one rank recorded: its tables and columns, where they lie in the mapped file.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytemuck::Pod;
use memmap2::Mmap;
use mpitrace_format::layout::*;
use mpitrace_format::{metadata, strings};

use super::single::Identity;
use crate::packed::{Columns, PackedSection};

/// What one rank recorded.
#[derive(Debug)]
pub struct Part {
    pub(crate) map: Arc<Mmap>,
    pub(crate) header: PartHeader,
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
    pub(super) histograms: Range<usize>,
    pub(crate) columns: Vec<ColumnPlace>,
    /// What the values of packed columns follow from, where they are packed.
    pub(crate) packed: Option<Columns>,
    /// Whether [`Part::times`], [`Part::times_of`] and their like decode piece by piece.
    pub(crate) is_read_piecewise: bool,
    pub(super) identity: Identity,
}

/// Where a column lies.
#[derive(Debug)]
pub(crate) struct ColumnPlace {
    pub(crate) name: String,
    pub(crate) element_size: u32,
    pub(super) place: Place,
}

/// How it lies there.
#[derive(Debug)]
pub(super) enum Place {
    /// As it is.
    Plain(Range<usize>),
    /// In packed blocks; with its values, once they were decoded.
    Blocks(PackedSection, OnceLock<Values>),
}

/// The values of a packed column, by the size of an element.
#[derive(Debug)]
pub(super) enum Values {
    Of8(Vec<u64>),
    Of4(Vec<u32>),
}

impl ColumnPlace {
    /// The bytes of the section.
    pub(crate) fn bytes(&self) -> Range<usize> {
        match &self.place {
            Place::Plain(bytes) => bytes.clone(),
            Place::Blocks(section, _) => {
                let end = section.blocks.last().map_or(section.head.end, |(block, _)| block.end);
                section.head.start..end
            }
        }
    }

    /// Records of a block, where the column lies in blocks.
    pub(super) fn block_records(&self) -> Option<usize> {
        match &self.place {
            Place::Plain(_) => None,
            Place::Blocks(section, _) => Some(section.records),
        }
    }
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
        self.column(0)
    }

    /// Ticks at the exit of each call; 0: it did not return.
    pub fn exit(&self) -> &[u64] {
        self.column(1)
    }

    /// Each call's position on its communicator.
    pub fn position(&self) -> &[u64] {
        self.column(2)
    }

    /// How many calls of the same operation this rank had begun before.
    pub fn repetition(&self) -> &[u64] {
        self.column(3)
    }

    /// Index of each call's operation, with [`DISTURBED`], [`INTERRUPTED`] and [`INTERRUPTED_BEFORE`].
    pub fn operation(&self) -> &[u32] {
        self.column(4)
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
        Some(self.column(self.place_of_counter(counter)?))
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

    /// The calls that were not kept, by histogram and bucket, in order ([`OperationEntry::histogram`]).
    pub fn histograms(&self) -> &[HistogramEntry] {
        self.typed(&self.histograms)
    }

    /// The interruptions in a call, and before it since its thread's kept call before; none has an entry where the table
    /// was full ([`ThreadEntry::unlisted`]), while the flags of `operation` are always there.
    pub fn interruptions_of(&self, record: u32) -> &[InterruptionEntry] {
        let all = self.interruptions();
        let first = all.partition_point(|entry| entry.record < u64::from(record));
        let behind = all[first..].partition_point(|entry| entry.record == u64::from(record));
        &all[first..first + behind]
    }

    /// Under a simulated clock the true ticks of each call's entry and exit.
    pub fn true_ticks(&self) -> Option<[&[u64]; 2]> {
        let place = |index: usize| self.place(TRUE_COLUMNS[index]);
        Some([self.column(place(0)?), self.column(place(1)?)])
    }

    /// The text behind a string reference.
    pub fn text(&self, reference: u32) -> Option<String> {
        strings::text(&self.map[self.strings.clone()], reference)
    }

    /// The last tick of any call that was kept; 0 without one.
    pub fn last_tick(&self) -> u64 {
        let of_piece =
            |piece: super::blocks::Records| piece.times().iter().filter_map(|ticks| ticks.iter().copied().max()).max();
        self.pieces().filter_map(of_piece).max().unwrap_or(0)
    }

    pub(super) fn place_of_counter(&self, counter: &CounterEntry) -> Option<usize> {
        let name = counter_column(counter.column.checked_sub(1)? as usize);
        self.place((&name, 8))
    }

    pub(super) fn place(&self, (name, size): (&str, u32)) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name && column.element_size == size)
    }

    /// The values of a column; all blocks of a packed one are decoded at the first call.
    pub(super) fn column<T: Pod>(&self, index: usize) -> &[T] {
        match &self.columns[index].place {
            Place::Plain(bytes) => self.typed(bytes),
            // The element's size was checked when the column was looked for.
            Place::Blocks(_, values) => match values.get_or_init(|| self.decoded(index)) {
                Values::Of8(values) => bytemuck::cast_slice(values),
                Values::Of4(values) => bytemuck::cast_slice(values),
            },
        }
    }

    fn typed<T: Pod>(&self, range: &Range<usize>) -> &[T] {
        // Size and alignment were checked when the part was opened.
        bytemuck::cast_slice(&self.map[range.clone()])
    }
}
