//! `mpitrace info`: what a trace is.

pub mod page;

use mpitrace_analysis::run::Need;
use mpitrace_words::info;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use mpitrace_show::output::{self, Output};
use mpitrace_show::progress;
use mpitrace_source::options::TraceInput;
use mpitrace_source::trace_files;

/// Show what a trace is: library, ranks, settings, operations
///
/// An incomplete trace also shows which rank was in which call, and which rank never entered it.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: TraceInput,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let facts = progress::during("reading", || {
        let run = arguments.input.open(Need::Messages)?;
        anyhow::Ok(info::Facts::new(&run).with_samples(&run.trace, &trace_files::named(&arguments.input.files)?))
    })?;
    if arguments.json {
        output::json(output, "info", &facts)?;
    } else {
        let style = output.style;
        page::write(&facts, output, style)?;
    }
    Ok(crate::exit::concluded(facts.complete && facts.mismatched == 0 && !facts.undone.has_defects()))
}
