//! `mpitrace man`: manual pages, made from the declared options.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Command};
use clap_mangen::Man;

use crate::output::{DataSink, Output};

/// Print a manual page, as roff
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Arguments {
    /// The command whose page it is; the overview without
    command: Option<String>,
    /// Write the pages of all commands into this folder: mpitrace.1, mpitrace-run.1, ...
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    all: Option<PathBuf>,
}

pub fn run(arguments: &Arguments, mut program: Command, output: &mut Output) -> Result<ExitCode> {
    program.build();
    if let Some(folder) = &arguments.all {
        write(&program, folder)?;
        return Ok(ExitCode::SUCCESS);
    }
    let page = match &arguments.command {
        None => program,
        Some(name) => program.find_subcommand(name).with_context(|| format!("no command {name}"))?.clone(),
    };
    Man::new(page).render(&mut output.data())?;
    Ok(ExitCode::SUCCESS)
}

fn write(program: &Command, folder: &Path) -> Result<()> {
    let shown = |command: &&Command| !command.is_hide_set() && command.get_name() != "help";
    let commands: Vec<&Command> = program.get_subcommands().filter(shown).collect();
    let of_commands = commands.iter().flat_map(|command| command.get_subcommands().filter(shown));
    for command in of_commands.chain(commands.iter().copied()).chain([program]) {
        // The overview lists the command `help`, which has no page.
        let command = command.clone().disable_help_subcommand(true);
        let path = folder.join(Man::new(command.clone()).get_filename());
        let page = File::create(&path).and_then(|mut file| Man::new(command).render(&mut file));
        page.with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
