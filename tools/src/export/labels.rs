//! The category of each call: its repetition's by Roth's rule, local run times and the rule's own factors.

use mpitrace::categories::{Category, Roth};
use mpitrace::run_time::RunTime;

use super::rows::{Calls, Row};

/// For each operation the categories of its rows; none for a repetition that is incomplete.
pub struct Labels(Vec<Vec<Option<Category>>>);

impl Labels {
    /// Finds them.
    pub fn of(calls: &Calls) -> Labels {
        let of_operation = |operation: &mpitrace::operations::Operation| {
            let (repetition, run_time_ns) = operation.run_times(calls.trace, &calls.clock, RunTime::Local);
            let found = Roth::default().categorize(&repetition, &run_time_ns);
            let mut labels = vec![None; operation.repetition.len()];
            operation.complete_rows().zip(found.category).for_each(|(row, category)| labels[row] = Some(category));
            labels
        };
        Labels(calls.operations.operations.iter().map(of_operation).collect())
    }

    /// That of a call.
    pub fn of_row(&self, row: &Row) -> Option<Category> {
        self.0[row.operation as usize][row.place.row]
    }
}
