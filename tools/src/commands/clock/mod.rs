//! `mpitrace clock`: how good the global time is.

mod domain;
mod errors;
pub mod facts;
mod page;
mod picture;
mod samples;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Args;
use mpitrace::clock::Clock;
use mpitrace::operations::Operations;
use mpitrace_synchronise::Method;

use crate::draw::svg;
use crate::options::TraceInput;
use crate::output::{self, Output};

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
    /// Also draw the offset of each clock over the run, with its errors
    #[arg(long, value_name = "OUT.svg")]
    picture: Option<PathBuf>,
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
    let picture = arguments.picture.as_deref();
    if let Some(path) = picture {
        ensure!(path.extension().is_some_and(|ending| ending == "svg"), "{}: does not end in .svg", path.display());
    }
    let trace = arguments.input.open()?;
    let clock = match arguments.method {
        Some(method) => Clock::estimated_by(&trace, method)?,
        None => Clock::of(&trace),
    };
    let facts = facts::Facts::of(&trace, &clock, &Operations::of(&trace));
    picture.map_or(Ok(()), |path| write(path, &svg::text(&picture::scene(&trace, &clock), "axes")))?;
    super::warn_if_incomplete(&trace);
    if arguments.json {
        output::json(output, "clock", &facts)?;
    } else {
        let style = output.style;
        page::write(&facts, output, style)?;
    }
    Ok(if facts.is_good() { ExitCode::SUCCESS } else { ExitCode::from(super::FINDING) })
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| path.display().to_string())
}
