//! `mpitrace diagnose`: which counter, timer or rank differs between slow and good repetitions.

mod json;
mod metrics;
mod page;
mod words;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use mpitrace::categories::{Categories, Rule};
use mpitrace::diagnosis::{Diagnosis, Examination, Repetitions};
use mpitrace::run_time::RunTime;

use crate::options::{Input, RuleOption, TimeOption};
use crate::output::{JsonList, Output};
use crate::progress::{self, Progress};
use crate::source::{Description, Source};

/// Name the counter, timer or rank that differs between slow and good repetitions
///
/// Each metric of each rank (how late it arrives, its counters and timers, what its requests cost, whether the tracer
/// may have delayed it) is held against the run times, over all repetitions and within each category; and the warm-up,
/// the outliers and the modes against the good repetitions, with a rank test that is corrected for how many metrics
/// there are and for repetitions that are not independent. The largest difference is named first.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    time: TimeOption,
    /// Only this operation
    #[arg(long, value_name = "N")]
    operation: Option<usize>,
    #[command(flatten)]
    rule: RuleOption,
    /// As JSON: every metric, every test
    #[arg(long)]
    json: bool,
}

/// An operation with what is wrong with it.
struct Diagnosed<'s> {
    description: &'s Description,
    notes: &'s [String],
    rule: Rule,
    time: RunTime,
    categories: Categories,
    diagnosis: Diagnosis,
}

/// Diagnoses the operations.
pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let source = progress::during("reading", || Source::open(&arguments.input))?;
    let (time, rule) = (arguments.time.time, arguments.rule.rule);
    source.check(arguments.operation, time)?;
    source.warn(time);
    let arrivals = metrics::arrivals_are_known(&source);
    if !arrivals && source.traced().is_some() {
        eprintln!("mpitrace: the clocks of the ranks are not synchronised: late ranks cannot be found");
    }
    let progress = Progress::new(source.wanted(arguments.operation).count() as u64);
    let mut each = source.wanted(arguments.operation).map(|number| {
        let times = source.run_times(number, time)?;
        let categories = rule.apply(&times.repetition, &times.run_time_ns)?.categories;
        let examination = Examination::new(Repetitions {
            number: &times.repetition,
            run_time_ns: &times.run_time_ns,
            category: &categories.category,
        });
        let examined = metrics::examined(&source, number, arrivals, &examination);
        let diagnosis = examination.conclude(examined);
        progress.step();
        Ok(Diagnosed {
            description: &source.operations()[number],
            notes: source.notes(number),
            rule,
            time,
            categories,
            diagnosis,
        })
    });
    if arguments.json {
        let mut list = JsonList::new(output)?;
        each.try_for_each(|diagnosed: Result<Diagnosed>| {
            let diagnosed = diagnosed?;
            progress.aside(|| list.push(&json::Operation::of(&diagnosed)))
        })?;
        list.end()?;
    } else {
        let mut first = true;
        for diagnosed in each {
            let diagnosed = diagnosed?;
            progress.aside(|| {
                page::write(&diagnosed, first, output)?;
                anyhow::Ok(output.flush()?)
            })?;
            first = false;
        }
    }
    Ok(ExitCode::SUCCESS)
}
