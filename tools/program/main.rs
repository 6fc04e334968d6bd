//! The program `mpitrace`: all of it is in the library beside this file.

use std::process::ExitCode;

use mpitrace::large_pages::LargePages;

/// Columns are as large as the trace.
#[global_allocator]
static ALLOCATOR: LargePages = LargePages;

fn main() -> ExitCode {
    mpitrace_companion::main::<mpitrace_laboratory::Arguments>()
}
