//! The leaders of the clock domains, and how they talk.

use std::time::{Duration, Instant};

use mpitrace_format::layout::sync_kind;
use mpitrace_synchronise::Peers;

use super::local::LocalClock;
use super::meeting::{self, Messages};
use crate::boundary::mpi::Comm;
use crate::record::ticks;

/// MPI_UNDEFINED, the same in all three interfaces.
const UNDEFINED: i32 = -32766;
/// The tags of the messages of a method in Init, and in Finalize.
const OF_INIT: usize = 1;
const OF_FINALIZE: usize = 2;
/// The tags of what comes while the program runs: two for each meeting, its own and that of the synchronisation after
/// it. So a message that no leader has received is never taken for one of a later meeting.
const RUNNING: std::ops::Range<usize> = 4..32768;
/// A message has at most so many words: libraries buffer 1 KiB, so that the sender does not wait for the receiver.
const WORDS: usize = 128;
/// How long a leader waits for a message where all ranks are known to come, in Init and Finalize: longer than any
/// leader is kept busy by the others, and still not without an end.
pub const LONG: Duration = Duration::from_secs(60);
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
    /// How long it waits for a message of a method.
    patience: Duration,
    /// The tag of such messages.
    tag: usize,
    /// A message did not come in time: what was found together since is of no use, and no other is waited for.
    lost: bool,
    /// A message did not come in time, at any time: it may have come since.
    unreceived: bool,
    /// Meetings so far.
    meetings: usize,
}

impl Leaders {
    /// All ranks of the world come here; the answer is empty on those that lead no domain.
    #[allow(clippy::option_option, reason = "the outer one is a failure, the inner one an answer")]
    pub fn gather(world: Comm, rank: u32, leads: bool, clock: LocalClock) -> Option<Option<Leaders>> {
        // One leader alone needs no communicator: see `Domain::find`.
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
        Leaders { comm, rank, size, clock, patience: LONG, tag: OF_INIT, lost: false, unreceived: false, meetings: 0 }
    }

    /// Runs what the leaders do together, in a synchronisation of this kind: `None` where a message did not come in time.
    pub fn together<R>(&mut self, kind: u32, work: impl FnOnce(&mut Leaders) -> R) -> Option<R> {
        (self.patience, self.tag) = match kind {
            sync_kind::INIT => (LONG, OF_INIT),
            sync_kind::FINALIZE => (LONG, OF_FINALIZE),
            // The program is not to be held up.
            _ => (meeting::PATIENCE, self.meeting_tag() + 1),
        };
        self.lost = false;
        let result = work(self);
        (!self.lost).then_some(result)
    }

    /// The tags of the next meeting begin here.
    pub fn next_meeting(&mut self) {
        self.meetings += 1;
    }

    fn meeting_tag(&self) -> usize {
        RUNNING.start + 2 * (self.meetings % (RUNNING.len() / 2))
    }

    /// Sends words, without waiting for the other.
    fn post(&self, to: usize, words: &[u64], tag: usize) {
        if let Some(comm) = self.comm {
            words.chunks(WORDS).for_each(|words| comm.send(words, to, tag));
        }
    }

    /// Receives as many words, unless they do not come in time: then the receive is cancelled, and the words are not
    /// touched any more.
    fn take(&mut self, from: usize, words: &mut [u64], tag: usize, patience: Duration) -> bool {
        let came = words.chunks_mut(WORDS).all(|words| self.take_one(from, words, tag, patience));
        self.unreceived |= !came;
        came
    }

    fn take_one(&self, from: usize, words: &mut [u64], tag: usize, patience: Duration) -> bool {
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

    /// Gives the communicator back, in Finalize, where all leaders come. Where one of them has not waited for a message,
    /// it is left to `MPI_Finalize`: MPICH 5 ends the program when a communicator with such messages is freed.
    pub fn free(&mut self) {
        if let Some(comm) = self.comm.take()
            && comm.sum(self.unreceived.into()) == Some(0)
        {
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
        self.post(to, words, self.tag);
    }

    fn receive(&mut self, from: usize, words: &mut [u64]) {
        if !self.lost && !self.take(from, words, self.tag, self.patience) {
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
