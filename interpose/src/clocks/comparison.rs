//! Two ranks pass a tick back and forth through a page that they share. A rank that reads an earlier tick than the one
//! that it received has another clock.
//!
//! A tick is passed on before it is read. So the fastest exchange in each direction bounds the difference of the two
//! clocks. Nothing else does: this bound is the stated error. Where a rank has no processor the exchanges end with the
//! time for them, however few they were: the ranks have bounds from the moment at which they met.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mpitrace_platform::time::{Instant, sleep};

use super::placement::Placement;
use crate::base::memory::Line;
use crate::base::system;
use crate::base::ticks;

/// The result of a test, ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Test {
    /// This rank's clock is ahead of those that it was tested against by no more; `u64::MAX`: no exchange took place.
    pub bound: u64,
    /// The largest step back that this rank has seen or been seen with.
    pub step: u64,
}

const NONE: Test = Test { bound: u64::MAX, step: 0 };

const ROUNDS: u64 = 100;
/// Where they take long, since ranks share processors, fewer are enough: the ranks behind this pair are waiting.
const ROUNDS_AT_LEAST: u64 = 10;
const ENOUGH: Duration = Duration::from_millis(2);
/// Between two looks whether a rank's turn has come. Ranks that spin there take the processor from the pair that is
/// tested: with 64 ranks on two processors each exchange took as long as 60 ranks spin.
const BETWEEN_LOOKS: Duration = Duration::from_micros(200);

/// So many times a rank of the pair looks for its turn before it sleeps between looks, and for how long.
const SPINS: u64 = 5000;
const SHORT: Duration = Duration::from_micros(20);

/// The time that a rank has for a test. Two ranks with a processor each need .1 ms; a rank that waits for a processor
/// beside ten busy processes gets it after 30 ms, twice for each exchange.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    pub wall: Duration,
    /// Processor time of the thread.
    pub processor: Duration,
}

impl Budget {
    /// The budget of so many ranks, of which the first is compared with each other one.
    pub fn for_ranks(ranks: u32) -> Budget {
        let wall = Duration::from_millis(10) + ranks.saturating_sub(2) * Duration::from_millis(2);
        Budget { wall: wall.min(Duration::from_millis(100)), processor: Duration::from_millis(5) }
    }
}

/// The moments at which a budget is used up.
struct Limit {
    wall: Instant,
    processor: u64,
}

impl Limit {
    fn new(budget: Budget) -> Limit {
        let processor = processor_time() + budget.processor.as_nanos() as u64;
        Limit { wall: Instant::now() + budget.wall, processor }
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.wall || processor_time() >= self.processor
    }
}

