//! A block file of a rank: the blocks of full chunks that were written out while the program ran, in the order in which
//! this happened. It lies in the segment's folder or beside the trace until that is written, and takes the blocks as
//! they are.
//!
//! A block counts if it is whole, by its checksum, and all those before it are.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
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
    /// The header of the block file of a process with this rank.
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

/// The blocks of a file, one after the other. It needs memory for one of them.
///
/// ```
/// use std::io::Write;
///
/// use bytemuck::Zeroable;
/// use mpitrace_format::block_file::{BlockFileHeader, BlockReader};
/// use mpitrace_format::layout::RankHeader;
/// use mpitrace_format::packed::Numbering;
///
/// let (rank, numbering) = (RankHeader::zeroed(), Numbering::new(Vec::new()));
/// let mut file = tempfile::tempfile()?;
/// assert!(BlockReader::new(&file, &rank, &numbering).is_err(), "an empty file is none");
/// file.write_all(bytemuck::bytes_of(&BlockFileHeader::new(&rank)))?;
/// assert!(BlockFileHeader::is_in(&file, &rank));
/// assert!(BlockReader::new(&file, &rank, &numbering)?.next_block()?.is_none());
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct BlockReader<'f> {
    file: BufReader<&'f File>,
    numbering: &'f Numbering,
    /// Where in the file the next block lies.
    offset: u64,
    block: Vec<u8>,
}

impl<'f> BlockReader<'f> {
    /// Bytes that are read at once.
    const STEP: usize = 1 << 18;

    /// The blocks of a file of the process of which this is known.
    ///
    /// # Errors
    /// The file cannot be read; `InvalidData`: it is another process', or no block file.
    pub fn new(mut file: &'f File, rank: &RankHeader, numbering: &'f Numbering) -> io::Result<BlockReader<'f>> {
        if !BlockFileHeader::is_in(file, rank) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let offset = file.seek(SeekFrom::Start(size_of::<BlockFileHeader>() as u64))?;
        let file = BufReader::with_capacity(Self::STEP, file);
        Ok(BlockReader { file, numbering, offset, block: Vec::new() })
    }

    /// The next block and where it lies in the file; `None` where there is no other that is whole.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn next_block(&mut self) -> io::Result<Option<(u64, Block<'_>)>> {
        self.block.clear();
        if !self.read_to(size_of::<BlockHeader>())? {
            return Ok(None);
        }
        let header: BlockHeader = bytemuck::pod_read_unaligned(&self.block);
        let length = header.length as usize;
        if length < size_of::<BlockHeader>() || length > LONGEST_BLOCK || !self.read_to(length)? {
            return Ok(None);
        }
        let offset = self.offset;
        self.offset += length as u64;
        Ok(Block::parse(&self.block, self.numbering).filter(Block::has_its_checksum).map(|block| (offset, block)))
    }

    /// Reads until the block has so many bytes. False: the file ends before.
    fn read_to(&mut self, bytes: usize) -> io::Result<bool> {
        let known = self.block.len();
        self.block.resize(bytes, 0);
        match self.file.read_exact(&mut self.block[known..]) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            read => read.map(|()| true),
        }
    }
}
