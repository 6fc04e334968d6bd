//! The run times of an operation on this rank, as far as its records are in memory.

use std::ops::Range;

use mpitrace_format::layout::OPERATION_MASK;

use super::operation::{Operation, column, halves, words};
use crate::job::output;
use crate::job::run::RUN;
use crate::record::ticks;

/// Repetitions of an operation, by their numbers, ascending.
pub struct RunTimes {
    /// The numbers.
    pub repetition: Vec<u64>,
    /// From entry to exit on this rank, ns.
    pub run_time_ns: Vec<f64>,
}

/// The repetitions with these numbers that are finished and kept.
pub fn of(operation: Operation, numbers: Range<u64>) -> Option<RunTimes> {
    let content = output::content_of(RUN.get()?)?;
    let rank = &content.rank;
    let hz = match rank.nominal_hz {
        0 if rank.measured_hz > 0.0 => rank.measured_hz,
        0 => ticks::roughly_hz(),
        hz => hz as f64,
    };
    let [enter, exit, repetitions, operations] =
        ["enter", "exit", "repetition", "operation"].map(|name| column(&content, name));
    let (enter, exit, repetitions, operations) = (enter?, exit?, repetitions?, operations?);
    // More calls may have been made than are kept.
    let most = (numbers.end - numbers.start).min(content.records());
    let mut found: Vec<(u64, f64)> = Vec::with_capacity(most as usize);
    for chunk in 0..operations.slices.len() {
        let own = halves(&operations.slices[chunk]).zip(words(&repetitions.slices[chunk]));
        let ticks = words(&enter.slices[chunk]).zip(words(&exit.slices[chunk]));
        for ((number, repetition), (enter, exit)) in own.zip(ticks) {
            // One that is in progress has no exit yet.
            if number & OPERATION_MASK == operation.number && exit != 0 && numbers.contains(&repetition) {
                found.push((repetition, exit.wrapping_sub(enter) as i64 as f64 * 1e9 / hz));
            }
        }
    }
    // Threads take turns on a communicator, and have chunks of their own.
    if !found.is_sorted_by_key(|(repetition, _)| *repetition) {
        found.sort_by_key(|(repetition, _)| *repetition);
    }
    let (repetition, run_time_ns) = found.into_iter().unzip();
    Some(RunTimes { repetition, run_time_ns })
}
