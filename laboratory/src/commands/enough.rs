//! `mpitrace benchmark enough`: how many repetitions and how many runs are enough.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use mpitrace_statistics::categories::Class;
use mpitrace_statistics::{Sample, dependence, dependence_of_quantile, median};

use mpitrace_commands::exit_code;
use mpitrace_show::output::{self, Output};
use mpitrace_show::text;
use mpitrace_source::Source;
use mpitrace_source::numbers::selection::{Selection, Wanted};
use mpitrace_source::options::{Input, RuleOption, TimeOption, canonical};
use mpitrace_words::description::Description;
use serde::Serialize;

use super::share;
use crate::enough::{self, Enough, Wish};
use crate::stopping::{Decision, Rule};

/// Show how many repetitions and runs are enough for a narrow interval of an operation's run time
///
/// By Student's interval of the mean, by the order-statistic interval of the median, and with --stopping by the rule
/// that a program can follow while it measures. All intervals allow for the dependence of the
/// repetitions on each other.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,
    /// Only this operation
    #[arg(long, value_name = "N")]
    operation: Option<usize>,
    #[command(flatten)]
    time: TimeOption,
    /// Only the repetitions of this category
    #[arg(long, default_value = "all")]
    category: Wanted,
    #[command(flatten)]
    rule: RuleOption,
    /// The confidence of the intervals
    #[arg(long, value_name = "SHARE", default_value_t = 0.95, value_parser = share)]
    confidence: f64,
    /// Half of the interval is to be this share of the value
    #[arg(long, value_name = "SHARE", default_value_t = 0.01, value_parser = share)]
    half_width: f64,
    /// Also show where a program that uses the stopping rule would have stopped: at least MIN and at most MAX
    /// repetitions
    #[arg(long, value_name = "MIN,MAX", value_parser = between)]
    stopping: Option<Rule>,
    /// Further runs of the same job, to find how many runs are enough; FILE itself counts once
    #[arg(long, value_name = "FILE", num_args = 1..)]
    runs: Vec<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// The minimum and maximum of a stopping rule; its error and confidence are separate options.
fn between(text: &str) -> Result<Rule, String> {
    let numbers =
        text.split_once(',').and_then(|(minimum, maximum)| Some((minimum.parse().ok()?, maximum.parse().ok()?)));
    let (minimum, maximum) = numbers.ok_or("expected two whole numbers separated by a comma")?;
    Rule { minimum, maximum, ..Rule::default() }.check().map_err(|why| why.to_string())
}

/// Shows it, of each operation.
pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let source = Source::open(&arguments.input)?;
    let time = arguments.time.time;
    source.check(arguments.operation, time)?;
    let others = open_others(arguments)?;
    source.warn(time);
    let each = source.wanted(arguments.operation).map(|number| EnoughFacts::new(arguments, &source, &others, number));
    if arguments.json {
        output::json_rows(output, "benchmark-enough", each)?;
    } else {
        each.into_iter().try_for_each(|facts| facts?.write(output))?;
    }
    Ok(exit_code(&source))
}

/// The repetitions that the wish takes.
#[derive(Debug, Serialize)]
struct EnoughFacts {
    #[serde(flatten)]
    operation: Description,
    /// Repetitions that count.
    used: usize,
    /// Half of the interval against the value.
    half_width: f64,
    confidence: f64,
    /// By Student's interval of the mean.
    mean: Needed,
    /// By the order-statistic interval of the median.
    median: Needed,
    /// By Student's interval of the mean of the runs' medians; `None` without --runs.
    runs: Option<Runs>,
    /// By the stopping rule; only with --stopping.
    #[serde(skip_serializing_if = "Option::is_none")]
    stopping: Option<Stopping>,
}

/// Where a program would have stopped.
#[derive(Debug, Serialize)]
struct Stopping {
    minimum: u64,
    maximum: u64,
    /// Repetitions that it makes; `None`: more than there are.
    repetitions: Option<u64>,
    /// True if they are enough. Else it stops since there may be no more.
    enough: bool,
    /// Repetitions that the last answer is based on.
    looked_at: usize,
    class: Option<&'static str>,
    warmup_end: Option<u64>,
    median_ns: Option<f64>,
    /// Half of the interval of the median divided by the median.
    error: Option<f64>,
    /// If levels come and go, the interval holds for levels that last no longer, in repetitions.
    longest_level: usize,
}

