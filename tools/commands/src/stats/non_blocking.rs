//! The cost of a non-blocking operation for its caller, and its overlap.

use anyhow::Result;
use mpitrace_functions::blocking_name;
use mpitrace_source::Source;
use mpitrace_statistics::median;
use mpitrace_trace::run_time::RunTime;
use mpitrace_trace::run_time::completion_times::overlap;
use mpitrace_words::description::Description;
use serde::Serialize;

use super::selection::Selection;

/// Medians over the repetitions that count, of each the largest of all ranks; ns.
#[derive(Debug, Serialize)]
pub struct NonBlocking {
    /// init + sum of test + wait.
    pub overhead_ns: Option<f64>,
    pub init_ns: Option<f64>,
    pub test_ns: Option<f64>,
    pub wait_ns: Option<f64>,
    /// The operation that does the same and blocks.
    pub blocking_operation: Option<usize>,
    pub blocking_ns: Option<f64>,
    /// max(0, 1 - overhead / blocking); `None` where no blocking time is known.
    pub overlap: Option<f64>,
    /// The program's own computation between start and completion.
    pub work_ns: Option<f64>,
    pub tests: Option<f64>,
    /// Work / (tests + 1).
    pub interval_ns: Option<f64>,
}

/// The overheads of the `number`-th operation; `None` where it is blocking or nothing is known of its requests.
pub fn costs(source: &Source, number: usize, selection: &Selection<'_>) -> Result<Option<NonBlocking>> {
    let Some(overheads) = source.overheads(number) else { return Ok(None) };
    let middle = |column: &[f64]| median(&mut selection.only(column.to_vec())).filter(|value| value.is_finite());
    let blocking_operation = blocking(source.operations(), number);
    let blocking_ns = match blocking_operation {
        Some(blocking) => median(&mut source.run_times(blocking, RunTime::Local)?.run_time_ns),
        None => None,
    };
    let overhead_ns = middle(&overheads.overhead_ns);
    Ok(Some(NonBlocking {
        overhead_ns,
        init_ns: middle(&overheads.init_ns),
        test_ns: middle(&overheads.test_ns),
        wait_ns: middle(&overheads.wait_ns),
        blocking_operation,
        blocking_ns,
        overlap: overhead_ns.and_then(|overhead| overlap(overhead, blocking_ns)),
        work_ns: middle(&overheads.work_ns),
        tests: middle(&overheads.tests),
        interval_ns: middle(&overheads.interval_ns),
    }))
}

fn blocking(operations: &[Description], number: usize) -> Option<usize> {
    let own = &operations[number];
    let function = blocking_name(&own.function)?;
    let same = |other: &&Description| {
        other.function == function
            && (other.communicator_id, other.bytes, other.root) == (own.communicator_id, own.bytes, own.root)
            && (&other.datatype, &other.reduction) == (&own.datatype, &own.reduction)
    };
    operations.iter().find(same).map(|other| other.operation)
}
