//! `mpitrace info`: what a trace is.

pub mod page;

use mpitrace_analysis::run::Need;
use mpitrace_words::info;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use mpitrace_show::output::{self, Output};
use mpitrace_show::progress;
use mpitrace_source::options::TraceInput;
use mpitrace_source::trace_files;
use mpitrace_source::worlds::{self, Shown};

/// Show what a trace is: library, ranks, settings, operations
///
/// An incomplete trace also shows which rank was in which call, and which rank never entered it. Of the traces of a run
/// that spawned ranks each world has a page.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: TraceInput,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    if let Some(worlds) = worlds::worlds(&arguments.input.files)? {
        return Ok(crate::exit::concluded(SHOWN.show(&worlds, arguments.json, output)?));
    }
    let facts = progress::during("reading", || of_files(&arguments.input.files))?;
    if arguments.json {
        output::json(output, "info", &facts)?;
    } else {
        let style = output.style;
        page::write(&facts, output, style)?;
    }
    Ok(crate::exit::concluded(is_well(&facts)))
}

const SHOWN: Shown<info::Facts> = Shown {
    form: "info-worlds",
    read: of_files,
    ranks: |facts| facts.ranks,
    is_well,
    whole: |_, _| None,
    write: |facts, output, style| page::write(facts, output, style),
};

fn of_files(files: &[PathBuf]) -> Result<info::Facts> {
    let run = mpitrace_source::open(files, Need::Messages)?;
    Ok(info::Facts::new(&run).with_samples(&run.trace, &trace_files::named(files)?))
}

fn is_well(facts: &info::Facts) -> bool {
    facts.complete && facts.mismatched == 0 && !facts.undone.has_defects()
}