impl Stopping {
    /// By the rule, over all complete repetitions of the operation.
    fn new(arguments: &Arguments, source: &Source, number: usize) -> Result<Option<Stopping>> {
        let Some(rule) = arguments.stopping else { return Ok(None) };
        let rule = Rule { error: arguments.half_width, confidence: arguments.confidence, ..rule };
        let run_times = source.run_times(number, arguments.time.time)?.run_time_ns;
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
            longest_level: answer.longest_level(),
        }))
    }

    fn sentence(&self) -> String {
        let Stopping { minimum, maximum, .. } = self;
        let error = self.error.map(|error| format!(", error {:.2} %", 100.0 * error)).unwrap_or_default();
        match (self.repetitions, self.enough) {
            (Some(repetitions), true) => format!(
                "stops after {repetitions} of {minimum} to {maximum}{error}, if no level lasts longer than {}",
                text::count(self.longest_level as u64, "repetition")
            ),
            (Some(repetitions), false) => format!("not enough after the maximum of {repetitions}{error}"),
            (None, _) => format!("continues after all repetitions{error}"),
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Needed {
    /// The half width there is.
    half_width: Option<f64>,
    /// The repetitions that it takes.
    repetitions: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Runs {
    /// The median of each run, this one first.
    median_ns: Vec<f64>,
    half_width: Option<f64>,
    runs: Option<u64>,
}

impl EnoughFacts {
    fn new(arguments: &Arguments, source: &Source, others: &[Source], number: usize) -> Result<EnoughFacts> {
        let operation = source.operations()[number].clone();
        let selection = selected(arguments, source, number)?;
        let values = &selection.run_time_ns;
        let sample = Sample::new(values);
        let of_median = sample.median().and_then(|median| dependence_of_quantile(values, median));
        let [of_mean, of_median] = [dependence(values), of_median]
            .map(|dependence| dependence.map_or(values.len() as f64, |dependence| dependence.effective));
        let runs = match others {
            [] => None,
            _ => {
                let mut medians: Vec<f64> = sample.median().into_iter().collect();
                medians.extend(self::medians(arguments, &operation, others)?);
                Some(medians)
            }
        };
        let wish = Wish { half_width: arguments.half_width, confidence: arguments.confidence };
        let needed = |enough: Option<Enough>| Needed {
            half_width: enough.and_then(|enough| enough.half_width),
            repetitions: enough.and_then(|enough| enough.needed),
        };
        Ok(EnoughFacts {
            used: values.len(),
            half_width: wish.half_width,
            confidence: wish.confidence,
            mean: needed(enough::mean(values, of_mean, wish)),
            median: needed(enough::median(&sample, of_median, wish)),
            runs: runs.map(|median_ns| {
                let found = enough::runs(&median_ns, wish);
                Runs { median_ns, half_width: found.half_width, runs: found.needed }
            }),
            stopping: Stopping::new(arguments, source, number)?,
            operation,
        })
    }

    fn write(&self, output: &mut dyn Write) -> Result<()> {
        let count = |needed: Option<u64>| needed.map_or("unknown".to_owned(), |needed| needed.to_string());
        let now = |half: Option<f64>| half.map(|half| format!(", now {:.2} %", 100.0 * half)).unwrap_or_default();
        let operation = &self.operation;
        let bytes = operation.bytes.map(|bytes| format!(" of {bytes} bytes")).unwrap_or_default();
        writeln!(output, "operation {}: {}{bytes}", operation.operation, text::printable(&operation.function))?;
        writeln!(
            output,
            "* {} repetitions; wanted +- {} % at {} %",
            self.used,
            100.0 * self.half_width,
            100.0 * self.confidence
        )?;
        let (mean, median) = (&self.mean, &self.median);
        writeln!(output, "* median: {} repetitions{}", count(median.repetitions), now(median.half_width))?;
        writeln!(output, "* mean: {} repetitions{}", count(mean.repetitions), now(mean.half_width))?;
        if let Some(stopping) = &self.stopping {
            writeln!(output, "* stopping rule: {}", stopping.sentence())?;
        }
        match &self.runs {
            Some(runs) => writeln!(
                output,
                "* runs: {}, by the medians of {}{}",
                count(runs.runs),
                text::count(runs.median_ns.len() as u64, "run"),
                now(runs.half_width)
            )?,
            None => writeln!(output, "* runs: unknown from one run; --runs names further ones")?,
        }
        Ok(())
    }
}

/// The repetitions that count.
fn selected<'s>(arguments: &Arguments, source: &'s Source, number: usize) -> Result<Selection<'s>> {
    Selection::new(source, number, arguments.time.time, arguments.rule.rule, arguments.category)
}

/// The further runs that --runs names: each file once, and none that is the input itself.
fn open_others(arguments: &Arguments) -> Result<Vec<Source>> {
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
        other.check(None, arguments.time.time).with_context(|| path.display().to_string())?;
        others.push(other);
    }
    Ok(others)
}

/// The median run time of the operation in each of the other runs that has it, selected as in this one.
fn medians(arguments: &Arguments, wanted: &Description, others: &[Source]) -> Result<Vec<f64>> {
    let mut medians = Vec::new();
    for other in others {
        let Some(number) = other.operations().iter().position(|operation| same(wanted, operation)) else { continue };
        let mut selection = selected(arguments, other, number)?;
        medians.extend(median(&mut selection.run_time_ns));
    }
    Ok(medians)
}

/// True if two operations of different runs are the same thing.
fn same(wanted: &Description, other: &Description) -> bool {
    (&wanted.function, &wanted.communicator, wanted.bytes, wanted.root, wanted.ranks)
        == (&other.function, &other.communicator, other.bytes, other.root, other.ranks)
        && (&wanted.datatype, &wanted.reduction) == (&other.datatype, &other.reduction)
}
