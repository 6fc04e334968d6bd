//! The counters of late ranks before the calls for which others waited, beside the counters of those that waited.
//!
//! Each late arrival has a value of the late rank and values of the ranks that waited. If all count alike, the late
//! rank is any of them with the same probability. It is drawn so at random, many times, and each difference is compared
//! with the largest one of any counter (Westfall and Young 1993).

use std::collections::{BTreeMap, HashMap};

use mpitrace_analysis::account::{Before, LateArrival, Loss, LossKind, for_each_late_arrival};
use mpitrace_analysis::run::Run;
use mpitrace_format::layout::{BEFORE, CounterEntry, NO_VALUE, counter_flags, counter_source};
use mpitrace_trace::reader::{Column, Part, Trace};
use serde::Serialize;

use crate::longest::longest;

/// A counter is named with this probability or less, ...
const LEVEL: f64 = 0.01;
/// ... where the late rank has so many times the count of the others.
const TIMES: f64 = 1.5;
/// So many arrivals are looked at, those that are late longest, of so many repetitions of an operation.
const ARRIVALS: usize = 2000;
const REPETITIONS: usize = 20_000;
/// The late rank is drawn so often.
const WAYS: usize = 999;

/// A counter of which late ranks have more before a call than those that wait for them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CountedBefore {
    /// Its name.
    pub counter: String,
    /// The mean count of the late rank since its recorded call before.
    pub late: f64,
    /// The mean count of the ranks that waited.
    pub others: f64,
    /// The late arrivals that were looked at.
    pub arrivals: usize,
    /// The probability of such a difference where all ranks count alike, corrected for the number of counters.
    pub p: f64,
}

/// Values of the counters before a call: by counter, that of the late rank first.
struct Arrival {
    late_rank: u32,
    late_ns: f64,
    values: Vec<Vec<f64>>,
}

/// The counters of each of the losses of a run ([`Run::losses`]), in their order, the largest difference first; none
/// where no counter was read before calls, or the test does not support it.
pub fn counted_before(run: &Run) -> Vec<Vec<CountedBefore>> {
    let counters = Counters::new(&run.trace);
    let mut arrivals: HashMap<usize, Vec<Arrival>> = HashMap::new();
    let mut of_loss = |loss: &Loss| match (loss.kind, loss.operation) {
        (LossKind::LateRank, Some(operation)) if !counters.names.is_empty() && loss.message.is_none() => {
            let all = arrivals.entry(operation).or_insert_with(|| counters.arrivals(run, operation));
            let is_meant = |one: &&Arrival| {
                loss.rank.map_or_else(|| !loss.except.contains(&one.late_rank), |rank| rank == one.late_rank)
            };
            let mut meant = longest(all.iter().filter(is_meant).collect(), |arrival| arrival.late_ns);
            meant.truncate(ARRIVALS);
            counters.compared(&meant)
        }
        _ => Vec::new(),
    };
    run.losses().all.iter().map(&mut of_loss).collect()
}

/// The counters that some rank has before its calls, and their columns, by part.
struct Counters<'t> {
    names: Vec<String>,
    columns: Vec<BTreeMap<String, Column<'t>>>,
}

impl<'t> Counters<'t> {
    fn new(trace: &'t Trace) -> Counters<'t> {
        let of_part = |part: &'t Part| {
            let counters = part.counters().iter().filter(|counter| is_before(part, counter));
            counters.filter_map(|counter| Some((part.text(counter.name)?, part.counter_column(counter)?))).collect()
        };
        let columns: Vec<BTreeMap<String, Column>> = trace.parts.iter().map(of_part).collect();
        let mut names: Vec<String> = columns.iter().flat_map(BTreeMap::keys).cloned().collect();
        names.sort_unstable();
        names.dedup();
        Counters { names, columns }
    }

    /// The late arrivals in an operation in which all ranks have all counters.
    fn arrivals(&self, run: &Run, operation: usize) -> Vec<Arrival> {
        let operation = &run.operations.operations[operation];
        let rows = operation.complete_rows();
        let apart = operation.repetitions().div_ceil(REPETITIONS).max(1);
        let mut arrivals = Vec::new();
        for_each_late_arrival(&run.trace, &run.clock, operation, rows.step_by(apart), |late| {
            arrivals.extend(self.arrival(&run.trace, &late));
        });
        arrivals
    }

    fn arrival(&self, trace: &Trace, arrival: &LateArrival) -> Option<Arrival> {
        let ranks: Vec<_> = std::iter::once(arrival.late).chain(arrival.others.iter().map(|(one, _)| *one)).collect();
        let values = |name: &String| {
            let value = |before: &Before| {
                let column = self.columns[before.part].get(name)?;
                Some(column.get(before.record? as usize)).filter(|&value| value != NO_VALUE).map(|value| value as f64)
            };
            ranks.iter().map(value).collect::<Option<Vec<f64>>>()
        };
        let values = self.names.iter().map(values).collect::<Option<Vec<Vec<f64>>>>()?;
        let late_rank = trace.parts[arrival.late.part].rank();
        (ranks.len() > 1).then(|| Arrival { late_rank, late_ns: arrival.late_ns(), values })
    }

