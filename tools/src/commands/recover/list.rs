//! `mpitrace recover --list`: what is left behind on this node.

use anyhow::Result;
use mpitrace_format::layout::{NO_RANK, state};
use mpitrace_format::metadata;
use mpitrace_format::recover::Leftover;
use serde::Serialize;

use crate::output::{self, Output};
use crate::table::{Table, number, text};

/// A leftover file.
#[derive(Debug, Serialize)]
struct Left {
    /// The number of the job in this list, from 0.
    job: usize,
    /// The world rank; null where the process was killed before it knew its rank.
    rank: Option<u32>,
    world_size: u32,
    /// Calls; null where the file cannot be read.
    records: Option<u64>,
    /// How far the process got.
    state: &'static str,
    host: Option<String>,
    command: Option<String>,
    file: String,
    /// Why it cannot be read.
    problem: Option<String>,
}

/// Shows them, the job that was last written to first.
///
/// # Errors
/// Standard output cannot be written to.
pub fn write(jobs: &[Vec<Leftover>], as_json: bool, output: &mut Output) -> Result<()> {
    let left: Vec<Left> =
        jobs.iter().enumerate().flat_map(|(job, files)| files.iter().map(move |file| Left::of(job, file))).collect();
    if as_json {
        return output::json(output, &left);
    }
    let mut table = Table::new(&[
        number("job"),
        number("rank"),
        number("of"),
        number("calls"),
        text("state"),
        text("host").optional(),
        text("file"),
    ]);
    for left in &left {
        table.row(vec![
            left.job.to_string(),
            crate::text::optional(left.rank),
            left.world_size.to_string(),
            crate::text::optional(left.records),
            left.problem.clone().unwrap_or_else(|| left.state.to_owned()),
            left.host.clone().unwrap_or_default(),
            left.file.clone(),
        ]);
    }
    let style = output.style;
    Ok(table.write(output, style)?)
}

impl Left {
    fn of(job: usize, leftover: &Leftover) -> Left {
        let content = leftover.content();
        let recorded = content.as_ref().ok().and_then(|content| metadata::decode(content.metadata));
        let recorded = |name: &str| {
            let known = recorded.as_ref().and_then(|recorded| metadata::get(recorded, name));
            known.filter(|value| *value != metadata::UNKNOWN).map(str::to_owned)
        };
        Left {
            job,
            rank: Some(leftover.rank.rank).filter(|&rank| rank != NO_RANK),
            world_size: leftover.rank.world_size,
            records: content.as_ref().ok().map(mpitrace_format::part::Content::records),
            state: match leftover.rank.state {
                state::STARTING => "in MPI_Init",
                state::RUNNING => "running",
                state::FINALIZING => "in MPI_Finalize",
                state::SESSION => "in a session",
                state::FINALIZED => "finalized",
                state::ABORTED => "called MPI_Abort",
                _ => "unknown",
            },
            host: recorded("host"),
            command: recorded("command"),
            file: leftover.path.to_string_lossy().into_owned(),
            problem: content.err().map(|error| error.to_string()),
        }
    }
}
