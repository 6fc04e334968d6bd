//! A column in blocks: where they lie.

use std::ops::Range;

use crate::layout::{BlockEntry, BlocksHeader};

/// The blocks of a column, by their places in the file.
#[derive(Debug)]
pub struct PackedSection {
    /// Records of a block.
    pub records: usize,
    /// The header and the index.
    pub head: Range<usize>,
    /// Of each block.
    pub blocks: Vec<(Range<usize>, u32)>,
}

impl PackedSection {
    /// Finds the blocks of the column with `count` elements that begins at `start` of `bytes`; the error completes "the
    /// part of rank N ...".
    ///
    /// # Errors
    /// A section that exceeds the part, or has a wrong number of blocks.
    pub fn of(bytes: &[u8], start: usize, count: u64) -> Result<PackedSection, &'static str> {
        const OUTSIDE: &str = "has a section that exceeds it";
        let of_section = bytes.get(start..).ok_or(OUTSIDE)?;
        let header = of_section.get(..size_of::<BlocksHeader>()).ok_or(OUTSIDE)?;
        let header: BlocksHeader = bytemuck::pod_read_unaligned(header);
        let length = usize::try_from(header.length).map_err(|_| OUTSIDE)?;
        let of_section = of_section.get(..length).ok_or(OUTSIDE)?;
        if header.records == 0 || count.div_ceil(header.records.into()) != u64::from(header.blocks) {
            return Err("has a section with a wrong number of blocks");
        }
        let index_end = (header.blocks as usize)
            .checked_mul(size_of::<BlockEntry>())
            .and_then(|index| index.checked_add(size_of::<BlocksHeader>()))
            .ok_or(OUTSIDE)?;
        let index = of_section.get(size_of::<BlocksHeader>()..index_end).ok_or(OUTSIDE)?;
        let mut blocks = Vec::with_capacity(header.blocks as usize);
        for entry in index.chunks_exact(size_of::<BlockEntry>()) {
            let entry: BlockEntry = bytemuck::pod_read_unaligned(entry);
            let from = usize::try_from(entry.offset).map_err(|_| OUTSIDE)?;
            let place = from..from.checked_add(entry.length as usize).ok_or(OUTSIDE)?;
            of_section.get(place.clone()).ok_or(OUTSIDE)?;
            blocks.push((start + place.start..start + place.end, entry.crc));
        }
        Ok(PackedSection { records: header.records as usize, head: start..start + index_end, blocks })
    }
}

/// The bytes of a section with these blocks, and the checksum of its header and its index.
pub fn bytes_of_section(records: usize, blocks: &[Vec<u8>]) -> (Vec<u8>, u32) {
    let head = size_of::<BlocksHeader>() + blocks.len() * size_of::<BlockEntry>();
    let length = head + blocks.iter().map(Vec::len).sum::<usize>();
    let header = BlocksHeader { length: length as u64, records: records as u32, blocks: blocks.len() as u32 };
    let mut bytes = Vec::with_capacity(length);
    bytes.extend_from_slice(bytemuck::bytes_of(&header));
    let mut offset = head;
    for block in blocks {
        let (length, crc) = (block.len() as u32, crc32fast::hash(block));
        bytes.extend_from_slice(bytemuck::bytes_of(&BlockEntry { offset: offset as u64, length, crc }));
        offset += block.len();
    }
    let crc = crc32fast::hash(&bytes);
    blocks.iter().for_each(|block| bytes.extend_from_slice(block));
    (bytes, crc)
}
