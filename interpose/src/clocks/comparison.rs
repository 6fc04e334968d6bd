//! Two ranks pass a tick back and forth through a page that they share. A rank that reads an earlier tick than the one
//! that it received has another clock.
//!
//! A tick is passed on before it is read. So the fastest exchange in each direction bounds the difference of the two
//! clocks. Nothing else does: this bound is the stated error.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::placement::Placement;
use crate::base::memory::Line;
use crate::record::ticks;

/// The result of a test, ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Test {
    /// This rank's clock and that of the rank with number 0 differ by no more.
    pub bound: u64,
    /// The largest step back that this rank has seen or been seen with.
    pub step: u64,
}

const ROUNDS: u64 = 100;
/// Where they take long, since ranks share processors, fewer are enough: the ranks behind this pair are waiting.
const ROUNDS_AT_LEAST: u64 = 10;
const ENOUGH: Duration = Duration::from_millis(5);
/// So long at most a rank waits in MPI_Init for the other of its pair: the test is abandoned then, and the ranks count
/// as having clocks of their own. Both are there; with 256 ranks on two processors one exchange took more than 2 s.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// The patience in MPI_Finalize, where the first test stays valid if this one is abandoned.
pub const PATIENCE_AT_THE_END: Duration = Duration::from_secs(5);
/// Between two looks whether a rank's turn has come. Ranks that spin there take the processor from the pair that is
/// tested: with 64 ranks on two processors each exchange took as long as 60 ranks spin.
const BETWEEN_LOOKS: Duration = Duration::from_micros(200);

/// So many times a rank of the pair looks for its turn before it sleeps between looks, and for how long.
const SPINS: u64 = 5000;
const SHORT: Duration = Duration::from_micros(20);

/// Tests the clocks of this many ranks against that of rank 0 of them, on a zeroed line of a page that they share.
/// Ranks that wait for their turn call `meanwhile` from time to time. `None`: a rank did not answer in time.
///
/// The first rank does so with each other in turn. Where one of a pair does not answer in time, the others go on.
pub fn test(line: &Line, rank: u32, size: u32, patience: Duration, meanwhile: &dyn Fn()) -> Option<Test> {
    let turn = &line[0];
    if rank != 0 {
        let first = first_turn(rank);
        // Where a pair before this one does not answer, the first rank gives it up after its own patience.
        wait_for(turn, first + 1, 2 * patience, Some(meanwhile))?;
        return run_pair(line, false, first, patience);
    }
    let mut found = Some(Test::default());
    for other in 1..size {
        let pair = run_pair(line, true, first_turn(other), patience);
        if pair.is_none() {
            // The other sees that its turns are over.
            turn.store(first_turn(other + 1), Ordering::Release);
        }
        let larger = |all: Test, pair: Test| Test { bound: all.bound.max(pair.bound), step: all.step.max(pair.step) };
        found = found.zip(pair).map(|(all, pair)| larger(all, pair));
    }
    found
}

/// The turn before the first one of a pair, which has as many as it has exchanges, and one at its end.
fn first_turn(other: u32) -> u64 {
    u64::from(other) * (2 * ROUNDS + 2)
}

