//! Runs a hidden command of this program as a child, under a time limit, and takes its answer from a file: libraries
//! write to standard output what they like.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;

const PROBE: &str = "probe-mpi";

const PAUSE: Duration = Duration::from_millis(2);
/// MPI_Init of a process by itself takes less than 2 s wherever it works; beyond this it never comes back.
pub const LIMIT: Duration = Duration::from_secs(30);
/// How long a launcher gets to end its ranks when it is told to end.
const GRACE: Duration = Duration::from_secs(2);

/// How a child ended, and the last that it had answered until then.
#[derive(Debug)]
pub struct Ending<T> {
    /// The answer. A child that answers in steps may have got through some of them.
    pub answer: Option<T>,
    /// Why it did not end as it should, in one line.
    pub failure: Option<String>,
    /// All that it wrote on standard error.
    pub stderr: String,
}

/// Runs the hidden command for a library with these options, behind `launcher` where there is one. The
/// environment is this process' without the tracer's variables and without LD_PRELOAD, and with `variables`.
pub fn child<T: DeserializeOwned>(
    launcher: &[OsString],
    library: &Path,
    options: &[OsString],
    variables: &[(OsString, OsString)],
    folder: &Path,
    limit: Duration,
) -> Result<Ending<T>> {
    let answer = folder.join("answer");
    let _ = fs::remove_file(&answer);
    let program = std::env::current_exe().context("cannot find the file of this program")?;
    let mut line: Vec<OsString> = launcher.to_vec();
    if !launcher.is_empty() {
        // Every launcher starts env, and so the variables reach the rank and not the launcher itself.
        line.push("env".into());
        line.extend(
            variables.iter().map(|(name, value)| [name.as_os_str(), "=".as_ref(), value].into_iter().collect()),
        );
    }
    line.extend([program.into_os_string(), PROBE.into(), library.into()]);
    line.extend_from_slice(options);
    line.extend(["--answer".into(), answer.clone().into_os_string()]);

    let variables = if launcher.is_empty() { variables } else { &[] };
    let (failure, stderr) = run(&line, variables, folder, limit)?;
    let answer = fs::read(&answer).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    Ok(Ending { answer, failure, stderr })
}

/// Runs a command in a folder, to which its output goes: why it did not end as it should, in one line, and what it
/// wrote to standard error.
fn run(
    line: &[OsString],
    variables: &[(OsString, OsString)],
    folder: &Path,
    limit: Duration,
) -> Result<(Option<String>, String)> {
    let (out, err) = (folder.join("stdout"), folder.join("stderr"));
    let mut command = Command::new(&line[0]);
    command.args(&line[1..]).current_dir(folder);
    for (name, _) in std::env::vars_os() {
        let bytes = name.as_encoded_bytes();
        if bytes.starts_with(b"MPITRACE_") || bytes == b"LD_PRELOAD" {
            command.env_remove(&name);
        }
    }
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(File::create(&out)?).stderr(File::create(&err)?).process_group(0);
    let failure = match command.spawn() {
        Ok(mut child) => wait(&mut child, limit),
        Err(error) => Some(format!("cannot start {}: {error}", line[0].to_string_lossy())),
    };
    let text = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    let (stdout, stderr) = (text(&out), text(&err));
    let failure = failure.map(|failure| match last_line(&stderr).or_else(|| last_line(&stdout)) {
        Some(line) => format!("{failure}; it says: {line}"),
        None => failure,
    });
    Ok((failure, stderr))
}

fn wait(child: &mut Child, limit: Duration) -> Option<String> {
    let Some(status) = ended_within(child, limit) else {
        end(child);
        return Some(format!("did not end within {} s", limit.as_secs()));
    };
    match (status.code(), status.signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("exit code {code}")),
        (None, signal) => Some(format!("ended by signal {}", signal.unwrap_or(0))),
    }
}

fn ended_within(child: &mut Child, limit: Duration) -> Option<std::process::ExitStatus> {
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Err(_) => return None,
            Ok(None) if started.elapsed() >= limit => return None,
            Ok(None) => std::thread::sleep(PAUSE),
        }
    }
}

/// Ends the child and those that it started. SIGTERM first: a launcher then ends its ranks, which may have left its
/// group.
fn end(child: &mut Child) {
    let Ok(group) = libc::pid_t::try_from(child.id()) else {
        return;
    };
    // SAFETY: kill takes two integers; the group is the child's own, which has not been waited for.
    unsafe { libc::kill(-group, libc::SIGTERM) };
    if ended_within(child, GRACE).is_none() {
        // SAFETY: as above.
        unsafe { libc::kill(-group, libc::SIGKILL) };
        let _ = child.wait();
    }
}

/// The last line with a word in it: rules and boxes say nothing.
fn last_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).rfind(|line| line.contains(char::is_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(script: &str, limit: Duration) -> Ending<u32> {
        let folder = tempfile::tempdir().unwrap();
        // The words behind the script are this program and its arguments, which it ignores.
        let launcher = ["sh", "-c", script].map(OsString::from);
        let variables = [("MPITRACE_CHILD".into(), "a value".into())];
        child(&launcher, Path::new("/library"), &[], &variables, folder.path(), limit).unwrap()
    }

    #[test]
    fn the_answer_is_a_file_and_the_variables_come_behind_the_launcher() {
        // $0 is env, $1 the variable, $2 the program, $3 the command, $4 the library, $6 the file.
        let ending =
            script("test \"$1\" = 'MPITRACE_CHILD=a value' && echo noise && echo 42 > $6", Duration::from_secs(20));
        assert_eq!((ending.answer, ending.failure), (Some(42), None));
    }

    #[test]
    fn a_crash_a_failure_and_a_hang_are_one_line_each() {
        let limit = Duration::from_secs(20);
        assert_eq!(script("kill -SEGV $$", limit).failure.unwrap(), "ended by signal 11");
        let failed = script("echo 7 > $6; echo 'no such fabric' >&2; echo ------ >&2; exit 3", limit);
        assert_eq!(
            (failed.answer, failed.failure.unwrap().as_str()),
            (Some(7), "exit code 3; it says: no such fabric")
        );
        assert_eq!(script("sleep 60", Duration::from_millis(50)).failure.unwrap(), "did not end within 0 s");
    }
}
