//! The hidden command that `doctor` starts as the ranks of a small job.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::mpi;

/// Make some calls of an MPI library; `doctor` runs this as a rank
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Arguments {
    /// The library
    library: PathBuf,
    /// Calls
    #[arg(long, value_name = "N")]
    calls: u32,
}

/// Makes them.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    mpi::try_ranks(&arguments.library, arguments.calls)?;
    Ok(ExitCode::SUCCESS)
}
