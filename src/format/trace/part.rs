//! Writes a rank's part of a trace: its header, a directory, tables with a checksum each, and the records in blocks.
//!
//! ```
//! use mpitrace_format::layout::{PAGE, PartHeader};
//! use mpitrace_format::metadata::encode;
//! use mpitrace_format::packed::{Numbering, Rows};
//! use mpitrace_format::part::{Blocks, checksum, copy};
//! use mpitrace_testing::synthetic::SyntheticRank;
//!
//! // Two records become a block.
//! let rows = Rows {
//!     enter: vec![1000, 2000],
//!     exit: vec![1400, 2400],
//!     position: vec![0, 1],
//!     repetition: vec![0, 1],
//!     operation: vec![0, 0],
//!     others: Vec::new(),
//! };
//! let mut blocks = Blocks::default();
//! blocks.add(&rows, &Numbering::new(vec![0]), 1, 0);
//! assert!(blocks.records == 2 && blocks.length() > 0);
//! // The part of a rank with one call.
//! let mut rank = SyntheticRank::new(0, 1).stamped();
//! let barrier = rank.operation("MPI_Barrier", 0, 0);
//! rank.call(barrier, 1000, 3000);
//! let metadata = encode(&rank.metadata);
//! let content = rank.content(&metadata);
//! assert_eq!((content.records(), content.records_in_memory()[0].exit[0], content.length() % PAGE), (1, 3000, 0));
//! assert!(content.finalize_times_offset().is_some());
//! let (file, other) = (tempfile::tempfile()?, tempfile::tempfile()?);
//! content.write_at(&file, 0)?;
//! copy(&file, 0, &other, 0, content.length())?;
//! assert_eq!(other.metadata()?.len(), content.length());
//! let header = PartHeader { crc: 7, ..bytemuck::Zeroable::zeroed() };
//! assert_eq!(checksum(&header, &[]), checksum(&PartHeader { crc: 8, ..header }, &[]), "of all but itself");
//! # Ok::<(), std::io::Error>(())
//! ```

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytemuck::Zeroable;

use crate::layout::*;
use crate::packed::{Block, Numbering, Rows};

/// The contribution of one rank to a trace, as slices of wherever it lies.
#[derive(Debug)]
pub struct Content<'a> {
    /// The facts that are known of the rank.
    pub rank: RankHeader,
    /// True if the rank did not reach Finalize, or records of it were lost.
    pub incomplete: bool,
    /// The records of it that were lost.
    pub lost: LostRecords,
    /// The bytes of the run metadata ([`crate::metadata::encode`]).
    pub metadata: &'a [u8],
    /// The string area.
    pub strings: &'a [u8],
    /// [`CommunicatorEntry`]s.
    pub communicators: &'a [u8],
    /// [`OperationEntry`]s.
    pub operations: &'a [u8],
    /// [`ThreadEntry`]s.
    pub threads: &'a [u8],
    /// Sums of time.
    pub times: Times,
    /// The partners with calls or messages.
    pub partners: Vec<PartnerEntry>,
    /// [`CounterEntry`]s.
    pub counters: &'a [u8],
    /// [`SyncEntry`]s.
    pub syncs: &'a [u8],
    /// [`ProbeEntry`]s.
    pub probes: &'a [u8],
    /// In the order of their records.
    pub interruptions: Vec<InterruptionEntry>,
    /// The calls that were not kept, in order.
    pub histograms: Vec<HistogramEntry>,
    /// The columns that blocks may have; a part gets those that one has.
    pub columns: Vec<StoredColumn>,
    /// The records.
    pub blocks: Blocks,
    /// [`MessageEntry`]s.
    pub messages: &'a [u8],
    /// The records of message calls.
    pub message_blocks: Blocks,
}

/// Sums of time of a rank. Without `threads` there are none.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// The times of the rank.
    pub rank: RankTimes,
    /// The time of MPI_Finalize.
    pub finalize: FinalizeTimes,
    /// The times of each thread.
    pub threads: Vec<ThreadTimes>,
    /// The last stamp of each thread; empty where no thread has one.
    pub last: Vec<LastStamp>,
    /// The polls of each thread; empty where no thread has polled.
    pub polls: Vec<PollTimes>,
}

