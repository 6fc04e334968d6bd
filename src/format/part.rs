//! Writes a rank's part of a trace: its header, a directory, and page-aligned sections with a checksum each.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use bytemuck::Zeroable;

use crate::layout::*;

/// What one rank contributes to a trace, as slices of wherever it lies.
#[derive(Debug)]
pub struct Content<'a> {
    /// What is known of the rank.
    pub rank: RankHeader,
    /// Whether the rank did not reach Finalize, or records of it were lost.
    pub incomplete: bool,
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
    /// [`CounterEntry`]s.
    pub counters: &'a [u8],
    /// [`SyncEntry`]s.
    pub syncs: &'a [u8],
    /// [`ProbeEntry`]s.
    pub probes: &'a [u8],
    /// In the order of their records.
    pub interruptions: Vec<InterruptionEntry>,
    /// Which thread each chunk of records is of.
    pub runs: Vec<RunEntry>,
    /// The columns, all with the same number of elements.
    pub columns: Vec<Column<'a>>,
}

/// One column in as many slices as the records lie in.
#[derive(Debug)]
pub struct Column<'a> {
    /// Zero-padded UTF-8.
    pub name: [u8; 32],
    /// Bytes per record.
    pub element_size: u32,
    /// The values, in order.
    pub slices: Vec<Cow<'a, [u8]>>,
}

impl Content<'_> {
    /// Records kept.
    pub fn records(&self) -> u64 {
        self.runs.iter().map(|run| run.count).sum()
    }

    /// Bytes that the part will take in a trace, a multiple of [`PAGE`].
    pub fn length(&self) -> u64 {
        self.directory().1
    }

    /// Writes the part at `offset` of the file.
    pub fn write_at(&self, file: &File, offset: u64) -> io::Result<()> {
        let (mut directory, length) = self.directory();
        for (entry, slices) in directory.iter_mut().zip(self.sections()) {
            let mut crc = crc32fast::Hasher::new();
            let mut position = offset + entry.offset;
            for slice in slices.2 {
                crc.update(slice);
                file.write_all_at(slice, position)?;
                position += slice.len() as u64;
            }
            entry.crc = crc.finalize();
        }
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
        // The last page is written to its end, so that a part is never cut short by a sparse tail.
        let end = directory
            .last()
            .map_or(start.len() as u64, |entry| entry.offset + entry.count * u64::from(entry.element_size));
        file.write_all_at(&vec![0; (length - end) as usize], offset + end)
    }

    /// The sections' places, checksums still 0, and the length of the part.
    fn directory(&self) -> (Vec<SectionEntry>, u64) {
        let sections = self.sections();
        let mut position = (size_of::<PartHeader>() + sections.len() * size_of::<SectionEntry>()) as u64;
        let mut directory = Vec::with_capacity(sections.len());
        for ((kind, element_size), name, slices) in sections {
            let bytes: u64 = slices.iter().map(|slice| slice.len() as u64).sum();
            position = round_up(position, SECTION_ALIGNMENT);
            directory.push(SectionEntry {
                kind,
                element_size,
                offset: position,
                count: bytes / u64::from(element_size),
                name,
                ..SectionEntry::zeroed()
            });
            position += bytes;
        }
        (directory, round_up(position, PAGE))
    }

    #[allow(clippy::type_complexity, reason = "read by two functions of this file only")]
    fn sections(&self) -> Vec<((u32, u32), [u8; 32], Vec<&[u8]>)> {
        let table = |kind, size: usize, bytes| ((kind, size as u32), [0; 32], vec![bytes]);
        let mut sections = vec![
            table(section::FACTORS, 1, self.metadata),
            table(section::STRINGS, 1, self.strings),
            table(section::COMMUNICATORS, size_of::<CommunicatorEntry>(), self.communicators),
            table(section::OPERATIONS, size_of::<OperationEntry>(), self.operations),
            table(section::THREADS, size_of::<ThreadEntry>(), self.threads),
            table(section::RUNS, size_of::<RunEntry>(), bytemuck::cast_slice(&self.runs)),
        ];
        let optional = [
            (section::COUNTERS, size_of::<CounterEntry>(), self.counters),
            (section::SYNCS, size_of::<SyncEntry>(), self.syncs),
            (section::PROBES, size_of::<ProbeEntry>(), self.probes),
            (section::INTERRUPTIONS, size_of::<InterruptionEntry>(), bytemuck::cast_slice(&self.interruptions)),
        ];
        sections.extend(
            optional
                .into_iter()
                .filter(|(_, _, bytes)| !bytes.is_empty())
                .map(|(kind, size, bytes)| table(kind, size, bytes)),
        );
        for column in &self.columns {
            let slices = column.slices.iter().map(AsRef::as_ref).collect();
            sections.push(((section::COLUMN, column.element_size), column.name, slices));
        }
        sections
    }
}

/// The checksum of a part's header and directory.
pub fn checksum(header: &PartHeader, directory: &[SectionEntry]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(bytemuck::bytes_of(&PartHeader { crc: 0, ..*header }));
    crc.update(bytemuck::cast_slice(directory));
    crc.finalize()
}
