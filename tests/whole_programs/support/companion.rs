//! Calling `mpitrace`, the companion.

use super::TARGET;
use super::binaries::companion;
use super::process::{self, Finished};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// None of the traces here is large: a command that needs more was misled by a damaged file.
const ADDRESS_SPACE: u64 = 2 << 30;

/// Runs `mpitrace` with these arguments.
pub fn mpitrace<A: AsRef<OsStr>>(arguments: &[A]) -> Finished {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let number = CALLS.fetch_add(1, Ordering::Relaxed);
    let folder = TARGET.join(format!("tests/companion/{}-{number}", std::process::id()));
    let mut command = Command::new(companion());
    command.args(arguments);
    let limit = libc::rlimit { rlim_cur: ADDRESS_SPACE, rlim_max: ADDRESS_SPACE };
    // SAFETY: between fork and exec only setrlimit is called, which is async-signal-safe.
    unsafe {
        command.pre_exec(move || {
            if libc::setrlimit(libc::RLIMIT_AS, &limit) == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        })
    };
    let finished = process::run(command, &folder, Duration::from_secs(60));
    let _ = fs::remove_dir_all(folder);
    finished
}

/// A command's output as JSON: its rows, if it is a list, else its keys without the schema.
#[track_caller]
pub fn json(finished: &Finished) -> Value {
    let Finished { stdout, stderr, .. } = finished;
    let mut value: Value =
        serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{error} in {stdout:.2000}; stderr:\n{stderr}"));
    let keys = value.as_object_mut().unwrap_or_else(|| panic!("not an object: {stdout:.2000}"));
    let schema = keys.remove("schema");
    let is_of_a_command = |schema: &str| schema.starts_with("mpitrace/") && schema.ends_with("/1");
    assert!(schema.as_ref().and_then(Value::as_str).is_some_and(is_of_a_command), "schema {schema:?}");
    keys.remove("rows").unwrap_or(value)
}

/// The contract of a command that could not do its work: exit code 2, nothing on stdout, one line on stderr.
#[track_caller]
pub fn assert_refused(finished: &Finished, what: &str) {
    let Finished { code, stdout, stderr } = finished;
    assert_eq!(*code, 2, "exit code for {what}; stdout:\n{stdout}\nstderr:\n{stderr}");
    assert_eq!(stdout, "", "stdout for {what}");
    assert_eq!(stderr.lines().count(), 1, "one line on stderr for {what}, not:\n{stderr}");
}
