//! Full chunks are packed while the program runs: where no chunk is free, the records of the one that was filled first
//! become a block, which is written to a file of this process, and the chunk is drawn again.
//!
//! That happens on the thread that needs the chunk, between two of its calls, the next of which counts as delayed by
//! the tracer. No helper thread is needed, which would take a processor from the program.
//!
//! A block is whole before its chunk is withdrawn: a kill loses nothing, and what is then in both is known by the
//! number of the draw. A child that was forked off has the same mapping and the same descriptor: it writes nothing.

use std::io;
use std::path::{Path, PathBuf};

use mpitrace_format::block_file::BlockFileHeader;
use mpitrace_format::file;
use mpitrace_format::layout::*;
use mpitrace_format::packed::Numbering;
use mpitrace_format::segment::NamedFile;

use crate::base::allocator::{Held, is_exhausted};
use crate::base::own_file::OwnFile;
use crate::base::system;

/// The block files of this process: in the segment's folder, and where that takes no more beside the trace.
pub struct Spill {
    wanted: Vec<BlockPlace>,
    pub(super) process: u32,
    /// The files that were made: the last one is written to.
    files: Vec<BlockFile>,
    /// The numbering of the operations that are known.
    pub(super) numbering: Numbering,
    /// The numbering of the operations of message calls.
    pub(super) message_numbering: Numbering,
    /// Memory that is set aside for packing, bytes.
    pub(super) held: Option<(Held, u64)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// The chunk is needed for new records: without a block they are lost.
    Running,
    /// Nothing is recorded any more: the records are as safe where they are, so memory alone takes the block.
    AtTheEnd,
}

/// A file that takes blocks.
pub struct BlockPlace {
    pub path: PathBuf,
    /// The reference of the path in the trace buffer.
    pub reference: u32,
    /// It lies in the segment's folder, where memory is taken for it before it is written.
    pub is_in_memory: bool,
}

struct BlockFile {
    file: OwnFile,
    /// Bytes of its whole blocks, and of its header.
    end: u64,
    /// Bytes that it has room for, where that is taken before.
    allocated: Option<u64>,
}

/// Room is taken for so many bytes at once.
const ROOM: u64 = 256 << 10;
/// Bytes of the segment's folder that stay free for the tables of the trace buffer, which may grow.
const LEFT: u64 = 1 << 20;

impl BlockFile {
    fn create(place: &BlockPlace, rank: &RankHeader, block: &[u8]) -> io::Result<BlockFile> {
        let file = OwnFile::create_private(&place.path).or_else(|error| {
            // The folder of the trace may be made: not the working directory, which was removed, nor one that users share.
            let missing =
                error.kind() == io::ErrorKind::NotFound && !place.is_in_memory && std::env::current_dir().is_ok();
            let is_private = |folder: &Path| file::mode_in(folder.ancestors().skip(1).find(|of| of.is_dir())) == 0o666;
            let folder = place.path.parent().filter(|folder| missing && is_private(folder)).ok_or(error)?;
            std::fs::create_dir_all(folder)?;
            OwnFile::create_private(&place.path)
        })?;
        let mut file = BlockFile { file, end: 0, allocated: place.is_in_memory.then_some(0) };
        let header = BlockFileHeader::new(rank);
        let written = file.write(bytemuck::bytes_of(&header)).and_then(|()| file.write(block));
        written.inspect_err(|_| drop(std::fs::remove_file(&place.path)))?;
        Ok(file)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let end = self.end + bytes.len() as u64;
        system::check_size(end)?;
        if let Some(allocated) = self.allocated.filter(|&allocated| allocated < end) {
            let room = (end - allocated).max(ROOM);
            if !self.file.has_room(room + LEFT) || !self.file.allocate(allocated, room) {
                return Err(io::Error::from_raw_os_error(libc::ENOSPC));
            }
            self.allocated = Some(allocated + room);
        }
        self.file.write_all_at(bytes, self.end)?;
        self.end = end;
        Ok(())
    }
}

impl Spill {
    /// With these names, of which one is taken when it is needed.
    pub fn new(wanted: Vec<BlockPlace>) -> Spill {
        let numbering = Numbering::default();
        let message_numbering = Numbering::default();
        let process = std::process::id();
        Spill { wanted, process, files: Vec::new(), numbering, message_numbering, held: None }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.end).sum()
    }

    /// True if the file that is written to, or will be, lies in memory.
    pub(super) fn is_in_memory(&self) -> bool {
        let last = self.files.len().saturating_sub(1);
        self.wanted.get(last).is_some_and(|place| place.is_in_memory)
    }

    /// Sets so much memory aside for packing, where it is less so far. False: there is none, or it serves allocations
    /// that have failed.
    pub(super) fn holds(&mut self, bytes: u64, when: When) -> bool {
        if self.held.as_ref().is_none_or(|(_, held)| *held < bytes) {
            self.held = None;
            let held = match when {
                When::Running => Held::bytes(bytes),
                When::AtTheEnd => Held::bytes_if_any(bytes),
            };
            self.held = held.map(|held| (held, bytes));
        }
        self.held.is_some() && !is_exhausted()
    }

    /// The block files in order, with their names.
    pub fn readers(&mut self) -> io::Result<Vec<NamedFile>> {
        let reader = |file: &mut BlockFile| Ok((file.file.path().to_owned(), file.file.current()?.clone()));
        self.files.iter_mut().map(reader).collect()
    }

    pub fn remove(&self) {
        self.files.iter().for_each(|file| drop(std::fs::remove_file(file.file.path())));
    }

    /// Writes a block behind the others, to the next file where this one takes no more. The references of the files.
    pub(super) fn add(&mut self, block: &[u8], rank: &RankHeader, when: When) -> io::Result<[u32; BLOCK_FILES]> {
        let mut result = match self.files.last_mut() {
            Some(file) => file.write(block),
            None => Err(io::ErrorKind::NotFound.into()),
        };
        while let (Err(_), Some(place)) = (&result, self.wanted.get(self.files.len())) {
            if when == When::AtTheEnd && !place.is_in_memory {
                break;
            }
            match BlockFile::create(place, rank, block) {
                Ok(made) => {
                    self.files.push(made);
                    result = Ok(());
                }
                Err(error) => {
                    self.wanted.remove(self.files.len());
                    result = Err(error);
                }
            }
        }
        result?;
        let mut references = [0; BLOCK_FILES];
        let made = self.wanted.iter().take(self.files.len());
        references.iter_mut().zip(made).for_each(|(reference, place)| *reference = place.reference);
        Ok(references)
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;

    use super::*;

    #[test]
    fn at_the_end_no_block_goes_to_the_folder_of_the_trace() {
        let folder = std::env::temp_dir().join(format!("mpitrace-spill-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let place = |name: &str, is_in_memory| BlockPlace { path: folder.join(name), reference: 1, is_in_memory };
        let mut spill = Spill::new(vec![place("missing/of.blocks", true), place("beside.blocks", false)]);
        let mut is_beside_after = |when| {
            let written = spill.add(&[0; 8], &RankHeader::zeroed(), when).is_ok();
            (written, folder.join("beside.blocks").exists())
        };
        assert_eq!(is_beside_after(When::AtTheEnd), (false, false));
        assert_eq!(is_beside_after(When::Running), (true, true));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
