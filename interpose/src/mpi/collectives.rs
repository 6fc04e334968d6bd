//! Functions that all ranks of a run call together: in shared memory where all are on one node, else by messages.
//!
//! By messages the functions are the non-blocking ones of MPI, waited for with pauses: see [`Pause`]. All ranks of the
//! communicator come to each of them, so none stays without an end.

use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::Pod;

use super::*;
use crate::base::pause::Pause;
use crate::mpi::node_meeting::NodeMeeting;

/// The ranks of a run, or by messages those of a part of it, which come to each of these functions together. `None`: it
/// has failed, here or on another rank, and so does all that follows.
#[derive(Clone, Copy)]
pub enum Collectives {
    Memory(&'static NodeMeeting),
    /// On a communicator of the tracer's own.
    Messages(Comm),
}

impl Collectives {
    /// The least of all ranks' integers in each place.
    pub fn least<const N: usize>(self, here: &[i64; N]) -> Option<[i64; N]> {
        match self {
            Collectives::Memory(meeting) => meeting.least(here),
            Collectives::Messages(comm) => comm.reduced(iallreduce, abi::get().min, here.to_vec())?.try_into().ok(),
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
                comm.reduced(iexscan, abi::get().sum, vec![here as i64])?.pop().map(|sum| sum as u64)
            }
        }
    }

    /// Rank 0's bytes for all ranks, which come here with as many.
    pub fn broadcast(self, bytes: &mut [u8]) -> Option<()> {
        match self {
            Collectives::Memory(meeting) => meeting.broadcast(bytes),
            Collectives::Messages(comm) => comm.broadcast(bytes),
        }
    }

    /// The words of all ranks in the order of the ranks, at rank 0, which says how many `ranks` there are. The others,
    /// which say 0, get any number of them.
    pub fn gather<const N: usize>(self, words: &[u64; N], ranks: usize) -> Option<Vec<[u64; N]>> {
        match self {
            Collectives::Memory(meeting) => meeting.gather(words),
            Collectives::Messages(comm) => comm.gather(words, ranks),
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

/// Begins an operation on these values, given their address and that of a request, and waits until it is complete: the
/// values then. `None`: it has failed. The library may still know the values after an error, which need not be one of
/// this operation: so they are never given back then.
fn completed<T: Pod>(mut values: Vec<T>, begin: impl FnOnce(usize, usize) -> bool) -> Option<Vec<T>> {
    let place = values.as_mut_ptr().expose_provenance();
    let Some(mut request) = word(|request| begin(place, request)) else {
        std::mem::forget(values);
        return None;
    };
    let (request, ignore) = ((&raw mut request).expose_provenance(), abi::get().status_ignore);
    let mut pause = Pause::default();
    loop {
        // SAFETY: int MPI_Test(MPI_Request *, int *, MPI_Status *); the request is this one's.
        match int(|flag| unsafe { test(request, flag, ignore) }) {
            None => {
                std::mem::forget(values);
                return None;
            }
            Some(0) => drop(pause.pause()),
            Some(_) => return Some(values),
        }
    }
}

/// A function that reduces: where the values and the result lie, how many and of which type, by which operator, on
/// which communicator, with the request at this address.
type Reduction = unsafe fn(usize, usize, usize, usize, usize, usize, usize) -> bool;

static FAILED: AtomicBool = AtomicBool::new(false);

impl Comm {
    /// A duplicate of the tracer's own, which all ranks make. It inherits MPI_ERRORS_ARE_FATAL from the world; this one
    /// returns errors.
    pub fn duplicate(self) -> Option<Comm> {
        // Zeroed, so that a 4-byte handle reads back as its value (little-endian).
        // SAFETY: int MPI_Comm_idup(MPI_Comm, MPI_Comm *, MPI_Request *); the handle lives until the request is
        // complete.
        let new = completed(vec![0usize], |place, request| unsafe { comm_idup(self.0, place, request) })?;
        let new = abi::get().handle(new[0]);
        // SAFETY: int MPI_Comm_set_errhandler(MPI_Comm, MPI_Errhandler), on a communicator made just now.
        unsafe { comm_set_errhandler(new, abi::get().errors_return) };
        Some(Comm(new))
    }

    /// Completes an operation ([`completed`]) on the tracer's own communicator, unless one has failed. Where one fails,
    /// the others are to know: they would wait for this rank in what follows.
    fn completed<T: Pod>(self, values: Vec<T>, begin: impl FnOnce(usize, usize) -> bool) -> Option<Vec<T>> {
        let done = if FAILED.load(Ordering::Relaxed) { None } else { completed(values, begin) };
        if done.is_none() && !FAILED.swap(true, Ordering::Relaxed) {
            self.revoke();
        }
        done
    }

    fn broadcast(self, bytes: &mut [u8]) -> Option<()> {
        let (count, byte) = (bytes.len(), abi::get().byte);
        let sent = self.completed(bytes.to_vec(), |place, request| {
            // SAFETY: int MPI_Ibcast(void *, int, MPI_Datatype, int, MPI_Comm, MPI_Request *); so many bytes lie there.
            unsafe { ibcast(place, count, byte, 0, self.0, request) }
        })?;
        bytes.copy_from_slice(&sent);
        Some(())
    }

    fn gather<const N: usize>(self, words: &[u64; N], ranks: usize) -> Option<Vec<[u64; N]>> {
        let (bytes, byte) = (size_of_val(words), abi::get().byte);
        let mut all = vec![[0; N]; ranks + 1];
        all[ranks] = *words;
        let mut all = self.completed(all, |place, request| {
            let own = place + ranks * bytes;
            // SAFETY: int MPI_Igather(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, int, MPI_Comm,
            // MPI_Request *); the rank's own bytes lie behind the room for those of all, which only rank 0 needs.
            unsafe { igather(own, bytes, byte, place, bytes, byte, 0, self.0, request) }
        })?;
        all.truncate(ranks);
        Some(all)
    }

    /// The reduction of all ranks' integers; every rank passes equally many.
    fn reduced(self, function: Reduction, operator: usize, mut integers: Vec<i64>) -> Option<Vec<i64>> {
        let (abi, count) = (abi::get(), integers.len());
        integers.resize(2 * count, 0);
        let mut reduced = self.completed(integers, |place, request| {
            let result = place + count * size_of::<i64>();
            // SAFETY: int MPI_Iallreduce(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *), and
            // MPI_Iexscan the same; so many 64-bit integers lie in both places.
            unsafe { function(place, result, count, abi.int64, operator, self.0, request) }
        })?;
        Some(reduced.split_off(count))
    }

    /// The sum of all ranks' integers in each place. All ranks come here with as many.
    pub fn sum(self, integers: Vec<i64>) -> Option<Vec<i64>> {
        self.reduced(iallreduce, abi::get().sum, integers)
    }
}
