//! The work of the commands on a trace, or with run times of another tool.

use mpitrace_analysis::causality::Causality;
use mpitrace_statistics::categories::Rule;
use mpitrace_synchronise::Method;
use mpitrace_trace::clock::{Clock, Truth};
use mpitrace_trace::import::Measured;
use mpitrace_trace::operations::{NO_RECORD, Operation, Operations};
use mpitrace_trace::reader::{Part, Trace};
use mpitrace_trace::run_time::RunTime;

/// Of each trace so many operations are looked at.
const OPERATIONS: usize = 4;
/// Of each rank so many time stamps.
const STAMPS: usize = 16;

/// All that is concluded from a trace.
pub fn trace(trace: &Trace) {
    trace.parts.iter().for_each(part);
    let _ = (trace.records(), trace.dropped());
    let operations = Operations::new(trace);
    operations.unfinished(trace);
    for operation in operations.operations.iter().take(OPERATIONS) {
        records(trace, operation);
    }
    let clock = Clock::new(trace);
    of_clock(trace, &operations, &clock);
    for operation in operations.operations.iter().take(OPERATIONS) {
        operation.run_times(trace, &clock, RunTime::Global);
        // The two that differ most: no clock's error, and all of it.
        for time in [RunTime::Local, RunTime::Last] {
            let (repetition, run_time_ns) = operation.run_times(trace, &clock, time);
            categories(&repetition, &run_time_ns);
        }
    }
    let others = Method::all().filter(|method| *method != clock.method);
    for other in others.filter_map(|method| Clock::estimated_by(trace, method).ok()) {
        of_clock(trace, &operations, &other);
    }
}

/// Run times of another tool.
pub fn measured(measured: &Measured) {
    let rows = measured.repetition.len();
    assert_eq!(measured.run_time_ns.len(), rows);
    assert!(measured.repetition.is_sorted_by(|before, after| before < after), "repetitions in order, once each");
    for member in &measured.members {
        assert_eq!(member.duration_ns.len(), rows);
        if let Some(stamps) = &member.stamps {
            assert_eq!((stamps.enter_ns.len(), stamps.exit_ns.len()), (rows, rows));
        }
    }
    for values in measured.counters.iter().flat_map(|counter| &counter.values).flatten() {
        assert_eq!(values.len(), rows);
    }
    categories(&measured.repetition, &measured.run_time_ns);
}

fn part(part: &Part) {
    let records = part.records();
    assert_eq!(part.all_times().count(), records);
    assert!(part.counter_columns().all(|(_, values)| values.all().count() == records));
    let _ = (part.metadata(), part.true_ticks(), part.dropped(), part.paused());
    single_records(part);
    let names = part
        .communicators()
        .iter()
        .map(|entry| entry.name)
        .chain(part.operations().iter().map(|entry| entry.call_site));
    names.for_each(|name| drop(part.text(name)));
}

/// A single record is read as its block holds it.
fn single_records(part: &Part) {
    for block in part.blocks() {
        let ([enter, exit], (operation, position)) = (block.times(), block.calls());
        for (at, record) in block.range.clone().enumerate().take_while(|(_, record)| *record < STAMPS) {
            assert_eq!(part.times_of(record), (enter[at], exit[at]));
            assert_eq!((part.operation_of(record), part.position_of(record)), (operation[at], position[at]));
            assert_eq!(part.request_of(record).is_some(), part.request_columns().is_some());
        }
    }
    for (_, column) in part.counter_columns() {
        assert!(column.all().take(STAMPS).enumerate().all(|(record, value)| column.get(record) == value));
    }
}

/// A repetition names records that are there.
fn records(trace: &Trace, operation: &Operation) {
    for row in 0..operation.repetition.len() {
        for (record, &part) in operation.records(row).iter().zip(&operation.parts) {
            assert!(record == NO_RECORD || (record as usize) < trace.parts[part].records());
        }
    }
    assert!(operation.complete_rows().all(|row| operation.records(row).iter().all(|record| record != NO_RECORD)));
}

fn of_clock(trace: &Trace, operations: &Operations, clock: &Clock) {
    for (index, part) in trace.parts.iter().enumerate() {
        let of_part = clock.of_part(index);
        for tick in part.all_times().flat_map(|(enter, exit)| [enter, exit]).take(STAMPS) {
            let _ = (of_part.nanoseconds(tick), of_part.error_ns(tick), of_part.hard_bounds_ns(tick));
        }
    }
    Causality::new(trace, clock, operations);
    Truth::new(trace, clock);
}

/// Every rule takes them, or says that they are not finite.
fn categories(repetition: &[u64], run_time_ns: &[f64]) {
    for rule in Rule::all() {
        if let Ok(found) = rule.apply(repetition, run_time_ns) {
            assert_eq!(found.categories.category.len(), run_time_ns.len());
        }
    }
}
