//! `mpitrace recover`: a trace out of what a killed job left behind.

mod dated;
mod list;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use mpitrace_format::TraceError;
use mpitrace_format::layout::NO_RANK;
use mpitrace_format::recover::{self, Leftover, Recovered};
use mpitrace_job::process;
use mpitrace_job::process::markers;
use mpitrace_show::output::{self, Output};
use mpitrace_show::text;
use serde_json::json;

/// Make a trace out of what a killed job left behind
///
/// The records of a process that was killed remain in the memory of its node. Those of one job become one trace. If a
/// job ran on several nodes, run this on each of them, also at the same time, with the same FILE in a folder that they
/// share (srun --ntasks-per-node=1 mpitrace recover -o FILE): each adds its ranks to the trace. Or gather the nodes'
/// files and name the folders here. Of several jobs that are left, that of this batch job is taken; otherwise --job has
/// to name one. A FILE that is not a trace of the same job is not changed. The records are removed when the trace is on
/// disk.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The folders to look in [default: MPITRACE_SEGMENT_DIR, /dev/shm, the temporary folder]
    #[arg(value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// The trace to write, or to add the ranks of this node to
    #[arg(short, long, value_name = "FILE", required_unless_present = "list")]
    output: Option<PathBuf>,
    /// Only this job: its number in the batch system, or as --list names it; all: each, with a number in the name of
    /// all traces but the first
    #[arg(long, value_name = "ID")]
    job: Option<String>,
    /// The jobs ended now, as where an epilogue runs this, or at this time, as the batch system prints it: their time
    /// ends then. Of the runs of one batch job that which began last
    #[arg(long, value_name = "DATE", num_args = 0..=1, default_missing_value = "now", value_parser = dated::moment)]
    ended: Option<u64>,
    /// Show what is there and remove nothing; also of jobs that still run
    #[arg(long, conflicts_with_all = ["output", "ended"])]
    list: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// How long ranks whose launcher was killed may take to end.
const ENDING: Duration = Duration::from_secs(5);

