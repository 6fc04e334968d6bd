//! From what was measured to a report.

use std::cmp::Reverse;

use anyhow::{Context, Result};
use mpitrace_source::Source;
use mpitrace_source::operation_time;
use mpitrace_statistics::Series;
use mpitrace_statistics::categories::{Category, Rule};
use mpitrace_trace::calls::algorithms::Algorithm;
use mpitrace_trace::run_time::RunTime;
use rayon::prelude::*;

use super::detail::Detail;
use super::fingerprint::{Counter, Fingerprint, Overview, Points};
use super::for_pictures;
use super::measured::Measured;
use super::thin;
use super::timed;

/// Makes the fingerprint of an operation.
///
/// # Errors
/// A run time that the rule of the categories cannot do with.
pub fn fingerprint(measured: Measured<'_>, rule: Rule, detail: &Detail) -> Result<Fingerprint> {
    let of_time = |(time, x): &(RunTime, Vec<f64>)| {
        let enter_ns = (!measured.enter_ns.is_empty()).then_some(measured.enter_ns.as_slice());
        timed::make(rule, detail, *time, Series { repetition: &measured.repetition, run_time_ns: x, enter_ns })
    };
    let made = measured.times.par_iter().map(of_time).collect::<Result<Vec<_>, _>>();
    let made = made.with_context(|| format!("operation {}", measured.subject.operation.operation))?;
    let (times, categories): (Vec<_>, Vec<Vec<Category>>) = made.into_iter().unzip();
    let run_times: Vec<&[f64]> = measured.times.iter().map(|(_, run_time_ns)| run_time_ns.as_slice()).collect();
    let chosen = thin::choose(&run_times, &categories[0], detail.points);
    let rows = chosen.rows.clone();
    let mut points = points(&measured, &run_times, &categories, chosen);
    if detail.pictures {
        for_pictures::add(&mut points, &measured, &rows);
    }
    let account = words(measured.source, measured.subject.operation.operation, rule, &categories[0], measured.own_work);
    Ok(Fingerprint {
        subject: measured.subject,
        times,
        points,
        heat: measured.heat,
        clock_error: measured.clock_error,
        account,
    })
}

fn points(measured: &Measured<'_>, run_times: &[&[f64]], categories: &[Vec<Category>], chosen: thin::Chosen) -> Points {
    let rows = chosen.rows;
    let ranks = |all: &[u32]| -> Vec<u32> {
        rows.iter().filter_map(|&row| measured.ranks.get(*all.get(row)? as usize).copied()).collect()
    };
    let (algorithms, algorithm) = algorithms(measured, &rows).unwrap_or_default();
    Points {
        algorithms,
        algorithm,
        of: measured.repetition.len(),
        chosen: chosen.how,
        repetition: rows.iter().map(|&row| measured.repetition[row]).collect(),
        run_time_ns: run_times.iter().map(|x| rows.iter().map(|&row| x[row]).collect()).collect(),
        category: categories.iter().map(|all| rows.iter().map(|&row| all[row]).collect()).collect(),
        slowest: ranks(&measured.slowest),
        last_in: ranks(&measured.last_in),
        counters: measured.counters.iter().map(|counter| values(measured, counter, &rows)).collect(),
        dots: Vec::new(),
        metrics: Vec::new(),
    }
}

/// The algorithms of an operation, and the place of each row's. `None`: they are not several, or not seen of each.
fn algorithms(measured: &Measured<'_>, rows: &[usize]) -> Option<(Vec<String>, Vec<usize>)> {
    let all = measured.source.algorithms(measured.subject.operation.operation)?;
    let mut counts = vec![0; all.occurring().len()];
    all.places().iter().for_each(|&place| counts[place as usize] += 1);
    let counted = all.occurring().iter().zip(counts).map(|(&algorithm, count)| Some((algorithm?, count)));
    let mut names: Vec<(Algorithm, u64)> = counted.collect::<Option<_>>()?;
    // Of those with as many repetitions the first by name.
    names.sort();
    names.sort_by_key(|(_, count)| Reverse(*count));
    let place = |row: &usize| names.iter().position(|(name, _)| Some(*name) == all.get(*row));
    let places = rows.iter().map(place).collect::<Option<Vec<_>>>()?;
    (names.len() > 1).then(|| (names.iter().map(|(name, _)| name.to_string()).collect(), places))
}

/// Where the ranks' time in its calls went, and how much of its run times is the program's own computation.
fn words(
    source: &Source,
    number: usize,
    rule: Rule,
    category: &[Category],
    own_work: Option<String>,
) -> Option<String> {
    let account = operation_time::of_operation(source, number, rule, Some(category)).map(|account| account.words());
    let own_work = own_work.map(|share| format!("{share} own work between start and completion"));
    let words: Vec<String> = account.into_iter().chain(own_work).filter(|words| !words.is_empty()).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// The values in these rows. A rank's column is held at a time.
fn values(measured: &Measured<'_>, counter: &mpitrace_source::Counter<'_>, rows: &[usize]) -> Counter {
    let empty = vec![f64::NAN; rows.len()];
    let mut found = Counter {
        name: counter.name.clone(),
        unit: counter.unit.clone(),
        slowest: empty.clone(),
        largest: empty.clone(),
        sum: empty,
        correlation: [None; 2],
    };
    for index in 0..measured.ranks.len().max(1) {
        let Some(column) = counter.values(index) else { continue };
        for (place, &row) in rows.iter().enumerate() {
            let value = column[row];
            if value.is_nan() {
                continue;
            }
            // Where the slowest rank is not known there is one value at most.
            if measured.slowest.get(row).is_none_or(|&slowest| slowest as usize == index) {
                found.slowest[place] = value;
            }
            found.largest[place] = found.largest[place].max(value);
            found.sum[place] = if found.sum[place].is_nan() { value } else { found.sum[place] + value };
        }
    }
    found
}

/// The row of an operation that is shown, by this definition of the run time.
pub fn overview(source: &Source, fingerprint: &Fingerprint, rule: Rule, time: RunTime) -> Overview {
    let timed = fingerprint.times.get(fingerprint.index_of(time));
    let numbers = timed.map(|timed| &timed.all.description);
    let number = fingerprint.subject.operation.operation;
    let in_calls = operation_time::of_operation(source, number, rule, None).map(|account| account.parts.run_time);
    let sum = numbers.and_then(|numbers| Some(numbers.mean_ns? * fingerprint.subject.operation.repetitions as f64));
    Overview {
        operation: fingerprint.subject.operation.clone(),
        time_ns: in_calls.or(sum).unwrap_or(0.0),
        median_ns: numbers.and_then(|numbers| numbers.median_ns),
        good_median: timed.and_then(|timed| timed.good.quantiles.iter().find(|known| known.p == 0.5).copied()),
        p95_ns: numbers.and_then(|numbers| numbers.p95_ns),
        warmup_end: timed.and_then(|timed| timed.cuts.first()?.warmup_end),
        counts: timed.map_or([0; 4], |timed| timed.counts),
        shown: true,
    }
}
