//! `mpitrace recover`: a trace out of what a killed job left behind.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use mpitrace_format::TraceError;
use mpitrace_format::recover::{self, Leftover, Recovered};
use serde::Serialize;

use crate::output::{self, Output};
use crate::{markers, text};

/// Make a trace out of what a killed job left behind
///
/// The records of a process that was killed lie on in node-local memory. Those of one job become one trace; where they
/// lie on several nodes, gather the folders' files first and name the folders here. Of several jobs the one last
/// written to becomes FILE, the others get a number before its ending. When a trace is safe on disk its leftovers are
/// removed.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Where to look; MPITRACE_SEGMENT_DIR, /dev/shm and the temporary folder without
    #[arg(value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// The trace to write; an existing file is never overwritten
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// What was written, as JSON
    #[arg(long)]
    json: bool,
}

/// A trace that was written.
#[derive(Debug, Serialize)]
struct Written {
    file: String,
    ranks: u32,
    world_size: u32,
    records: u64,
}

/// Recovers all jobs there are.
pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let folders = folders(&arguments.folders)?;
    // SAFETY: getuid has no preconditions and cannot fail.
    let uid = unsafe { libc::getuid() };
    markers::sweep(&folders, uid);
    // A folder that is named may be a copy from another node, under another user's number.
    let owner = arguments.folders.is_empty().then_some(uid);
    let leftovers = recover::leftovers(&folders, owner)?;
    if leftovers.is_empty() {
        let folders = folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ");
        bail!(TraceError::NothingLeft { folders });
    }
    let mut written = Vec::new();
    let mut failure = None;
    for job in recover::by_job(leftovers) {
        match recover::recover_job(&job, &arguments.output) {
            Ok(recovered) => {
                tell(&job, recovered.as_ref());
                written.extend(recovered.map(Written::from));
            }
            // One job's damaged leftovers stay where they are, and keep nobody else's from being recovered.
            Err(error) => {
                if let Some(earlier) = failure.replace(error) {
                    eprintln!("mpitrace: {earlier}");
                }
            }
        }
    }
    if let Some(error) = failure {
        return Err(error.into());
    }
    ensure!(!written.is_empty(), "no trace was written: no job had come to the end of MPI_Init");
    if arguments.json {
        output::json(output, &written)?;
    }
    Ok(ExitCode::SUCCESS)
}

impl From<Recovered> for Written {
    fn from(recovered: Recovered) -> Written {
        Written {
            file: recovered.path.to_string_lossy().into_owned(),
            ranks: recovered.ranks,
            world_size: recovered.world_size,
            records: recovered.records,
        }
    }
}

fn tell(job: &[Leftover], recovered: Option<&Recovered>) {
    let files = text::count(job.len() as u64, "leftover file");
    match recovered {
        Some(Recovered { path, ranks, world_size, records, damaged }) => {
            for error in damaged {
                eprintln!("mpitrace: {error}; it stays where it is");
            }
            let files = text::count((job.len() - damaged.len()) as u64, "leftover file");
            let (path, records) = (path.display(), text::count(*records, "call"));
            eprintln!("mpitrace: {path}: {records} of {ranks} of {world_size} ranks; {files} removed");
        }
        None => eprintln!("mpitrace: {files} removed of a job that was killed within MPI_Init"),
    }
}

/// The folders to search, each once. Those that are named must exist.
fn folders(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    if !named.is_empty() {
        let absolute = |folder: &PathBuf| -> Result<PathBuf> {
            let path = folder.canonicalize().with_context(|| folder.display().to_string())?;
            ensure!(path.is_dir(), "{}: is not a folder", folder.display());
            Ok(path)
        };
        let found: Vec<PathBuf> = named.iter().map(absolute).collect::<Result<_>>()?;
        return Ok(distinct(found));
    }
    let set = std::env::var_os("MPITRACE_SEGMENT_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let usual = [PathBuf::from("/dev/shm"), std::env::temp_dir()];
    let existing = |folder: PathBuf| Path::canonicalize(&folder).ok();
    Ok(distinct(set.into_iter().chain(usual).filter_map(existing).collect()))
}

fn distinct(folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut distinct: Vec<PathBuf> = Vec::new();
    for folder in folders {
        if !distinct.contains(&folder) {
            distinct.push(folder);
        }
    }
    distinct
}
