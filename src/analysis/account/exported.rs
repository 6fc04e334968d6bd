//! The account of calls that were exported: of one rank in one operation of one run, where a dataset of many runs is
//! divided among machines that have no traces.

use super::parts::Parts;
use crate::categories::Category;
use crate::statistics::median;

/// A call of a complete repetition, as an export has it; ns.
#[derive(Clone, Copy, Debug)]
pub struct ExportedCall {
    /// In MPI: from entry to exit, or in the start, the tests and the waits of a non-blocking call.
    pub run_time: f64,
    /// Waiting for a rank that had not entered the call yet; `None`: not known.
    pub waiting: Option<f64>,
    /// Off the processor in the call, beside the waiting: the least and the most that it can have been; `None`: not
    /// known.
    pub interrupted: Option<(f64, f64)>,
    /// Whether the tracer may have delayed the call.
    pub perturbed: bool,
    /// Of its repetition, by local run times.
    pub category: Category,
}

impl ExportedCall {
    fn parts(&self) -> Parts {
        let run_time = self.run_time.max(0.0);
        match self.interrupted {
            Some((least, most)) => Parts { interrupted_most: most, ..Parts::split(run_time, self.waiting, least) },
            None => {
                let parts = Parts::split(run_time, self.waiting, 0.0);
                Parts { interrupted_most: run_time, untimed: run_time, ..parts }
            }
        }
    }
}

/// The account of one rank in one operation: its calls of all complete repetitions, in their order. The same as
/// [`OperationAccount`](super::OperationAccount) has for the rank; of more repetitions than one processor takes there
/// (65536), it may differ in the last digits, as sums of another order do.
pub fn of_exported(calls: &[ExportedCall]) -> Parts {
    let mut sum = Parts::default();
    let mut rest = Vec::with_capacity(calls.len());
    for call in calls {
        let parts = call.parts();
        rest.push(parts.communication as f32);
        sum += parts;
    }
    if calls.iter().any(|call| call.perturbed) {
        let category: Vec<Category> = calls.iter().map(|call| call.category).collect();
        let usual = usual(&rest, &category);
        for (_, rest) in calls.iter().zip(&rest).filter(|(call, _)| call.perturbed) {
            sum.perturb((rest - usual).max(0.0).into());
        }
    }
    sum
}

/// The median of the good repetitions, of all where none is good; ns.
fn usual(rest: &[f32], category: &[Category]) -> f32 {
    let good = rest.iter().zip(category).filter(|(_, category)| **category == Category::Good);
    let mut values: Vec<f64> = good.map(|(&rest, _)| rest.into()).collect();
    if values.is_empty() {
        values = rest.iter().map(|&rest| rest.into()).collect();
    }
    median(&mut values).unwrap_or(0.0) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(run_time: f64, waiting: Option<f64>, perturbed: bool) -> ExportedCall {
        ExportedCall { run_time, waiting, interrupted: Some((0.0, 0.0)), perturbed, category: Category::Good }
    }

    #[test]
    fn the_delay_by_the_tracer_is_the_time_above_the_good_repetitions() {
        let parts = of_exported(&[call(10.0, Some(2.0), false), call(10.0, Some(2.0), false), call(60.0, None, true)]);
        assert_eq!((parts.run_time, parts.waiting, parts.perturbed), (80.0, 4.0, 52.0));
        assert_eq!((parts.communication, parts.unsplit), (24.0, 24.0));
    }

    #[test]
    fn an_interruption_that_is_not_known_may_be_the_whole_call() {
        let unknown = ExportedCall { interrupted: None, ..call(10.0, Some(2.0), false) };
        let parts = of_exported(&[unknown]);
        assert_eq!((parts.interrupted, parts.interrupted_most, parts.untimed), (0.0, 10.0, 10.0));
        assert_eq!(of_exported(&[]), Parts::default());
    }
}
