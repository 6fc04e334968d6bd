//! `mpitrace recover`: a trace out of what a killed job left behind.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use mpitrace_format::TraceError;
use mpitrace_format::recover::{self, Leftover, Recovered};
use mpitrace_job::leftovers::{self, Ended, Key, Owner, Seen, dated, list};
use mpitrace_job::process;
use mpitrace_job::process::acting::can_write;
use mpitrace_job::process::markers;
use mpitrace_show::output::{self, Output};
use mpitrace_show::text;
use serde::{Deserialize, Serialize};

use crate::exit::concluded;

/// Make a trace out of what a killed job left behind
///
/// The records of a process that was killed remain in the memory of its node. Those of one job become one trace. If a
/// job ran on several nodes, run this on each of them, also at the same time, with the same FILE in a folder that they
/// share (srun --ntasks-per-node=1 mpitrace recover -o FILE): each adds its ranks to the trace. Or gather the nodes'
/// files and name the folders here. Of several jobs that are left, that of this batch job is taken; otherwise --job has
/// to name one. A FILE that is not a trace of the same job is not changed. The records are removed when the trace is on
/// disk. Root recovers the jobs of all users, each with the rights of its user: the trace belongs to that user, and
/// others cannot read it.
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
    let owners = Owner::all(&folders, !arguments.folders.is_empty());
    let wanted = arguments.job.as_deref();
    let Some(path) = &arguments.output else { return list(&folders, &owners, wanted, arguments.json, output) };
    // A folder may be closed to root that is not to the user: each checks it.
    if let [Owner::Any | Owner::Own(_)] = &owners[..] {
        check_output(path)?;
    }
    let chosen = chosen(ended(&folders, &owners, wanted)?, wanted)?;
    if chosen.is_empty() {
        return Err(nothing(&folders, wanted));
    }
    let mut written = Vec::new();
    let mut failures = Vec::new();
    for (owner, keys) in chosen {
        match owner.act(path.parent(), || recovered(&folders, owner, &keys, path, arguments.ended)) {
            Ok(done) => {
                written.extend(done.written);
                failures.extend(done.failures);
            }
            Err(error) => failures.push(format!("{error:#}")),
        }
    }
    if let Some(last) = failures.pop() {
        failures.iter().for_each(|failure| eprintln!("mpitrace: {failure}"));
        bail!(last);
    }
    ensure!(!written.is_empty(), "no trace was written: no job had finished MPI_Init");
    if arguments.json {
        output::json_rows(output, "recover", written.iter().map(Ok))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn nothing(folders: &[PathBuf], wanted: Option<&str>) -> anyhow::Error {
    if let Some(id) = wanted.filter(|id| *id != "all") {
        return anyhow!("{id}: no such job is left here; mpitrace recover --list shows those that are");
    }
    let folders = folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ");
    TraceError::NothingLeft { folders }.into()
}

/// Shows what is left. Exit code 1 if that of some user cannot be looked at.
fn list(
    folders: &[PathBuf],
    owners: &[Owner],
    wanted: Option<&str>,
    as_json: bool,
    output: &mut Output,
) -> Result<ExitCode> {
    let rows_of = |owner: &Owner| {
        owner.act(None, || {
            let mut jobs = recover::by_job(recover::segments(folders, owner.number())?);
            jobs.retain(|job| wanted.is_none_or(|id| leftovers::is_called(job, id)));
            Ok(list::rows(&jobs))
        })
    };
    let mut rows: Vec<list::Left> = Vec::new();
    let is_whole = all_of(owners, rows_of, |_, found| {
        let first = rows.last().map_or(0, |last| last.job + 1);
        rows.extend(found.into_iter().map(|left| left.numbered_from(first)));
    })?;
    if rows.is_empty() && is_whole {
        return Err(nothing(folders, wanted));
    }
    list::write(&rows, as_json, output)?;
    Ok(concluded(is_whole))
}

/// Does this for each owner. Of several one whose files cannot be looked at is named, and keeps no other one from it.
fn all_of<T>(owners: &[Owner], work: impl Fn(&Owner) -> Result<T>, mut take: impl FnMut(Owner, T)) -> Result<bool> {
    let mut is_whole = true;
    for owner in owners {
        match work(owner) {
            Ok(found) => take(*owner, found),
            Err(error) if owners.len() > 1 => {
                eprintln!("mpitrace: {error:#}");
                is_whole = false;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(is_whole)
}

/// The jobs that have ended. A launcher that is killed may end before its ranks, so ranks that still run get some time,
/// if there is nothing else to recover.
fn ended(folders: &[PathBuf], owners: &[Owner], wanted: Option<&str>) -> Result<Vec<(Owner, Ended)>> {
    let began = Instant::now();
    loop {
        let mut jobs: Vec<(Owner, Ended)> = Vec::new();
        let mut running = 0;
        let has_choice = owners.len() > 1;
        all_of(
            owners,
            |owner| owner.act(None, || Seen::new(folders, *owner, wanted, has_choice)),
            |owner, seen| {
                running += seen.running;
                jobs.extend(seen.ended.into_iter().map(|job| (owner, job)));
            },
        )?;
        if running == 0 || jobs.iter().any(|(_, job)| job.is_meant) {
            return Ok(jobs);
        }
        ensure!(
            began.elapsed() < ENDING,
            "no job has ended (still running: {}): end the job first, or see where its ranks are with mpitrace watch",
            text::count(running, "rank")
        );
        thread::sleep(Duration::from_millis(50));
    }
}

/// The jobs that are meant by this, by their owners; without it those of the batch job that this process is of, or the
/// only one. Beside that one, those that were killed before any rank had finished MPI_Init, which leave no trace.
fn chosen(mut jobs: Vec<(Owner, Ended)>, wanted: Option<&str>) -> Result<Vec<(Owner, Vec<Key>)>> {
    match wanted {
        Some(_) => jobs.retain(|(_, job)| job.is_meant),
        None if jobs.iter().filter(|(_, job)| job.has_ranks).count() < 2 => {}
        None if jobs.iter().any(|(_, job)| job.is_own) => jobs.retain(|(_, job)| job.is_own),
        None => {
            let named: Vec<&str> = jobs.iter().map(|(_, job)| job.described.as_str()).collect();
            bail!("{} jobs are left: {}; name one with --job ID, or --job all", jobs.len(), named.join(", "));
        }
    }
    let mut by_owner: Vec<(Owner, Vec<Key>)> = Vec::new();
    for (owner, job) in jobs {
        match by_owner.last_mut().filter(|(last, _)| *last == owner) {
            Some((_, keys)) => keys.push(job.key),
            None => by_owner.push((owner, vec![job.key])),
        }
    }
    Ok(by_owner)
}

/// The traces of an owner's jobs, and what could not be recovered.
#[derive(Default, Serialize, Deserialize)]
struct Done {
    written: Vec<Written>,
    failures: Vec<String>,
}

/// A trace, by the keys of JSON.
#[derive(Serialize, Deserialize)]
struct Written {
    file: String,
    ranks: u32,
    ranks_in_trace: u32,
    world_size: u32,
    records: u64,
}

/// Recovers these jobs of an owner.
fn recovered(folders: &[PathBuf], owner: Owner, keys: &[Key], path: &Path, ended_ns: Option<u64>) -> Result<Done> {
    if let Owner::Other(user) = owner {
        check_output(path)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        ensure!(
            can_write(folder),
            "{}: {}, whose job it was, cannot write there: name a folder of that user, or one in which all users can \
             write",
            path.display(),
            text::printable(&user.name())
        );
    }
    let mut jobs = leftovers::jobs(folders, owner, keys)?;
    if let Some(ended_ns) = ended_ns {
        dated::date(&mut jobs, ended_ns);
    }
    markers::sweep(folders, process::user());
    let mut done = Done::default();
    for job in jobs {
        leftovers::keep_private(&job);
        match recover::recover_job(&job, path) {
            Ok(recovered) => {
                tell(&job, recovered.as_ref());
                done.written.extend(recovered.map(Written::new));
            }
            // One job's damaged leftovers stay where they are. The other jobs are recovered all the same.
            Err(error) => done.failures.push(error.to_string()),
        }
    }
    Ok(done)
}

impl Written {
    fn new(recovered: Recovered) -> Written {
        let Recovered { path, ranks, ranks_in_trace, world_size, records, .. } = recovered;
        Written { file: path.to_string_lossy().into_owned(), ranks, ranks_in_trace, world_size, records }
    }
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
