//! `mpitrace clock`: how good the global time is.

mod domain;
pub mod facts;
mod page;

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use mpitrace::clock::Clock;
use mpitrace::operations::Operations;
use mpitrace_synchronise::Method;

use crate::options::TraceInput;
use crate::output::{self, Output};
use crate::progress;

/// Show how good the global time is: its method, its errors, and whether calls keep the order that collectives imply
///
/// No rank can leave a barrier before the last has entered it, whatever its clock says; other collectives imply less.
/// Times that break this order by more than their stated errors are violations. A clock that stepped is listed with the
/// times between which it did. Both end with exit code 1.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: TraceInput,
    #[arg(long, value_name = "METHOD", value_parser = method, help = method_help())]
    method: Option<Method>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

fn method_help() -> String {
    format!("Estimate the clocks again from the same probes, by {}", Method::names_from_probes())
}

fn method(name: &str) -> Result<Method, String> {
    Method::named(name).ok_or_else(|| format!("expected {}, or the run's own", Method::names_from_probes()))
}

/// Shows it.
pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let (trace, facts) = progress::during("reading", || {
        let trace = arguments.input.open()?;
        let clock = match arguments.method {
            Some(method) => Clock::estimated_by(&trace, method)?,
            None => Clock::new(&trace),
        };
        let facts = facts::Facts::new(&trace, &clock, &Operations::new(&trace));
        anyhow::Ok((trace, facts))
    })?;
    super::warn_if_incomplete(&trace);
    if arguments.json {
        output::json(output, "clock", &facts)?;
    } else {
        let style = output.style;
        page::write(&facts, output, style)?;
    }
    Ok(if facts.is_good() { ExitCode::SUCCESS } else { ExitCode::from(super::FINDING) })
}
