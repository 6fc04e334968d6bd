//! The stacks of ranks of this node that do not go on, taken before the job is killed.

use std::time::{Duration, Instant};

use mpitrace_format::layout::{Anchor, NO_RANK};
use mpitrace_format::live::{Segment, now};
use mpitrace_format::metadata::{self, Metadata};
use mpitrace_live::process::Process;
use mpitrace_live::{Moved, copy, moved};
use mpitrace_words::stack::Stack;

use crate::stacks::{Capture, Namer, Why};

/// `--stuck`, where it is not given.
const LONG: Duration = Duration::from_secs(10);
const SHORTEST: Duration = Duration::from_millis(100);
/// The longest time between two looks at a rank.
pub const LONGEST: Duration = Duration::from_secs(2);
/// A signal is not held for longer.
const PATIENCE: Duration = Duration::from_secs(2);
const LISTED: usize = 12;

/// For how long a rank has not moved: at least and, where that is known, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Still {
    /// It has not moved for at least so long.
    pub least: Duration,
    /// It has not moved for at most so long; `None`: not known.
    pub most: Option<Duration>,
    /// The longest time for which it had not moved before it went on, at least; MPI_Init does not count.
    pub longest_pause: Duration,
    /// For so long it has done nothing but poll, and no other thread of its process has run; `None`: it did not poll,
    /// or that is not known.
    pub polled: Option<Duration>,
}

/// When stacks are taken, and whether they are shown at once.
pub struct Standstill {
    limit: Duration,
    shown: Option<Namer>,
}

/// A rank, as it was seen so far.
pub struct Standing {
    segment: Segment,
    pid: u32,
    /// Changes whenever the rank moves.
    number: u64,
    since: Instant,
    /// The look before that at which it was seen to have moved; `None`: it was not seen to move.
    unlike: Option<Instant>,
    /// The last look; `None`: there was none.
    looked: Option<Instant>,
    /// The last look saw it in MPI_Init.
    was_in_init: bool,
    longest_pause: Duration,
    polling: Option<Polling>,
    is_tried: bool,
    capture: Option<Result<Capture, Why>>,
}

/// A rank that has done nothing but poll since a look.
#[derive(Clone, Copy)]
struct Polling {
    since: Instant,
    /// The tick of its last stamp.
    tick: u64,
    /// How long the other threads of its process had run, ns.
    others_ran_ns: u64,
    /// The longest time, with its end, for which it had done nothing else before another thread ran: the end of a job
    /// wakes the threads of the MPI library.
    before: Option<(Duration, Instant)>,
}

impl Polling {
    /// The longest time for which it has done nothing but poll, of those that ended at most [`LONGEST`] before.
    fn longest(&self, now: Instant) -> (Duration, Instant) {
        let present = (now.saturating_duration_since(self.since), now);
        let before = self.before.filter(|(_, until)| now.saturating_duration_since(*until) < LONGEST);
        before.map_or(present, |before| before.max(present))
    }
}

impl Standstill {
    /// By the value of `MPITRACE_STACKS`, and by `--stuck`: the stacks are shown at once where it is given. `None`: the
    /// user wants no stacks.
    pub fn new(stacks: Option<&str>, given: Option<Duration>) -> Option<Standstill> {
        let asked = Standstill { limit: given.unwrap_or(LONG), shown: given.map(|_| Namer::default()) };
        (stacks != Some("0")).then_some(asked)
    }

    /// The time between two looks.
    pub fn pause(&self) -> Duration {
        (self.limit / 8).clamp(SHORTEST, LONGEST)
    }

    /// Takes the stacks of ranks, by their processes, that have not moved for long; of all where the job is to end.
    pub fn look<'r>(&mut self, ranks: impl Iterator<Item = (u32, &'r mut Standing)>, is_to_end: bool) {
        let began = Instant::now();
        let mut shown = Vec::new();
        for (pid, rank) in ranks.take_while(|_| is_to_end || began.elapsed() < PATIENCE) {
            let Some((Moved { rank: world_rank, tids, .. }, still)) = rank.look() else { continue };
            // A process in MPI_Init has a segment of its own there.
            if world_rank == NO_RANK || rank.is_tried || !is_to_end && still < self.limit {
                continue;
            }
            rank.is_tried = true;
            let mut capture = Err(Why::Unreadable);
            while matches!(capture, Err(Why::Unreadable)) && began.elapsed() < PATIENCE {
                capture = Capture::take(&Process::read(pid, &tids).unwrap_or_default(), false);
                if !is_to_end {
                    break;
                }
                // A thread that gets no processor does not stop. There is no later look.
            }
            match (&capture, self.shown.as_mut().filter(|_| !is_to_end)) {
                (Ok(capture), Some(namer)) => shown.push((world_rank, namer.stacks(capture, false))),
                (Err(why), Some(_)) => shown.push((world_rank, vec![Err(why.text())])),
                (_, None) => {}
            }
            rank.capture = Some(capture);
        }
        let stacks = Stack::folded(shown.iter().flat_map(|(rank, stacks)| stacks.iter().map(|stack| (*rank, stack))));
        stacks.iter().take(LISTED).for_each(|stack| eprintln!("mpitrace: {}", stack.line()));
    }
}

