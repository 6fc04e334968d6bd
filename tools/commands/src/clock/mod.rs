//! `mpitrace clock`: how good the global time is.

mod domain;
mod durations;
pub mod facts;
mod maps;
mod page;
mod picture;
mod samples;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use mpitrace_report::picture_option::PictureOption;
use mpitrace_report::pictures::{ENDINGS, Written};
use mpitrace_show::destination::{Content, Destination};
use mpitrace_show::output::{self, Output};
use mpitrace_show::progress;
use mpitrace_source::options::TraceInput;
use mpitrace_source::{open_trace, warn_if_incomplete};
use mpitrace_synchronise::Method;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;
use serde::Serialize;

use picture::ClockPlot;

/// Show how good the global time is: its method, its errors, and whether calls keep the order that collectives imply
///
/// No rank can leave a barrier before the last has entered it, whatever its clock says; other collectives imply less.
/// Times that break this order by more than their stated errors are violations. A clock that stepped is listed with the
/// times between which it did. Both end with exit code 1.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    input: TraceInput,
    #[arg(long, value_name = "METHOD", value_parser = method,
        help = format!("Estimate the clocks again from the same probes, by {}", Method::names_from_probes()))]
    method: Option<Method>,
    /// Write the maps from each clock to global time, as JSON ("-": to standard output)
    #[arg(long, value_name = "OUT")]
    export: Option<PathBuf>,
    /// Also a picture of the clocks over the run: FILE.svg, .png or .pdf, or its values: FILE.csv
    #[arg(short, long, value_name = "FILE", conflicts_with = "export")]
    output: Option<PathBuf>,
    /// The content of the picture; without: offset
    #[arg(long, value_enum, requires = "output")]
    plot: Option<ClockPlot>,
    #[command(flatten)]
    picture: PictureOption,
    /// As JSON
    #[arg(long)]
    json: bool,
}

impl Arguments {
    fn open(&self) -> Result<(Trace, Clock)> {
        let trace = open_trace(&self.input.files)?;
        let clock = match self.method {
            Some(method) => Clock::estimated_by(&trace, method)?,
            None => Clock::new(&trace),
        };
        Ok((trace, clock))
    }
}

fn method(name: &str) -> Result<Method, String> {
    Method::named(name).ok_or_else(|| format!("expected {}, or the run's own", Method::names_from_probes()))
}

#[derive(Serialize)]
struct Maps<'a> {
    #[serde(serialize_with = "output::method_name")]
    method: Method,
    rows: Vec<maps::Map<'a>>,
}

fn export(arguments: &Arguments, out: &Path, output: &mut Output) -> Result<ExitCode> {
    let (trace, clock) = arguments.open()?;
    warn_if_incomplete(&trace);
    let rows = domain::all(&trace, &clock).iter().map(maps::Map::new).collect();
    let maps = Maps { method: clock.method, rows };
    Destination::new(out, output, &arguments.input.files)?
        .stream(Content::Text, |sink| output::json(sink, "clock-export", &maps))?;
    Ok(ExitCode::SUCCESS)
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    if let Some(out) = &arguments.export {
        return export(arguments, out, output);
    }
    let picture = match arguments.output.as_deref() {
        Some(path) => {
            let wrong = || format!("{}: the name of a picture ends in {ENDINGS}", path.display());
            let written = Written::by_ending(path).with_context(wrong)?;
            arguments.picture.check(written, path)?;
            Some((path, written))
        }
        None => None,
    };
    let (trace, clock, facts) = progress::during("reading", || {
        let (trace, clock) = arguments.open()?;
        let facts = facts::Facts::new(&trace, &clock, &Operations::new(&trace));
        anyhow::Ok((trace, clock, facts))
    })?;
    warn_if_incomplete(&trace);
    if let Some((path, written)) = picture {
        let picture = picture::of(arguments.plot.unwrap_or_default(), &trace, &clock);
        let picture = picture.with_context(|| format!("{}: nothing to show", path.display()))?;
        written.write(&picture, &arguments.picture.format(), path)?;
    }
    if arguments.json {
        output::json(output, "clock", &facts)?;
    } else {
        let style = output.style;
        page::write(&facts, output, style)?;
    }
    Ok(crate::exit::concluded(facts.is_good()))
}
