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
    let (content, _held) = output::content_of(RUN.get()?)?;
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

/// Run times as far as they differ: each rank measures the rate of its counter for itself, so that the same number of
/// ticks is not exactly the same time on all (3e-9 of it was seen). Values that are equal within 1e-6 become equal: a
/// median lies in the middle of such values, not beside some of them.
pub fn with_equal_ticks(run_time_ns: &[f64]) -> Vec<f64> {
    const SAME: f64 = 1e-6;
    let mut equal = run_time_ns.to_vec();
    let mut ascending: Vec<usize> = (0..equal.len()).collect();
    ascending.sort_unstable_by(|&a, &b| equal[a].total_cmp(&equal[b]));
    let mut least = f64::NAN;
    for index in ascending {
        if (equal[index] - least).abs() <= SAME * least.abs() {
            equal[index] = least;
        } else {
            least = equal[index];
        }
    }
    equal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_of_ticks_is_the_same_time_whichever_rank_has_measured_it() {
        let rates = [1.0, 1.0 + 3e-9, 1.0 - 5e-9];
        let ticks = [45.0, 46.0, 45.0, 1e6, 45.0, 46.0, f64::NAN, f64::INFINITY];
        let measured: Vec<f64> =
            ticks.iter().zip(rates.iter().cycle()).map(|(ticks, rate)| 10.0 * ticks * rate).collect();
        let equal = with_equal_ticks(&measured);
        assert_eq!((equal[0], equal[1]), (equal[2], equal[5]));
        assert_eq!(equal[0], equal[4]);
        assert!(equal[0] < equal[1] && equal[1] < equal[3] && equal[6].is_nan() && equal[7].is_infinite());
        assert!(equal.iter().zip(&measured).take(6).all(|(equal, measured)| (equal / measured - 1.0).abs() < 1e-6));
        assert_eq!(with_equal_ticks(&[0.0, 0.0, 1.0]), [0.0, 0.0, 1.0]);
    }
}
