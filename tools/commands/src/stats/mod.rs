//! `mpitrace stats`: the numbers of a report, of each operation.

mod page;

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use mpitrace_show::output::{self, Output};
use mpitrace_show::progress::{self, Progress};
use mpitrace_source::Source;
use mpitrace_source::memory;
use mpitrace_source::numbers::selection::Wanted;
use mpitrace_source::numbers::{self, Asked, Facts};
use mpitrace_source::options::{Input, RuleOption, TimeOption};

/// Show the statistics of the run times of each operation
///
/// Quantiles with intervals that hold for any distribution, spread, modes, dependence of the repetitions on each other
/// and completion times. They are of the repetitions that every rank finished and kept, or of those of one --category.
/// One row for each operation, those with the most time first; with --operation all numbers of one.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,
    /// Only this operation, with all of its numbers
    #[arg(long, value_name = "N")]
    operation: Option<usize>,
    #[command(flatten)]
    time: TimeOption,
    /// Only the repetitions of this category
    #[arg(long, default_value = "all")]
    category: Wanted,
    #[command(flatten)]
    rule: RuleOption,
    /// The numbers of each rank as well
    #[arg(long)]
    per_rank: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let source = progress::during("reading", || Source::open(&arguments.input))?;
    let time = arguments.time.time;
    source.check(arguments.operation, time)?;
    source.warn(time);
    source.warn_of_memory(arguments.operation, memory::NUMBERS);
    let numbers: Vec<usize> = source.wanted(arguments.operation).collect();
    let steps = numbers.len() as u64 * numbers::STEPS;
    let progress = if arguments.json { Progress::beside_output(steps) } else { Progress::new(steps) };
    let Arguments { category, per_rank, rule: RuleOption { rule }, .. } = *arguments;
    let asked = Asked { time, rule, category, per_rank };
    let each = numbers.iter().map(|&number| Facts::new(&asked, &source, number, &progress));
    if arguments.json {
        output::json_rows(output, "stats", each)?;
    } else {
        let all: Vec<Facts> = each.collect::<Result<_>>()?;
        drop(progress);
        let style = output.style;
        match (arguments.operation, &all[..]) {
            (Some(_), [facts]) => page::one(facts, output, style)?,
            _ => page::all(&all, output, style)?,
        }
    }
    Ok(crate::exit::exit_code(&source))
}
