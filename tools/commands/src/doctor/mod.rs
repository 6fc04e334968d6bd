//! `mpitrace doctor`: what works here.

mod clock;
mod counters;
mod facts;
mod page;
pub mod probe;
mod variables;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use mpitrace_job::launcher;
use mpitrace_job::mpi;
use mpitrace_show::output::{self, Output};

/// Show what works here: MPI libraries, clock, counters and what forbids them, and other tools that are preloaded
///
/// Each MPI library is loaded and tried in a process of its own, with the tracer. Ends with exit code 1 where tracing
/// will not work; the first line says why.
#[derive(Debug, Args)]
pub struct Arguments {
    /// List the variables of the libraries' tool information interface (MPI_T) instead; with a part of a name those
    /// that have it
    #[arg(long, value_name = "PART", num_args = 0..=1, default_missing_value = "")]
    variables: Option<String>,
    /// The MPI library [default: all that mpicc, mpirun, LD_LIBRARY_PATH and the loader find]
    #[arg(long, value_name = "FILE")]
    mpi: Option<PathBuf>,
    /// The tracer's library, if it is not beside this program
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let libraries = mpi::libraries(arguments.mpi.as_deref())?;
    let style = output.style;
    if let Some(part) = &arguments.variables {
        let lists = variables::lists(&libraries, part)?;
        match arguments.json {
            true => output::json_rows(output, "doctor-variables", lists.iter().map(Ok))?,
            false => variables::write(&lists, output, style)?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    let tracer = launcher::locate(arguments.library.as_deref()).map_err(|error| format!("{error:#}"));
    let facts = facts::Facts::find(tracer.as_deref().map_err(Clone::clone), libraries)?;
    match arguments.json {
        true => output::json(output, "doctor", &facts)?,
        false => page::write(&facts, output, style)?,
    }
    Ok(crate::exit::concluded(facts.works))
}
