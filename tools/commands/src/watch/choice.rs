//! Which job is watched.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use mpitrace_job::process::acting::owners;
use mpitrace_job::process::user;
use mpitrace_live::{Job, process};
use mpitrace_show::output::{self, Output};
use mpitrace_show::table::{Table, number, text};
use serde::Serialize;

/// A job that runs here, by the keys of JSON.
#[derive(Debug, Serialize)]
struct Listed {
    /// The key by which the ranks of one launch know each other.
    job: String,
    /// The size of MPI_COMM_WORLD; null: not known in `MPI_Init`.
    ranks: Option<u32>,
    /// The processes of its ranks on this node.
    processes: Vec<u32>,
    /// The batch system's number.
    batch_job: Option<String>,
    started: Option<String>,
    command: Option<String>,
}

/// The jobs with records on this node: of this user, or of all users for root, who may look at each process.
pub fn with_records(folders: &[PathBuf]) -> Vec<Job> {
    let users = match user() {
        0 => owners(folders).into_iter().map(|owner| owner.number).collect(),
        own => vec![own],
    };
    users.into_iter().flat_map(|user| mpitrace_live::with_records(folders, user)).collect()
}

pub fn list(jobs: &[Job], as_json: bool, output: &mut Output) -> Result<()> {
    let listed: Vec<Listed> = jobs.iter().map(Listed::new).collect();
    if as_json {
        return output::json_rows(output, "watch-list", listed.iter().map(Ok));
    }
    let mut table = Table::new(&[
        text("job"),
        number("ranks"),
        number("here").spare(2),
        text("batch job").optional(),
        text("started").optional().spare(1),
        text("command").optional(),
    ]);
    for job in &listed {
        table.row(vec![
            job.job.clone(),
            mpitrace_show::text::optional(job.ranks),
            job.processes.len().to_string(),
            job.batch_job.clone().unwrap_or_default(),
            job.started.clone().unwrap_or_default(),
            mpitrace_show::text::printable(job.command.as_deref().unwrap_or_default()).into_owned(),
        ]);
    }
    let style = output.style;
    Ok(table.write(output, style)?)
}

/// The key of the job that was asked for; without that, of the only one.
///
/// # Errors
/// There is none, or several fit.
pub fn choose(jobs: &[Job], wanted: Option<&str>, folders: &[PathBuf]) -> Result<String> {
    let fitting: Vec<&Job> = match wanted {
        None => jobs.iter().collect(),
        Some(wanted) => jobs.iter().filter(|job| fits(job, wanted)).collect(),
    };
    match (&fitting[..], wanted) {
        ([job], _) => Ok(job.key.clone()),
        ([], None) => {
            let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
            bail!(
                "no traced job of {} runs on this node (looked in {}; MPITRACE_SEGMENT_DIR names another folder)",
                if user() == 0 { "any user" } else { "this user" },
                folders.join(", ")
            )
        }
        ([], Some(wanted)) => {
            bail!("{wanted}: no such job runs on this node; `mpitrace watch --list` shows those that do")
        }
        (several, _) => {
            let keys: Vec<String> = several.iter().map(|job| named(job)).collect();
            bail!("{} jobs run on this node, name one of them: {}", several.len(), keys.join(", "))
        }
    }
}

fn named(job: &Job) -> String {
    match job.metadata("command") {
        Some(command) => {
            format!("{} ({})", job.key, mpitrace_show::text::shortened(&mpitrace_show::text::printable(&command), 60))
        }
        None => job.key.clone(),
    }
}

/// True if these words name the job on any of its nodes.
pub fn is_named(job: &Job, wanted: &str) -> bool {
    job.key == wanted
        || wanted.len() >= 4 && job.key.starts_with(wanted)
        || job.metadata("job").is_some_and(|number| number == wanted)
}

/// True if these words name the job on this node.
pub fn fits(job: &Job, wanted: &str) -> bool {
    is_named(job, wanted) || wanted.parse().is_ok_and(|pid: u32| ancestors(job).contains(&pid))
}

/// The processes of a job and those that have started them.
fn ancestors(job: &Job) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for process in job.processes() {
        let mut next = Some(process);
        while let Some(pid) = next.filter(|&pid| pid > 1 && found.insert(pid)) {
            next = process::parent(pid);
        }
    }
    found
}

/// The folders for live records that are set for a process, and for those that it has started.
pub fn folders_of(pid: u32) -> Vec<PathBuf> {
    let is_of_it =
        |&other: &u32| std::iter::successors(Some(other), |&pid| process::parent(pid)).any(|ancestor| ancestor == pid);
    let folders: BTreeSet<PathBuf> = process::all().filter(is_of_it).filter_map(stated_folder).collect();
    folders.into_iter().collect()
}

/// The folder in the environment with which a process was started.
fn stated_folder(pid: u32) -> Option<PathBuf> {
    let environment = process::environment(pid)?;
    let folder = Path::new(OsStr::from_bytes(process::variable(&environment, "MPITRACE_SEGMENT_DIR")?));
    std::fs::read_link(format!("/proc/{pid}/cwd")).ok()?.join(folder).canonicalize().ok()
}

impl Listed {
    fn new(job: &Job) -> Listed {
        Listed {
            job: job.key.clone(),
            ranks: job.world_size(),
            processes: job.processes().collect(),
            batch_job: job.metadata("job"),
            started: job.metadata("start_time"),
            command: job.metadata("command"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_job_is_found_by_a_process_of_it_or_above_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut rank = std::process::Command::new("sleep");
        let mut rank = rank.arg("60").env("MPITRACE_SEGMENT_DIR", folder.path()).spawn().unwrap();
        let expected = folder.path().canonicalize().unwrap();
        // The kernel sets the environment up a little later than the parent goes on.
        let look = |_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            Some(folders_of(rank.id())).filter(|found| !found.is_empty())
        };
        let of_rank = (0..1000).find_map(look).unwrap_or_default();
        let of_launcher = folders_of(std::process::id());
        rank.kill().unwrap();
        rank.wait().unwrap();
        assert_eq!(of_rank, std::slice::from_ref(&expected));
        assert!(of_launcher.contains(&expected), "{of_launcher:?}");
    }
}