    fn compared(&self, arrivals: &[&Arrival]) -> Vec<CountedBefore> {
        let count = arrivals.len().max(1) as f64;
        let probabilities = probabilities(arrivals, self.names.len());
        let counted = |(counter, (name, &p)): (usize, (&String, &f64))| {
            let late = arrivals.iter().map(|arrival| arrival.values[counter][0]).sum::<f64>() / count;
            let others = arrivals.iter().map(|arrival| mean(&arrival.values[counter][1..])).sum::<f64>() / count;
            let counter = name.strip_suffix(BEFORE).unwrap_or(name).to_owned();
            CountedBefore { counter, late, others, arrivals: arrivals.len(), p }
        };
        let mut all: Vec<CountedBefore> = self.names.iter().zip(&probabilities).enumerate().map(counted).collect();
        all.retain(|one| one.p <= LEVEL && one.late >= 1.0 && one.late >= TIMES * one.others);
        let times = |one: &CountedBefore| one.late / one.others.max(1.0);
        all.sort_by(|one, other| times(other).total_cmp(&times(one)));
        all
    }
}

/// True if a value is what came together since the call before. Times say no more than that a rank was late.
fn is_before(part: &Part, counter: &CounterEntry) -> bool {
    let is_before = counter.flags & counter_flags::BEFORE != 0 || counter.source == counter_source::MESSAGES;
    is_before && part.text(counter.unit).as_deref() != Some("ns")
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// By how much the rank at this place has more than the mean of the others.
fn difference(values: &[f64], at: usize) -> f64 {
    let sum: f64 = values.iter().sum();
    values[at] - (sum - values[at]) / (values.len() - 1) as f64
}

/// For each counter the probability of its difference.
fn probabilities(arrivals: &[&Arrival], counters: usize) -> Vec<f64> {
    // Of each draw: each arrival has this variance if the late rank is any of its ranks.
    let variance = |counter: usize| {
        let of_arrival = |arrival: &&Arrival| {
            let values = &arrival.values[counter];
            (0..values.len()).map(|at| difference(values, at).powi(2)).sum::<f64>() / values.len() as f64
        };
        arrivals.iter().map(of_arrival).sum::<f64>()
    };
    let deviation: Vec<f64> = (0..counters).map(|counter| variance(counter).sqrt()).collect();
    let statistics = |places: &[usize]| {
        let statistic = |counter: usize| {
            let all = arrivals.iter().zip(places);
            let sum: f64 = all.map(|(arrival, &at)| difference(&arrival.values[counter], at)).sum();
            if deviation[counter] > 0.0 { sum / deviation[counter] } else { 0.0 }
        };
        (0..counters).map(statistic).collect::<Vec<f64>>()
    };
    let observed = statistics(&vec![0; arrivals.len()]);
    // From a fixed seed: the same files give the same p.
    let mut random = fastrand::Rng::with_seed(1);
    let mut reached = vec![1_u32; counters];
    let mut places = vec![0; arrivals.len()];
    for _ in 0..WAYS {
        for (place, arrival) in places.iter_mut().zip(arrivals) {
            *place = random.usize(0..arrival.values.first().map_or(1, Vec::len));
        }
        let largest = statistics(&places).into_iter().fold(f64::MIN, f64::max);
        let both = reached.iter_mut().zip(&observed);
        both.for_each(|(reached, statistic)| *reached += u32::from(largest >= *statistic));
    }
    reached.into_iter().map(|reached| f64::from(reached) / (WAYS + 1) as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters() -> Counters<'static> {
        let names = ["instructions", "page-faults"].map(|name| format!("{name}{BEFORE}"));
        Counters { names: names.into(), columns: Vec::new() }
    }

    /// So many arrivals, in each of which the late rank has so many page faults more than the two others.
    fn arrivals(count: usize, more: f64) -> Vec<Arrival> {
        let mut random = fastrand::Rng::with_seed(7);
        let mut noise = || random.f64() * 10.0;
        (0..count)
            .map(|_| {
                let instructions = [(); 3].map(|()| 1e6 + noise());
                let faults = [more + noise(), noise(), noise()];
                Arrival { late_rank: 1, late_ns: 1e6, values: vec![instructions.into(), faults.into()] }
            })
            .collect()
    }

    #[test]
    fn more_before_the_late_calls_is_told_and_as_much_is_not() {
        let of = |count, more| {
            let all = arrivals(count, more);
            counters().compared(&all.iter().collect::<Vec<_>>())
        };
        let found = of(50, 500.0);
        assert_eq!(found.iter().map(|one| one.counter.as_str()).collect::<Vec<_>>(), ["page-faults"]);
        assert!((500.0..510.0).contains(&found[0].late) && found[0].others < 8.0 && found[0].arrivals == 50);
        assert!(found[0].p <= 0.001, "{}", found[0].p);
        assert_eq!((of(50, 0.0), of(2, 500.0), of(0, 0.0)), (vec![], vec![], vec![]), "two arrivals may be by chance");
    }
}
