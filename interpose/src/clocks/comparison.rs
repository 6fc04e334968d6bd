//! Two ranks hand a tick back and forth through a page that they share: whoever reads an earlier tick than the one he
//! was handed has another clock.
//!
//! What was handed over before it was read bounds the difference of the two clocks by the quickest handover each way;
//! nothing else does, so that is the error that is stated.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use mpitrace_format::layout::PAGE;
use mpitrace_platform::node_files;

use super::together::all;
use crate::boundary::mpi::Comm;
use crate::boundary::system;
use crate::record::memory::SharedPage;
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
/// So long at most a rank waits for the other, s: the test is given up then, and the ranks count as having clocks of
/// their own.
const PATIENCE: u64 = 2;

/// Tests the clocks of all ranks of a communicator against the first one's. `None`: it could not be done.
pub fn test(comm: Comm, folder: Option<&Path>) -> Option<Test> {
    let (rank, size) = (comm.rank()?, comm.size()?);
    if size == 1 {
        return Some(Test::default());
    }
    let page = share(comm, rank, folder);
    let shared = all(comm, page.is_some());
    let found = page.filter(|_| shared).and_then(|page| run(&page, rank, size));
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
        let file = if rank == 0 { options.create_new(true).open(&path) } else { options.open(&path) };
        Some((path, file.ok()?))
    };
    let mut made = None;
    if rank == 0 {
        made = create(process[0]).filter(|(_, file)| file.set_len(PAGE).is_ok());
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

/// The first rank with each other in turn. The bound, and the largest step back.
fn run(page: &SharedPage, rank: u32, size: u32) -> Option<(u64, u64)> {
    let [turn, tick, seen_by_first, ..] = page.words();
    let mut found = (0, 0);
    for other in 1..size {
        if rank != 0 && rank != other {
            continue;
        }
        let base = u64::from(other) * (2 * ROUNDS + 4);
        // Even turns are the first rank's to answer.
        let (mut quickest, mut step) = (u64::MAX, 0u64);
        for round in 0..=ROUNDS {
            let before = base + 2 * round;
            if rank == 0 {
                if round > 0 {
                    handed(turn, tick, before, &mut quickest, &mut step)?;
                }
                hand_over(turn, tick, before + 1);
            } else {
                handed(turn, tick, before + 1, &mut quickest, &mut step)?;
                if round < ROUNDS {
                    hand_over(turn, tick, before + 2);
                }
            }
        }
        let last = base + 2 * ROUNDS + 2;
        if rank == 0 {
            // A step between the two is the other's.
            seen_by_first.store(step, Ordering::Relaxed);
            turn.store(last, Ordering::Release);
            step = 0;
        } else {
            wait_for(turn, last)?;
            step = step.max(seen_by_first.load(Ordering::Relaxed));
        }
        found = (found.0.max(quickest), found.1.max(step));
    }
    Some(found)
}

fn hand_over(turn: &AtomicU64, tick: &AtomicU64, next: u64) {
    tick.store(ticks::now(), Ordering::Relaxed);
    turn.store(next, Ordering::Release);
}

/// Waits for the tick of this turn, and compares it with the own clock.
fn handed(turn: &AtomicU64, tick: &AtomicU64, expected: u64, quickest: &mut u64, step: &mut u64) -> Option<()> {
    wait_for(turn, expected)?;
    let now = ticks::now();
    let earlier = tick.load(Ordering::Relaxed);
    match now.checked_sub(earlier) {
        Some(passed) => *quickest = (*quickest).min(passed),
        None => *step = (*step).max(earlier - now),
    }
    Some(())
}

fn wait_for(turn: &AtomicU64, expected: u64) -> Option<()> {
    let mut started = None;
    let mut spins = 0u64;
    while turn.load(Ordering::Acquire) < expected {
        spins += 1;
        if spins.is_multiple_of(1000) {
            // Two ranks may share a processor.
            std::thread::yield_now();
            if started.get_or_insert_with(std::time::Instant::now).elapsed().as_secs() >= PATIENCE {
                return None;
            }
        }
        std::hint::spin_loop();
    }
    Some(())
}
