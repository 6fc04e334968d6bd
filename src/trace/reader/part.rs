//! The record of one rank: its tables and columns, where they lie in the mapped file.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytemuck::Pod;
use memmap2::Mmap;
use mpitrace_format::layout::*;
use mpitrace_format::packed::Numbering;
use mpitrace_format::{metadata, strings};

use super::decoded::Decoded;
use super::derived::Derived;

/// No part has more sections: one of each kind. Each of them could be the whole part.
pub(super) const MOST_SECTIONS: usize = 32;

/// Where a block lies, and which records are in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockPlace {
    /// Bytes from the start of the file.
    pub start: usize,
    /// Records of the part before it.
    pub first: usize,
}

/// The record of one rank.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// # mpitrace_testing::synthetic::write_example(&path)?;
/// use mpitrace_format::layout::partner;
/// use mpitrace_trace::reader::Trace;
///
/// let trace = Trace::open(&[path])?;
/// let part = &trace.parts[1];
/// assert_eq!((part.rank(), part.info().world_size, part.records()), (1, 2, 11));
/// // All calls are there.
/// assert!(!part.incomplete() && !part.lacks_calls());
/// assert_eq!((part.dropped(), part.lost(), part.paused()), (0, 0, 0));
/// assert_eq!(part.metadata(), [("program".to_owned(), "app".to_owned())]);
/// // The tables; each text is a reference.
/// let [allreduce, barrier] = part.operations() else { panic!("two operations") };
/// assert_eq!(part.text(barrier.function).as_deref(), Some("MPI_Ibarrier"));
/// assert_eq!((allreduce.calls, allreduce.bytes, part.communicators()[0].size), (10, 8, 2));
/// // One thread has made all calls; it was 300 ticks in message calls, with rank 0.
/// assert_eq!((part.threads().len(), part.runs()[0].count, part.waits_are_stamped()), (1, 11, true));
/// assert!(part.init_thread().is_some_and(|(thread, times)| thread == 0 && times.ticks.iter().sum::<u64>() == 300));
/// assert_eq!((part.thread_times().len(), part.last_stamps().len(), part.awaited(0).len()), (1, 0, 0));
/// assert_eq!((part.partners()[0].partner, part.partners()[0].ticks), (partner::known(0, 0), 300));
/// // Of the rest there is nothing in this trace.
/// assert_eq!((part.counters().len(), part.syncs().len(), part.probes().len()), (0, 0, 0));
/// assert_eq!((part.interruptions().len(), part.interruptions_of(3).len(), part.histograms().len()), (0, 0, 0));
/// assert_eq!((part.finalize_enter(), part.rank_times().finalize_enter), (None, 0));
/// assert!(part.finalize_times().is_none() && part.polls().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Part {
    pub(crate) map: Arc<Mmap>,
    pub(crate) header: PartHeader,
    /// Where the sections lie in the file, by kind.
    pub(super) sections: [Range<usize>; MOST_SECTIONS],
    /// The columns of the records: their names and numbers.
    pub(super) columns: Vec<(String, u32)>,
    /// The data from which the numbers of calls follow.
    pub(super) numbering: Numbering,
    /// Where the blocks lie, and where the last one ends.
    pub(super) places: Vec<BlockPlace>,
    pub(super) blocks_end: usize,
    pub(super) runs: Vec<RunEntry>,
    pub(super) decoded: Decoded,
    pub(super) derived: OnceLock<Derived>,
}

impl Part {
    /// The world rank.
    pub fn rank(&self) -> u32 {
        self.header.rank.rank
    }

    /// The header with all that is known of the rank.
    pub fn info(&self) -> &RankHeader {
        &self.header.rank
    }

    /// True if the rank did not reach Finalize, or records of it were lost.
    pub fn incomplete(&self) -> bool {
        self.header.incomplete != 0
    }

    /// Calls kept.
    pub fn records(&self) -> usize {
        self.header.records as usize
    }

