//! `mpitrace summary`: where the ranks' time went, and what to do next.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use mpitrace_analysis::run::Need;
use mpitrace_show::output::{self, Output};
use mpitrace_show::{progress, shell};
use mpitrace_source::options::TraceInput;
use mpitrace_source::worlds::{self, Shown};
use mpitrace_source::{trace_files, warn_if_incomplete};
use mpitrace_trace::calls::samples::RunSamples;
use mpitrace_words::summary::grouped::{self, By, Sort};
use mpitrace_words::summary::{Summary, Whole};

/// Show in seven lines where the ranks' time went, what was lost, and what to do next
///
/// The time in collective calls is divided into waiting for other ranks, time off the processor, delay by the tracer,
/// and communication. Losses are listed with the rank and the operation, the largest first. Of the traces of a run that
/// spawned ranks each world has a summary.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: TraceInput,
    /// Show a table instead of the summary, with one row for each of these
    #[arg(long, value_name = "WHAT")]
    by: Option<By>,
    /// Sort by this column, the largest first
    #[arg(long, value_name = "WHAT", requires = "by", default_value = "time")]
    sort: Sort,
    /// As JSON, with all losses or all rows of the table
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    match arguments.by {
        Some(by) => table(arguments, by, output),
        None => summary(arguments, output),
    }
}

const SHOWN: Shown<Summary> = Shown {
    form: "summary-worlds",
    read: of_files,
    ranks: |summary| summary.ranks,
    is_well,
    whole: |worlds, periods| Some(Whole::new(worlds, periods)),
    write: |summary, output, style| summary.write(output, style),
};

/// The summary of the run in these files.
fn of_files(files: &[PathBuf]) -> Result<Summary> {
    let run = mpitrace_source::open(files, Need::Losses)?;
    let summary = Summary::new(&run, &shell::all_quoted(files));
    // What `run` has kept lies beside the files, also where a folder or the name of several stands for them.
    Ok(summary.with_observed(&run, &trace_files::named(files)?))
}

fn is_well(summary: &Summary) -> bool {
    summary.complete && summary.mismatched == 0 && !summary.undone.has_defects()
}

fn table(arguments: &Arguments, by: By, output: &mut Output) -> Result<ExitCode> {
    let (run, groups) = progress::during("reading", || {
        let run = arguments.input.open(if by == By::Line { Need::Losses } else { Need::Account })?;
        if by == By::Line {
            let files = trace_files::named(&arguments.input.files)?;
            let samples = RunSamples::open(&run.trace, &files)?.filter(|samples| !samples.threads.is_empty());
            let Some(samples) = samples else { bail!("this run has no samples: `mpitrace run` takes some") };
            let groups = grouped::of_lines(&run, &samples, arguments.sort);
            return Ok((run, groups));
        }
        let is_joined = !arguments.json && !output.style.is_wide();
        let groups = grouped::groups(&run, by, arguments.sort, is_joined);
        anyhow::Ok((run, groups))
    })?;
    warn_if_incomplete(&run.trace);
    if arguments.json {
        output::json_rows(output, "summary-by", groups.iter().map(Ok))?;
    } else {
        let style = output.style;
        grouped::write(&groups, by, arguments.sort, output, style)?;
    }
    Ok(crate::exit::concluded(run.trace.complete))
}

fn summary(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    if let Some(worlds) = worlds::worlds(&arguments.input.files)? {
        return Ok(crate::exit::concluded(SHOWN.show(&worlds, arguments.json, output)?));
    }
    let summary = progress::during("reading", || of_files(&arguments.input.files))?;
    if arguments.json {
        output::json(output, "summary", &summary)?;
    } else {
        let style = output.style;
        summary.write(output, style)?;
    }
    Ok(crate::exit::concluded(is_well(&summary)))
}
