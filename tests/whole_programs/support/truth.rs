//! The own counts of the ranks of tests/programs/returned.c: the calls that had returned when they died.

use super::{Trace, process};
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// In the order in which the program counts them.
const FUNCTIONS: [&str; 6] =
    ["MPI_Allreduce", "MPI_Bcast", "MPI_Barrier", "MPI_Iallreduce", "MPI_Allgather", "MPI_Alltoall"];

/// The file of one rank.
#[derive(Clone, Debug)]
pub struct Truth {
    pub process: u32,
    /// Calls of each of the functions.
    pub returned: [u64; FUNCTIONS.len()],
}

/// The calls that returned, in a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Calls that the program counted.
    pub returned: u64,
    /// Calls that the trace should have and has not.
    pub lost: u64,
    /// Calls that the trace has and the program did not make.
    pub invented: u64,
}

impl Truth {
    /// The count of this rank so far; `None` before its first call.
    pub fn of_rank(folder: &Path, rank: u32) -> Option<Truth> {
        let bytes = fs::read(folder.join(format!("returned.{rank}"))).ok()?;
        let words: Vec<u64> = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let (&process, returned) = words.split_first()?;
        let truth = Truth { process: process as u32, returned: returned.try_into().ok()? };
        (truth.process != 0).then_some(truth)
    }

    /// The counts of all ranks, once each of them has made this many calls.
    pub fn once_after(folder: &Path, ranks: u32, calls: u64, limit: Duration) -> Option<Vec<Truth>> {
        let started = Instant::now();
        while started.elapsed() < limit {
            let all: Option<Vec<Truth>> = (0..ranks).map(|rank| Truth::of_rank(folder, rank)).collect();
            match all {
                Some(all) if all.iter().all(|truth| truth.calls() >= calls) => return Some(all),
                _ => sleep(Duration::from_millis(1)),
            }
        }
        None
    }

    /// Calls of all functions.
    pub fn calls(&self) -> u64 {
        self.returned.iter().sum()
    }

    /// True if the process of that rank still runs.
    pub fn is_alive(&self) -> bool {
        process::is_running(self.process, "returned-")
    }
}

/// Calls of each of the functions that returned on a rank.
pub type Recorded = [u64; FUNCTIONS.len()];

/// The calls that returned, of each rank, in a trace and those beside it.
pub fn recorded(trace: &Trace, beside: &[&str], ranks: usize) -> Vec<Recorded> {
    let mut recorded = vec![Recorded::default(); ranks];
    for row in trace.dump(beside) {
        let kind = FUNCTIONS.iter().position(|function| *function == row.function);
        let kind = kind.unwrap_or_else(|| panic!("the program never calls {}", row.function));
        recorded[row.rank as usize][kind] += u64::from(row.exit_ns.is_some());
    }
    recorded
}

/// Compares the trace of a run whose arrays kept the first records, and had room for all.
pub fn compare(trace: &Trace, beside: &[&str], truths: &[Truth]) -> Compared {
    let recorded = recorded(trace, beside, truths.len());
    let mut sum = Compared::default();
    truths.iter().zip(&recorded).for_each(|(truth, recorded)| sum.add(truth, recorded));
    sum
}

impl Compared {
    /// Adds what a rank counted, and what the trace has of it.
    pub fn add(&mut self, truth: &Truth, recorded: &Recorded) {
        let mut more = 0;
        for (counted, recorded) in truth.returned.iter().zip(recorded) {
            self.lost += counted.saturating_sub(*recorded);
            more += recorded.saturating_sub(*counted);
        }
        self.returned += truth.calls();
        // One may have returned before the program could count it.
        self.invented += more.saturating_sub(1);
    }
}
