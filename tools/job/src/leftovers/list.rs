//! The list of what is left behind on this node.

use std::os::unix::fs::MetadataExt;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use mpitrace_format::layout::{NO_RANK, state};
use mpitrace_format::metadata;
use mpitrace_format::part::Content;
use mpitrace_format::recover::Leftover;
use mpitrace_show::output::{self, Output};
use mpitrace_show::table::{self, Table, number};
use mpitrace_show::text;
use mpitrace_words::names::user_name;
use serde::{Deserialize, Serialize};

use super::Owner;
use crate::process;

/// A process that has left records.
#[derive(Debug, Serialize, Deserialize)]
pub struct Left {
    /// The number of the job in this list, from 0.
    pub job: usize,
    /// Its name, for `--job`.
    name: String,
    /// The world rank; null where the process was killed before it knew its rank.
    rank: Option<u32>,
    world_size: u32,
    /// Calls; null where the file cannot be read.
    records: Option<u64>,
    state: String,
    /// The user that it is of.
    user: String,
    host: Option<String>,
    command: Option<String>,
    file: String,
    bytes: u64,
    /// When MPI_Init was entered, and when the file was last written to, s since 1970.
    began: u64,
    written: i64,
    lives: bool,
    problem: Option<String>,
}

/// The rows of jobs.
pub fn rows(jobs: &[Vec<Leftover>]) -> Vec<Left> {
    jobs.iter().enumerate().flat_map(|(job, files)| files.iter().map(move |file| Left::new(job, file))).collect()
}

/// Writes them.
///
/// # Errors
/// The output cannot be written.
pub fn write(left: &[Left], as_json: bool, output: &mut Output) -> Result<()> {
    if as_json {
        return output::json_rows(output, "recover-list", left.iter().map(Ok));
    }
    let own = user_name(process::user());
    let is_of_others = left.iter().any(|left| left.user != own);
    let mut table = Table::new(&[
        table::text("job"),
        table::text("user").optional(),
        number("rank"),
        number("of").spare(3),
        number("calls"),
        table::text("state"),
        table::text("process").spare(4),
        number("began, ago").spare(2),
        number("written, ago"),
        number("size").spare(1),
        table::text("host").optional().spare(5),
        table::text("file"),
    ]);
    for left in left {
        let user = if is_of_others { text::printable(&left.user).into_owned() } else { String::new() };
        table.row(vec![
            left.name.clone(),
            user,
            text::optional(left.rank),
            left.world_size.to_string(),
            text::optional(left.records),
            left.problem.clone().unwrap_or_else(|| left.state.clone()),
            if left.lives { "runs" } else { "has ended" }.to_owned(),
            ago(left.began),
            ago(left.written.max(0) as u64),
            text::bytes(left.bytes),
            left.host.clone().unwrap_or_default(),
            left.file.clone(),
        ]);
    }
    let style = output.style;
    Ok(table.write(output, style)?)
}

/// The name of a job in the list: the beginning of the token that all of its ranks have, on each node.
pub fn name(job: &[Leftover]) -> String {
    job[0].rank.job[..4].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A job with what helps to choose: `3f20a9b1 (./app, 2 ranks, written 5 s ago)`, `./app of alice`.
pub fn described(job: &[Leftover], owner: Owner) -> String {
    let command = recorded(job, "command").unwrap_or_else(|| "command not known".to_owned());
    let user = match owner {
        Owner::Other(user) => format!(" of {}", text::printable(&user.name())),
        Owner::Any | Owner::Own(_) => String::new(),
    };
    let written = ago(job.iter().map(|leftover| leftover.modified).max().unwrap_or(0).max(0) as u64);
    let ranks = text::count(job.iter().map(|leftover| leftover.rank.world_size).max().unwrap_or(0).into(), "rank");
    let command = text::printable(&command);
    let command = text::shortened(&command, 40);
    format!("{} ({command}{user}, {ranks}, written {written} ago)", name(job))
}

/// A fact of the run metadata of a job, by its processes that have ended: of one that runs no more than the header can
/// be read in this way.
pub fn recorded(job: &[Leftover], name: &str) -> Option<String> {
    let known = |leftover: &Leftover| {
        let content = (!leftover.lives).then(|| leftover.content())?;
        let metadata = metadata::decode(content.ok()?.metadata)?;
        metadata::get(&metadata, name).filter(|value| *value != metadata::UNKNOWN).map(str::to_owned)
    };
    job.iter().find_map(known)
}

/// How long ago a time in seconds since 1970 was.
fn ago(time: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    match now.saturating_sub(time) {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ ..7200 => format!("{} min", seconds / 60),
        seconds @ ..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

impl Left {
    /// The row with its job's number behind so many jobs.
    pub fn numbered_from(self, first: usize) -> Left {
        Left { job: self.job + first, ..self }
    }

    fn new(job: usize, leftover: &Leftover) -> Left {
        let content = (!leftover.lives).then(|| leftover.content());
        let recorded = |name: &str| recorded(std::slice::from_ref(leftover), name);
        Left {
            job,
            name: name(std::slice::from_ref(leftover)),
            rank: Some(leftover.rank.rank).filter(|&rank| rank != NO_RANK),
            world_size: leftover.rank.world_size,
            records: content.as_ref().and_then(|content| content.as_ref().ok()).map(Content::records),
            state: match leftover.rank.state {
                state::STARTING => "in MPI_Init",
                state::RUNNING => "after MPI_Init",
                state::FINALIZING => "in MPI_Finalize",
                state::SESSION => "in a session",
                state::FINALIZED => "finalized",
                state::OUT_OF_MEMORY => "ran out of memory",
                state::ABORTED => "called MPI_Abort",
                _ => "unknown",
            }
            .to_owned(),
            user: leftover.path.symlink_metadata().map_or_else(|_| String::new(), |file| user_name(file.uid())),
            host: recorded("host"),
            command: recorded("command"),
            file: leftover.path.to_string_lossy().into_owned(),
            bytes: leftover.bytes,
            began: leftover.rank.first_anchor.realtime_ns / 1_000_000_000,
            written: leftover.modified,
            lives: leftover.lives,
            problem: content.and_then(Result::err).map(|error| error.to_string()),
        }
    }
}
