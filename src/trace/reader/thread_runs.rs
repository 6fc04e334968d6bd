//! Which thread made a record: found once for a part, and looked up for each call of each operation.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("app.mpitrace");
//! # mpitrace_testing::synthetic::write_example(&path)?;
//! use mpitrace_trace::reader::Trace;
//!
//! let trace = Trace::open(&[path])?;
//! let part = &trace.parts[0];
//! // One thread has made all eleven calls, and none of them is a region.
//! assert_eq!((part.thread_runs().len(), part.has_regions(), part.main_thread()), (1, false, 0));
//! assert!(part.thread_run(10).is_some_and(|run| run.behind == 11 && !run.is_beside));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::derived::{Derived, ThreadRun};
use super::part::Part;

impl Part {
    /// The records by thread, in their order.
    #[inline]
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
    #[inline]
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

    #[inline]
    fn derived(&self) -> &Derived {
        self.derived.get_or_init(|| Derived::new(self.threads(), self.runs(), self.operations(), self.main_thread()))
    }
}
