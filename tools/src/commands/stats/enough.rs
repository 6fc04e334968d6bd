//! How many repetitions and how many runs are enough.

use std::path::PathBuf;

use anyhow::{Context, Result};
use mpitrace::categories::Class;
use mpitrace::statistics::enough::{self, Enough, Wish};
use mpitrace::statistics::{Sample, median};
use mpitrace::stopping::{Decision, Rule};
use serde::Serialize;

use super::arguments::Arguments;
use super::selection::Selection;
use crate::options::canonical;
use crate::source::{Description, Source};

/// What the wish takes.
#[derive(Debug, Serialize)]
pub struct EnoughFacts {
    /// Half of the interval against the value.
    pub half_width: f64,
    pub confidence: f64,
    /// By Student's interval of the mean.
    pub mean: Needed,
    /// By the order-statistic interval of the median.
    pub median: Needed,
    /// By Student's interval of the mean of the runs' medians; `None` without --runs.
    pub runs: Option<Runs>,
    /// By the stopping rule; only with --stopping.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopping: Option<Stopping>,
}

/// Where a program would have stopped.
#[derive(Debug, Serialize)]
pub struct Stopping {
    pub minimum: u64,
    pub maximum: u64,
    /// Repetitions that it makes; `None`: more than there are.
    pub repetitions: Option<u64>,
    /// Whether they are enough; else it stops since there may be no more.
    pub enough: bool,
    /// Repetitions that the last answer is based on.
    pub looked_at: usize,
    pub class: Option<&'static str>,
    pub warmup_end: Option<u64>,
    pub median_ns: Option<f64>,
    /// Half of the interval of the median divided by the median.
    pub error: Option<f64>,
}

impl Stopping {
    /// By the rule, over all complete repetitions of the operation.
    pub fn of(arguments: &Arguments, source: &Source, number: usize) -> Result<Option<Stopping>> {
        let Some(rule) = arguments.stopping else { return Ok(None) };
        let rule = Rule { error: arguments.half_width, confidence: arguments.confidence, ..rule };
        let run_times = source.run_times(number, arguments.run_time())?.run_time_ns;
        let stop = rule.stops_at(&run_times, 1);
        let answer = stop.map_or_else(|| rule.judge_all(&run_times), |(_, answer)| answer);
        Ok(Some(Stopping {
            minimum: rule.minimum,
            maximum: rule.maximum,
            repetitions: stop.map(|(repetitions, _)| repetitions),
            enough: answer.decision == Decision::Enough,
            looked_at: answer.looked_at,
            class: answer.class.map(Class::name),
            warmup_end: answer.warmup_end,
            median_ns: answer.median_ns,
            error: answer.error,
        }))
    }
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Needed {
    /// What there is.
    pub half_width: Option<f64>,
    /// What it takes.
    pub repetitions: Option<u64>,
}

#[derive(Debug, Serialize)]
pub struct Runs {
    /// The median of each run, this one first.
    pub median_ns: Vec<f64>,
    pub half_width: Option<f64>,
    pub runs: Option<u64>,
}

/// The further runs that --runs names: each file once, and none that is the input itself.
pub fn open_others(arguments: &Arguments) -> Result<Vec<Source>> {
    let input = &arguments.input;
    let mut seen: Vec<PathBuf> = input.files.iter().map(|file| canonical(file)).collect();
    let mut others = Vec::new();
    for path in &arguments.runs {
        let name = canonical(path);
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        let other = Source::read(std::slice::from_ref(path), input.from.format)?;
        let other = other.limited_to(input.repetitions.as_ref());
        other.check(None, arguments.run_time()).with_context(|| path.display().to_string())?;
        others.push(other);
    }
    Ok(others)
}

impl EnoughFacts {
    /// For these values, with their effective sample sizes for the mean and for the median.
    pub fn of(
        arguments: &Arguments,
        values: &[f64],
        sample: &Sample,
        [of_mean, of_median]: [f64; 2],
        runs: Option<Vec<f64>>,
        stopping: Option<Stopping>,
    ) -> EnoughFacts {
        let wish = Wish { half_width: arguments.half_width, confidence: arguments.confidence };
        let needed = |enough: Option<Enough>| Needed {
            half_width: enough.and_then(|enough| enough.half_width),
            repetitions: enough.and_then(|enough| enough.needed),
        };
        EnoughFacts {
            half_width: wish.half_width,
            confidence: wish.confidence,
            mean: needed(enough::mean(values, of_mean, wish)),
            median: needed(enough::median(sample, of_median, wish)),
            runs: runs.map(|median_ns| {
                let found = enough::runs(&median_ns, wish);
                Runs { median_ns, half_width: found.half_width, runs: found.needed }
            }),
            stopping,
        }
    }
}

/// The median run time of the operation in each of the other runs that has it, selected as in this one.
pub fn medians(arguments: &Arguments, own: &Description, others: &[Source]) -> Result<Vec<f64>> {
    let mut medians = Vec::new();
    for other in others {
        let Some(number) = other.operations().iter().position(|operation| same(own, operation)) else { continue };
        let mut selection = Selection::of(arguments, other, number)?;
        medians.extend(median(&mut selection.run_time_ns));
    }
    Ok(medians)
}

/// Whether two operations of different runs are the same thing.
fn same(own: &Description, other: &Description) -> bool {
    (&own.function, &own.communicator, own.bytes, own.root, own.ranks)
        == (&other.function, &other.communicator, other.bytes, other.root, other.ranks)
        && (&own.datatype, &own.reduction) == (&other.datatype, &other.reduction)
}
