//! The hidden command that `doctor` starts itself as: loads an MPI library and asks it.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::mpi;

/// Ask an MPI library what it offers; `doctor` runs this as a child, for the case that the library crashes
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Arguments {
    /// The library
    library: PathBuf,
    /// Call MPI_Init before
    #[arg(long)]
    init: bool,
    /// Where the answer goes
    #[arg(long, value_name = "FILE")]
    answer: PathBuf,
}

/// Asks.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    mpi::ask(&arguments.library, arguments.init, &arguments.answer)?;
    Ok(ExitCode::SUCCESS)
}
