//! The records that killed jobs have left on this node: announced once, and kept within limits.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use mpitrace_format::layout::NO_RANK;
use mpitrace_format::recover::{self, Leftover};

use crate::base::{log, system};
use crate::job::settings::Settings;

/// How long they stay once a run has announced them.
const AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// Leftovers of jobs before the last one go earlier where all together take more bytes.
const MOST_BYTES: u64 = 1 << 30;
/// Marks a file of a job that was announced: on a file this bit means nothing (chmod(2)). Setting it is the file's last
/// change, so that the time of that is when it was announced.
const ANNOUNCED: u32 = 0o1000;

/// Removes what has lain for too long, and announces what no run has announced before. To be called by one rank: where
/// the user names a folder, it looks there alone.
pub fn limit_and_say(settings: &Settings) {
    let folders = match &settings.segment_folder {
        Some(folder) => vec![folder.clone()],
        None => settings.segment_folders(),
    };
    for folder in folders {
        let found = recover::leftovers(std::slice::from_ref(&folder), Some(system::user()));
        let jobs = found.map(recover::by_job).unwrap_or_default();
        let (new, all) = limit(&jobs, settings.started, MOST_BYTES);
        if all > 0 {
            let what = if all == 1 { "a killed job".to_owned() } else { format!("{all} killed jobs") };
            let text = format!(
                "{} holds the records of {what}: mpitrace recover {0} -o FILE makes a trace from them",
                folder.display()
            );
            if new { log::line(&text) } else { log::detail(&text) }
        }
    }
}

/// Removes what goes, of jobs of which the first has written last. True if one was not announced before; and how many
/// stay.
fn limit(jobs: &[Vec<Leftover>], now: SystemTime, most_bytes: u64) -> (bool, usize) {
    let (mut new, mut stay, mut bytes) = (false, 0, 0);
    for job in jobs {
        // Of one that was killed within MPI_Init there are no records: what shows that it was there goes.
        let has_records = job.iter().any(|leftover| leftover.rank.rank != NO_RANK);
        let announced: Vec<_> = job.iter().map(|leftover| announced(&leftover.path)).collect();
        bytes += job.iter().map(|leftover| leftover.bytes).sum::<u64>();
        let is_old = |when: &Option<SystemTime>| {
            when.is_some_and(|when| {
                now.duration_since(when).is_ok_and(|age| age > AGE) || stay > 0 && bytes > most_bytes
            })
        };
        if !has_records || announced.iter().all(is_old) {
            job.iter().for_each(|leftover| drop(leftover.remove()));
            continue;
        }
        stay += 1;
        for (leftover, _) in job.iter().zip(&announced).filter(|(_, announced)| announced.is_none()) {
            new = true;
            mark(&leftover.path);
        }
    }
    (new, stay)
}

/// When a run has announced this file; `None`: none has.
fn announced(path: &Path) -> Option<SystemTime> {
    let found = path.symlink_metadata().ok()?;
    let changed = Duration::new(u64::try_from(found.ctime()).ok()?, found.ctime_nsec() as u32);
    (found.mode() & ANNOUNCED != 0).then(|| SystemTime::UNIX_EPOCH + changed)
}

fn mark(path: &Path) {
    if let Ok(found) = path.symlink_metadata() {
        let mode = PermissionsExt::from_mode(found.mode() | ANNOUNCED);
        let _ = std::fs::set_permissions(path, mode);
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use bytemuck::Zeroable;
    use mpitrace_format::layout::{BYTE_ORDER_MARK, LIVE_COLUMNS, SEGMENT_MAGIC, SegmentHeader, VERSION, name_bytes};
    use mpitrace_platform::node_files;

    use super::*;

    /// Segments of these jobs, the last one written last.
    fn folder_of(name: &str, jobs: &[u8]) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("mpitrace-leftovers-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut header = SegmentHeader {
            magic: SEGMENT_MAGIC,
            version: VERSION,
            byte_order: BYTE_ORDER_MARK,
            ..SegmentHeader::zeroed()
        };
        header.rank.columns = LIVE_COLUMNS.len() as u32;
        for (entry, (name, element_size)) in header.columns.iter_mut().zip(LIVE_COLUMNS) {
            (entry.name, entry.element_size) = (name_bytes(name), element_size);
        }
        for (&job, second) in jobs.iter().zip(1u64..) {
            header.rank.job = [job; 16];
            let path = folder.join(format!("{}{job}{}", node_files::prefix(system::user()), node_files::SEGMENT));
            std::fs::write(&path, bytemuck::bytes_of(&header)).unwrap();
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(second)).unwrap();
        }
        folder
    }

    fn found(folder: &Path) -> Vec<Leftover> {
        recover::leftovers(&[folder.to_owned()], None).unwrap()
    }

    fn limited(folder: &Path, now: SystemTime, most_bytes: u64) -> (bool, usize) {
        limit(&recover::by_job(found(folder)), now, most_bytes)
    }

    fn names(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn leftovers_are_new_once_and_go_a_week_later() {
        let folder = folder_of("age", &[1, 2]);
        let now = SystemTime::now();
        assert_eq!(limited(&folder, now + 2 * AGE, u64::MAX), (true, 2), "however old they are");
        assert_eq!(limited(&folder, now, u64::MAX), (false, 2));
        assert_eq!(limited(&folder, now + AGE / 2, u64::MAX), (false, 2));
        assert_eq!((limited(&folder, now + AGE * 2, u64::MAX), names(&folder)), ((false, 0), 0));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn beyond_the_size_the_oldest_go_but_never_the_last() {
        let folder = folder_of("size", &[1, 2, 3]);
        let now = SystemTime::now();
        assert_eq!(limited(&folder, now, 0), (true, 3), "none goes that was not announced");
        let each = found(&folder)[0].bytes;
        assert_eq!(limited(&folder, now, 2 * each), (false, 2));
        assert_eq!((limited(&folder, now, 0), names(&folder)), ((false, 1), 1));
        assert_eq!(found(&folder)[0].rank.job, [3; 16]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
