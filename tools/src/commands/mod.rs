//! One file for each command: its options, and what it does.

pub mod categorize;
pub mod clock;
pub mod compare;
pub mod completions;
pub mod diagnose;
pub mod doctor;
pub mod dump;
pub mod export;
pub mod gate;
pub mod info;
pub mod jobs;
pub mod man;
pub mod overhead;
pub mod recover;
pub mod report;
pub mod run;
pub mod stats;
pub mod summary;
pub mod watch;

use std::process::ExitCode;

use anyhow::{Result, ensure};
use mpitrace::reader::Trace;

use crate::source::Source;

/// The exit code for an incomplete trace, and for one whose times contradict themselves.
pub const FINDING: u8 = 1;
/// The exit code for wrong usage and for a file that cannot be read.
pub const UNUSABLE: u8 = 2;

/// The exit code of a command that has shown everything, and found that all is well or not.
fn concluded(is_well: bool) -> ExitCode {
    if is_well { ExitCode::SUCCESS } else { ExitCode::from(FINDING) }
}

/// The exit code of a command that has shown run times.
pub fn exit_code(source: &Source) -> ExitCode {
    concluded(source.complete())
}

/// Tells on stderr that a trace is incomplete: for commands whose output does not say so.
pub fn warn_if_incomplete(trace: &Trace) {
    if !trace.complete {
        eprintln!("mpitrace: this trace is incomplete; `mpitrace info` says why");
    }
    if trace.is_sample() {
        eprintln!("mpitrace: this trace holds a sample: the repetitions are some of all");
    }
}

/// Refuses the number of an operation that there is not.
pub fn check_operation(number: Option<usize>, operations: usize) -> Result<()> {
    if let Some(number) = number {
        ensure!(operations > 0, "no operation {number}: there is none");
        ensure!(number < operations, "no operation {number}: there are operations 0 to {}", operations - 1);
    }
    Ok(())
}
