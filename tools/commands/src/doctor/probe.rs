//! The hidden command that `doctor` and `overhead` start this program as: loads an MPI library, and asks it or makes
//! calls of it.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use mpitrace_job::mpi::{self, Request};

/// Ask an MPI library what it offers, or make calls of it, as a child for the case that the library crashes
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Arguments {
    /// The library
    library: PathBuf,
    /// Make so many blocks of calls, traced and untraced in turn
    #[arg(long, value_name = "N", requires = "calls")]
    turns: Option<u32>,
    /// Calls a block
    #[arg(long, value_name = "N", default_value_t = 1)]
    calls: u32,
    /// Where the answer goes
    #[arg(long, value_name = "FILE")]
    answer: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let Arguments { library, turns, calls, answer } = arguments;
    match *turns {
        Some(turns) => mpi::try_calls(library, Request { turns, calls: *calls }, answer)?,
        None => mpi::ask(library, answer)?,
    }
    Ok(ExitCode::SUCCESS)
}
