//! The one place where traces are opened, and where it is told what is missing in them.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use mpitrace_analysis::run::{Need, Run};
use mpitrace_trace::reader::Trace;

use crate::trace_files;

/// Opens the run whose trace is in this file, or in these ([`trace_files::named`]), and makes what is needed of it.
///
/// # Errors
/// No file; one that is not a trace, is damaged, or cannot be read. The message names it.
pub fn open<P: AsRef<Path>>(files: &[P], need: Need) -> Result<Run> {
    Ok(run_of(open_trace(files)?, need))
}

/// The run of an opened trace, of which this is made.
pub fn run_of(trace: Trace, need: Need) -> Run {
    Run::new(trace, need, mpitrace_live::held)
}

/// Opens a trace of which nothing is to be made.
///
/// # Errors
/// As of [`open`].
pub fn open_trace<P: AsRef<Path>>(files: &[P]) -> Result<Trace> {
    ensure!(!files.is_empty(), "no file is named");
    let files: Vec<PathBuf> = files.iter().map(|file| file.as_ref().to_owned()).collect();
    Ok(Trace::open(&trace_files::named(&files)?)?)
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
