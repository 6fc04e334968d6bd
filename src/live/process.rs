//! A process as the kernel shows it in /proc, read without stopping it.

use std::fs;
use std::path::Path;

/// All processes that the kernel shows.
pub fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The process that has started this one, or has taken it over.
pub fn parent(pid: u32) -> Option<u32> {
    fields(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?).nth(1)?.parse().ok()
}

/// The variables with which a process was started, as `variable` reads them. None of a process of another user.
pub fn environment(pid: u32) -> Option<Vec<u8>> {
    fs::read(format!("/proc/{pid}/environ")).ok()
}

/// The value of this name in an environment.
pub fn variable<'e>(environment: &'e [u8], name: &str) -> Option<&'e [u8]> {
    let value = |entry: &'e [u8]| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=");
    environment.split(|&byte| byte == 0).find_map(value)
}

/// The fields of proc(5)'s `stat` from the state on, behind the name, which may have any characters in its parentheses.
fn fields(stat: &str) -> impl Iterator<Item = &str> {
    stat.rsplit_once(") ").map_or("", |(_, fields)| fields).split_ascii_whitespace()
}

/// A process that lives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// As this process numbers it.
    pub pid: u32,
    /// Its threads that make MPI calls, or its first one.
    pub threads: Vec<Task>,
}

/// A thread of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The kernel's number of the thread, as this process numbers it.
    pub tid: u32,
    /// One of the letters of proc(5): `R` on a processor or ready for one, `S` and `D` waiting, `T` stopped, `t`
    /// stopped by a debugger, `Z` ended.
    pub state: char,
    /// The function of the kernel that it waits in, where the kernel says it.
    pub waits_in: Option<String>,
}

impl Process {
    /// Reads it; of the threads `tids` those that are there, else its first one. `None`: it has ended.
    pub fn read(pid: u32, tids: &[u32]) -> Option<Process> {
        let mut threads: Vec<Task> = tids.iter().filter_map(|&tid| Task::read(pid, tid)).collect();
        if threads.is_empty() {
            threads.extend(Task::read(pid, pid));
        }
        let has_ended = threads.iter().all(|thread| matches!(thread.state, 'Z' | 'X'));
        (!has_ended).then_some(Process { pid, threads })
    }

    /// True if a process of this number has the file mapped. One that has closed its segment, and so lost the lock that
    /// marks it as of a living process, has it mapped still.
    pub fn has_mapped(pid: u32, file: &Path) -> bool {
        let Some(name) = file.file_name().and_then(|name| name.to_str()) else { return false };
        let maps = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
        String::from_utf8_lossy(&maps).lines().any(|line| line.ends_with(name))
    }

    /// For how long its other threads were on a processor, ns: they may have the ones that are listed go on. `None`:
    /// the kernel does not say it.
    pub fn others_ran_ns(&self) -> Option<u64> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid)).ok()?.flatten();
        let tids = tasks.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let others = tids.filter(|tid| !self.threads.iter().any(|thread| thread.tid == *tid));
        let ran = |tid| fs::read_to_string(format!("/proc/{}/task/{tid}/schedstat", self.pid)).ok();
        others.map(|tid| ran(tid)?.split_ascii_whitespace().next()?.parse::<u64>().ok()).sum()
    }

    /// True if it was stopped.
    pub fn is_stopped(&self) -> bool {
        !self.threads.is_empty() && self.threads.iter().all(|thread| matches!(thread.state, 'T' | 't'))
    }

    /// True if all of its threads wait for the system.
    pub fn sleeps(&self) -> bool {
        !self.threads.is_empty() && self.threads.iter().all(|thread| matches!(thread.state, 'S' | 'D'))
    }
}

impl Task {
    fn read(pid: u32, tid: u32) -> Option<Task> {
        let folder = format!("/proc/{pid}/task/{tid}");
        let state = fields(&fs::read_to_string(format!("{folder}/stat")).ok()?).next()?.chars().next()?;
        let waits_in =
            fs::read_to_string(format!("{folder}/wchan")).ok().filter(|name| !name.is_empty() && name != "0");
        Some(Task { tid, state, waits_in })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_one_of_an_impossible_number_does_not() {
        let own = std::process::id();
        let process = Process::read(own, &[]).unwrap();
        assert!(!process.threads.is_empty() && !process.is_stopped(), "{process:?}");
        let ran = || Process { pid: own, threads: Vec::new() }.others_ran_ns();
        let before = ran();
        while before.is_some() && ran() <= before {}
        assert_eq!(Process { pid: u32::MAX, threads: Vec::new() }.others_ran_ns(), None);
        assert_eq!(Process::read(u32::MAX, &[]), None);
        let unseen = Process::default();
        assert!(!unseen.is_stopped() && !unseen.sleeps(), "nothing is known of its threads");
        let program = std::env::current_exe().unwrap();
        assert!(Process::has_mapped(own, &program));
        assert!(!Process::has_mapped(own, Path::new("/no/such/file.segment")));
    }
}
