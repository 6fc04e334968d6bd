//! The leaders of the clock domains, and how they talk.

use mpitrace_synchronise::Peers;

use super::local::LocalClock;
use super::schedule::Plan;
use super::together::{allreduce, free};
use crate::boundary::{abi, mpi};
use crate::record::ticks;

/// MPI_UNDEFINED, the same in all three interfaces.
const UNDEFINED: i32 = -32766;
const TAG: usize = 1;

/// The leaders, on a communicator of their own.
pub struct Leaders {
    /// `None`: there is one leader.
    comm: Option<usize>,
    rank: usize,
    size: usize,
    /// This leader's clock.
    pub clock: LocalClock,
}

impl Leaders {
    /// All ranks of the world come here; the answer is empty on those that lead no domain.
    #[allow(clippy::option_option, reason = "the outer one is a failure, the inner one an answer")]
    pub fn gather(world: usize, rank: u32, leads: bool, clock: LocalClock) -> Option<Option<Leaders>> {
        // One leader has nobody to talk to, and takes no communicator: see `Domain::find`.
        let leaders = allreduce(world, leads.into(), abi::get().sum)?;
        if leaders == 1 {
            return Some(leads.then_some(Leaders { comm: None, rank: 0, size: 1, clock }));
        }
        let color = if leads { 0 } else { UNDEFINED };
        // SAFETY: all ranks of the world come here.
        let comm = mpi::handle(|place| unsafe { mpi::comm_split(world, color as usize, rank as usize, place) })?;
        if !leads {
            return Some(None);
        }
        // SAFETY: `comm` is a communicator.
        let word = |function: unsafe fn(usize, usize) -> bool| mpi::int(|place| unsafe { function(comm, place) });
        let (rank, size) = (word(mpi::comm_rank)? as usize, word(mpi::comm_size)? as usize);
        Some(Some(Leaders { comm: Some(comm), rank, size, clock }))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.size
    }

    /// The first leader's plan, on all of them.
    pub fn agree(&self, plan: Plan) -> Option<Plan> {
        let Some(comm) = self.comm else { return Some(plan) };
        let mut words = [plan.next, plan.now.into()];
        // SAFETY: all leaders come here with two words.
        let done = unsafe { mpi::bcast(words.as_mut_ptr().expose_provenance(), 16, abi::get().byte, 0, comm) };
        done.then_some(Plan { next: words[0], now: words[1] != 0 })
    }

    /// Gives the communicator back.
    pub fn free(&mut self) {
        if let Some(comm) = self.comm.take() {
            free(comm);
        }
    }
}

impl Peers for Leaders {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn now(&self) -> u64 {
        ticks::now()
    }

    fn shown(&self, reading: u64) -> u64 {
        self.clock.shown(reading)
    }

    fn send(&mut self, to: usize, words: &[u64]) {
        let Some(comm) = self.comm else { return };
        let (place, bytes) = (words.as_ptr().expose_provenance(), size_of_val(words));
        // SAFETY: the words live until the call returns; the other leader receives as many.
        unsafe { mpi::send(place, bytes, abi::get().byte, to, TAG, comm) };
    }

    fn receive(&mut self, from: usize, words: &mut [u64]) {
        let Some(comm) = self.comm else { return };
        let (place, bytes) = (words.as_mut_ptr().expose_provenance(), size_of_val(words));
        let abi = abi::get();
        // SAFETY: as above.
        unsafe { mpi::recv(place, bytes, abi.byte, from, TAG, comm, abi.status_ignore) };
    }
}