/// The blocks of a part, in order: in memory, and in block files.
#[derive(Debug, Default)]
pub struct Blocks {
    files: Vec<Arc<File>>,
    pieces: Vec<Piece>,
    /// Records in them.
    pub records: u64,
    /// The columns that any of them has: [`crate::packed::BlockHeader::columns`].
    columns: u64,
}

/// Some blocks, one behind the other.
#[derive(Debug)]
enum Piece {
    Memory(Vec<u8>),
    /// In the file of this number, from this place to that.
    Stored(usize, Range<u64>),
}

impl Blocks {
    /// Adds records, which are packed, behind those that are there.
    pub fn add(&mut self, rows: &Rows, numbering: &Numbering, draw: u64, thread: u32) {
        let bytes = rows.pack(numbering, draw, thread);
        if let Some(block) = Block::parse(&bytes, numbering) {
            self.count(&block);
        }
        match self.pieces.last_mut() {
            Some(Piece::Memory(before)) => before.extend_from_slice(&bytes),
            _ => self.pieces.push(Piece::Memory(bytes)),
        }
    }

    /// Adds a file, of which blocks are to be added.
    pub(crate) fn add_file(&mut self, file: Arc<File>) {
        self.files.push(file);
    }

    /// Adds a block that lies in the file that was added last, at this place.
    pub(crate) fn add_stored(&mut self, offset: u64, block: &Block<'_>) {
        self.count(block);
        let (file, end) = (self.files.len() - 1, offset + u64::from(block.header.length));
        match self.pieces.last_mut() {
            Some(Piece::Stored(before, range)) if *before == file && range.end == offset => range.end = end,
            _ => self.pieces.push(Piece::Stored(file, offset..end)),
        }
    }

    /// The records of those in memory, a block after the other.
    fn in_memory(&self, numbering: &Numbering) -> Vec<Rows> {
        let mut found = Vec::new();
        for piece in &self.pieces {
            let Piece::Memory(bytes) = piece else { continue };
            let mut rest = &bytes[..];
            while let Some(block) = Block::parse(rest, numbering) {
                found.extend(block.rows());
                rest = &rest[block.bytes().len()..];
            }
        }
        found
    }

    fn count(&mut self, block: &Block<'_>) {
        self.records += u64::from(block.header.records);
        self.columns |= block.header.columns;
    }

    /// Bytes of all of them.
    pub fn length(&self) -> u64 {
        let length = |piece: &Piece| match piece {
            Piece::Memory(bytes) => bytes.len() as u64,
            Piece::Stored(_, range) => range.end - range.start,
        };
        self.pieces.iter().map(length).sum()
    }

    /// Writes them behind each other.
    fn write_at(&self, to: &File, mut offset: u64) -> io::Result<()> {
        for piece in &self.pieces {
            match piece {
                Piece::Memory(bytes) => {
                    to.write_all_at(bytes, offset)?;
                    offset += bytes.len() as u64;
                }
                Piece::Stored(file, range) => {
                    let length = range.end - range.start;
                    copy(&self.files[*file], range.start, to, offset, length)?;
                    offset += length;
                }
            }
        }
        Ok(())
    }
}

/// Bytes that are copied at once.
const COPIED_AT_ONCE: usize = 1 << 18;

/// Copies a range of a file into another one. Neither file's position is used: processes may share the second one.
///
/// # Errors
/// A file cannot be read or written; `UnexpectedEof`: the first one ends before.
pub fn copy(from: &File, at: u64, to: &File, place: u64, length: u64) -> io::Result<()> {
    let mut bytes = vec![0; length.min(COPIED_AT_ONCE as u64) as usize];
    let mut copied = 0;
    while copied < length {
        let part = &mut bytes[..(length - copied).min(COPIED_AT_ONCE as u64) as usize];
        from.read_exact_at(part, at + copied)?;
        to.write_all_at(part, place + copied)?;
        copied += part.len() as u64;
    }
    Ok(())
}

