//! `mpitrace completions`: what a shell needs to complete command lines, made from the declared options.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Command};
use clap_complete::Shell;
use mpitrace_show::output::{DataSink, Output};

/// Print the completions for a shell
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

pub fn run(arguments: &Arguments, program: &Command, output: &mut Output) -> Result<ExitCode> {
    let mut script = Vec::new();
    // The generator offers hidden commands too, and a command cannot lose one.
    let shown = program.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let mut shown = Command::new("mpitrace")
        .version(env!("CARGO_PKG_VERSION"))
        .args(program.get_arguments().cloned())
        .subcommands(shown);
    clap_complete::generate(arguments.shell, &mut shown, "mpitrace", &mut script);
    output.data().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
