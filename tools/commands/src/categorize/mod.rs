//! `mpitrace categorize`: which repetitions are first, warm-up, outlier and good.

pub mod shown;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use mpitrace_show::output::{self, Output};
use mpitrace_show::progress::{self, Progress};
use mpitrace_source::memory;
use mpitrace_source::options::{Input, RuleOption, TimeOption};
use mpitrace_source::{Categorized, Source};

/// Sort the repetitions of each operation into first, warmup, outlier and good
///
/// roth is the rule of Roth's thesis. The first repetition is `first`. The warm-up ends at w, the first repetition at
/// which the smallest run time so far falls by 0.1 medians or more; w is 10 or later. A repetition of 2 medians or more
/// is an outlier, all others are good. A repetition that matches several has the first of: first, warmup, outlier.
///
/// robust finds the repetitions at which the level of the run times changes, states what the operation does over time
/// (its class), and states a warm-up only if the beginning is slower than the rest of the run is by chance.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,
    /// Only this operation, and the category of each of its repetitions
    #[arg(long, value_name = "N")]
    operation: Option<usize>,
    #[command(flatten)]
    time: TimeOption,
    #[command(flatten)]
    rule: RuleOption,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let rule = arguments.rule.rule;
    let source = progress::during("reading", || Source::open(&arguments.input))?;
    let time = arguments.time.time;
    source.check(arguments.operation, time)?;
    source.warn(time);
    source.warn_of_memory(arguments.operation, memory::CATEGORIES);
    // One at a time: the run times of all operations together are as large as half the trace.
    let steps = source.wanted(arguments.operation).count() as u64;
    let progress = if arguments.json { Progress::beside_output(steps) } else { Progress::new(steps) };
    let each = source.wanted(arguments.operation).map(|number| -> Result<Categorized> {
        let categorized = Categorized::new(&source, number, rule, time);
        progress.step();
        categorized
    });
    if arguments.json {
        output::json_rows(output, "categorize", each)?;
        return Ok(crate::exit::exit_code(&source));
    }
    let style = output.style;
    let mut table = shown::table();
    let mut own_work = false;
    let (mut listed, mut notes) = (None, Vec::new());
    for categorized in each {
        let categorized = categorized?;
        table.row_of(categorized.operation.row.clone(), shown::cells(&categorized));
        own_work |= categorized.own_work().is_some();
        notes.extend(categorized.notes());
        listed = arguments.operation.map(|_| categorized);
    }
    drop(progress);
    table.write(output, style)?;
    if own_work {
        writeln!(
            output,
            "\nown work: the part of the run times in which the program itself computed, between start and completion \
             (mpitrace stats has the overhead)"
        )?;
    }
    if !notes.is_empty() {
        writeln!(output)?;
    }
    notes.iter().try_for_each(|note| writeln!(output, "{note}"))?;
    if let Some(categorized) = listed {
        writeln!(output)?;
        shown::write_repetitions(&categorized, output, style)?;
    }
    Ok(crate::exit::exit_code(&source))
}
