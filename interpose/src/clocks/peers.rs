//! The leaders of the clock domains, and how they talk.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mpitrace_format::layout::sync_kind;
use mpitrace_format::ticks::SimulatedClock;
use mpitrace_platform::time::Instant;
use mpitrace_synchronise::Peers;

use super::meeting::{LONG, Messages};
use crate::base::pause::Pause;
use crate::base::ticks;
use crate::mpi::Comm;

/// The tags of the messages of a method in Init, and in Finalize.
const OF_INIT: usize = 1;
const OF_FINALIZE: usize = 2;
/// The tag of the last message to each neighbour.
const OF_END: usize = 4;
/// The tags of what comes while the program runs: some for each meeting, one for each of its steps. So a message that
/// no leader has received is never taken for one of a later meeting or step.
const RUNNING: std::ops::Range<usize> = 8..32768;
const STEPS: usize = 4;
/// A message has at most so many words: libraries buffer 1 KiB, so that the sender does not wait for the receiver.
const WORDS: usize = 128;
/// How long a leader looks for a message without a sleep. In an exchange the answer comes sooner, unless the other
/// leader has no processor, or is kept busy: then the exchange is of no use, and the sleep gives the other one a
/// processor.
const EAGER: Duration = Duration::from_micros(300);

/// The clock of this process as the synchronisation sees it: the tick counter, or a simulated clock in its place.
#[derive(Clone, Copy)]
pub struct LocalClock {
    /// The clock, the tick at which it begins, ticks per second.
    pub simulated: Option<(SimulatedClock, u64, f64)>,
}

impl LocalClock {
    /// The time that it shows at a reading of the tick counter.
    pub fn shown(&self, reading: u64) -> u64 {
        match &self.simulated {
            Some((clock, epoch, hz)) => clock.local(reading, *epoch, *hz),
            None => reading,
        }
    }
}

pub struct Leaders {
    comm: Comm,
    pub ranks: Vec<u32>,
    pub number: u32,
    /// The first leader has messages with all others.
    in_turn: bool,
    pub clock: LocalClock,
    /// When what the leaders do together began, and the time for it.
    started: Instant,
    limit: Duration,
    /// More than a share of that time was over when it was asked for.
    pub late: bool,
    tag: usize,
    /// A message did not come in time: what was found together since is of no use, and there are no more messages.
    lost: bool,
    /// Meetings so far, and the step of the one that is under way.
    meetings: usize,
    step: usize,
}

/// A message did not come in time, at any time: it may have come since.
static UNRECEIVED: AtomicBool = AtomicBool::new(false);

/// True if there may be a message on the tracer's communicator that this rank has not received.
pub fn has_unreceived() -> bool {
    UNRECEIVED.load(Ordering::Relaxed)
}

impl Leaders {
    /// The leader with this number, of those with these world ranks. `in_turn`: the first leader will have messages
    /// with all others.
    pub fn new(comm: Comm, ranks: Vec<u32>, number: u32, in_turn: bool, clock: LocalClock) -> Leaders {
        Leaders {
            comm,
            ranks,
            number,
            in_turn,
            clock,
            started: Instant::now(),
            limit: Duration::ZERO,
            late: false,
            tag: OF_INIT,
            lost: false,
            meetings: 0,
            step: 0,
        }
    }

    /// Runs what the leaders do together, in a synchronisation of this kind, within a time: `None` where a message did
    /// not come.
    pub fn together<R>(&mut self, kind: u32, limit: Duration, work: impl FnOnce(&mut Leaders) -> R) -> Option<R> {
        self.tag = match kind {
            sync_kind::INIT => OF_INIT,
            sync_kind::FINALIZE => OF_FINALIZE,
            _ => self.meeting_tag(),
        };
        (self.started, self.limit) = (Instant::now(), limit);
        (self.lost, self.late) = (false, false);
        let result = work(self);
        (!self.lost).then_some(result)
    }

