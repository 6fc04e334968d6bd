//! What killed jobs have left on this node: that of this user, and for root that of all users, with the rights of each.

pub mod dated;
pub mod list;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Result;
use mpitrace_format::file;
use mpitrace_format::layout::NO_RANK;
use mpitrace_format::recover::{self, Leftover};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::process;
use crate::process::acting::{User, act_as, owners};

/// Whose files are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Leftovers of any user: copies of other nodes' files, under whatever number.
    Any,
    /// Leftovers of the user of this process.
    Own(u32),
    /// Leftovers of another user: this process acts as that one.
    Other(User),
}

/// A job that has ended, as far as one is chosen by it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ended {
    /// By which it is found again.
    pub key: Key,
    /// Its ranks had finished MPI_Init.
    pub has_ranks: bool,
    /// It is called as was asked for.
    pub is_meant: bool,
    /// It is the batch job of this process.
    pub is_own: bool,
    /// In words; empty where there is no choice.
    pub described: String,
}

/// A job as it is found again: its token, and when its first rank began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key([u8; 16], u64);

/// What there is of a user.
#[derive(Debug, Serialize, Deserialize)]
pub struct Seen {
    /// The jobs that have ended.
    pub ended: Vec<Ended>,
    /// The ranks that still run, of the jobs that are meant.
    pub running: u64,
}

impl Owner {
    /// Whose files in these folders are meant. In folders that are named those of any; but where others can change a
    /// folder root acts as each of them.
    pub fn all(folders: &[PathBuf], are_named: bool) -> Vec<Owner> {
        let own = process::user();
        if own == 0 && folders.iter().any(|folder| !are_named || is_of_others(folder)) {
            let others = owners(folders).into_iter().filter(|user| user.number != own).map(Owner::Other);
            return [Owner::Own(own)].into_iter().chain(others).collect();
        }
        vec![if are_named { Owner::Any } else { Owner::Own(own) }]
    }

    /// The number of the user; `None`: of any.
    pub fn number(&self) -> Option<u32> {
        match self {
            Owner::Any => None,
            Owner::Own(number) => Some(*number),
            Owner::Other(user) => Some(user.number),
        }
    }

    /// The result of `work` with the rights of the owner. What it writes to the folder is for the owner alone, and for
    /// the group of a folder that says so.
    ///
    /// # Errors
    /// The work fails, or cannot be done as the owner ([`act_as`]).
    pub fn act<T: Serialize + DeserializeOwned>(
        &self,
        folder: Option<&Path>,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        match self {
            Owner::Other(user) => act_as(*user, if file::mode_in(folder) == 0o640 { 0o027 } else { 0o077 }, work),
            Owner::Any | Owner::Own(_) => work(),
        }
    }
}

/// True if another user than root can change what is in a folder.
fn is_of_others(folder: &Path) -> bool {
    folder.metadata().is_ok_and(|folder| folder.uid() != 0 || folder.permissions().mode() & 0o022 != 0)
}

/// From now on files that this process makes are for its user alone, if these are root's copies of another user's.
pub fn keep_private(job: &[Leftover]) {
    let is_other = |left: &Leftover| left.path.metadata().is_ok_and(|file| file.uid() != 0);
    if process::user() == 0 && job.iter().any(is_other) {
        // SAFETY: takes a number.
        unsafe { libc::umask(0o077) };
    }
}

impl Key {
    fn of_job(job: &[Leftover]) -> Key {
        Key(job[0].rank.job, job.iter().map(|left| left.rank.first_anchor.realtime_ns).min().unwrap_or(0))
    }
}

impl Seen {
    /// What there is of an owner. `wanted`: what the job is called that is asked for; `has_choice`: others have left
    /// jobs as well.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub fn new(folders: &[PathBuf], owner: Owner, wanted: Option<&str>, has_choice: bool) -> Result<Seen> {
        let is_meant = |job: &[Leftover]| wanted.is_none_or(|id| is_called(job, id));
        // Before the jobs that have ended are looked for: the last rank may end between the two looks. Each look maps all
        // segments: under a limit of the address space not all can be mapped twice at once.
        let running = {
            let all = recover::by_job(recover::segments(folders, owner.number())?);
            all.iter().filter(|job| is_meant(job)).flatten().filter(|segment| segment.lives).count() as u64
        };
        let jobs = recover::by_job(recover::leftovers(folders, owner.number())?);
        let has_choice = wanted.is_none() && (has_choice || jobs.len() > 1);
        let own = std::env::var("SLURM_JOB_ID").ok().filter(|_| has_choice);
        let of = |job: &Vec<Leftover>| Ended {
            key: Key::of_job(job),
            has_ranks: job.iter().any(|leftover| leftover.rank.rank != NO_RANK),
            is_meant: is_meant(job),
            is_own: own.as_deref().is_some_and(|own| is_called(job, own)),
            described: if has_choice { list::described(job, owner) } else { String::new() },
        };
        Ok(Seen { ended: jobs.iter().map(of).collect(), running })
    }
}

/// The ended jobs of an owner with these keys.
///
/// # Errors
/// A folder that cannot be read.
pub fn jobs(folders: &[PathBuf], owner: Owner, keys: &[Key]) -> Result<Vec<Vec<Leftover>>> {
    let mut jobs = recover::by_job(recover::leftovers(folders, owner.number())?);
    jobs.retain(|job| keys.contains(&Key::of_job(job)));
    Ok(jobs)
}

/// True: the batch system, or the list, calls a job this.
pub fn is_called(job: &[Leftover], id: &str) -> bool {
    id == "all" || list::name(job) == id || list::recorded(job, "job").as_deref() == Some(id)
}
