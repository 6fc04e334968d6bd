//! Runs a job the way a shell does: same process group, same standard streams, its exit code.

pub mod acting;
pub mod markers;

use std::io;
use std::os::fd::IntoRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// The exit codes of a shell for a command that does not exist, and for one that cannot be executed.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;
/// The exit codes of a command that could not be started: it will not be found the next time either.
pub const NOT_STARTED: [u8; 2] = [NOT_EXECUTABLE, NOT_FOUND];
/// The number that a shell adds to that of the signal that ended a command.
const SIGNAL: i32 = 128;

/// The number of the user that this process runs as.
pub fn user() -> u32 {
    // SAFETY: getuid has no preconditions and cannot fail.
    unsafe { libc::getuid() }
}

/// The signals that ask a job to end, or that jobs give a meaning of their own.
const FORWARDED: [libc::c_int; 6] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2];

/// The signals of them that end the job.
const ENDING: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// The job's process, for the signal handler; 0 while there is none.
static JOB: AtomicI32 = AtomicI32::new(0);
/// A signal for the job that came before it was started; 0: none.
static EARLY: AtomicI32 = AtomicI32::new(0);
/// True if a signal has come that ends jobs.
static ENDED: AtomicBool = AtomicBool::new(false);

/// The write end of a pipe that gets the signals that end a job, before the job does; -1: there is none.
static HELD: AtomicI32 = AtomicI32::new(-1);
/// Added to a signal in that pipe that has reached the job already.
const IS_SENT: u8 = 0x80;

/// From now on signals that end the job are held: they come from this pipe, and [`hand_on`] sends them on. Until
/// [`release`].
pub fn hold() -> io::Result<io::PipeReader> {
    let (held, writer) = io::pipe()?;
    HELD.store(writer.into_raw_fd(), Ordering::Release);
    Ok(held)
}

/// Sends a held signal on to the job.
pub fn hand_on(signal: u8) {
    if signal & IS_SENT == 0 {
        send(signal.into());
    }
}

/// Sends a signal to the job; to the next one as soon as it is started, while there is none.
fn send(signal: libc::c_int) {
    let job = JOB.load(Ordering::SeqCst);
    if job == 0 {
        // Process 0 would be the whole process group.
        EARLY.store(signal, Ordering::SeqCst);
        return;
    }
    // SAFETY: takes numbers, and is async-signal-safe; the job has not been waited for.
    unsafe { libc::kill(job, signal) };
}

/// A job has been started as this process: it gets the signal that came while it was.
fn started(job: libc::pid_t) {
    JOB.store(job, Ordering::SeqCst);
    let early = EARLY.swap(0, Ordering::SeqCst);
    if early != 0 {
        send(early);
    }
}

/// From now on they go to the job at once. The pipe stays open: a handler may be about to write.
pub fn release() {
    HELD.store(-1, Ordering::Release);
}

/// True if this process was asked to end. No other job is to be started then.
pub fn is_to_end() -> bool {
    ENDED.load(Ordering::Relaxed)
}

/// Runs the command to its end; the exit code that a shell would have for it.
pub fn run(command: &mut Command) -> io::Result<u8> {
    let parent = std::process::id();
    // SAFETY: prctl, getppid and raise are async-signal-safe, and nothing else happens between fork and exec.
    unsafe {
        command.pre_exec(move || {
            // A job must not outlive the process that waits for it.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            if libc::getppid() != parent as libc::pid_t {
                libc::raise(libc::SIGTERM);
            }
            Ok(())
        });
    }
    // Before the job can be seen to run.
    forward_signals();
    let mut job = match command.spawn() {
        Ok(job) => job,
        Err(error) => {
            let name = command.get_program().to_string_lossy();
            eprintln!("mpitrace: cannot start {name}: {error}");
            return Ok(match error.kind() {
                io::ErrorKind::NotFound => NOT_FOUND,
                _ => NOT_EXECUTABLE,
            });
        }
    };
    started(job.id() as libc::pid_t);
    let status = job.wait();
    JOB.store(0, Ordering::SeqCst);
    let status = status?;
    // An exit code has 8 bits, and so has 128 + a signal.
    Ok(status.code().or(status.signal().map(|signal| SIGNAL + signal)).unwrap_or(1) as u8)
}

/// Hands the signals that this process is sent on to the job. Those that it ignores (nohup) the job ignores as well.
fn forward_signals() {
    for signal in FORWARDED {
        // SAFETY: zeros are a valid sigaction, and `forward` does nothing that is not async-signal-safe.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut action);
            if action.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            action.sa_sigaction = forward as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

extern "C" fn forward(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    if ENDING.contains(&signal) {
        ENDED.store(true, Ordering::Relaxed);
    }
    // SAFETY: with SA_SIGINFO the kernel passes a valid siginfo.
    let from_the_kernel = unsafe { (*info).si_code } > 0;
    let held = HELD.load(Ordering::Acquire);
    if ENDING.contains(&signal) && held >= 0 {
        let byte = signal as u8 | if from_the_kernel { IS_SENT } else { 0 };
        // SAFETY: write is async-signal-safe, and the byte outlives the call.
        if unsafe { libc::write(held, (&raw const byte).cast(), 1) } == 1 {
            return;
        }
    }
    // Ctrl-C at the terminal has reached the whole process group already; twice would be once too often for launchers
    // that kill their ranks at the second.
    if !from_the_kernel {
        send(signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_comes_before_the_job_is_started_reaches_it() {
        send(libc::SIGTERM);
        let mut job = Command::new("sleep").arg("100").spawn().unwrap();
        started(job.id() as libc::pid_t);
        let end = job.wait().unwrap();
        JOB.store(0, Ordering::SeqCst);
        assert_eq!(end.signal(), Some(libc::SIGTERM));
        assert_eq!(EARLY.load(Ordering::SeqCst), 0, "it is sent once");
    }
}
