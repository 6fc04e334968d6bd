//! Facts that follow from the tables of a part, and are found once for it.

use mpitrace_format::layout::*;

/// Records of one thread, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadRun {
    /// The first record behind them.
    pub behind: u64,
    /// Index of the thread.
    pub thread: u32,
    /// Interruptions of the thread are known.
    pub is_watched: bool,
    /// It is another thread than the one that called MPI_Init.
    pub is_beside: bool,
}

/// Facts that follow from the tables of a part. To find them takes a pass over its runs and its operations.
#[derive(Debug)]
pub(super) struct Derived {
    pub(super) thread_runs: Box<[ThreadRun]>,
    pub(super) has_regions: bool,
}

impl Derived {
    /// Finds them for a part with these threads, runs and operations. `main_thread` called `MPI_Init`.
    pub(super) fn new(
        threads: &[ThreadEntry],
        runs: &[RunEntry],
        operations: &[OperationEntry],
        main_thread: u32,
    ) -> Derived {
        let is_watched = |thread: &ThreadEntry| {
            matches!(thread.interruptions_by, interruptions_by::EVENT_PAGE | interruptions_by::RSEQ)
        };
        let mut behind = 0;
        let run = |run: &RunEntry| {
            behind += run.count;
            let is_watched = threads.get(run.thread as usize).is_some_and(is_watched);
            ThreadRun { behind, thread: run.thread, is_watched, is_beside: run.thread != main_thread }
        };
        let thread_runs = runs.iter().map(run).collect();
        Derived { thread_runs, has_regions: operations.iter().any(OperationEntry::is_region) }
    }
}
