//! What a non-blocking operation costs its caller, and how much of it was hidden.

use anyhow::Result;
use mpitrace::completion_times::{Overheads, overlap};
use mpitrace::run_time::RunTime;
use mpitrace::statistics::median;
use mpitrace_functions::blocking_name;
use serde::Serialize;

use super::selection::Selection;
use crate::source::{Description, Kind, Source};

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
    /// Its median (local) run time.
    pub blocking_ns: Option<f64>,
    /// 1 - wait / blocking; `None` where no blocking time is known.
    pub overlap: Option<f64>,
}

/// The overheads of the `number`-th operation; `None` where it is blocking or nothing is known of its requests.
pub fn of(source: &Source, number: usize, selection: &Selection<'_>) -> Result<Option<NonBlocking>> {
    let counters = source.counters(number);
    let column = |name: &str| counters.iter().find(|counter| counter.kind == Kind::Request && counter.name == name);
    let (Some(init), Some(test), Some(wait)) = (column("init"), column("test"), column("wait")) else {
        return Ok(None);
    };
    let mut overheads = Overheads::default();
    for index in 0..source.ranks(number).numbers.len() {
        if let (Some(init), Some(test), Some(wait)) = (init.values(index), test.values(index), wait.values(index)) {
            overheads.add([&init, &test, &wait]);
        }
    }
    if overheads.overhead_ns.is_empty() {
        return Ok(None);
    }
    let middle = |column: Vec<f64>| median(&mut selection.only(column)).filter(|value| value.is_finite());
    let blocking_operation = blocking(source.operations(), number);
    let blocking_ns = match blocking_operation {
        Some(blocking) => median(&mut source.run_times(blocking, RunTime::Local)?.run_time_ns),
        None => None,
    };
    let wait_ns = middle(overheads.wait_ns);
    Ok(Some(NonBlocking {
        overhead_ns: middle(overheads.overhead_ns),
        init_ns: middle(overheads.init_ns),
        test_ns: middle(overheads.test_ns),
        wait_ns,
        blocking_operation,
        blocking_ns,
        overlap: wait_ns.and_then(|wait| overlap(wait, blocking_ns)),
    }))
}

/// The operation that differs in nothing but that it blocks.
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
