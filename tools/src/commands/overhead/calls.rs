//! The hidden command that `overhead` and `doctor` start as a process of one rank: makes calls of an MPI library,
//! traced and untraced in turn.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::mpi::{self, Request};

/// Make calls of an MPI library; `overhead` runs this as a rank
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Arguments {
    /// The library
    library: PathBuf,
    /// Blocks of calls
    #[arg(long, value_name = "N")]
    turns: u32,
    /// Calls a block
    #[arg(long, value_name = "N")]
    calls: u32,
    /// Where the times go
    #[arg(long, value_name = "FILE")]
    answer: PathBuf,
}

/// Makes them.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let request = Request { turns: arguments.turns, calls: arguments.calls };
    mpi::try_calls(&arguments.library, request, &arguments.answer)?;
    Ok(ExitCode::SUCCESS)
}
