//! `mpitrace man`: manual pages, made from the declared options.

use std::fs::File;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Command};
use clap_mangen::Man;

/// Write the manual pages of all commands, as roff: mpitrace.1, mpitrace-run.1, ...
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Arguments {
    /// The folder
    folder: PathBuf,
}

pub fn run(arguments: &Arguments, mut program: Command) -> Result<ExitCode> {
    program.build();
    let shown = |command: &&Command| !command.is_hide_set() && command.get_name() != "help";
    let commands: Vec<&Command> = program.get_subcommands().filter(shown).collect();
    let of_commands = commands.iter().flat_map(|command| command.get_subcommands().filter(shown));
    for command in of_commands.chain(commands.iter().copied()).chain([&program]) {
        // The overview lists the command `help`, which has no page.
        let command = command.clone().disable_help_subcommand(true);
        let path = arguments.folder.join(Man::new(command.clone()).get_filename());
        let page = File::create(&path).and_then(|mut file| Man::new(command).render(&mut file));
        page.with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
