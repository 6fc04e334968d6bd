//! The companion of libmpitrace.so: starts programs under it and shows what it recorded.
//!
//! This file parses and calls; each command is one file of [`commands`], and the mathematics is in the library
//! `mpitrace`. What is public is used by the laboratory, whose commands are `mpitrace benchmark`, and by the Python
//! package (`tables`).

mod cli;
mod commands;
mod export;
#[cfg(feature = "arrow")]
pub mod in_memory;
#[cfg(test)]
mod invented_tests;
mod report;
mod usage;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use mpitrace_show::output::{self, Output};
use mpitrace_show::text;

pub use cli::Benchmark;
pub use commands::exit_code;
pub use commands::run::{shuffled, traces_of};
pub use commands::stats::selection;
pub use mpitrace_job::launcher::find as find_launcher;

/// Parses the command line of this process, does what it says, and gives the exit code. `B` are the commands of the
/// laboratory.
pub fn main<B: Benchmark>() -> ExitCode {
    let program = cli::Cli::<B>::command();
    let arguments = usage::with_command(&program, std::env::args_os().collect());
    let cli = match cli::Cli::<B>::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            if let Some(line) = usage::wrong(&program, &error) {
                eprintln!("mpitrace: {line}");
                return ExitCode::from(commands::UNUSABLE);
            }
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(commands::UNUSABLE) } else { ExitCode::SUCCESS };
        }
    };
    let mut output = Output::stdout();
    if cli.wide {
        output.widen();
    }
    let result = cli.command.run(&mut output).and_then(|code| {
        output.flush()?;
        Ok(code)
    });
    match result {
        Ok(code) => code,
        // The reader (`| head`) has seen enough.
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // One line, whatever a file is called.
            eprintln!("mpitrace: {}", text::printable(&format!("{error:#}")));
            ExitCode::from(commands::UNUSABLE)
        }
    }
}
