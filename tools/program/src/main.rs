//! The program `mpitrace`: all of it is in the library beside this file.

use std::process::ExitCode;

fn main() -> ExitCode {
    mpitrace_commands::main::<mpitrace_laboratory::Arguments>()
}