fn processor_time() -> u64 {
    system::nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Tests the clocks of this many ranks against that of rank 0 of them, on a zeroed line of a page that they share.
/// Ranks that wait for their turn call `meanwhile` from time to time.
///
/// The first rank does so with each other in turn. What does not fit into its budget is left out.
pub fn test(line: &Line, rank: u32, size: u32, budget: Budget, meanwhile: &dyn Fn()) -> Test {
    let turn = &line[0];
    if rank != 0 {
        let first = first_turn(rank);
        // The first rank may come as late as its own budget allows, and sleeps meanwhile take no processor time.
        let waits = Limit::new(Budget { wall: 2 * budget.wall, ..budget });
        if wait_for(turn, first + 1, &waits, Some(meanwhile)).is_none() {
            return NONE;
        }
        return run_pair(line, false, first, &Limit::new(budget)).0;
    }
    let limit = Limit::new(budget);
    let mut found = NONE;
    for other in 1..size {
        let (pair, ended) = run_pair(line, true, first_turn(other), &limit);
        if !ended {
            // The other sees that its turns are over.
            turn.store(first_turn(other + 1), Ordering::Release);
        }
        // The bound holds for all, so the widest counts.
        found.bound = if other == 1 { pair.bound } else { found.bound.max(pair.bound) };
        found.step = found.step.max(pair.step);
    }
    found
}

/// The turn before the first one of a pair, which has as many as it has exchanges, and one at its end.
fn first_turn(other: u32) -> u64 {
    u64::from(other) * (2 * ROUNDS + 2)
}

/// One pair: what the quicker exchange bounds, and the largest step back; and whether it has come to its end.
fn run_pair(line: &Line, is_first: bool, base: u64, limit: &Limit) -> (Test, bool) {
    let mut seen = NONE;
    let ended = exchange(line, is_first, base, limit, &mut seen).is_some();
    (seen, ended)
}

/// `None`: the budget is used up, or the other has given the pair up.
fn exchange(line: &Line, is_first: bool, base: u64, limit: &Limit, seen: &mut Test) -> Option<()> {
    let [turn, tick, seen_by_first, processor, ..] = line;
    // On which of them the rank is that has had the turn, and 1 more; 0: not known yet.
    let mut placement = Placement::default();
    let mut part = || {
        let other = processor.load(Ordering::Relaxed).checked_sub(1);
        let here = placement.leave(other.map(|other| other as u32));
        processor.store(u64::from(here) + 1, Ordering::Relaxed);
    };
    if is_first {
        // It may still say where the rank of another pair was.
        processor.store(0, Ordering::Relaxed);
    }
    let last = base + 2 * ROUNDS + 1;
    let started = Instant::now();
    // Even turns are the first rank's to answer.
    for round in 0..ROUNDS {
        let turn_here = base + 2 * round + 1;
        if is_first {
            if round >= ROUNDS_AT_LEAST && started.elapsed() > ENOUGH {
                break;
            }
            part();
            hand_over(turn, tick, turn_here);
            wait_for(turn, turn_here + 1, limit, None)?;
            seen.add((ticks::now(), tick.load(Ordering::Relaxed)));
        } else {
            match wait_for(turn, turn_here, limit, None)? {
                // The first rank takes no more exchanges.
                now if now == last => break,
                // It has given this pair up.
                now if now != turn_here => return None,
                _ => seen.add((ticks::now(), tick.load(Ordering::Relaxed))),
            }
            part();
            // It may have given the pair up meanwhile.
            tick.store(ticks::now(), Ordering::Relaxed);
            turn.compare_exchange(turn_here, turn_here + 1, Ordering::AcqRel, Ordering::Relaxed).ok()?;
        }
    }
    if is_first {
        // A step between the two is the other's.
        seen_by_first.store(seen.step, Ordering::Relaxed);
        turn.store(last, Ordering::Release);
        // The next pair uses the same words.
        wait_for(turn, last + 1, limit, None)?;
        seen.step = 0;
    } else {
        wait_for(turn, last, limit, None).filter(|now| *now == last)?;
        seen.step = seen.step.max(seen_by_first.load(Ordering::Relaxed));
        turn.compare_exchange(last, last + 1, Ordering::AcqRel, Ordering::Relaxed).ok()?;
    }
    Some(())
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

/// Waits until the turn is this one or a later one: which. `None`: the time for it is over. Spins; with something to do
/// meanwhile, it sleeps between looks.
fn wait_for(turn: &AtomicU64, expected: u64, limit: &Limit, meanwhile: Option<&dyn Fn()>) -> Option<u64> {
    let mut spins = 0u64;
    loop {
        let now = turn.load(Ordering::Acquire);
        if now >= expected {
            return Some(now);
        }
        spins += 1;
        if meanwhile.is_some() || spins >= SPINS || spins.is_multiple_of(1000) {
            match meanwhile {
                Some(work) => {
                    sleep(BETWEEN_LOOKS);
                    work();
                }
                // Two ranks may share a processor; where others want it too, only a sleep gives it to the other rank.
                None if spins < SPINS => std::thread::yield_now(),
                None => sleep(SHORT),
            }
            if limit.is_over() {
                return None;
            }
        }
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AMPLE: Budget = Budget { wall: Duration::from_secs(60), processor: Duration::from_secs(60) };

    /// The results of the ranks, where one of them (if any) never answers.
    fn found(size: u32, silent: Option<u32>, budget: Budget) -> Vec<Test> {
        let line = Line::default();
        std::thread::scope(|scope| {
            let line = &line;
            let ranks: Vec<_> = (0..size).filter(|rank| Some(*rank) != silent).collect();
            let tested: Vec<_> =
                ranks.into_iter().map(|rank| scope.spawn(move || test(line, rank, size, budget, &|| {}))).collect();
            tested.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn ranks_of_one_clock_see_no_step() {
        for (rank, Test { bound, step }) in found(5, None, AMPLE).into_iter().enumerate() {
            assert!(step == 0 && bound > 0 && bound < u64::MAX, "rank {rank}: {bound} {step}");
        }
    }

    /// Neither side of a pair waits longer than it may, and no rank sees a step where none is.
    #[test]
    fn a_rank_that_is_silent_costs_the_budget_and_no_more() {
        let budget = Budget { wall: Duration::from_millis(50), processor: Duration::from_millis(50) };
        for silent in [0, 2] {
            let found = found(4, Some(silent), budget);
            assert!(found.iter().all(|test| test.step == 0), "{found:?}");
            let none = if silent == 0 { 3 } else { 1 };
            assert!(found.iter().filter(|test| test.bound == u64::MAX).count() >= none, "{found:?}");
        }
    }
}
