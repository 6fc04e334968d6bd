//! The small files by which the ranks of a job see, within MPI_Init, whether all of them are traced. A job that is
//! killed there leaves them behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mpitrace_platform::node_files::{self, LEFT};

/// No program stays in MPI_Init for as long as this.
const OLD: Duration = Duration::from_secs(3600);

/// Removes the user's old ones from these folders, as far as possible. What stays does no harm.
pub fn sweep(folders: &[PathBuf], uid: u32) {
    let prefix = node_files::prefix(uid);
    for entry in folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(&prefix) && LEFT.iter().any(|ending| name.ends_with(ending)) && is_old(&entry.path()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_old(path: &Path) -> bool {
    // A settlement is a symbolic link that leads nowhere.
    let modified = path.symlink_metadata().and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > OLD))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn only_old_files_of_this_user_go() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, age: u64| {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        };
        let kept = ["mpitrace-7-ab-leader", "mpitrace-7-ab.segment", "mpitrace-70-ab-here"];
        make("mpitrace-7-ab-answer", 4000);
        make("mpitrace-7-ab-here", 4000);
        make(kept[0], 3000);
        make(kept[1], 4000);
        make(kept[2], 4000);
        sweep(&[folder.path().to_owned(), "/nonexistent".into()], 7);
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, kept);
    }
}
