//! The warnings beside a trace, and the refusal of an operation that does not exist.

use anyhow::{Result, ensure};
use mpitrace_trace::reader::Trace;

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
