//! `mpitrace completions`: what a shell needs to complete command lines, made from the declared options.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Command};
use clap_complete::Shell;

use crate::output::{DataSink, Output};

/// Print the completions for a shell
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

/// Prints those of the program with these options.
pub fn run(arguments: &Arguments, mut program: Command, output: &mut Output) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, "mpitrace", &mut script);
    output.data().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
