//! What is known of each repetition beside its run time.

use mpitrace::account::clock_error_ns;
use mpitrace::diagnosis::{Examination, Examined, Metric, Quantity};
use mpitrace_synchronise::Method;
use rayon::prelude::*;

use crate::source::{Counter, Kind, Ranks, Source, Traced};

/// The names of what is not a counter.
pub const ARRIVAL: &str = "arrival";
/// How long a rank is in the call.
pub const DURATION: &str = "time in the call";
/// Whether the tracer may have delayed it.
pub const PERTURBED: &str = "perturbed by the tracer";

/// Whether the entries of different ranks can be compared.
pub fn arrivals_are_known(source: &Source) -> bool {
    match source.traced() {
        Some(traced) => traced.clock.domains.len() <= 1 || traced.clock.method != Method::None,
        None => true,
    }
}

/// Holds all metrics of an operation against its run times. A column is in memory as long as it is looked at, one for
/// each processor.
pub fn examined(source: &Source, operation: usize, arrivals: bool, examination: &Examination<'_>) -> Vec<Examined> {
    let ranks = source.ranks(operation);
    let mut examined = Vec::new();
    if arrivals && ranks.numbers.len() > 1 && ranks.have_stamps() {
        examined.extend(lateness(&ranks, &clock_errors_ns(source, operation), examination));
    }
    if let Some(perturbed) = source.perturbed(operation) {
        let values: Vec<f64> = perturbed.into_iter().map(|perturbed| f64::from(u8::from(perturbed))).collect();
        examined.push(examination.examine(metric(PERTURBED, Quantity::Disturbed, "", None), &values));
    }
    for counter in source.counters(operation) {
        examined.extend(of_counter(&ranks, &counter, examination));
    }
    let duration = |index: usize| {
        let metric = metric(DURATION, Quantity::Duration, "ns", Some(ranks.numbers[index]));
        examination.examine(metric, &ranks.duration_ns(index))
    };
    examined.extend((0..ranks.numbers.len()).into_par_iter().map(duration).collect::<Vec<Examined>>());
    examined
}

fn metric(name: &str, quantity: Quantity, unit: &str, rank: Option<u32>) -> Metric {
    Metric { name: name.to_owned(), quantity, unit: unit.to_owned(), rank }
}

/// The error of each rank's clock, ns; empty: none is stated.
fn clock_errors_ns(source: &Source, operation: usize) -> Vec<f64> {
    let Some(Traced { trace, operations, clock, .. }) = source.traced() else { return Vec::new() };
    let parts = operations.operations[operation].parts.iter();
    parts.map(|&part| clock_error_ns(&trace.parts[part], clock.of_part(part))).collect()
}

/// How long after the first of all ranks each one entered; 0 where that is not above the error of the two clocks.
fn lateness(ranks: &Ranks<'_>, errors_ns: &[f64], examination: &Examination<'_>) -> Vec<Examined> {
    let error = |index: usize| errors_ns.get(index).copied().unwrap_or(0.0);
    let largest = errors_ns.iter().copied().fold(0.0, f64::max);
    let mut first: Vec<f64> = Vec::new();
    for index in 0..ranks.numbers.len() {
        let enter = ranks.enter_ns(index).unwrap_or_default();
        match first.is_empty() {
            true => first = enter,
            false => first.iter_mut().zip(enter).for_each(|(first, enter)| *first = first.min(enter)),
        }
    }
    let of_rank = |index: usize| {
        let mut late = ranks.enter_ns(index).unwrap_or_default();
        for (enter, first) in late.iter_mut().zip(&first) {
            let later = *enter - first;
            *enter = if later > error(index) + largest { later } else { 0.0 };
        }
        examination.examine(metric(ARRIVAL, Quantity::Lateness, "ns", Some(ranks.numbers[index])), &late)
    };
    (0..ranks.numbers.len()).into_par_iter().map(of_rank).collect()
}

/// A counter on each rank, and its sum over all of them.
fn of_counter(ranks: &Ranks<'_>, counter: &Counter<'_>, examination: &Examination<'_>) -> Vec<Examined> {
    let quantity = match counter.kind {
        Kind::Counter => Quantity::of_counter(&counter.name),
        // perf's clocks are times, and pass with the time.
        Kind::Timer => match Quantity::of_counter(&counter.name) {
            Quantity::Elapsed => Quantity::Elapsed,
            _ => Quantity::Timer,
        },
        Kind::Request => Quantity::Request,
    };
    let metric = |rank: Option<u32>| metric(&counter.name, quantity, &counter.unit, rank);
    let of_rank = |index: usize| Some(examination.examine(metric(Some(ranks.numbers[index])), &counter.values(index)?));
    let mut examined: Vec<Examined> = (0..ranks.numbers.len()).into_par_iter().filter_map(of_rank).collect();
    if ranks.numbers.len() > 1 {
        // Where a rank has no value the sum has none.
        let sum = (0..ranks.numbers.len()).filter_map(|index| counter.values(index)).reduce(|mut sum, values| {
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            sum
        });
        examined.extend(sum.map(|sum| examination.examine(metric(None), &sum)));
    }
    examined
}
