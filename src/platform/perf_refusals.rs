//! Why an event is not counted, and what would help, in one sentence.

use std::ffi::c_int;

use super::perf::SOFTWARE;
use super::perf_event::Encoding;

/// The largest `kernel.perf_event_paranoid` at which a process without rights may count the kernel, and the program.
const KERNEL_ALLOWED: i32 = 1;
const USER_ALLOWED: i32 = 2;

/// Why the kernel refused the event with this error.
pub fn refusal(name: &str, encoding: Encoding, error: c_int, paranoid: Option<i32>) -> String {
    let why = match error {
        libc::EACCES | libc::EPERM => not_allowed(encoding, paranoid),
        libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP | libc::ENXIO if encoding.kind == SOFTWARE => {
            "this kernel has no such event".to_owned()
        }
        libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP | libc::ENXIO => "this machine has no such counter; a virtual \
             machine needs a virtual PMU, which its host turns on (KVM: -cpu host,pmu=on)"
            .to_owned(),
        libc::EINVAL | libc::ENOSPC => {
            format!("the processor cannot count it (error {error} of perf_event_open); `perf list` shows what it can")
        }
        libc::EMFILE => "the process has as many open files as it may have; raise ulimit -n".to_owned(),
        libc::ENFILE => "the system has as many open files as it may have; raise fs.file-max".to_owned(),
        libc::ENOSYS => "there is no perf_event_open here; the kernel lacks CONFIG_PERF_EVENTS, or the container's \
             seccomp profile hides it"
            .to_owned(),
        libc::EBUSY => "another program uses the counters exclusively".to_owned(),
        error => format!("perf_event_open failed: {}", std::io::Error::from_raw_os_error(error)),
    };
    left_out(name, &why)
}

fn left_out(name: &str, why: &str) -> String {
    format!("{name} is left out: {why}")
}

fn not_allowed(encoding: Encoding, paranoid: Option<i32>) -> String {
    let needs_kernel = encoding.is_of_kernel_only() || encoding.kernel && !encoding.user;
    let most = if needs_kernel { KERNEL_ALLOWED } else { USER_ALLOWED };
    match paranoid {
        Some(level) if level > most => {
            let why = if needs_kernel { " since it happens in the kernel" } else { "" };
            format!(
                "kernel.perf_event_paranoid is {level} here and must be {most} or less{why} \
                 (sysctl kernel.perf_event_paranoid={most}), or the process needs CAP_PERFMON"
            )
        }
        Some(level) => format!(
            "kernel.perf_event_paranoid is {level} and allows it, but a container's seccomp profile or a security \
             module forbids perf_event_open (docker, podman: --cap-add PERFMON)"
        ),
        None => "perf_event_open is forbidden, and kernel.perf_event_paranoid cannot be read; a container's seccomp \
             profile does that (docker, podman: --cap-add PERFMON)"
            .to_owned(),
    }
}

/// That the kernel is not counted, at this level of `kernel.perf_event_paranoid`.
pub fn without_kernel(name: &str, paranoid: Option<i32>) -> String {
    let level = paranoid.map_or_else(|| "unknown".to_owned(), |level| level.to_string());
    format!(
        "{name} counts the program and not the kernel ({name}:u): kernel.perf_event_paranoid is {level}, and \
         {KERNEL_ALLOWED} or less would let it count both"
    )
}

/// It opens alone, but not beside those before it.
pub fn too_many(name: &str, members: usize) -> String {
    format!(
        "{name} is left out: the processor cannot count it together with the {members} before it; \
         ask for fewer hardware events in one run"
    )
}

/// The list is longer than a group may be.
pub fn beyond(name: &str, most: usize) -> String {
    format!("{name} is left out: at most {most} events can be recorded at a time")
}

/// With it the group did not come to count (`time_running` of 0).
pub fn never_runs(name: &str) -> String {
    format!(
        "{name} is left out: with it the events never count (time_running is 0): the processor has too few counters, or other \
         programs use them; ask for fewer hardware events in one run, set kernel.nmi_watchdog=0, or end other profilers"
    )
}
