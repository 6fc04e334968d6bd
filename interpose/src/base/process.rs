//! The kernel's facts of a process of this node.

use crate::base::{own_file, system};

pub struct Process {
    pub name: String,
    /// One letter: `R` runs or is ready to, `S` sleeps, `D` is in input or output, `T` is stopped, `Z` has ended.
    pub state: u8,
    pub parent: u32,
    pub threads: u32,
    /// When it started, clock ticks since boot.
    pub started: u64,
}

impl Process {
    /// `None`: there is none with this number, or the kernel does not show it.
    pub fn read(process: u32) -> Option<Process> {
        let status = own_file::read_text(format!("/proc/{process}/stat")).ok()?;
        // The name stands in parentheses, and may hold any character.
        let (start, end) = (status.find('(')?, status.rfind(')')?);
        let mut fields = status.get(end + 2..)?.split(' ');
        let state = *fields.next()?.as_bytes().first()?;
        let parent = fields.next()?.parse().ok()?;
        let threads = fields.nth(15)?.parse().ok()?;
        let started = fields.nth(1)?.parse().ok()?;
        Some(Process { name: status.get(start + 1..end)?.to_owned(), state, parent, threads, started })
    }

    /// How often the process' first thread has given its processor up, or was made to. `None`: the kernel does not say.
    pub fn switches(process: u32) -> Option<u64> {
        let status = own_file::read_text(format!("/proc/{process}/status")).ok()?;
        let counts = status.lines().filter_map(|line| line.split_once("ctxt_switches:")?.1.trim().parse::<u64>().ok());
        Some(counts.sum())
    }

    /// The state of the process that had this number and started then (0: not known). `None`: it has ended.
    pub fn state(process: u32, started: u64) -> Option<u8> {
        match Process::read(process) {
            // Where the first thread has ended before the others, it is a zombie beside them.
            Some(found) if matches!(found.state, b'Z' | b'X') && found.threads <= 1 => None,
            Some(found) => (started == 0 || found.started == started).then_some(found.state),
            // Without /proc, as after chroot.
            None => (Process::read(std::process::id()).is_none() && system::exists(process)).then_some(b'S'),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_number_and_its_start_until_it_ends() {
        let own = Process::read(std::process::id()).unwrap();
        assert_eq!(own.parent, std::os::unix::process::parent_id());
        assert!(own.started > 0 && own.threads > 0);
        assert!(Process::state(std::process::id(), own.started).is_some());
        assert_eq!(Process::state(std::process::id(), own.started + 1), None, "another process of the same number");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let started = Process::read(child.id()).map_or(0, |child| child.started);
        // Its parent has not taken its exit status yet.
        while Process::state(child.id(), started).is_some() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert_eq!(Process::state(child.id(), started), None);
    }
}