    /// Calls not kept since the arrays were full: those counted, less those kept, those made while paused and those
    /// that were lost; and those that could not be counted since the tables were full.
    pub fn dropped(&self) -> u64 {
        let untracked = self.threads().iter().fold(0u64, |sum, thread| sum.saturating_add(thread.untracked));
        self.counted_only().saturating_sub(self.lost_of_counted()).saturating_add(untracked)
    }

    /// Calls whose records were lost when the process was killed: those in memory for which the folder of the segment
    /// had no room.
    pub fn lost(&self) -> u64 {
        self.lost_of_counted().saturating_add(self.lost_records().without_operation)
    }

    /// The records that were lost, as far as that is known.
    pub(crate) fn lost_records(&self) -> LostRecords {
        self.table(section::LOST).first().copied().unwrap_or_default()
    }

    /// True if the rank has not kept all of the calls that it made, or has lost some.
    pub fn lacks_calls(&self) -> bool {
        self.dropped() > 0 || self.paused() > 0 || self.lost() > 0
    }

    /// Calls that were counted without a record that is here.
    fn counted_only(&self) -> u64 {
        let calls = self.operations().iter().fold(0u64, |sum, operation| sum.saturating_add(operation.calls));
        let failed = self.threads().iter().fold(0u64, |sum, thread| sum.saturating_add(thread.failed_in_place));
        calls.saturating_sub(self.header.records).saturating_sub(self.paused().saturating_add(failed))
    }

    /// The calls of them that were lost: the arrays have counted what they have not kept.
    fn lost_of_counted(&self) -> u64 {
        let timed = self.operations().iter().fold(0u64, |sum, operation| sum.saturating_add(operation.timed));
        if self.lost_records().are_any() { self.counted_only().saturating_sub(timed) } else { 0 }
    }

    /// Calls made while the program had paused recording.
    pub fn paused(&self) -> u64 {
        self.threads().iter().fold(0, |sum, thread| sum.saturating_add(thread.paused))
    }

    /// The run metadata as this rank saw it.
    pub fn metadata(&self) -> metadata::Metadata {
        metadata::decode(self.section(section::FACTORS)).unwrap_or_default()
    }

    /// The communicators that this rank knew, in the order in which it met them.
    pub fn communicators(&self) -> &[CommunicatorEntry] {
        self.table(section::COMMUNICATORS)
    }

    /// The operations that this rank took part in, in the order of their first calls.
    pub fn operations(&self) -> &[OperationEntry] {
        self.table(section::OPERATIONS)
    }

    /// The threads that made calls.
    pub fn threads(&self) -> &[ThreadEntry] {
        self.table(section::THREADS)
    }

    /// The times of the rank; 0 where they are not known.
    pub fn rank_times(&self) -> RankTimes {
        self.table(section::RANK_TIMES).first().copied().unwrap_or_default()
    }

    /// The tick at the entry of MPI_Finalize; `None`: it was not entered.
    pub fn finalize_enter(&self) -> Option<u64> {
        Some(self.rank_times().finalize_enter).filter(|&tick| tick > 0)
    }

    /// How long MPI_Finalize took, ticks; `None`: not known.
    pub fn finalize_times(&self) -> Option<FinalizeTimes> {
        let stored: &[FinalizeTimes] = self.table(section::FINALIZE_TIMES);
        stored.first().copied().filter(|times| times.whole != 0 && times.library <= times.whole)
    }

    /// The sums of the threads.
    pub fn thread_times(&self) -> &[ThreadTimes] {
        self.table(section::THREAD_TIMES)
    }

    /// The last stamps of the threads outside of the records, by index; none where that was not stored.
    pub fn last_stamps(&self) -> &[LastStamp] {
        self.table(section::LAST_STAMPS)
    }

    /// The polls of the threads, by index; none where none were stored.
    pub fn polls(&self) -> &[PollTimes] {
        self.table(section::POLLS)
    }

    /// True if calls that can wait had time stamps.
    pub fn waits_are_stamped(&self) -> bool {
        self.rank_times().flags & rank_times_flags::STAMPED != 0
    }

