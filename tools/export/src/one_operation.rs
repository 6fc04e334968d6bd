//! Formats of which a file holds one operation.

use anyhow::{Result, bail};

use super::rows::Calls;

/// The one operation that goes into a file of a format that holds no more.
pub fn only_operation(calls: &Calls, wanted: Option<usize>) -> Result<usize> {
    match (wanted, calls.operations.operations.len()) {
        (Some(number), _) => Ok(number),
        (None, 1) => Ok(0),
        (None, 0) => bail!("this trace has no operation"),
        (None, several) => bail!(
            "this trace has operations 0 to {}, and a file of this format holds one: --operation N, \
             or a file each in -o FOLDER/",
            several - 1
        ),
    }
}

/// Says how many repetitions are left out of a format that has no place for those that a rank lacks.
pub fn tell_incomplete(calls: &Calls, number: usize) {
    let incomplete = calls.operations.operations[number].incomplete;
    if incomplete > 0 {
        eprintln!(
            "mpitrace: operation {number}: {} left out",
            mpitrace_show::text::count(incomplete, "incomplete repetition")
        );
    }
}
