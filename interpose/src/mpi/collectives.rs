//! Functions that all ranks of a run call together: in shared memory where all are on one node, else by messages.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::mpi::Comm;
use crate::mpi::node_meeting::NodeMeeting;

/// The ranks of a run, or by messages those of a part of it, which come to each of these functions together. `None`: it
/// has failed, here or on another rank, and so does all that follows.
#[derive(Clone, Copy)]
pub enum Collectives {
    /// All ranks are on one node.
    Memory(&'static NodeMeeting),
    /// On a communicator of the tracer's own.
    Messages(Comm),
}

/// A function by messages has failed on this rank.
static FAILED: AtomicBool = AtomicBool::new(false);

impl Collectives {
    /// By messages, unless some have failed before. Where they fail, the others are to know: they would wait for this
    /// rank in what follows.
    pub fn by_messages<R>(comm: Comm, work: impl FnOnce() -> Option<R>) -> Option<R> {
        let done = if FAILED.load(Ordering::Relaxed) { None } else { work() };
        if done.is_none() && !FAILED.swap(true, Ordering::Relaxed) {
            comm.revoke();
        }
        done
    }

    /// The least of all ranks' integers in each place.
    pub fn least<const N: usize>(self, here: &[i64; N]) -> Option<[i64; N]> {
        match self {
            Collectives::Memory(meeting) => meeting.least(here),
            Collectives::Messages(comm) => Collectives::by_messages(comm, || comm.least(here)),
        }
    }

    /// True if it is so on all ranks.
    pub fn all(self, here: bool) -> Option<bool> {
        self.least(&[here.into()]).map(|[least]| least == 1)
    }

    /// The sum over the ranks before this one; on the first one any number.
    pub fn sum_before(self, here: u64) -> Option<u64> {
        match self {
            Collectives::Memory(meeting) => meeting.sum_before(here),
            Collectives::Messages(comm) => {
                Collectives::by_messages(comm, || comm.sum_before(here as i64)).map(|sum| sum as u64)
            }
        }
    }

    /// Rank 0's bytes for all ranks, which come here with as many.
    pub fn broadcast(self, bytes: &mut [u8]) -> Option<()> {
        match self {
            Collectives::Memory(meeting) => meeting.broadcast(bytes),
            Collectives::Messages(comm) => Collectives::by_messages(comm, || comm.broadcast(bytes).then_some(())),
        }
    }

    /// The words of all ranks in the order of the ranks, at rank 0, which says how many `ranks` there are. The others,
    /// which say 0, get any number of them.
    pub fn gather<const N: usize>(self, words: &[u64; N], ranks: usize) -> Option<Vec<[u64; N]>> {
        match self {
            Collectives::Memory(meeting) => meeting.gather(words),
            Collectives::Messages(comm) => Collectives::by_messages(comm, || comm.gather(words, ranks)),
        }
    }

    /// Does something that may take as long as a file system needs for it.
    pub fn at_files<R>(self, work: impl FnOnce() -> R) -> R {
        match self {
            Collectives::Memory(meeting) => meeting.at_files(work),
            Collectives::Messages(_) => work(),
        }
    }

    /// Lets the library work on its messages, where it has some of the tracer's.
    pub fn progress(self) {
        if let Collectives::Messages(comm) = self {
            comm.progress();
        }
    }
}