    /// The messages that a thread waits for in the call that it is in: by the index of the thread. None where it is in
    /// no call that waits for messages, or has not stored yet for which.
    pub fn awaited(&self, thread: usize) -> &[AwaitedMessage] {
        let (Some(entry), Some(times)) = (self.threads().get(thread), self.thread_times().get(thread)) else {
            return &[];
        };
        let is_of_call = |message: &AwaitedMessage| {
            message.flags & (awaited::RECEIVE | awaited::SEND | awaited::WINDOW) != 0
                && message.flags & awaited::CALL == entry.activity & awaited::CALL
        };
        let is_in_call = matches!(activity::decoded(entry.activity).0, activity::POINT_TO_POINT | activity::OTHER_MPI);
        let known = times.awaits.iter().take_while(|message| is_of_call(message)).count();
        let ends = times.awaits[..known].iter().position(|message| message.flags & awaited::MORE == 0);
        if is_in_call { &times.awaits[..ends.map_or(0, |last| last + 1)] } else { &[] }
    }

    /// The time with each partner, and what was sent to it; none where calls that can wait were not stamped.
    pub fn partners(&self) -> &[PartnerEntry] {
        self.table(section::PARTNERS)
    }

    /// The thread that called MPI_Init, with its sums; `None`: not known.
    pub fn init_thread(&self) -> Option<(u32, &ThreadTimes)> {
        let thread = self.rank_times().thread.checked_sub(1)?;
        Some((thread, self.thread_times().get(thread as usize)?))
    }

    /// Which thread made which records: the runs follow each other.
    pub fn runs(&self) -> &[RunEntry] {
        &self.runs
    }

    /// The counters that this rank was asked for.
    pub fn counters(&self) -> &[CounterEntry] {
        self.table(section::COUNTERS)
    }

    /// The synchronisations of the clocks, on leaders of a clock domain.
    pub fn syncs(&self) -> &[SyncEntry] {
        self.table(section::SYNCS)
    }

    /// The results that they have learnt of the pairs that this rank keeps.
    pub fn probes(&self) -> &[ProbeEntry] {
        self.table(section::PROBES)
    }

    /// The interruptions that have an entry, in the order of their records; those before a call come before those in
    /// it. The last ones may have no record ([`NO_RECORD`]).
    pub fn interruptions(&self) -> &[InterruptionEntry] {
        self.table(section::INTERRUPTIONS)
    }

    /// The calls that were not kept, by histogram and bucket, in order ([`OperationEntry::histogram`]).
    pub fn histograms(&self) -> &[HistogramEntry] {
        self.table(section::HISTOGRAMS)
    }

    /// The interruptions in a call, and before it since its thread's kept call before; none has an entry where the
    /// table was full ([`ThreadEntry::unlisted`]), while the flags of `operation` are always there.
    pub fn interruptions_of(&self, record: u32) -> &[InterruptionEntry] {
        let all = self.interruptions();
        let first = all.partition_point(|entry| entry.record < u64::from(record));
        let behind = all[first..].partition_point(|entry| entry.record == u64::from(record));
        &all[first..first + behind]
    }

    /// The text behind a string reference.
    pub fn text(&self, reference: u32) -> Option<String> {
        strings::text(self.section(section::STRINGS), reference)
    }

    /// All texts that the tables of the rank may refer to: the names of the MPI functions that it has called are among
    /// them, recorded or not.
    pub(crate) fn texts(&self) -> impl Iterator<Item = String> + '_ {
        let area = self.section(section::STRINGS);
        let next = |reference: &u64| Some(reference + strings::space(strings::bytes(area, *reference as u32)?.len()));
        let references = std::iter::successors(Some(strings::FIRST), next);
        references.map_while(|reference| strings::text(area, u32::try_from(reference).ok()?))
    }

    pub(super) fn section(&self, kind: u32) -> &[u8] {
        &self.map[self.sections[kind as usize].clone()]
    }

    pub(super) fn table<T: Pod>(&self, kind: u32) -> &[T] {
        // Size and alignment were checked when the part was opened.
        bytemuck::cast_slice(self.section(kind))
    }
}