    /// The tags of the next meeting begin here.
    pub fn next_meeting(&mut self) {
        self.meetings += 1;
        self.step = 0;
    }

    fn meeting_tag(&self) -> usize {
        RUNNING.start + STEPS * (self.meetings % (RUNNING.len() / STEPS)) + self.step
    }

    /// Receives what others have sent and this leader has not waited for. All leaders come here, and have no messages
    /// with each other afterwards. Messages between two ranks keep their order: so what lies before the last one has
    /// come with it.
    pub fn receive_the_rest(&mut self) {
        let (number, count) = (self.number, self.ranks.len() as u32);
        let near = (0..count.next_power_of_two().trailing_zeros()).map(|bit| number ^ 1 << bit);
        let with_first = match (self.in_turn, number) {
            (false, _) => 0..0,
            (true, 0) => 1..count,
            (true, _) => 0..1,
        };
        let far = with_first.filter(|other| !(number ^ other).is_power_of_two());
        let others: Vec<u32> = near.filter(|other| *other < count).chain(far).collect();
        others.iter().for_each(|other| self.comm.send(&[], self.ranks[*other as usize] as usize, OF_END));
        if others.iter().all(|other| self.take_up_to_end(*other as usize)) {
            UNRECEIVED.store(false, Ordering::Relaxed);
        }
    }

    /// Sends words to the leader of a number, without waiting for it.
    fn post(&self, to: usize, words: &[u64], tag: usize) {
        words.chunks(WORDS).for_each(|words| self.comm.send(words, self.ranks[to] as usize, tag));
    }

    /// Receives as many words from the leader of a number, unless they do not come in time: then the receive is
    /// cancelled, and the words are not touched any more.
    fn take(&self, from: usize, words: &mut [u64], tag: usize, patience: Duration) -> bool {
        let came = words.chunks_mut(WORDS).all(|words| {
            let (receive, mut pause) =
                (self.comm.receive(words.len(), self.ranks[from] as usize, tag), Pause::after(EAGER));
            let received = receive.and_then(|mut receive| receive.wait(patience, &mut pause));
            received.inspect(|received| words.copy_from_slice(received)).is_some()
        });
        UNRECEIVED.fetch_or(!came, Ordering::Relaxed);
        came
    }

    /// Receives all messages from the leader of a number, of any tag, up to and with one that has no words. False: that
    /// has not come.
    fn take_up_to_end(&self, from: usize) -> bool {
        let take_one = || self.comm.receive_any(WORDS, self.ranks[from] as usize)?.wait(LONG, &mut Pause::default());
        std::iter::from_fn(take_one).any(|words| words.is_empty())
    }
}

impl Peers for Leaders {
    fn rank(&self) -> usize {
        self.number as usize
    }

    fn size(&self) -> usize {
        self.ranks.len()
    }

    fn now(&self) -> u64 {
        ticks::now()
    }

    fn shown(&self, reading: u64) -> u64 {
        self.clock.shown(reading)
    }

    fn send(&mut self, to: usize, words: &[u64]) {
        if !self.lost {
            self.post(to, words, self.tag);
        }
    }

    fn receive(&mut self, from: usize, words: &mut [u64]) {
        if !self.lost && !self.take(from, words, self.tag, LONG) {
            self.lost = true;
        }
    }

    fn is_late(&mut self, share: f64) -> bool {
        let late = self.started.elapsed() > self.limit.mul_f64(share);
        self.late |= late;
        late
    }
}

impl Messages for Leaders {
    fn rank(&self) -> usize {
        self.number as usize
    }

    fn size(&self) -> usize {
        self.ranks.len()
    }

    fn next_step(&mut self) {
        self.step += 1;
    }

    fn send(&mut self, to: usize, words: [u64; 3]) {
        self.post(to, &words, self.meeting_tag());
    }

    fn receive(&mut self, from: usize, patience: Duration) -> Option<[u64; 3]> {
        let mut words = [0; 3];
        self.take(from, &mut words, self.meeting_tag(), patience).then_some(words)
    }
}
