//! Running a command under a time limit, with nothing on stdin and its output in files: a process that outlives it
//! holds no pipe of ours open.

use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The result of a command.
pub struct Finished {
    /// The exit code, or 128 and the signal, as a shell gives it.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `command` with its output in `folder`, in a process group of its own; panics if it takes longer than `limit`.
pub fn run(mut command: Command, folder: &Path, limit: Duration) -> Finished {
    fs::create_dir_all(folder).expect("a folder for the output");
    let (out, err) = (folder.join("stdout"), folder.join("stderr"));
    command
        // Sentences of the companion are looked for as a whole.
        .env("COLUMNS", "1000")
        .stdin(Stdio::null())
        .stdout(File::create(&out).expect("stdout"))
        .stderr(File::create(&err).expect("stderr"));
    let started = Instant::now();
    let mut child =
        command.process_group(0).spawn().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    let status = wait(&mut child, limit);
    let read = |path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    let (stdout, stderr) = (read(out), read(err));
    let Some(status) = status else {
        end(&mut child);
        panic!("not finished after {:?}: {command:?}\n{stdout}{stderr}", started.elapsed());
    };
    Finished { code: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)), stdout, stderr }
}

/// A command that goes on while a test looks at it. It is ended when this is dropped.
pub struct Running {
    child: Child,
    folder: PathBuf,
    started: Instant,
    limit: Duration,
}

impl Running {
    /// Starts `command` as [`run`] does; it may run for as long as `limit`.
    pub fn start(mut command: Command, folder: &Path, limit: Duration) -> Self {
        fs::create_dir_all(folder).expect("a folder for the output");
        let file = |name: &str| File::create(folder.join(name)).expect("a file for the output");
        command.stdin(Stdio::null()).stdout(file("stdout")).stderr(file("stderr")).process_group(0);
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        Self { child, folder: folder.to_owned(), started: Instant::now(), limit }
    }

    /// True if it has ended; panics if it has run for too long.
    pub fn has_ended(&mut self) -> bool {
        let ended = self.child.try_wait().expect("the state of a child").is_some();
        assert!(ended || self.started.elapsed() < self.limit, "not finished after {:?}\n{}", self.limit, self.stderr());
        ended
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its standard output so far.
    pub fn stdout(&self) -> String {
        self.read("stdout")
    }

    /// Its standard error so far.
    pub fn stderr(&self) -> String {
        self.read("stderr")
    }

    fn read(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.folder.join(name)).unwrap_or_default()).into_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let started = Instant::now();
    while started.elapsed() < limit {
        if let Some(status) = child.try_wait().expect("the state of a child") {
            return Some(status);
        }
        sleep(Duration::from_millis(3));
    }
    None
}

/// SIGTERM first: a launcher then ends its ranks, which may have left its process group.
fn end(child: &mut Child) {
    let group = -i32::try_from(child.id()).expect("a process id");
    // SAFETY: kill takes two integers; the group is one that this function's caller made.
    unsafe { libc::kill(group, libc::SIGTERM) };
    if wait(child, Duration::from_secs(5)).is_none() {
        // SAFETY: as above.
        unsafe { libc::kill(group, libc::SIGKILL) };
        let _ = child.wait();
    }
}

/// True if a process of this number runs a program whose name begins so. One that has ended and that no process has
/// waited for does not.
pub fn is_running(process: u32, name: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let Some((_, rest)) = stat.split_once('(') else { return false };
    rest.starts_with(name) && rest.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}

/// Sends a signal to a process that a test has started.
pub fn signal(process: u32, signal: i32) {
    let process = i32::try_from(process).ok().filter(|&process| process > 1).expect("the number of a process");
    // SAFETY: kill takes two integers.
    unsafe { libc::kill(process, signal) };
}
