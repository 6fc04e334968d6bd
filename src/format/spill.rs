//! The spill file of a rank: full chunks that were packed and written out while the program ran, in the order in which
//! this happened. It lies beside the trace until that is written.
//!
//! A unit is a chunk: its columns are those of a part, each of them packed as one block. A part takes the blocks as
//! they are. A unit counts if it is whole, by its checksum, and all those before it are.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use bytemuck::{Pod, Zeroable};

use crate::layout::*;

/// First bytes of a spill file.
pub const SPILL_MAGIC: [u8; 8] = *b"MPITSPIL";

/// The start of a spill file. It names the process, as the segment does.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct SpillHeader {
    /// [`SPILL_MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u32,
    /// [`BYTE_ORDER_MARK`].
    pub byte_order: u32,
    /// [`RankHeader::boot_id`].
    pub boot_id: [u8; 16],
    /// [`RankHeader::pid`].
    pub pid: u32,
    /// World rank.
    pub rank: u32,
    /// The tick of [`RankHeader::first_anchor`].
    pub first_tick: u64,
    /// Records of each unit.
    pub records: u64,
}

impl SpillHeader {
    /// That of the process whose segment has this header.
    pub fn of(segment: &SegmentHeader) -> SpillHeader {
        SpillHeader {
            magic: SPILL_MAGIC,
            version: VERSION,
            byte_order: BYTE_ORDER_MARK,
            boot_id: segment.rank.boot_id,
            pid: segment.rank.pid,
            rank: segment.rank.rank,
            first_tick: segment.rank.first_anchor.tick,
            records: segment.chunk_records,
        }
    }
}

/// The start of a unit. Behind it lie the lengths of its blocks, u32 each, then the blocks.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct UnitHeader {
    /// Bytes of the unit, this header included.
    pub length: u32,
    /// CRC-32 of the unit with this field as 0.
    pub crc: u32,
    /// The number of the chunk's draw.
    pub draw: u64,
    /// Index of the thread.
    pub thread: u32,
    /// [`chunk_flags`]: which of the columns that not every record uses are among the blocks.
    pub flags: u32,
    /// Blocks, one for each column.
    pub columns: u32,
    /// For later versions.
    pub padding: u32,
}

/// No unit is longer: all columns of the longest chunk, as they are.
const LONGEST_UNIT: usize = MAX_COLUMNS * (MAX_CHUNK_RECORDS as usize * 8 + 16) + 4096;

/// The bytes of a unit with these blocks.
pub fn unit(draw: u64, thread: u32, flags: u32, blocks: &[Vec<u8>]) -> Vec<u8> {
    let head = size_of::<UnitHeader>() + size_of_val(blocks) / size_of::<Vec<u8>>() * size_of::<u32>();
    let length = head + blocks.iter().map(Vec::len).sum::<usize>();
    let header =
        UnitHeader { length: length as u32, crc: 0, draw, thread, flags, columns: blocks.len() as u32, padding: 0 };
    let mut bytes = Vec::with_capacity(length);
    bytes.extend_from_slice(bytemuck::bytes_of(&header));
    blocks.iter().for_each(|block| bytes.extend_from_slice(&(block.len() as u32).to_le_bytes()));
    blocks.iter().for_each(|block| bytes.extend_from_slice(block));
    let crc = crc32fast::hash(&bytes);
    bytes[4..8].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// The units of a spill file, one after the other. It needs memory for a few of them.
pub struct Units<'f> {
    file: &'f File,
    /// Where in the file `buffer` ends.
    position: u64,
    buffer: Vec<u8>,
    /// What of it was given out.
    used: usize,
}

/// A unit, as it lies in the buffer.
pub struct Unit<'b> {
    /// What it is of.
    pub header: UnitHeader,
    bytes: &'b [u8],
}

impl<'f> Units<'f> {
    /// Bytes that are read at once.
    const STEP: usize = 1 << 20;

