//! The exit codes of commands.

use std::process::ExitCode;

use mpitrace_source::Source;

/// The exit code for an incomplete trace, and for one whose times contradict themselves.
pub const FINDING: u8 = 1;
/// The exit code for wrong usage and for a file that cannot be read.
pub const UNUSABLE: u8 = 2;

/// The exit code of a command that has shown everything, and found that all is well or not.
pub fn concluded(is_well: bool) -> ExitCode {
    if is_well { ExitCode::SUCCESS } else { ExitCode::from(FINDING) }
}

/// The exit code of a command that has shown run times.
pub fn exit_code(source: &Source) -> ExitCode {
    concluded(source.complete())
}
