//! Which of the kernel's performance counters can be had, and what forbids the others.

use mpitrace_platform::perf::{self, Attributes, flag, format};
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct Counters {
    pub events: Vec<Event>,
    pub perf_event_paranoid: Option<i64>,
    pub hint: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Event {
    pub name: &'static str,
    pub works: bool,
    /// True if it also counts the kernel's work for the program.
    pub kernel: bool,
    pub error: Option<String>,
}

const EVENTS: [&str; 9] = [
    "instructions",
    "cycles",
    "cache-misses",
    "branch-misses",
    "L1-dcache-load-misses",
    "task-clock",
    "page-faults",
    "context-switches",
    "cpu-migrations",
];

/// Events that happen in the kernel: without it they stay 0.
const IN_KERNEL: [&str; 2] = ["context-switches", "cpu-migrations"];

impl Counters {
    pub fn of_machine() -> Counters {
        let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
        let perf_event_paranoid = paranoid.ok().and_then(|text| text.trim().parse().ok());
        let mut forbidden = false;
        let events = EVENTS.map(|name| {
            let (kind, number) = perf::generic(name).expect("a name of the list that is shared");
            // Without the kernel less is forbidden.
            let tried = match count(kind, number, true) {
                Err(error) if is_forbidden(error) && !IN_KERNEL.contains(&name) => {
                    count(kind, number, false).map(|()| false)
                }
                other => other.map(|()| true),
            };
            forbidden |= tried.is_ok_and(|kernel| !kernel) || tried.is_err_and(is_forbidden);
            let error = tried.err().map(why);
            Event { name, works: error.is_none(), kernel: tried.unwrap_or(false), error }
        });
        let hint = forbidden.then(|| hint(perf_event_paranoid));
        Counters { events: events.into(), perf_event_paranoid, hint }
    }
}

fn hint(paranoid: Option<i64>) -> String {
    match paranoid {
        Some(level @ 2..) => format!(
            "kernel.perf_event_paranoid is {level}: `sysctl kernel.perf_event_paranoid=1`, or the capability \
             CAP_PERFMON, lets counters include the kernel"
        ),
        Some(level) => format!(
            "kernel.perf_event_paranoid is {level} and allows this; a container's seccomp profile may forbid \
             perf_event_open: start it with --security-opt seccomp=unconfined or with CAP_PERFMON"
        ),
        None => "this kernel is built without perf events".to_owned(),
    }
}

/// Opened, but never put on the processor: no error number of the kernel's.
const NEVER_RAN: i32 = -1;

fn is_forbidden(error: i32) -> bool {
    [libc::EACCES, libc::EPERM].contains(&error)
}

fn why(error: i32) -> String {
    match error {
        NEVER_RAN => "opens but never counts: another program uses the counter (the NMI watchdog?)".to_owned(),
        libc::EACCES | libc::EPERM => "forbidden".to_owned(),
        libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP => {
            "the machine has none (common in virtual machines)".to_owned()
        }
        libc::ENOSYS => "the kernel knows no perf events, or hides them".to_owned(),
        other => std::io::Error::from_raw_os_error(other).to_string(),
    }
}

fn count(kind: u32, number: u64, with_kernel: bool) -> Result<(), i32> {
    let flags = if with_kernel { 0 } else { flag::EXCLUDE_KERNEL | flag::EXCLUDE_HYPERVISOR };
    let read_format = format::TIME_ENABLED | format::TIME_RUNNING;
    let event = perf::open(&Attributes { read_format, flags, ..Attributes::new(kind, number) }, None, 0)?;
    let spun = (0..10_000u64).fold(0, |sum, value| std::hint::black_box(sum ^ value));
    std::hint::black_box(spun);
    let mut values = [0u64; 3];
    // SAFETY: the kernel writes at most as many bytes as it is told.
    let read = unsafe { libc::read(event, values.as_mut_ptr().cast(), size_of_val(&values)) };
    let error = last_error();
    // SAFETY: the descriptor is ours.
    unsafe { libc::close(event) };
    match values {
        _ if read < 0 => Err(error),
        [_, _, 0] => Err(NEVER_RAN),
        _ => Ok(()),
    }
}

fn last_error() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_does_not_exist_is_an_error_and_not_a_count() {
        const UNKNOWN: u64 = 999;
        assert!(count(perf::SOFTWARE, UNKNOWN, false).is_err());
    }

    #[test]
    fn what_forbids_counters_is_named_by_the_setting_that_would_help() {
        assert!(hint(Some(3)).contains("sysctl kernel.perf_event_paranoid=1"));
        assert!(hint(Some(-1)).contains("seccomp"));
        assert!(why(libc::ENOENT).contains("virtual"));
    }
}
