//! Stacks of processes that are none of MPI.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::*;

/// A child that is killed at the end.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Option<Running> {
        command.spawn().ok().map(Running)
    }

    /// Its first thread.
    fn process(&self) -> Process {
        Process::read(self.0.id(), &[]).unwrap()
    }

    /// None while it is replaced by another program.
    fn stack(&self) -> Vec<String> {
        let Ok(capture) = Capture::take(&self.process(), false) else { return Vec::new() };
        Namer::default().stacks(&capture, false).remove(0).unwrap()
    }

    fn until(&self, is: impl Fn(&Running) -> bool) {
        let began = Instant::now();
        while !is(self) {
            assert!(began.elapsed() < Duration::from_secs(60), "{:?} {:?}", self.process(), self.stack());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn signal(&self, signal: libc::c_int) {
        // SAFETY: takes numbers; the child has not been waited for.
        unsafe { libc::kill(self.0.id() as libc::pid_t, signal) };
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_stopped_process_is_looked_at_and_stays_stopped() {
    let sleeps = Running::start(Command::new("sleep").arg("1000")).unwrap();
    sleeps.until(|sleeps| sleeps.stack().iter().any(|frame| frame.contains("nanosleep")));
    sleeps.signal(libc::SIGSTOP);
    sleeps.until(|sleeps| sleeps.process().is_stopped());
    for _ in 0..3 {
        assert!(!sleeps.stack().is_empty());
    }
    assert!(sleeps.process().is_stopped());
    sleeps.signal(libc::SIGCONT);
    sleeps.until(|sleeps| sleeps.process().sleeps());
}

#[test]
fn a_process_that_has_ended_or_is_debugged_has_no_stack() {
    let sleeps = Running::start(Command::new("sleep").arg("1000")).unwrap();
    let process = sleeps.process();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: takes numbers; the child goes on, and is let go when this thread ends.
            assert_eq!(unsafe { libc::ptrace(libc::PTRACE_SEIZE, process.pid as libc::pid_t, 0, 0) }, 0);
            let why = Capture::take(&process, false).unwrap_err();
            assert!(matches!(why, Why::Debugged(_)), "{why:?}");
        });
    });
    drop(sleeps);
    assert_eq!(Capture::take(&process, false).unwrap_err(), Why::Ended);
}

/// A program that reads from a pipe or a socket, also one with a time limit or that waits for more than a byte.
#[test]
fn a_thread_that_reads_is_stopped_only_where_that_does_not_end_the_call() {
    let script = "import os, socket, struct, sys\n\
                  one, other = socket.socketpair()\n\
                  if sys.argv[1] == 'limited':\n    \
                      one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack('ll', 1000, 0))\n\
                  if sys.argv[1] == 'more':\n    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 2)\n\
                  print('ready', flush=True)\n\
                  os.read(os.pipe()[0] if sys.argv[1] == 'pipe' else one.fileno(), 1)\n";
    for (how, is_stopped) in [("socket", true), ("pipe", true), ("limited", false), ("more", false)] {
        let started = Command::new("python3").args(["-c", script, how]).stdout(Stdio::piped()).spawn();
        let Ok(child) = started else { return println!("skipped: no python3") };
        let mut reads = Running(child);
        let mut line = String::new();
        BufReader::new(reads.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let call = || std::fs::read_to_string(format!("/proc/{}/syscall", reads.0.id())).unwrap();
        reads.until(|_| call().starts_with(&format!("{} ", libc::SYS_read)));
        let before = call();
        for _ in 0..5 {
            let memory = Memory { pid: reads.0.id() };
            let thread = capture::thread(memory, reads.0.id(), &memory.maps()).unwrap();
            assert_eq!(thread.registers.fp != 0, is_stopped, "{how}: only a stopped thread has all registers");
        }
        reads.until(|_| call() == before);
        assert!(reads.0.try_wait().unwrap().is_none(), "{how}: the call goes on");
    }
}

/// The Python at hand, where its structures are known.
#[test]
fn the_frames_of_python_are_its_functions() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("loop.py");
    let text = "class Loop:\n    def turn(self, left):\n        if left:\n            return self.turn(left - 1)\n        \
                while True:\n            pass\n\n\ndef größe():\n    return max(Loop().turn(1), 0)\n\n\ngröße()\n";
    std::fs::write(&script, text).unwrap();
    let version = Command::new("python3").arg("-V").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    if !["3.11.", "3.12.", "3.13."].iter().any(|known| version.contains(known)) {
        return println!("skipped: {version}");
    }
    let python = Running::start(Command::new("python3").arg(&script)).unwrap();
    let expected = ["<module> (loop.py:13)", "größe (loop.py:10)", "Loop.turn (loop.py:4)"];
    // Before, it may be the interpreter that begins, or a script of the shell that chooses one.
    python.until(|python| python.stack().last().is_some_and(|frame| frame.starts_with("Loop.turn")));
    let stack = python.stack();
    assert_eq!(stack[..3], expected, "{version}");
    assert!(["Loop.turn (loop.py:5)", "Loop.turn (loop.py:6)"].contains(&stack[3].as_str()), "{stack:?}");
}

/// How long a thread is kept that computes all the time: `cargo test ... -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn how_long_a_thread_stands() {
    let spins = Running::start(Command::new("sh").args(["-c", "while :; do :; done"])).unwrap();
    let (memory, tid) = (Memory { pid: spins.0.id() }, spins.0.id());
    let maps = memory.maps();
    let mut times: Vec<Duration> = (0..2000)
        .map(|_| {
            let began = Instant::now();
            capture::thread(memory, tid, &maps).unwrap();
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    println!("median {:?}, 99 % {:?}, longest {:?}", times[1000], times[1980], times[1999]);
}
