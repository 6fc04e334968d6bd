//! The ranks that write one file together, and what they tell each other for it.

use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use bytemuck::{Pod, Zeroable};

use crate::job::run::{Run, World};
use crate::mpi::collectives::Collectives;
use crate::mpi::node_meeting;

/// Bytes that the first rank says at once: as many as go through shared memory in one round.
const SAID_AT_ONCE: usize = 8 * node_meeting::WORDS;

/// The ranks that write one file together.
pub struct Writers {
    /// `None`: this rank alone.
    together: Option<Collectives>,
    pub rank: u32,
    pub size: u32,
}

/// The ranks can do nothing together any more: a process has ended, or a call of the tracer's has failed, on this rank
/// or another.
#[derive(Clone, Copy, Debug)]
pub struct Lost;

/// The part that a rank has written, as the words that it sends.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct WrittenPart {
    pub rank: u64,
    /// Where in the file the part lies, and how long it is, bytes.
    pub offset: u64,
    pub length: u64,
    pub records: u64,
    /// 1: the rank has reached MPI_Finalize with all that it recorded.
    pub finalized: u64,
    /// The error number of what failed; 0: the part is on disk.
    pub error: u64,
}

impl WrittenPart {
    pub fn failure(&self) -> Option<io::Error> {
        (self.error != 0).then(|| io::Error::from_raw_os_error(self.error as i32))
    }
}

impl Writers {
    /// All ranks of the world; where they cannot be asked, this one.
    pub fn of_world(run: &Run, world: &World) -> Writers {
        match world.together() {
            Some(together) => Writers { together: Some(together), rank: run.rank, size: run.world_size },
            None => Writers::alone(),
        }
    }

    pub fn alone() -> Writers {
        Writers { together: None, rank: 0, size: 1 }
    }

    /// The ranks of this node among those of several, by shared memory; `None` where they cannot be found, on all
    /// ranks.
    pub fn of_node(&self) -> Result<Option<Writers>, Lost> {
        let Some(Collectives::Messages(comm)) = self.together else { return Ok(None) };
        let node = comm.split_by_memory(self.rank);
        let ranks = node.and_then(|node| node.rank().zip(node.size()));
        let found = self.all(ranks.is_some())?;
        let Some((rank, size)) = ranks.filter(|_| found) else { return Ok(None) };
        Ok(Some(Writers { together: node.map(Collectives::Messages), rank, size }))
    }

    /// Gives the communicator back, if there is one.
    pub fn free(self) {
        if let Some(Collectives::Messages(comm)) = self.together {
            comm.free();
        }
    }

    /// Gives the communicator back, unless there may be messages on it that some rank has not received: then it is left
    /// to `MPI_Finalize`. MPICH 5 ends the program when a communicator with such messages is freed.
    pub fn free_unless(self, has_messages: bool) {
        if let Some(Collectives::Messages(_)) = self.together
            && self.all(!has_messages).is_ok_and(|none| none)
        {
            self.free();
        }
    }

    /// The first rank's path, on all ranks: in one broadcast where it is short.
    pub fn agree_on(&self, path: PathBuf) -> Result<PathBuf, Lost> {
        let Some(together) = self.together else { return Ok(path) };
        let mut path = path.into_os_string().into_encoded_bytes();
        let mut first = [0; SAID_AT_ONCE];
        let (length, beginning) = first.split_first_chunk_mut().expect("room for the length");
        *length = path.len().to_le_bytes();
        let short = path.len().min(beginning.len());
        beginning[..short].copy_from_slice(&path[..short]);
        together.broadcast(&mut first).ok_or(Lost)?;
        let (length, beginning) = first.split_first_chunk().expect("room for the length");
        path.resize(usize::from_le_bytes(*length), 0);
        let short = path.len().min(beginning.len());
        let (said, rest) = path.split_at_mut(short);
        said.copy_from_slice(&beginning[..short]);
        if !rest.is_empty() {
            together.broadcast(rest).ok_or(Lost)?;
        }
        Ok(PathBuf::from(std::ffi::OsString::from_vec(path)))
    }

    /// True if `here` is true on all ranks.
    pub fn all(&self, here: bool) -> Result<bool, Lost> {
        self.together.map_or(Ok(here), |together| together.all(here).ok_or(Lost))
    }

    /// The sum over the ranks before this one.
    pub fn sum_before(&self, here: u64) -> Result<u64, Lost> {
        let Some(together) = self.together else { return Ok(0) };
        let sum = together.sum_before(here).ok_or(Lost)?;
        Ok(if self.rank == 0 { 0 } else { sum })
    }

    /// The sum of the bytes of the ranks before this one, where all `take_part`; `None`: some do not. `bytes` is asked
    /// when all ranks have come.
    pub fn bytes_before(&self, take_part: bool, bytes: impl FnOnce() -> u64) -> Result<Option<u64>, Lost> {
        if let Some(Collectives::Memory(meeting)) = self.together {
            // They have met before. Both questions go in one round.
            let all = meeting.gather(&[take_part.into(), bytes()]).ok_or(Lost)?;
            let sum = all[..self.rank as usize].iter().map(|[_, bytes]| bytes).sum();
            return Ok(all.iter().all(|[takes_part, _]| *takes_part == 1).then_some(sum));
        }
        if self.all(take_part)? { self.sum_before(bytes()).map(Some) } else { Ok(None) }
    }

    /// The parts that all ranks have written, in the order of the ranks, on the first one; on the others any of them.
    pub fn gather(&self, here: WrittenPart) -> Result<Vec<WrittenPart>, Lost> {
        let Some(together) = self.together else { return Ok(vec![here]) };
        let ranks = if self.rank == 0 { self.size as usize } else { 0 };
        let words = together.gather::<{ size_of::<WrittenPart>() / 8 }>(&bytemuck::cast(here), ranks).ok_or(Lost)?;
        Ok(words.into_iter().map(bytemuck::cast).collect())
    }

    /// Lets the library send what ranks that wait for this one need.
    pub fn progress(&self) {
        if let Some(together) = self.together {
            together.progress();
        }
    }

    /// Does something that may take as long as a file system needs for it.
    pub fn at_files<R>(&self, work: impl FnOnce() -> R) -> R {
        match self.together {
            Some(together) => together.at_files(work),
            None => work(),
        }
    }
}
