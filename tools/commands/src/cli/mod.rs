//! The way of a command line: it is parsed, its command runs, and what went wrong is one line.

mod arguments;
mod help;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use mpitrace_show::output::{self, Output};
use mpitrace_show::text;

use crate::exit::UNUSABLE;
use crate::usage;
pub use arguments::{Benchmark, Cli};

#[cfg(test)]
pub use arguments::tests;

/// Parses the command line of this process, does what it says, and gives the exit code. `B` are the commands of the
/// laboratory.
pub fn main<B: Benchmark>() -> ExitCode {
    let program = Cli::<B>::command();
    let arguments = usage::with_command(&program, std::env::args_os().collect());
    let cli = match Cli::<B>::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => {
            if let Some(line) = usage::wrong(&program, &error) {
                eprintln!("mpitrace: {line}");
                return ExitCode::from(UNUSABLE);
            }
            match help::shorter(program, &error, &arguments) {
                // A reader that has gone has seen enough.
                Some(page) => drop(std::io::stdout().write_all(page.as_bytes())),
                None => drop(error.print()),
            }
            return if error.use_stderr() { ExitCode::from(UNUSABLE) } else { ExitCode::SUCCESS };
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
            ExitCode::from(UNUSABLE)
        }
    }
}