pub fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode> {
    let folders = folders(&arguments.folders)?;
    if let Some(path) = &arguments.output {
        check_output(path)?;
    }
    let uid = process::user();
    // A folder that is named may be a copy from another node, under another user's number.
    let owner = arguments.folders.is_empty().then_some(uid);
    let wanted = arguments.job.as_deref();
    let mut jobs = match (arguments.list, wanted) {
        (true, None) => recover::by_job(recover::segments(&folders, owner)?),
        (true, Some(_)) => chosen(recover::by_job(recover::segments(&folders, owner)?), wanted)?,
        (false, _) => of_ended_jobs(&folders, owner, wanted)?,
    };
    if let Some(id) = wanted.filter(|id| *id != "all" && jobs.is_empty()) {
        bail!("{id}: no such job is left here; mpitrace recover --list shows those that are");
    }
    if jobs.is_empty() {
        let folders = folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ");
        bail!(TraceError::NothingLeft { folders });
    }
    let Some(path) = &arguments.output else {
        list::write(&jobs, arguments.json, output)?;
        return Ok(ExitCode::SUCCESS);
    };
    if let Some(ended) = arguments.ended {
        dated::date(&mut jobs, ended);
    }
    markers::sweep(&folders, uid);
    let mut written = Vec::new();
    let mut failure = None;
    for job in jobs {
        match recover::recover_job(&job, path) {
            Ok(recovered) => {
                tell(&job, recovered.as_ref());
                written.extend(recovered);
            }
            // One job's damaged leftovers stay where they are. The other jobs are recovered all the same.
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
    ensure!(!written.is_empty(), "no trace was written: no job had finished MPI_Init");
    if arguments.json {
        let row = |recovered: &Recovered| {
            let Recovered { path, ranks, ranks_in_trace, world_size, records, .. } = recovered;
            Ok(json!({ "file": path.to_string_lossy(), "ranks": ranks, "ranks_in_trace": ranks_in_trace,
                "world_size": world_size, "records": records }))
        };
        output::json_rows(output, "recover", written.iter().map(row))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The ended jobs that are meant. A launcher that is killed may end before its ranks, so ranks that still run get some
/// time, if there is nothing else to recover.
fn of_ended_jobs(folders: &[PathBuf], owner: Option<u32>, wanted: Option<&str>) -> Result<Vec<Vec<Leftover>>> {
    let began = Instant::now();
    loop {
        // Before the jobs that have ended are looked for: the last rank may end between the two looks.
        let is_meant = |job: &Vec<Leftover>| wanted.is_none_or(|id| is_called(job, id));
        let meant = recover::by_job(recover::segments(folders, owner)?).into_iter().filter(is_meant);
        let running = meant.flatten().filter(|segment| segment.lives).count() as u64;
        let jobs = recover::by_job(recover::leftovers(folders, owner)?);
        let waits = jobs.is_empty() || !jobs.iter().any(is_meant);
        if !waits || running == 0 {
            return chosen(jobs, wanted);
        }
        ensure!(
            began.elapsed() < ENDING,
            "no job has ended (still running: {}): end the job first, or see where its ranks are with mpitrace watch",
            text::count(running, "rank")
        );
        thread::sleep(Duration::from_millis(50));
    }
}

/// True: the batch system, or the list, calls a job this.
fn is_called(job: &[Leftover], id: &str) -> bool {
    id == "all" || list::name(job) == id || list::recorded(job, "job").as_deref() == Some(id)
}

/// The jobs that are meant by this; without it those of the batch job that this process is of, or the only one. Beside
/// that one, those that were killed before any rank had finished MPI_Init, which leave no trace.
fn chosen(mut jobs: Vec<Vec<Leftover>>, wanted: Option<&str>) -> Result<Vec<Vec<Leftover>>> {
    let own = std::env::var("SLURM_JOB_ID").ok();
    let is_own = |job: &Vec<Leftover>| own.as_deref().is_some_and(|own| is_called(job, own));
    let has_ranks = |job: &&Vec<Leftover>| job.iter().any(|leftover| leftover.rank.rank != NO_RANK);
    match wanted {
        Some(id) => jobs.retain(|job| is_called(job, id)),
        None if jobs.iter().filter(has_ranks).count() < 2 => {}
        None if jobs.iter().any(is_own) => jobs.retain(is_own),
        None => {
            let named: Vec<String> = jobs.iter().map(|job| list::described(job)).collect();
            bail!("{} jobs are left: {}; name one with --job ID, or --job all", jobs.len(), named.join(", "));
        }
    }
    Ok(jobs)
}

fn tell(job: &[Leftover], recovered: Option<&Recovered>) {
    let files = text::count(job.len() as u64, "leftover file");
    match recovered {
        Some(recovered) => {
            tell_losses(recovered);
            let Recovered { path, ranks, ranks_in_trace, world_size, records, damaged, .. } = recovered;
            let files = text::count((job.len() - damaged.len()) as u64, "leftover file");
            let (path, records) = (path.display(), text::count(*records, "call"));
            let others = match ranks_in_trace - ranks {
                0 => String::new(),
                others => format!(" added to {}", text::count(others.into(), "rank")),
            };
            let recovered = text::count((*ranks).into(), "rank");
            eprintln!("mpitrace: {path}: {records} of {recovered}{others}; the job has {world_size}; {files} removed");
        }
        None => eprintln!("mpitrace: {files} removed of a job that was killed within MPI_Init"),
    }
}

pub fn tell_losses(recovered: &Recovered) {
    for file in &recovered.missing {
        eprintln!("mpitrace: {}: does not exist; the records that were spilled to it are lost", file.display());
    }
    for error in &recovered.damaged {
        eprintln!("mpitrace: {error}; the file is kept");
    }
}

/// Refuses a name that no trace can have, before anything is read.
fn check_output(path: &Path) -> Result<()> {
    ensure!(path.file_name().is_some() && !path.is_dir(), "{}: is a folder, not the name of a trace", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    ensure!(folder.is_dir(), "{}: no folder {} to write it to", path.display(), folder.display());
    Ok(())
}

/// The folders to search, each once. Those that are named must exist.
fn folders(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    if !named.is_empty() {
        let absolute = |folder: &PathBuf| -> Result<PathBuf> {
            let path = folder.canonicalize().with_context(|| folder.display().to_string())?;
            ensure!(path.is_dir(), "{}: is not a folder", folder.display());
            Ok(path)
        };
        return Ok(distinct(named.iter().map(absolute).collect::<Result<_>>()?));
    }
    Ok(usual_folders())
}

/// Where the records of traced programs lie, each folder once.
pub fn usual_folders() -> Vec<PathBuf> {
    folders_with(std::env::var_os("MPITRACE_SEGMENT_DIR").map(PathBuf::from))
}

/// Where the records of traced programs lie, each folder once, with a folder that is set for them.
pub fn folders_with(set: Option<PathBuf>) -> Vec<PathBuf> {
    let set = set.filter(|folder| !folder.as_os_str().is_empty());
    let usual = [PathBuf::from("/dev/shm"), std::env::temp_dir()];
    let existing = |folder: PathBuf| Path::canonicalize(&folder).ok();
    distinct(set.into_iter().chain(usual).filter_map(existing).collect())
}

pub fn distinct(mut folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut known = HashSet::new();
    folders.retain(|folder| known.insert(folder.clone()));
    folders
}
