//! `mpitrace export`: the calls for other tools.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use mpitrace_analysis::run::Need;
use mpitrace_export::Format;
use mpitrace_export::rows::Calls;
use mpitrace_show::destination::Destination;
use mpitrace_show::output::Output;
use mpitrace_source::Traced;
use mpitrace_source::options::{RuleOption, TraceInput};
use mpitrace_source::{check_operation, warn_if_incomplete};

/// Write the calls for other tools
///
/// An existing file is replaced once the new one is complete. The folder of otf2 must be new; csv and reprompi write a
/// file for each operation into an existing folder.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: TraceInput,
    #[command(flatten)]
    rule: RuleOption,
    /// The format
    #[arg(long, value_name = "FORMAT")]
    format: Format,
    /// The output: a file (compressed if the name ends in .gz), a folder, or - for standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Only the calls of this operation
    #[arg(long, value_name = "N")]
    operation: Option<usize>,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let exporter = arguments.format.exporter()?;
    let traced = Traced::open(&arguments.input.files, Need::Operations)?;
    let calls = Calls::new(&traced).with_rule(arguments.rule.rule);
    check_operation(arguments.operation, calls.operations.operations.len())?;
    let mut destination = Destination::new(&arguments.output, output, &arguments.input.files)?;
    warn_if_incomplete(&traced.run.trace);
    // Rows on the same terminal tell enough.
    let is_shown = arguments.output.as_os_str() == "-" && io::stdout().is_terminal();
    let calls = if is_shown { calls } else { calls.with_progress(arguments.operation) };
    let exported = exporter(&calls, arguments.operation, &mut destination);
    drop(calls);
    exported?;
    Ok(ExitCode::SUCCESS)
}
