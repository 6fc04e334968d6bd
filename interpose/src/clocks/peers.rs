//! The leaders of the clock domains, and how they talk.

use std::time::{Duration, Instant};

use mpitrace_synchronise::Peers;

use super::local::LocalClock;
use super::meeting::{self, Messages};
use crate::boundary::mpi::Comm;
use crate::record::ticks;

/// MPI_UNDEFINED, the same in all three interfaces.
const UNDEFINED: i32 = -32766;
/// Tags of the messages of a method.
const TAG: usize = 1;
/// Tags of meetings: one for each, in turn, so that a message which nobody has taken is never taken for one of a later
/// meeting.
const MEETING_TAGS: std::ops::Range<usize> = 2..32768;
/// How long a leader waits for a message where all ranks are known to come, in Init and Finalize: longer than any
/// leader is kept busy by the others, and still not without an end.
const LONG: Duration = Duration::from_secs(60);
/// So many times a leader asks whether its message is there before it offers its processor to others.
const POLLS: u32 = 64;

/// The leaders, on a communicator of their own.
pub struct Leaders {
    /// `None`: there is one leader.
    comm: Option<Comm>,
    rank: usize,
    size: usize,
    /// This leader's clock.
    pub clock: LocalClock,
    /// How long it waits for a message.
    patience: Duration,
    /// A message did not come in time: what was found together since is of no use, and no other is waited for.
    lost: bool,
    /// Meetings so far.
    meetings: usize,
}

impl Leaders {
    /// All ranks of the world come here; the answer is empty on those that lead no domain.
    #[allow(clippy::option_option, reason = "the outer one is a failure, the inner one an answer")]
    pub fn gather(world: Comm, rank: u32, leads: bool, clock: LocalClock) -> Option<Option<Leaders>> {
        // One leader has nobody to talk to, and takes no communicator: see `Domain::find`.
        let leaders = world.sum(leads.into())?;
        if leaders == 1 {
            return Some(leads.then_some(Leaders::new(None, 0, 1, clock)));
        }
        let comm = world.split(if leads { 0 } else { UNDEFINED }, rank)?;
        if !leads {
            return Some(None);
        }
        let (rank, size) = (comm.rank()? as usize, comm.size()? as usize);
        Some(Some(Leaders::new(Some(comm), rank, size, clock)))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.size
    }

    fn new(comm: Option<Comm>, rank: usize, size: usize, clock: LocalClock) -> Leaders {
        Leaders { comm, rank, size, clock, patience: LONG, lost: false, meetings: 0 }
    }

    /// Runs what the leaders do together: `None` where a message did not come in time. `running`: the program is not to
    /// be held up.
    pub fn together<R>(&mut self, running: bool, work: impl FnOnce(&mut Leaders) -> R) -> Option<R> {
        self.patience = if running { meeting::PATIENCE } else { LONG };
        self.lost = false;
        let result = work(self);
        (!self.lost).then_some(result)
    }

    /// The tags of the next meeting begin here.
    pub fn next_meeting(&mut self) {
        self.meetings += 1;
    }

    fn meeting_tag(&self) -> usize {
        MEETING_TAGS.start + self.meetings % MEETING_TAGS.len()
    }

    /// Sends words, without waiting for the other.
    fn post(&self, to: usize, words: &[u64], tag: usize) {
        if let Some(comm) = self.comm {
            comm.send(words, to, tag);
        }
    }

    /// Receives as many words, unless they do not come in time: then the receive is cancelled, and the words are not
    /// touched any more.
    fn take(&self, from: usize, words: &mut [u64], tag: usize, patience: Duration) -> bool {
        let Some(mut receive) = self.comm.and_then(|comm| comm.receive(words, from, tag)) else { return false };
        let mut started = None;
        let mut polls = 0u32;
        loop {
            match receive.arrived() {
                Some(false) => {}
                Some(true) => return true,
                None => return false,
            }
            polls += 1;
            if polls.is_multiple_of(POLLS) {
                // The other leader may be waiting for this processor.
                std::thread::yield_now();
                if started.get_or_insert_with(Instant::now).elapsed() >= patience {
                    return false;
                }
            }
        }
    }

    /// Gives the communicator back.
    pub fn free(&mut self) {
        if let Some(comm) = self.comm.take() {
            comm.free();
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
        self.post(to, words, TAG);
    }

    fn receive(&mut self, from: usize, words: &mut [u64]) {
        if !self.lost && !self.take(from, words, TAG, self.patience) {
            self.lost = true;
        }
    }
}

impl Messages for Leaders {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send(&mut self, to: usize, words: [u64; 3]) {
        self.post(to, &words, self.meeting_tag());
    }

    fn receive(&mut self, from: usize, patience: Duration) -> Option<[u64; 3]> {
        let mut words = [0; 3];
        self.take(from, &mut words, self.meeting_tag(), patience).then_some(words)
    }
}