impl Content<'_> {
    /// Records kept.
    pub fn records(&self) -> u64 {
        self.blocks.records
    }

    /// The records that were packed from memory, a block after the other.
    pub fn records_in_memory(&self) -> Vec<Rows> {
        let operations: &[OperationEntry] = bytemuck::cast_slice(self.operations);
        let numbering = Numbering::new(operations.iter().map(|operation| operation.communicator).collect());
        self.blocks.in_memory(&numbering)
    }

    /// Bytes that the part will take in a trace, a multiple of [`PAGE`].
    pub fn length(&self) -> u64 {
        round_up(self.directory(&self.columns_in_use()).1, PAGE)
    }

    /// Writes the part at `offset` of the file.
    ///
    /// # Errors
    /// The file cannot be written, or a block file not be read.
    pub fn write_at(&self, file: &File, offset: u64) -> io::Result<()> {
        let columns = self.columns_in_use();
        let (mut directory, end) = self.directory(&columns);
        let tables = self.tables(&columns);
        for (entry, (kind, _, bytes)) in directory.iter_mut().zip(&tables) {
            entry.crc = if *kind == section::FINALIZE_TIMES { 0 } else { crc32fast::hash(bytes) };
            file.write_all_at(bytes, offset + entry.offset)?;
        }
        for (entry, blocks) in directory[tables.len()..].iter().zip([&self.blocks, &self.message_blocks]) {
            blocks.write_at(file, offset + entry.offset)?;
        }
        let length = round_up(end, PAGE);
        let mut header = PartHeader {
            magic: PART_MAGIC,
            version: VERSION,
            length,
            sections: directory.len() as u32,
            incomplete: self.incomplete.into(),
            records: self.records(),
            rank: self.rank,
            ..PartHeader::zeroed()
        };
        header.crc = checksum(&header, &directory);
        let mut start = bytemuck::bytes_of(&header).to_vec();
        start.extend_from_slice(bytemuck::cast_slice(&directory));
        file.write_all_at(&start, offset)?;
        // The last page is written to its end, so that a part is never cut short by a sparse tail: from the last
        // section with bytes on, since an empty one behind it may begin where the page ends.
        let ends = directory.iter().filter(|entry| entry.count > 0).map(SectionEntry::end);
        let written = ends.fold(start.len() as u64, u64::max);
        file.write_all_at(&vec![0; (length - written) as usize], offset + written)
    }

    /// Where [`FinalizeTimes`] lie, bytes from the start of the part; `None`: the part has none.
    pub fn finalize_times_offset(&self) -> Option<u64> {
        let (directory, _) = self.directory(&self.columns_in_use());
        directory.iter().find(|entry| entry.kind == section::FINALIZE_TIMES).map(|entry| entry.offset)
    }

    fn columns_in_use(&self) -> Vec<StoredColumn> {
        let is_in_use = |column: &&StoredColumn| {
            (column.number as usize) < COLUMNS.len() || self.blocks.columns >> column.number & 1 != 0
        };
        self.columns.iter().filter(is_in_use).copied().collect()
    }

    /// The sections' places, checksums still 0, the blocks last, and where these end.
    fn directory(&self, columns: &[StoredColumn]) -> (Vec<SectionEntry>, u64) {
        let tables = self.tables(columns);
        let tables = tables.into_iter().map(|(kind, size, bytes)| (kind, size, bytes.len() as u64));
        let messages = (section::MESSAGE_BLOCKS, 1, self.message_blocks.length());
        let blocks = [(section::BLOCKS, 1, self.blocks.length())];
        let blocks = blocks.into_iter().chain((self.message_blocks.records > 0).then_some(messages));
        let sections: Vec<(u32, usize, u64)> = tables.chain(blocks).collect();
        let mut end = size_of::<PartHeader>() as u64 + sections.len() as u64 * size_of::<SectionEntry>() as u64;
        let mut directory = Vec::with_capacity(sections.len());
        for (kind, size, bytes) in sections {
            let offset = round_up(end, SECTION_ALIGNMENT);
            let element_size = size as u32;
            directory.push(SectionEntry { kind, element_size, offset, count: bytes / size as u64, crc: 0, padding: 0 });
            end = offset + bytes;
        }
        (directory, end)
    }

    fn of_threads<'s>(&self, bytes: &'s [u8]) -> &'s [u8] {
        if self.times.threads.is_empty() { &[] } else { bytes }
    }

    fn lost(&self) -> &[u8] {
        if self.lost.are_any() { bytemuck::bytes_of(&self.lost) } else { &[] }
    }

    /// Kind, element size and bytes of each table; those of the second half only where they are not empty.
    fn tables<'s>(&'s self, columns: &'s [StoredColumn]) -> Vec<(u32, usize, &'s [u8])> {
        let mut tables = vec![
            (section::FACTORS, 1, self.metadata),
            (section::STRINGS, 1, self.strings),
            (section::COMMUNICATORS, size_of::<CommunicatorEntry>(), self.communicators),
            (section::OPERATIONS, size_of::<OperationEntry>(), self.operations),
            (section::THREADS, size_of::<ThreadEntry>(), self.threads),
            (section::COLUMNS, size_of::<StoredColumn>(), bytemuck::cast_slice(columns)),
        ];
        let optional = [
            (section::COUNTERS, size_of::<CounterEntry>(), self.counters),
            (section::SYNCS, size_of::<SyncEntry>(), self.syncs),
            (section::PROBES, size_of::<ProbeEntry>(), self.probes),
            (section::INTERRUPTIONS, size_of::<InterruptionEntry>(), bytemuck::cast_slice(&self.interruptions)),
            (section::HISTOGRAMS, size_of::<HistogramEntry>(), bytemuck::cast_slice(&self.histograms)),
            (section::PARTNERS, size_of::<PartnerEntry>(), bytemuck::cast_slice(&self.partners)),
            (section::MESSAGES, size_of::<MessageEntry>(), self.messages),
            (section::RANK_TIMES, size_of::<RankTimes>(), self.of_threads(bytemuck::bytes_of(&self.times.rank))),
            (section::LOST, size_of::<LostRecords>(), self.lost()),
            (section::THREAD_TIMES, size_of::<ThreadTimes>(), bytemuck::cast_slice(&self.times.threads)),
            (
                section::FINALIZE_TIMES,
                size_of::<FinalizeTimes>(),
                self.of_threads(bytemuck::bytes_of(&self.times.finalize)),
            ),
            (section::LAST_STAMPS, size_of::<LastStamp>(), bytemuck::cast_slice(&self.times.last)),
            (section::POLLS, size_of::<PollTimes>(), bytemuck::cast_slice(&self.times.polls)),
        ];
        tables.extend(optional.into_iter().filter(|(_, _, bytes)| !bytes.is_empty()));
        tables
    }
}

/// The checksum of a part's header and directory.
pub fn checksum(header: &PartHeader, directory: &[SectionEntry]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(bytemuck::bytes_of(&PartHeader { crc: 0, ..*header }));
    crc.update(bytemuck::cast_slice(directory));
    crc.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_longer_than_what_is_copied_at_once_comes_whole() {
        let all: Vec<u8> =
            (0..3 * COPIED_AT_ONCE as u32).map(|at| (at.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect();
        let folder = tempfile::tempdir().unwrap();
        let open =
            |name| File::options().read(true).write(true).create_new(true).open(folder.path().join(name)).unwrap();
        let [from, to] = ["from", "to"].map(open);
        from.write_all_at(&all, 0).unwrap();
        let range = COPIED_AT_ONCE + 5..2 * COPIED_AT_ONCE + 105;
        copy(&from, range.start as u64, &to, 7, range.len() as u64).unwrap();
        let mut copied = vec![0; range.len()];
        to.read_exact_at(&mut copied, 7).unwrap();
        assert!(copied == all[range]);
    }
}
