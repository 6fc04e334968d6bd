//! `mpitrace man`: manual pages, made from the declared options.

use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Command};

use crate::output::Output;

/// Print a manual page, as roff
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Arguments {
    /// The command whose page it is; the overview without
    command: Option<String>,
}

/// Prints that of the program with these options.
pub fn run(arguments: &Arguments, mut program: Command, output: &mut Output) -> Result<ExitCode> {
    program.build();
    let page = match &arguments.command {
        None => program,
        Some(name) => program.find_subcommand(name).with_context(|| format!("no command {name}"))?.clone(),
    };
    clap_mangen::Man::new(page).render(output)?;
    Ok(ExitCode::SUCCESS)
}
