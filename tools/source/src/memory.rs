//! A check that an analysis fits into memory.

use std::fs;
use std::path::Path;

use mpitrace_show::text;

/// Bytes that each repetition of the largest operation takes, measured with two ranks
/// (docs/developers/measurements.md).
#[derive(Clone, Copy, Debug)]
pub struct Need(u64);

/// The run times with their categories.
pub const CATEGORIES: Need = Need(70);
/// The numbers of `stats`.
pub const NUMBERS: Need = Need(105);
/// The fingerprints of a page.
pub const PAGE: Need = Need(165);
/// The run times with their groups; metrics are looked at in a sample.
pub const METRICS: Need = Need(90);

/// Warns on stderr where an operation of so many repetitions may not fit into memory. `operations`: number and
/// repetitions of each that is looked at.
pub fn warn(operations: impl Iterator<Item = (usize, usize)>, need: Need) {
    let largest = operations.max_by_key(|(_, repetitions)| *repetitions);
    let (Some((number, repetitions)), Some(available)) = (largest, available(Path::new("/"))) else { return };
    if let Some(line) = line(number, repetitions as u64, need, available) {
        eprintln!("mpitrace: {line}");
    }
}

fn line(operation: usize, repetitions: u64, Need(each): Need, available: u64) -> Option<String> {
    let needed = repetitions.saturating_mul(each);
    if needed <= available {
        return None;
    }
    // Half of the memory is left for other things. Rounded down to one digit.
    let fit = (available / 2 / each).max(1);
    let fit = fit - fit % 10u64.pow(fit.ilog10());
    Some(format!(
        "operation {operation} has {repetitions} repetitions, which take some {} of memory; {} are available: \
         --repetitions 0..{fit} looks at the first ones",
        text::bytes(needed),
        text::bytes(available)
    ))
}

/// The memory that this process may still take, bytes: that of the machine, and that which its control groups leave.
/// `root` is the root of the file system.
fn available(root: &Path) -> Option<u64> {
    let read = |path: &Path| fs::read_to_string(path).ok();
    let memory = read(&root.join("proc/meminfo"))?;
    let line = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let mut available = 1024 * line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?;
    // Version 2 of the control groups: `0::/path`.
    let groups = read(&root.join("proc/self/cgroup")).unwrap_or_default();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let top = root.join("sys/fs/cgroup");
    let mut group = top.join(own);
    loop {
        let number = |name: &str| read(&group.join(name))?.trim().parse::<u64>().ok();
        // `max` is no number: no limit.
        if let (Some(limit), Some(used)) = (number("memory.max"), number("memory.current")) {
            available = available.min(limit.saturating_sub(used));
        }
        if group == top || !group.pop() {
            return Some(available);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_said_with_a_way_out() {
        let of = |repetitions, available| line(1, repetitions, CATEGORIES, available);
        assert_eq!(of(1000, 70_000), None);
        let told = of(450_000_000, 12_000_000_000).unwrap();
        assert_eq!(
            told,
            "operation 1 has 450000000 repetitions, which take some 31.50 GB of memory; 12.00 GB are available: \
             --repetitions 0..80000000 looks at the first ones"
        );
        assert!(of(100, 10).unwrap().ends_with("0..1 looks at the first ones"));
    }

    #[test]
    fn the_least_of_machine_and_control_groups_is_available() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(available(root.path()), None);
        write("proc/meminfo", "MemTotal:       24 kB\nMemAvailable:       16 kB\n");
        assert_eq!(available(root.path()), Some(16_384));
        write("proc/self/cgroup", "0::/job/step\n");
        write("sys/fs/cgroup/job/memory.max", "9000\n");
        write("sys/fs/cgroup/job/memory.current", "1000\n");
        write("sys/fs/cgroup/job/step/memory.max", "max\n");
        write("sys/fs/cgroup/job/step/memory.current", "500\n");
        assert_eq!(available(root.path()), Some(8000));
    }
}
