//! Two ranks hand a tick back and forth through a page that they share: whoever reads an earlier tick than the one he
//! was handed has another clock.
//!
//! What was handed over before it was read bounds the difference of the two clocks by the quickest handover each way;
//! nothing else does, so that is the error that is stated.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mpitrace_format::layout::PAGE;
use mpitrace_platform::node_files;

use super::together::all;
use crate::boundary::mpi::Comm;
use crate::boundary::system;
use crate::record::memory::{SharedPage, allocate};
use crate::record::ticks;

/// What a test has shown, ticks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Test {
    /// Two of the clocks differ by no more.
    pub bound: u64,
    /// The largest step back that this rank has seen or been seen with.
    pub step: u64,
}

/// Handovers each way.
const ROUNDS: u64 = 100;
/// So long at most a rank waits for the other of its pair: the test is given up then, and the ranks count as having
/// clocks of their own. Both are there; with 256 ranks on two processors one handover took more than 2 s.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two looks whether a rank's turn has come. Ranks that spin there take the processor from the pair that is
/// tested: with 64 ranks on two processors each handover took as long as 60 ranks spin.
const BETWEEN_LOOKS: Duration = Duration::from_micros(200);

/// Tests the clocks of all ranks of a communicator against the first one's. `None`: it could not be done.
pub fn test(comm: Comm, folder: Option<&Path>) -> Option<Test> {
    let (rank, size) = (comm.rank()?, comm.size()?);
    if size == 1 {
        return Some(Test::default());
    }
    let page = share(comm, rank, folder);
    let shared = all(comm, page.is_some());
    let found = page.filter(|_| shared).and_then(|page| run(&page, rank, size, PATIENCE));
    // Everybody has to know what nobody could tell.
    let done = all(comm, found.is_some());
    let (bound, step) = found.filter(|_| done)?;
    // Any two differ by no more than both do from the first.
    let widest = comm.min(-(bound as i64))?.unsigned_abs();
    let twice = if size > 2 { 2 } else { 1 };
    Some(Test { bound: widest * twice, step })
}

/// A page of zeros, the same one for all ranks of a communicator; rank 0 makes it.
pub fn share(comm: Comm, rank: u32, folder: Option<&Path>) -> Option<SharedPage> {
    let mut process = [u64::from(std::process::id())];
    let create = |process: u64| -> Option<(std::path::PathBuf, File)> {
        let path = folder?.join(format!("{}{process}.clock", node_files::prefix(system::user())));
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        let file = if rank == 0 { options.create_new(true).open(&path) } else { options.open(&path) }.ok()?;
        // The name can be guessed: a page of another user's file may vanish, which would end the program with SIGBUS.
        let is_ours = || file.metadata().is_ok_and(|found| found.uid() == system::user() && found.len() >= PAGE);
        if rank == 0 || is_ours() { Some((path, file)) } else { None }
    };
    let mut made = None;
    if rank == 0 {
        // A page without memory behind it would end the program with SIGBUS where the folder is full.
        made = create(process[0]).filter(|(_, file)| allocate(file, 0, PAGE));
    }
    comm.broadcast(&mut process);
    if rank != 0 {
        made = create(process[0]);
    }
    let mapped = made.as_ref().and_then(|(_, file)| SharedPage::of(file));
    // Whoever wanted to open it has done so.
    comm.min(0);
    if let (0, Some((path, _))) = (rank, &made) {
        let _ = std::fs::remove_file(path);
    }
    mapped
}

/// The first rank with each other in turn. The bound, and the largest step back. `None` for a pair of which one rank did
/// not answer in time; the others go on.
fn run(page: &SharedPage, rank: u32, size: u32, patience: Duration) -> Option<(u64, u64)> {
    let turn = &page.words()[0];
    if rank != 0 {
        let first = first_turn(rank);
        // Before this pair there are so many at most that do not answer.
        wait_for(turn, first + 1, patience * (rank + 1), BETWEEN_LOOKS)?;
        return run_pair(page, false, first, patience);
    }
    let mut found = Some((0, 0));
    for other in 1..size {
        let pair = run_pair(page, true, first_turn(other), patience);
        if pair.is_none() {
            // The other sees that its turns are over.
            turn.store(first_turn(other + 1), Ordering::Release);
        }
        found = found.zip(pair).map(|(all, pair): ((u64, u64), (u64, u64))| (all.0.max(pair.0), all.1.max(pair.1)));
    }
    found
}

