//! `mpitrace completions`: what a shell needs to complete command lines, made from the declared options.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::output::Output;

/// Print the completions for a shell
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

/// Prints them.
pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "mpitrace", &mut script);
    std::io::Write::write_all(output, &script)?;
    Ok(ExitCode::SUCCESS)
}