    /// The units of a file that begins with this header.
    ///
    /// # Errors
    /// The file cannot be read; `InvalidData`: it is another process', or no spill file.
    pub fn of(file: &'f File, expected: &SpillHeader) -> io::Result<Units<'f>> {
        let mut header = SpillHeader::zeroed();
        file.read_exact_at(bytemuck::bytes_of_mut(&mut header), 0)?;
        if header != *expected {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        Ok(Units { file, position: size_of::<SpillHeader>() as u64, buffer: Vec::new(), used: 0 })
    }

    /// The next unit; `None` where there is no other that is whole.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn next_unit(&mut self) -> io::Result<Option<Unit<'_>>> {
        if !self.fill(size_of::<UnitHeader>())? {
            return Ok(None);
        }
        let header: UnitHeader = bytemuck::pod_read_unaligned(&self.buffer[self.used..][..size_of::<UnitHeader>()]);
        let length = header.length as usize;
        let head = size_of::<UnitHeader>() + header.columns as usize * size_of::<u32>();
        if header.columns as usize > MAX_COLUMNS || length < head || length > LONGEST_UNIT || !self.fill(length)? {
            return Ok(None);
        }
        let bytes = &self.buffer[self.used..][..length];
        let mut crc = crc32fast::Hasher::new();
        crc.update(bytemuck::bytes_of(&UnitHeader { crc: 0, ..header }));
        crc.update(&bytes[size_of::<UnitHeader>()..]);
        let unit = Unit { header, bytes };
        let (blocks, end) = unit.blocks().fold((0, head), |(blocks, _), (_, end)| (blocks + 1, end));
        if crc.finalize() != header.crc || blocks != header.columns || end != length {
            return Ok(None);
        }
        self.used += length;
        Ok(Some(unit))
    }

    /// Reads until so many bytes are there. False: the file ends before.
    fn fill(&mut self, bytes: usize) -> io::Result<bool> {
        if self.buffer.len() - self.used >= bytes {
            return Ok(true);
        }
        self.buffer.drain(..self.used);
        self.used = 0;
        while self.buffer.len() < bytes {
            let before = self.buffer.len();
            self.buffer.resize(before + Self::STEP, 0);
            let read = loop {
                match self.file.read_at(&mut self.buffer[before..], self.position) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    read => break read?,
                }
            };
            self.buffer.truncate(before + read);
            self.position += read as u64;
            if read == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl<'b> Unit<'b> {
    /// The block of each column.
    pub fn columns(&self) -> impl Iterator<Item = &'b [u8]> {
        let bytes = self.bytes;
        self.blocks().map(move |(start, end)| &bytes[start..end])
    }

    /// Where each block begins and ends; none behind the unit's end.
    fn blocks(&self) -> impl Iterator<Item = (usize, usize)> + 'b {
        let head = size_of::<UnitHeader>();
        let all = head + self.header.columns as usize * size_of::<u32>();
        let (bytes, lengths): (&'b [u8], Range<usize>) = (self.bytes, head..all);
        let mut start = all;
        bytes[lengths].as_chunks::<4>().0.iter().map_while(move |length| {
            let end = start.checked_add(u32::from_le_bytes(*length) as usize).filter(|&end| end <= bytes.len())?;
            let place = (start, end);
            start = end;
            Some(place)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> SpillHeader {
        let mut segment = SegmentHeader { chunk_records: 16, ..SegmentHeader::zeroed() };
        segment.rank.pid = 77;
        SpillHeader::of(&segment)
    }

    /// Draws of the whole units of a file with these bytes.
    fn draws(bytes: &[u8]) -> Vec<u64> {
        let file = tempfile(bytes);
        let mut units = Units::of(&file, &header()).unwrap();
        let mut found = Vec::new();
        while let Some(unit) = units.next_unit().unwrap() {
            assert!(unit.columns().eq([&[unit.header.draw as u8; 3][..], &[], &[9]]));
            found.push(unit.header.draw);
        }
        found
    }

    /// A file that has no name.
    fn tempfile(bytes: &[u8]) -> File {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("mpitrace-spill-{}-{number}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        let file = File::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file
    }

    fn bytes(units: u64) -> Vec<u8> {
        let mut bytes = bytemuck::bytes_of(&header()).to_vec();
        for draw in 1..=units {
            bytes.extend(unit(draw, 0, 0, &[vec![draw as u8; 3], Vec::new(), vec![9]]));
        }
        bytes
    }

    #[test]
    fn the_units_before_one_that_is_not_whole_count() {
        let all = bytes(3);
        assert_eq!(draws(&all), [1, 2, 3]);
        let of_one = (all.len() - size_of::<SpillHeader>()) / 3;
        for length in size_of::<SpillHeader>()..all.len() {
            let whole = (length - size_of::<SpillHeader>()) / of_one;
            assert_eq!(draws(&all[..length]).len(), whole, "of {length} bytes");
        }
        for place in size_of::<SpillHeader>() + of_one..size_of::<SpillHeader>() + 2 * of_one {
            let mut changed = all.clone();
            changed[place] ^= 0x10;
            assert_eq!(draws(&changed), [1], "with byte {place} changed");
        }
    }

    #[test]
    fn another_process_file_is_refused() {
        let mut other = bytes(1);
        other[32] ^= 1;
        let file = tempfile(&other);
        assert_eq!(Units::of(&file, &header()).err().map(|error| error.kind()), Some(io::ErrorKind::InvalidData));
    }
}
