//! Counters and timers, held against the slow repetitions.

use mpitrace_analysis::diagnosis::{Examination, Examined, Metric, Quantity};
use mpitrace_source::{Counter, Ranks, Source, ValueKind};
use rayon::prelude::*;

/// Holds all counters and timers of an operation against its run times: each rank's, and their sum. A column is in
/// memory as long as it is looked at, one for each processor.
pub fn examined(source: &Source, operation: usize, examination: &Examination<'_>) -> Vec<Examined> {
    let ranks = source.ranks(operation);
    let counters = source.counters(operation);
    counters.iter().flat_map(|counter| of_counter(&ranks, counter, examination)).collect()
}

fn of_counter(ranks: &Ranks<'_>, counter: &Counter<'_>, examination: &Examination<'_>) -> Vec<Examined> {
    let quantity = match (counter.kind, Quantity::of_counter(&counter.name)) {
        (ValueKind::Request, _) => Quantity::Request,
        (_, None) => return Vec::new(),
        (ValueKind::Counter, Some(quantity)) => quantity,
        (ValueKind::Timer, Some(_)) => Quantity::Timer,
    };
    let metric =
        |rank: Option<u32>| Metric { name: counter.name.clone(), quantity, unit: counter.unit.to_string(), rank };
    let values = |index: usize| counter.values_in(index, examination.rows());
    let of_rank = |index: usize| Some(examination.examine(metric(Some(ranks.numbers[index])), &values(index)?));
    let mut examined: Vec<Examined> = (0..ranks.numbers.len()).into_par_iter().filter_map(of_rank).collect();
    if ranks.numbers.len() > 1 {
        // Where a rank has no value the sum has none.
        let sum = (0..ranks.numbers.len()).filter_map(values).reduce(|mut sum, values| {
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            sum
        });
        examined.extend(sum.map(|sum| examination.examine(metric(None), &sum)));
    }
    examined
}
