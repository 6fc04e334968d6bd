//! The program `mpitrace`: all of it is in the crates `mpitrace_commands` and `mpitrace_laboratory`.

use std::process::ExitCode;

fn main() -> ExitCode {
    mpitrace_commands::main::<mpitrace_laboratory::Arguments>()
}
