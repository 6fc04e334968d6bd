//! Writes a rank's part of a trace: its header, a directory, and page-aligned sections with a checksum each.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use bytemuck::Zeroable;

use crate::layout::*;
use crate::spilled::Spilled;

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
    pub operations: Cow<'a, [u8]>,
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
    /// The calls that were not kept, in order.
    pub histograms: Vec<HistogramEntry>,
    /// Which thread each chunk of records is of.
    pub runs: Vec<RunEntry>,
    /// The columns, all with the same number of elements.
    pub columns: Vec<Column<'a>>,
    /// Where records were spilled: the values of the columns, which have no slices then.
    pub spilled: Option<Spilled>,
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
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_at(&self, file: &File, offset: u64) -> io::Result<()> {
        let (mut directory, length, end) = self.directory();
        for (entry, slices) in directory.iter_mut().zip(self.sections()) {
            if entry.encoding != encoding::PLAIN {
                continue;
            }
            let mut crc = crc32fast::Hasher::new();
            let mut position = offset + entry.offset;
            for slice in slices.2 {
                crc.update(slice);
                file.write_all_at(slice, position)?;
                position += slice.len() as u64;
            }
            entry.crc = crc.finalize();
        }
        if let Some(spilled) = &self.spilled {
            let packed = directory.iter_mut().filter(|entry| entry.encoding != encoding::PLAIN);
            let mut packed: Vec<&mut SectionEntry> = packed.collect();
            let starts: Vec<u64> = packed.iter().map(|entry| offset + entry.offset).collect();
            let sums = spilled.write_at(file, &self.element_sizes(), &starts)?;
            packed.iter_mut().zip(sums).for_each(|(entry, crc)| entry.crc = crc);
        }
        let mut header = PartHeader {
            magic: PART_MAGIC,
            version: self.version(),
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
        file.write_all_at(&vec![0; (length - end) as usize], offset + end)
    }

    /// [`VERSION`], or [`PACKED_VERSION`] where its columns are packed.
    pub fn version(&self) -> u32 {
        if self.spilled.is_some() { PACKED_VERSION } else { VERSION }
    }

    /// Bytes per record of each column.
    fn element_sizes(&self) -> Vec<u32> {
        self.columns.iter().map(|column| column.element_size).collect()
    }

    /// The sections' places, checksums still 0, the length of the part, and where its last section ends.
    fn directory(&self) -> (Vec<SectionEntry>, u64, u64) {
        let sections = self.sections();
        let mut packed = self.spilled.as_ref().map(|spilled| spilled.lengths(&self.element_sizes()).into_iter());
        let mut position = (size_of::<PartHeader>() + sections.len() * size_of::<SectionEntry>()) as u64;
        let mut directory = Vec::with_capacity(sections.len());
        for ((kind, element_size), name, slices) in sections {
            let plain: u64 = slices.iter().map(|slice| slice.len() as u64).sum();
            let packed = packed.as_mut().filter(|_| kind == section::COLUMN).and_then(Iterator::next);
            let (encoding, bytes, count) = match packed {
                Some(bytes) => (encoding::BLOCKS, bytes, self.records()),
                None => (encoding::PLAIN, plain, plain / u64::from(element_size)),
            };
            position = round_up(position, SECTION_ALIGNMENT);
            directory.push(SectionEntry {
                kind,
                element_size,
                encoding,
                offset: position,
                count,
                name,
                ..SectionEntry::zeroed()
            });
            position += bytes;
        }
        (directory, round_up(position, PAGE), position)
    }

    #[allow(clippy::type_complexity, reason = "read by two functions of this file only")]
    fn sections(&self) -> Vec<((u32, u32), [u8; 32], Vec<&[u8]>)> {
        let table = |kind, size: usize, bytes| ((kind, size as u32), [0; 32], vec![bytes]);
        let mut sections = vec![
            table(section::FACTORS, 1, self.metadata),
            table(section::STRINGS, 1, self.strings),
            table(section::COMMUNICATORS, size_of::<CommunicatorEntry>(), self.communicators),
            table(section::OPERATIONS, size_of::<OperationEntry>(), &self.operations),
            table(section::THREADS, size_of::<ThreadEntry>(), self.threads),
            table(section::RUNS, size_of::<RunEntry>(), bytemuck::cast_slice(&self.runs)),
        ];
        let optional = [
            (section::COUNTERS, size_of::<CounterEntry>(), self.counters),
            (section::SYNCS, size_of::<SyncEntry>(), self.syncs),
            (section::PROBES, size_of::<ProbeEntry>(), self.probes),
            (section::INTERRUPTIONS, size_of::<InterruptionEntry>(), bytemuck::cast_slice(&self.interruptions)),
            (section::HISTOGRAMS, size_of::<HistogramEntry>(), bytemuck::cast_slice(&self.histograms)),
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
