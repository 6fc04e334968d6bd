//! The leaders of the clock domains, and how they talk.

use std::time::Duration;

use mpitrace_format::layout::sync_kind;
use mpitrace_synchronise::Peers;

use super::local::LocalClock;
use super::meeting::{self, Messages};
use super::numbering::{Numbered, Ranks};
use crate::boundary::mpi::Comm;
use crate::boundary::pause::Pause;
use crate::record::ticks;

/// The tags of the messages of a method in Init, and in Finalize.
const OF_INIT: usize = 1;
const OF_FINALIZE: usize = 2;
/// The tags of the messages by which all ranks count the leaders, and the leaders find each other.
const OF_COUNTING: usize = 3;
const OF_FINDING: usize = 0;
/// The tags of what comes while the program runs: two for each meeting, its own and that of the synchronisation after
/// it. So a message that no leader has received is never taken for one of a later meeting.
const RUNNING: std::ops::Range<usize> = 4..32768;
/// A message has at most so many words: libraries buffer 1 KiB, so that the sender does not wait for the receiver.
const WORDS: usize = 128;
/// How long a leader waits for a message where all ranks are known to come, in Init and Finalize: longer than any
/// leader is kept busy by the others, and still not without an end.
pub const LONG: Duration = Duration::from_secs(60);
/// How long a leader looks for a message without a sleep. In an exchange the answer comes sooner, unless the other leader
/// has no processor, or is kept busy: then the exchange is of no use, and the sleep gives the other one a processor.
const EAGER: Duration = Duration::from_micros(300);
/// The same for a message which no other is measured by.
const EAGER_FOR_ONE: Duration = Duration::from_micros(50);

/// Messages between ranks of the world, on the tracer's own communicator.
#[derive(Clone, Copy)]
struct Channel {
    comm: Comm,
    tag: usize,
}

impl Channel {
    /// Sends words, without waiting for the other.
    fn post(self, to: u32, words: &[u64]) {
        words.chunks(WORDS).for_each(|words| self.comm.send(words, to as usize, self.tag));
    }

    /// Receives as many words, unless they do not come in time: then the receive is cancelled, and the words are not
    /// touched any more. Sleeps between looks when it has waited for so long.
    fn take(self, from: u32, words: &mut [u64], patience: Duration, eager: Duration) -> bool {
        words.chunks_mut(WORDS).all(|words| self.take_one(from, words, patience, Pause::after(eager)))
    }

    fn take_one(self, from: u32, words: &mut [u64], patience: Duration, mut pause: Pause) -> bool {
        let Some(mut receive) = self.comm.receive(words.len(), from as usize, self.tag) else { return false };
        loop {
            match receive.arrived() {
                Some(None) if pause.pause() < patience => {}
                Some(Some(received)) => {
                    words.copy_from_slice(&received);
                    return true;
                }
                _ => return false,
            }
        }
    }
}

impl Ranks for Channel {
    fn send(&mut self, to: u32, words: &[u64]) {
        self.post(to, words);
    }

    fn receive(&mut self, from: u32, words: &mut [u64]) -> bool {
        self.take(from, words, LONG, EAGER_FOR_ONE)
    }
}

/// The leaders, as one of them has messages with the others.
pub struct Leaders {
    comm: Comm,
    numbered: Numbered,
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
    /// All ranks of the world come here; the answer is empty on those that lead no domain. `in_turn`: the first leader
    /// will have messages with all others.
    #[allow(clippy::option_option, reason = "the outer one is a failure, the inner one an answer")]
    pub fn find(
        world: Comm,
        rank: u32,
        world_size: u32,
        leads: bool,
        in_turn: bool,
        clock: LocalClock,
    ) -> Option<Option<Leaders>> {
        let [mut counting, mut finding] = [OF_COUNTING, OF_FINDING].map(|tag| Channel { comm: world, tag });
        let numbered = Numbered::among(&mut counting, &mut finding, rank, world_size, leads)?;
        let Some(mut numbered) = numbered else { return Some(None) };
        if in_turn {
            numbered.gather(&mut finding, rank).then_some(())?;
        }
        Some(Some(Leaders {
            comm: world,
            numbered,
            clock,
            patience: LONG,
            tag: OF_INIT,
            lost: false,
            unreceived: false,
            meetings: 0,
        }))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.numbered.count as usize
    }

    /// This one's number.
    pub fn number(&self) -> u32 {
        self.numbered.number
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

    fn post(&self, to: usize, words: &[u64], tag: usize) {
        if let Some(to) = self.numbered.rank_of(to) {
            Channel { comm: self.comm, tag }.post(to, words);
        }
    }

    fn take(&mut self, from: usize, words: &mut [u64], tag: usize, patience: Duration) -> bool {
        let channel = Channel { comm: self.comm, tag };
        let came = self.numbered.rank_of(from).is_some_and(|from| channel.take(from, words, patience, EAGER));
        self.unreceived |= !came;
        came
    }

    /// Whether a message may have come that was not waited for.
    pub fn has_unreceived(&self) -> bool {
        self.unreceived
    }
}

impl Peers for Leaders {
    fn rank(&self) -> usize {
        self.numbered.number as usize
    }

    fn size(&self) -> usize {
        self.count()
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
        self.numbered.number as usize
    }

    fn size(&self) -> usize {
        self.count()
    }

    fn send(&mut self, to: usize, words: [u64; 3]) {
        self.post(to, &words, self.meeting_tag());
    }

    fn receive(&mut self, from: usize, patience: Duration) -> Option<[u64; 3]> {
        let mut words = [0; 3];
        self.take(from, &mut words, self.meeting_tag(), patience).then_some(words)
    }
}