impl Standing {
    /// A rank with this segment and process that was not looked at so far.
    pub fn new(segment: Segment, pid: u32) -> Standing {
        let since = Instant::now();
        Standing {
            segment,
            pid,
            number: 0,
            since,
            unlike: None,
            looked: None,
            was_in_init: true,
            longest_pause: Duration::ZERO,
            polling: None,
            is_tried: false,
            capture: None,
        }
    }

    /// Where the rank is now, and for how long it has not moved.
    pub fn look(&mut self) -> Option<(Moved, Duration)> {
        let moved = self.moved()?;
        let now = Instant::now();
        if moved.number != self.number {
            if let Some(looked) = self.looked.filter(|_| !self.was_in_init) {
                self.longest_pause = self.longest_pause.max(looked - self.since);
            }
            (self.number, self.since, self.is_tried, self.capture) = (moved.number, now, false, None);
            self.unlike = self.looked;
            self.polling = None;
        }
        self.polling = self.polling_at(&moved, now);
        (self.looked, self.was_in_init) = (Some(now), moved.rank == NO_RANK);
        Some((moved, now - self.since))
    }

    /// Since when it does nothing but poll: it has polled since the last look, and no other thread has run.
    fn polling_at(&self, moved: &Moved, now: Instant) -> Option<Polling> {
        let tick = moved.polled?;
        // Of a process that has ended the last look before is what is known.
        let Some(process) = Process::read(self.pid, &moved.tids) else { return self.polling };
        let others_ran_ns = process.others_ran_ns()?;
        let goes_on = |before: &Polling| before.tick != tick && before.others_ran_ns == others_ran_ns;
        Some(match self.polling {
            Some(before) if goes_on(&before) => Polling { tick, ..before },
            before => Polling { since: now, tick, others_ran_ns, before: before.map(|before| before.longest(now)) },
        })
    }

    /// For how long it had not moved at this time, at which its process had ended. `None`: it was not looked at before.
    pub fn still_at(&mut self, end: Instant) -> Option<Still> {
        self.looked?;
        let (number, polling) = (self.number, self.polling);
        let (moved, _) = self.look()?;
        let polling = polling.filter(|_| moved.number == number && moved.polled.is_some());
        let polled = polling.map(|polling| polling.longest(end).0);
        let most = self.unlike.map(|unlike| end.saturating_duration_since(unlike));
        let least = end.saturating_duration_since(self.since);
        Some(Still { least, most, longest_pause: self.longest_pause, polled })
    }

    /// The present, by the counter that the rank uses and the clocks of the system.
    pub fn anchor(&self) -> Anchor {
        now::anchor(self.segment.rank.clock_source)
    }

    /// The run metadata of the rank so far; `None`: the segment cannot be read.
    pub fn metadata(&self) -> Option<Metadata> {
        let copied = copy(&self.segment, 0).ok()?;
        metadata::decode(copied.content().ok()?.metadata)
    }

    /// Its threads, its rank and its run, where these are known.
    pub fn moved(&self) -> Option<Moved> {
        moved(&self.segment).ok()
    }

    /// The stacks or why there are none, where the rank has not moved since they were asked for. Its process has ended.
    pub fn last(&mut self) -> Option<Result<Capture, Why>> {
        let number = moved(&self.segment).ok()?.number;
        self.capture.take().filter(|_| number == self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_the_end_of_a_job_wakes_do_not_hide_that_a_rank_polled() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let polling = |since, before| Polling { since: at(since), tick: 1, others_ran_ns: 0, before };
        let seconds = |(longest, _): (Duration, Instant)| longest.as_secs();
        assert_eq!(seconds(polling(2, None).longest(at(10))), 8);
        // Another thread ran at 10 s, when the job ended, and at 10 s again.
        let first = polling(10, Some(polling(2, None).longest(at(10))));
        assert_eq!(seconds(first.longest(at(10))), 8);
        assert_eq!(seconds(polling(10, Some(first.longest(at(10)))).longest(at(11))), 8);
        // One that ran long before has had the rank go on.
        assert_eq!(seconds(first.longest(at(13))), 3);
    }
}
