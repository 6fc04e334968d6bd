//! MPI libraries leave their shared memory in /dev/shm when a rank is killed: 2 MiB or more each time, where a
//! container has 64 MiB in all. The tests that kill ranks clean up after them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

/// How the names begin: MPICH's, Intel's, those of Open MPI 4 and 5, and UCX's.
const NAMES: [&str; 6] =
    ["mpich_shm_", "mpich_shar_tmp", "Intel_MPI_", "vader_segment.", "sm_segment.", "ucx_shm_posix_"];

/// A younger file stays: another test's job may be about to map it, and on a busy machine that takes a while.
const YOUNG: Duration = Duration::from_secs(2);

/// Since when there may be litter of these tests.
static SINCE: OnceLock<SystemTime> = OnceLock::new();

/// From now on a job may leave something.
pub fn expect() {
    SINCE.get_or_init(SystemTime::now);
}

/// Removes what jobs of this user have made since then and no process has mapped.
pub fn sweep() {
    sweep_older(YOUNG);
}

/// Removes what jobs of this user have made, of whatever age: for when no job runs any more.
pub fn sweep_all() {
    sweep_older(Duration::ZERO);
}

fn sweep_older(age: Duration) {
    let Some((since, before)) = SINCE.get().copied().zip(SystemTime::now().checked_sub(age)) else { return };
    // SAFETY: geteuid takes nothing and cannot fail.
    let me = unsafe { libc::geteuid() };
    for entry in fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let theirs = NAMES.iter().any(|theirs| name.starts_with(theirs));
        let Ok(metadata) = entry.metadata() else { continue };
        let made = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        if theirs && metadata.uid() == me && (since..before).contains(&made) && !is_mapped(&entry.path()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_mapped(path: &Path) -> bool {
    let path = path.to_string_lossy();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let maps = processes.filter_map(|process| fs::read_to_string(process.path().join("maps")).ok());
    maps.into_iter().any(|map| map.contains(&*path))
}
