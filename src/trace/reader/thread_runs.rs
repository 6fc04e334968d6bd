//! Which thread made a record: found once for a part, and looked up for each call of each operation.

use mpitrace_format::layout::*;

use super::part::Part;

/// Records of one thread, one after the other.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// # mpitrace_testing::synthetic::write_example(&path)?;
/// use mpitrace_trace::reader::Trace;
///
/// let trace = Trace::open(&[path])?;
/// let part = &trace.parts[0];
/// // One thread has made all eleven calls, and none of them is a region.
/// assert_eq!((part.thread_runs().len(), part.has_regions(), part.main_thread()), (1, false, 0));
/// assert!(part.thread_run(10).is_some_and(|run| run.behind == 11 && !run.is_beside));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadRun {
    /// The first record behind them.
    pub behind: u64,
    /// Interruptions of the thread are known.
    pub is_watched: bool,
    /// It is another thread than the one that called MPI_Init.
    pub is_beside: bool,
}

/// Facts that follow from the tables of a part. To find them takes a pass over its runs and its operations.
#[derive(Debug)]
pub(super) struct Derived {
    thread_runs: Box<[ThreadRun]>,
    has_regions: bool,
}

impl Part {
    /// The records by thread, in their order.
    pub fn thread_runs(&self) -> &[ThreadRun] {
        &self.derived().thread_runs
    }

    /// The run that a record lies in; `None`: the record is behind all of them.
    #[inline]
    pub fn thread_run(&self, record: u32) -> Option<&ThreadRun> {
        match self.thread_runs() {
            [run] => Some(run),
            runs => runs.get(runs.partition_point(|run| run.behind <= u64::from(record))),
        }
    }

    /// True if some of its records are of regions of the program.
    pub fn has_regions(&self) -> bool {
        self.derived().has_regions
    }

    /// The index of the thread that called MPI_Init; where that is not known the process' first one, unless there is
    /// none.
    pub fn main_thread(&self) -> u32 {
        if let Some((thread, _)) = self.init_thread() {
            return thread;
        }
        let pid = self.info().pid;
        self.threads().iter().position(|thread| thread.tid == pid).unwrap_or(0) as u32
    }

    fn derived(&self) -> &Derived {
        self.derived.get_or_init(|| Derived {
            thread_runs: thread_runs(self),
            has_regions: self.operations().iter().any(OperationEntry::is_region),
        })
    }
}

fn thread_runs(part: &Part) -> Box<[ThreadRun]> {
    let main_thread = part.main_thread();
    let is_watched =
        |thread: &ThreadEntry| matches!(thread.interruptions_by, interruptions_by::EVENT_PAGE | interruptions_by::RSEQ);
    let mut behind = 0;
    let run = |run: &RunEntry| {
        behind += run.count;
        let is_watched = part.threads().get(run.thread as usize).is_some_and(is_watched);
        ThreadRun { behind, is_watched, is_beside: run.thread != main_thread }
    };
    part.runs().iter().map(run).collect()
}