/// The turn before the first one of a pair, which has as many as it has handovers, and one at its end.
fn first_turn(other: u32) -> u64 {
    u64::from(other) * (2 * ROUNDS + 2)
}

/// One pair: what the quicker handover bounds, and the largest step back.
fn run_pair(page: &SharedPage, is_first: bool, base: u64, patience: Duration) -> Option<(u64, u64)> {
    let [turn, tick, seen_by_first, ..] = page.words();
    // Even turns are the first rank's to answer.
    let mut seen = Seen { quickest: u64::MAX, step: 0 };
    for round in 0..ROUNDS {
        let turn_here = base + 2 * round + 1;
        if is_first {
            hand_over(turn, tick, turn_here);
            seen.add(handed(turn, tick, turn_here + 1, patience)?);
        } else {
            seen.add(handed(turn, tick, turn_here, patience)?);
            hand_over(turn, tick, turn_here + 1);
        }
    }
    let last = base + 2 * ROUNDS + 1;
    if is_first {
        // A step between the two is the other's.
        seen_by_first.store(seen.step, Ordering::Relaxed);
        turn.store(last, Ordering::Release);
        // The next pair uses the same words.
        wait_for(turn, last + 1, patience, Duration::ZERO)?;
        seen.step = 0;
    } else {
        wait_for(turn, last, patience, Duration::ZERO)?;
        seen.step = seen.step.max(seen_by_first.load(Ordering::Relaxed));
        turn.fetch_max(last + 1, Ordering::AcqRel);
    }
    Some((seen.quickest, seen.step))
}

fn hand_over(turn: &AtomicU64, tick: &AtomicU64, next: u64) {
    tick.store(ticks::now(), Ordering::Relaxed);
    turn.store(next, Ordering::Release);
}

/// Waits for the tick of this turn: the own clock's tick then, and the other's before.
fn handed(turn: &AtomicU64, tick: &AtomicU64, expected: u64, patience: Duration) -> Option<(u64, u64)> {
    if wait_for(turn, expected, patience, Duration::ZERO)? != expected {
        // The first rank has given this pair up.
        return None;
    }
    let now = ticks::now();
    Some((now, tick.load(Ordering::Relaxed)))
}

/// What the handovers of a pair have shown so far, ticks.
struct Seen {
    quickest: u64,
    step: u64,
}

impl Seen {
    fn add(&mut self, (now, earlier): (u64, u64)) {
        match now.checked_sub(earlier) {
            Some(passed) => self.quickest = self.quickest.min(passed),
            None => self.step = self.step.max(earlier - now),
        }
    }
}

/// Waits until the turn is this one or a later one: which. Sleeps between looks, or spins where there is no pause.
fn wait_for(turn: &AtomicU64, expected: u64, patience: Duration, pause: Duration) -> Option<u64> {
    let mut started = None;
    let mut spins = 0u64;
    loop {
        let now = turn.load(Ordering::Acquire);
        if now >= expected {
            return Some(now);
        }
        spins += 1;
        if !pause.is_zero() || spins.is_multiple_of(1000) {
            // Two ranks may share a processor.
            if pause.is_zero() {
                std::thread::yield_now()
            } else {
                std::thread::sleep(pause)
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

    fn page() -> SharedPage {
        let path = std::env::temp_dir().join(format!("mpitrace-page-{}-{:x}", std::process::id(), ticks::now()));
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
        assert!(allocate(&file, 0, PAGE));
        std::fs::remove_file(path).unwrap();
        SharedPage::of(&file).unwrap()
    }

    /// What each rank finds, where one of them (if any) never answers.
    fn found(size: u32, silent: Option<u32>) -> Vec<Option<(u64, u64)>> {
        let page = page();
        std::thread::scope(|scope| {
            let page = &page;
            let ranks: Vec<_> = (0..size).filter(|rank| Some(*rank) != silent).collect();
            let tested: Vec<_> = ranks
                .into_iter()
                .map(|rank| scope.spawn(move || run(page, rank, size, Duration::from_secs(2))))
                .collect();
            tested.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn ranks_of_one_clock_see_no_step() {
        for (rank, found) in found(5, None).into_iter().enumerate() {
            let (bound, step) = found.expect("a result");
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
