//! `mpitrace recover --list`: what is left behind on this node.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use mpitrace_format::layout::{NO_RANK, state};
use mpitrace_format::metadata;
use mpitrace_format::part::Content;
use mpitrace_format::recover::Leftover;
use mpitrace_show::output::{self, Output};
use mpitrace_show::table::{self, Table, number};
use mpitrace_show::text;
use serde::Serialize;

#[derive(Debug, Serialize)]
struct Left {
    /// The number of the job in this list, from 0.
    job: usize,
    /// Its name, for `--job`.
    name: String,
    /// The world rank; null where the process was killed before it knew its rank.
    rank: Option<u32>,
    world_size: u32,
    /// Calls; null where the file cannot be read.
    records: Option<u64>,
    state: &'static str,
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

pub fn write(jobs: &[Vec<Leftover>], as_json: bool, output: &mut Output) -> Result<()> {
    let left: Vec<Left> =
        jobs.iter().enumerate().flat_map(|(job, files)| files.iter().map(move |file| Left::new(job, file))).collect();
    if as_json {
        return output::json_rows(output, "recover-list", left.iter().map(Ok));
    }
    let mut table = Table::new(&[
        table::text("job"),
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
    for left in &left {
        table.row(vec![
            left.name.clone(),
            text::optional(left.rank),
            left.world_size.to_string(),
            text::optional(left.records),
            left.problem.clone().unwrap_or_else(|| left.state.to_owned()),
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

/// A job with what helps to choose: `3f20a9b1 (./app, 2 ranks, written 5 s ago)`.
pub fn described(job: &[Leftover]) -> String {
    let command = recorded(job, "command").unwrap_or_else(|| "command not known".to_owned());
    let written = ago(job.iter().map(|leftover| leftover.modified).max().unwrap_or(0).max(0) as u64);
    let ranks = text::count(job.iter().map(|leftover| leftover.rank.world_size).max().unwrap_or(0).into(), "rank");
    format!("{} ({}, {ranks}, written {written} ago)", name(job), text::shortened(&text::printable(&command), 40))
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
            },
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
