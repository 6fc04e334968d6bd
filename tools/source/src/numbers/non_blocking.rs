//! The cost of a non-blocking operation for its caller, and its overlap.

use anyhow::Result;
use mpitrace_functions::blocking_name;
use mpitrace_statistics::median;
use mpitrace_trace::run_time::RunTime;
use mpitrace_trace::run_time::completion_times::overlap;
use mpitrace_words::description::Description;
use serde::Serialize;

use super::selection::Selection;
use crate::Source;

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
    /// How many were waited for at once, and how long these took from the start until they were complete; `None` of
    /// fewer than ten.
    pub at_once: usize,
    pub at_once_ns: Option<f64>,
    /// max(0, 1 - overhead / blocking). Where no blocking time is known the overhead is that of the repetitions with
    /// work, and they stand against those waited for at once. `None`: neither is known.
    pub overlap: Option<f64>,
    /// The program's own computation between start and completion.
    pub work_ns: Option<f64>,
    pub tests: Option<f64>,
    /// Work / (tests + 1).
    pub interval_ns: Option<f64>,
}

/// A request is waited for at once if no test is in between, and this share of its time or less is the program's own:
/// the tracer stamps the end of the one call and the entry of the other.
const AT_ONCE: f64 = 0.2;
/// Of fewer such repetitions, or of fewer others, there is no median: the first one alone is often waited for longest.
const FEWEST: usize = 10;

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
    let at_once: Vec<bool> = (0..overheads.total_ns.len())
        .map(|row| overheads.tests[row] == 0.0 && overheads.work_ns[row] <= AT_ONCE * overheads.total_ns[row])
        .collect();
    let at_once = selection.only(at_once);
    let middle_of = |column: &[f64], of: bool| {
        let kept = selection.only(column.to_vec()).into_iter().zip(&at_once);
        let mut values: Vec<f64> = kept.filter(|(_, at_once)| **at_once == of).map(|(value, _)| value).collect();
        median(&mut values).filter(|value| value.is_finite() && values.len() >= FEWEST)
    };
    let at_once_ns = middle_of(&overheads.total_ns, true);
    let overlap = match blocking_ns {
        Some(_) => overhead_ns.and_then(|overhead| overlap(overhead, blocking_ns)),
        None => middle_of(&overheads.overhead_ns, false).and_then(|overhead| overlap(overhead, at_once_ns)),
    };
    Ok(Some(NonBlocking {
        overhead_ns,
        init_ns: middle(&overheads.init_ns),
        test_ns: middle(&overheads.test_ns),
        wait_ns: middle(&overheads.wait_ns),
        blocking_operation,
        blocking_ns,
        at_once: at_once.iter().filter(|at_once| **at_once).count(),
        at_once_ns,
        overlap,
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
