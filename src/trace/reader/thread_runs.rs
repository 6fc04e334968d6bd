//! Which thread made a record: found once for a part, and looked up for each call of each operation.

use super::derived::{Derived, ThreadRun};
use super::part::Part;

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
        self.derived.get_or_init(|| Derived::new(self.threads(), self.runs(), self.operations(), self.main_thread()))
    }
}
