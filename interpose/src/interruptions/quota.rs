//! The processor quota of a control group (cgroups(7), `cpu.max` and `cpu.cfs_quota_us`): the kernel counts for how
//! long it has held the threads of the group.

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::base::own_file;

/// `cpu.stat` of the groups of this process that have a quota.
static STATISTICS: OnceLock<Vec<CString>> = OnceLock::new();

/// Finds the control groups of this process that have a quota. `root` is the root of the file system.
pub fn find(root: &Path) {
    let name = |file: PathBuf| CString::new(file.as_os_str().as_bytes()).ok();
    STATISTICS.get_or_init(|| groups(root).into_iter().filter_map(name).collect());
}

/// For how long the groups' threads have been held so far, all processors together, ns; `None`: no group has a quota.
/// It allocates no memory.
pub fn held_ns() -> Option<u64> {
    let files = STATISTICS.get().filter(|files| !files.is_empty())?;
    Some(files.iter().map(|file| read(file)).sum())
}

fn groups(root: &Path) -> Vec<PathBuf> {
    let text = own_file::read_text(root.join("proc/self/cgroup")).unwrap_or_default();
    let top = root.join("sys/fs/cgroup");
    let mut found = Vec::new();
    for line in text.lines() {
        // `0::/path` of version 2, `4:cpu,cpuacct:/path` of version 1.
        let mut words = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(own)) = (words.next(), words.next()) else { continue };
        let base = match controllers {
            "" => top.clone(),
            _ if controllers.split(',').any(|controller| controller == "cpu") => top.join(controllers),
            _ => continue,
        };
        let mut group = base.join(own.trim_start_matches('/'));
        loop {
            if has_quota(&group) {
                found.push(group.join("cpu.stat"));
            }
            if group == base || !group.pop() {
                break;
            }
        }
    }
    found
}

fn has_quota(group: &Path) -> bool {
    let first = |name: &str| {
        let text = own_file::read_text(group.join(name)).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    // `max` and -1 are no quota.
    first("cpu.max").or_else(|| first("cpu.cfs_quota_us")).is_some()
}

fn read(file: &CStr) -> u64 {
    let mut text = [0; 1024];
    let length = own_file::read_into(file, &mut text).unwrap_or(0);
    of_text(&text[..length])
}

/// `throttled_usec` of version 2, `throttled_time` of version 1, which is in ns.
fn of_text(text: &[u8]) -> u64 {
    let words = text.split(u8::is_ascii_whitespace).filter_map(|word| std::str::from_utf8(word).ok());
    let value = |name: &str| words.clone().skip_while(|word| *word != name).nth(1)?.parse::<u64>().ok();
    value("throttled_usec").map(|us| us.saturating_mul(1000)).or_else(|| value("throttled_time")).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn groups_with_a_quota_are_found_up_to_the_root_in_both_versions() {
        let root = std::env::temp_dir().join(format!("mpitrace-quota-{}", std::process::id()));
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/self/cgroup", "5:memory:/job\n4:cpu,cpuacct:/job\n0::/slice/job/step\n");
        write("sys/fs/cgroup/slice/job/step/cpu.max", "max 100000\n");
        write("sys/fs/cgroup/slice/job/cpu.max", "50000 100000\n");
        write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "20000\n");
        write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
        let found = groups(&root);
        let expected = ["cpu,cpuacct/job/cpu.stat", "slice/job/cpu.stat"];
        assert_eq!(found, expected.map(|name| root.join("sys/fs/cgroup").join(name)));
        write("sys/fs/cgroup/slice/job/cpu.stat", "usage_usec 7\nnr_throttled 3\nthrottled_usec 1500\n");
        let read = |file: &Path| super::read(&CString::new(file.as_os_str().as_bytes()).unwrap());
        assert_eq!((read(&found[0]), read(&found[1])), (0, 1_500_000));
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(of_text(b"nr_periods 9\nnr_throttled 3\nthrottled_time 1234567\n"), 1_234_567);
    }
}
