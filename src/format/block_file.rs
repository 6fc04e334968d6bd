//! A block file of a rank: the blocks of full chunks that were written out while the program ran, in the order in which
//! this happened. It lies in the segment's folder or beside the trace until that is written, and takes the blocks as they
//! are.
//!
//! A block counts if it is whole, by its checksum, and all those before it are.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use bytemuck::{Pod, Zeroable};

use crate::layout::*;
use crate::packed::{Block, BlockHeader, LONGEST_BLOCK, Numbering};

/// First bytes of a block file.
pub const BLOCK_FILE_MAGIC: [u8; 8] = *b"MPITBLOK";

/// The start of a block file. It names the process, as the segment does.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct BlockFileHeader {
    /// [`BLOCK_FILE_MAGIC`].
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
}

impl BlockFileHeader {
    /// That of the process of which this is known.
    pub fn new(rank: &RankHeader) -> BlockFileHeader {
        BlockFileHeader {
            magic: BLOCK_FILE_MAGIC,
            version: VERSION,
            byte_order: BYTE_ORDER_MARK,
            boot_id: rank.boot_id,
            pid: rank.pid,
            rank: rank.rank,
            first_tick: rank.first_anchor.tick,
        }
    }

    /// True if a file is of the process of which this is known.
    pub fn is_in(file: &File, rank: &RankHeader) -> bool {
        let mut header = BlockFileHeader::zeroed();
        let read = file.read_exact_at(bytemuck::bytes_of_mut(&mut header), 0);
        read.is_ok() && header == BlockFileHeader::new(rank)
    }
}

/// The blocks of a file, one after the other. It needs memory for a few of them.
pub struct BlockReader<'f> {
    file: &'f File,
    numbering: &'f Numbering,
    /// Where in the file `buffer` ends.
    position: u64,
    buffer: Vec<u8>,
    /// Bytes of it that were given out.
    used: usize,
}

impl<'f> BlockReader<'f> {
    /// Bytes that are read at once.
    const STEP: usize = 1 << 18;

    /// The blocks of a file of the process of which this is known.
    ///
    /// # Errors
    /// The file cannot be read; `InvalidData`: it is another process', or no block file.
    pub fn new(file: &'f File, rank: &RankHeader, numbering: &'f Numbering) -> io::Result<BlockReader<'f>> {
        if !BlockFileHeader::is_in(file, rank) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let position = size_of::<BlockFileHeader>() as u64;
        Ok(BlockReader { file, numbering, position, buffer: Vec::new(), used: 0 })
    }

    /// The next block and where it lies in the file; `None` where there is no other that is whole.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn next_block(&mut self) -> io::Result<Option<(u64, Block<'_>)>> {
        if !self.fill(size_of::<BlockHeader>())? {
            return Ok(None);
        }
        let header: BlockHeader = bytemuck::pod_read_unaligned(&self.buffer[self.used..][..size_of::<BlockHeader>()]);
        let length = header.length as usize;
        if length < size_of::<BlockHeader>() || length > LONGEST_BLOCK || !self.fill(length)? {
            return Ok(None);
        }
        let offset = self.position - (self.buffer.len() - self.used) as u64;
        let bytes = &self.buffer[self.used..][..length];
        self.used += length;
        Ok(Block::parse(bytes, self.numbering).filter(Block::has_its_checksum).map(|block| (offset, block)))
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