/// One pair: what the quicker exchange bounds, and the largest step back.
fn run_pair(line: &Line, is_first: bool, base: u64, patience: Duration) -> Option<Test> {
    let [turn, tick, seen_by_first, processor, ..] = line;
    // On which of them the rank is that has had the turn, and 1 more; 0: not known yet.
    let mut placement = Placement::default();
    let mut part = || {
        let other = processor.load(Ordering::Relaxed).checked_sub(1);
        let own = placement.leave(other.map(|other| other as u32));
        processor.store(u64::from(own) + 1, Ordering::Relaxed);
    };
    if is_first {
        // It may still say where the rank of another pair was.
        processor.store(0, Ordering::Relaxed);
    }
    let last = base + 2 * ROUNDS + 1;
    let started = Instant::now();
    // Even turns are the first rank's to answer.
    let mut seen = Test { bound: u64::MAX, step: 0 };
    for round in 0..ROUNDS {
        let turn_here = base + 2 * round + 1;
        if is_first {
            if round >= ROUNDS_AT_LEAST && started.elapsed() > ENOUGH {
                break;
            }
            part();
            hand_over(turn, tick, turn_here);
            wait_for(turn, turn_here + 1, patience, None)?;
            seen.add((ticks::now(), tick.load(Ordering::Relaxed)));
        } else {
            match wait_for(turn, turn_here, patience, None)? {
                // The first rank takes no more exchanges.
                now if now == last => break,
                // It has given this pair up.
                now if now != turn_here => return None,
                _ => seen.add((ticks::now(), tick.load(Ordering::Relaxed))),
            }
            part();
            hand_over(turn, tick, turn_here + 1);
        }
    }
    if is_first {
        // A step between the two is the other's.
        seen_by_first.store(seen.step, Ordering::Relaxed);
        turn.store(last, Ordering::Release);
        // The next pair uses the same words.
        wait_for(turn, last + 1, patience, None)?;
        seen.step = 0;
    } else {
        wait_for(turn, last, patience, None)?;
        seen.step = seen.step.max(seen_by_first.load(Ordering::Relaxed));
        turn.fetch_max(last + 1, Ordering::AcqRel);
    }
    Some(seen)
}

fn hand_over(turn: &AtomicU64, tick: &AtomicU64, next: u64) {
    tick.store(ticks::now(), Ordering::Relaxed);
    turn.store(next, Ordering::Release);
}

impl Test {
    /// Adds an exchange of a pair: the own clock's tick, and the other's before.
    fn add(&mut self, (now, earlier): (u64, u64)) {
        match now.checked_sub(earlier) {
            Some(passed) => self.bound = self.bound.min(passed),
            None => self.step = self.step.max(earlier - now),
        }
    }
}

/// Waits until the turn is this one or a later one: which. `None`: the turn has not changed for so long. Spins; with
/// something to do meanwhile, it sleeps between looks.
fn wait_for(turn: &AtomicU64, expected: u64, patience: Duration, meanwhile: Option<&dyn Fn()>) -> Option<u64> {
    let mut started = None;
    let mut last = 0;
    let mut spins = 0u64;
    loop {
        let now = turn.load(Ordering::Acquire);
        if now >= expected {
            return Some(now);
        }
        if now != last {
            (started, last) = (None, now);
        }
        spins += 1;
        if meanwhile.is_some() || spins >= SPINS || spins.is_multiple_of(1000) {
            match meanwhile {
                Some(work) => {
                    std::thread::sleep(BETWEEN_LOOKS);
                    work();
                }
                // Two ranks may share a processor; where others want it too, only a sleep gives it to the other rank.
                None if spins < SPINS => std::thread::yield_now(),
                None => std::thread::sleep(SHORT),
            }
            if started.get_or_insert_with(Instant::now).elapsed() >= patience {
                return None;
            }
        }
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results of the ranks, where one of them (if any) never answers.
    fn found(size: u32, silent: Option<u32>) -> Vec<Option<Test>> {
        let line = Line::default();
        std::thread::scope(|scope| {
            let line = &line;
            let ranks: Vec<_> = (0..size).filter(|rank| Some(*rank) != silent).collect();
            let tested: Vec<_> = ranks
                .into_iter()
                .map(|rank| scope.spawn(move || test(line, rank, size, Duration::from_secs(2), &|| {})))
                .collect();
            tested.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn ranks_of_one_clock_see_no_step() {
        for (rank, found) in found(5, None).into_iter().enumerate() {
            let Test { bound, step } = found.expect("a result");
            assert!(step == 0 && bound > 0 && bound < u64::MAX, "rank {rank}: {bound} {step}");
        }
    }

    /// One rank that does not come takes nothing from the ranks behind it.
    #[test]
    fn a_rank_that_is_silent_is_given_up_alone() {
        let found = found(4, Some(2));
        assert_eq!(found[0], None, "the first rank has seen that one was silent");
        assert!(found[1].is_some() && found[2].is_some(), "{found:?}");
    }
}
