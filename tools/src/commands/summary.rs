//! `mpitrace summary`: where the ranks' time went, and what to do next.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use mpitrace::clock::Clock;
use mpitrace::operations::Operations;

use crate::options::TraceInput;
use crate::output::{self, Output};
use crate::progress;
use crate::summary::Summary;

/// Show in seven lines where the ranks' time went, what was lost, and what to do next
///
/// The time in collective calls is waiting for other ranks, time off the processor, delay by the tracer, and the rest,
/// communication. Losses are named with the rank and the operation, the largest first.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: TraceInput,
    /// As JSON, with all losses
    #[arg(long)]
    json: bool,
}

/// Shows it.
pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let (complete, summary) = progress::during("reading", || {
        let trace = arguments.input.open()?;
        let (operations, clock) = (Operations::of(&trace), Clock::of(&trace));
        let name = arguments.input.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(" ");
        anyhow::Ok((trace.complete, Summary::of(&trace, &operations, &clock, &name)))
    })?;
    if arguments.json {
        output::json(output, &summary)?;
    } else {
        let style = output.style;
        summary.write(output, style)?;
    }
    Ok(match complete && summary.mismatched == 0 {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(super::FINDING),
    })
}
