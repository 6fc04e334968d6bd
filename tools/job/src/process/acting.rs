//! Root acts for another user with the rights of that user and no others: a file that is made belongs to the user, and
//! no link or file of the user makes root read or write anything else.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use mpitrace_platform::node_files;
use mpitrace_words::names::user_name;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A user, and the group of the files by which the user was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct User {
    /// The user's number.
    pub number: u32,
    /// The number of the group.
    pub group: u32,
}

impl User {
    /// The user's name, or the number where it has none.
    pub fn name(&self) -> String {
        user_name(self.number)
    }
}

/// The users that have files of traced jobs in these folders, each once.
pub fn owners(folders: &[PathBuf]) -> Vec<User> {
    let entries = folders.iter().flat_map(fs::read_dir).flatten().flatten();
    let files = entries.filter(|entry| entry.file_name().as_bytes().starts_with(node_files::ANY_PREFIX.as_bytes()));
    let files = files.filter_map(|entry| entry.metadata().ok()).filter(fs::Metadata::is_file);
    let users: BTreeSet<User> = files.map(|file| User { number: file.uid(), group: file.gid() }).collect();
    let mut users: Vec<User> = users.into_iter().collect();
    users.dedup_by_key(|user| user.number);
    users
}

/// The result of `work` in a process of this user, whose new files have at most the permissions that `umask` leaves.
///
/// # Errors
/// The work fails, it cannot be done as this user, or its process was ended, as by a file that was cut short while it
/// was read.
pub fn act_as<T: Serialize + DeserializeOwned>(
    user: User,
    umask: libc::mode_t,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let threads = fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    ensure!(threads == 1, "a process of {threads} threads cannot act as another user");
    let (mut answer, mut to_parent) = io::pipe()?;
    // SAFETY: the process has one thread, so that no lock is held in the child by a thread that is not there.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()).context("fork"),
        0 => {
            drop(answer);
            let work = || become_user(user, umask).and_then(|()| work());
            let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(anyhow!("it panicked")));
            let done = done.map_err(|error| format!("{error:#}"));
            let written = serde_json::to_writer(&to_parent, &done).is_ok() && to_parent.flush().is_ok();
            // SAFETY: ends this process alone, without what the parent does at its end.
            unsafe { libc::_exit(if written { 0 } else { 1 }) }
        }
        child => {
            drop(to_parent);
            let mut text = Vec::new();
            let read = answer.read_to_end(&mut text);
            let mut status = 0;
            // SAFETY: the child is this function's, and the status may be written.
            while unsafe { libc::waitpid(child, &raw mut status, 0) } < 0
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
            read?;
            if status != 0 {
                bail!("the process that acted for {} was ended ({})", user.name(), ended(status));
            }
            let done: Result<T, String> = serde_json::from_slice(&text)?;
            done.map_err(|error| anyhow!("{error}"))
        }
    }
}

fn ended(status: libc::c_int) -> String {
    match libc::WIFSIGNALED(status) {
        true => format!("signal {}", libc::WTERMSIG(status)),
        false => format!("exit code {}", libc::WEXITSTATUS(status)),
    }
}

/// This process becomes one of the user, for good.
fn become_user(user: User, umask: libc::mode_t) -> Result<()> {
    let name = CString::new(user.name())?;
    let failed = || Err(io::Error::last_os_error()).with_context(|| format!("cannot act as {}", user.name()));
    // SAFETY: the name ends in 0; the others take numbers. A user without an entry has the one group. PR_SET_DUMPABLE:
    // processes of the user cannot trace this one.
    unsafe {
        let groups = match libc::initgroups(name.as_ptr(), user.group) {
            0 => 0,
            _ => libc::setgroups(1, &raw const user.group),
        };
        if groups != 0 || libc::setgid(user.group) != 0 || libc::setuid(user.number) != 0 {
            return failed();
        }
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        libc::umask(umask);
        let real = (libc::getuid(), libc::geteuid(), libc::getgid(), libc::getegid());
        ensure!(real == (user.number, user.number, user.group, user.group), "cannot act as {}", user.name());
    }
    Ok(())
}

/// True if this process may make files in the folder.
pub fn can_write(folder: &Path) -> bool {
    let Ok(name) = CString::new(folder.as_os_str().as_bytes()) else { return false };
    // SAFETY: the name ends in 0 and outlives the call.
    unsafe { libc::access(name.as_ptr(), libc::W_OK | libc::X_OK) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_traced_jobs_have_owners_and_links_have_none() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["mpitrace-1-a.segment", "mpitrace-1-b.segment", "other"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("mpitrace-2-a.segment")).unwrap();
        let own = folder.path().metadata().unwrap();
        let found = owners(&[folder.path().to_owned(), "/nonexistent".into()]);
        assert_eq!(found.iter().map(|user| user.number).collect::<Vec<_>>(), [own.uid()]);
    }

    /// Tests run beside each other, in threads.
    #[test]
    fn a_process_of_several_threads_acts_for_nobody() {
        let waiting = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| waiting.wait());
            let refused = act_as(User { number: 7001, group: 7001 }, 0o077, || Ok(1));
            waiting.wait();
            assert!(refused.unwrap_err().to_string().contains("threads cannot act"));
        });
    }
}
