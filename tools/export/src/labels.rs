//! The category of each call: its repetition's, by local run times.

use anyhow::{Context, Result};
use mpitrace_statistics::categories::Category;
use mpitrace_trace::operations::Operation;
use mpitrace_trace::run_time::RunTime;

use super::rows::{Calls, Row};

/// For each operation the categories of its rows; none for a repetition that is incomplete.
pub struct Labels(Vec<Vec<Option<Category>>>);

impl Labels {
    /// Finds them by the rule of the calls.
    ///
    /// # Errors
    /// A run time that is not finite, where the rule needs all of them.
    pub fn new(calls: &Calls) -> Result<Labels> {
        let of_operation = |(number, operation): (usize, &Operation)| {
            let (repetition, run_time_ns) = operation.run_times(calls.trace, calls.clock, RunTime::Local);
            let found = calls.rule.apply(&repetition, &run_time_ns).with_context(|| format!("operation {number}"))?;
            let mut labels = vec![None; operation.repetition.len()];
            operation
                .complete_rows()
                .zip(found.categories.category)
                .for_each(|(row, category)| labels[row] = Some(category));
            Ok(labels)
        };
        Ok(Labels(calls.operations.operations.iter().enumerate().map(of_operation).collect::<Result<_>>()?))
    }

    /// The category of a call.
    pub fn of_row(&self, row: &Row) -> Option<Category> {
        self.of_place(row.operation as usize, row.place.row)
    }

    /// The category of a repetition, by the operation's number and its place in it.
    pub fn of_place(&self, operation: usize, row: usize) -> Option<Category> {
        self.0[operation][row]
    }
}
