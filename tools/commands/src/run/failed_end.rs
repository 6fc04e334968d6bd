//! The output of `run` after a job that failed when all its ranks had come to MPI_Finalize.

use std::path::Path;

use mpitrace_format::metadata;

/// The exit codes of a job that MPICH 5 ends in MPI_Finalize because of a message that no rank has received: of the
/// rank that sees it, and of one that the launcher has killed meanwhile.
const UNRECEIVED: [u8; 2] = [15, 9];

/// The line on a job that ended with this exit code; `complete`: its ranks have written this trace, else it was
/// recovered. `None`: there is nothing to say that other lines do not.
pub fn line(code: u8, trace: &Path, complete: bool) -> Option<String> {
    let factors = mpitrace_source::open_trace(&[trace]).ok().filter(|trace| code != 0 && trace.complete == complete)?;
    let factors = factors.parts.first()?.metadata();
    let mut library = metadata::get(&factors, "library").unwrap_or_default().split_whitespace();
    let is_mpich = library.next() == Some("MPICH") && library.last().is_some_and(|version| version.starts_with("5."));
    said(code, complete, is_mpich && UNRECEIVED.contains(&code))
}

fn said(code: u8, complete: bool, of_mpich: bool) -> Option<String> {
    let known = "MPICH 5 ends a job in this way in MPI_Finalize if it finds a message that no rank has received";
    match (complete, of_mpich) {
        (true, true) => Some(format!(
            "all ranks had come to MPI_Finalize before the job ended with exit code {code}; {known}; the tracer's own messages between nodes may make it find one"
        )),
        (true, false) => Some(format!("all ranks had come to MPI_Finalize before the job ended with exit code {code}")),
        (false, true) => Some(format!("exit code {code}: {known}")),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_was_not_received_is_named_where_the_library_ends_a_job_for_it() {
        assert_eq!(said(1, false, false), None);
        let program = said(3, true, false).unwrap();
        assert_eq!(program, "all ranks had come to MPI_Finalize before the job ended with exit code 3");
        for complete in [true, false] {
            assert!(said(15, complete, true).unwrap().contains("a message that no rank has received"));
        }
    }
}
