//! Runs a job the way a shell does: same process group, same standard streams, its exit code.

use std::io;
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

/// The signals that ask a job to end, or that jobs give a meaning of their own.
const FORWARDED: [libc::c_int; 6] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2];

/// Those of them that end it.
const ENDING: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// The job's process, for the signal handler; 0 while there is none.
static JOB: AtomicI32 = AtomicI32::new(0);
/// True if a signal has come that ends jobs.
static ENDED: AtomicBool = AtomicBool::new(false);

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
    JOB.store(job.id() as libc::pid_t, Ordering::Relaxed);
    forward_signals();
    let status = job.wait();
    JOB.store(0, Ordering::Relaxed);
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
    let job = JOB.load(Ordering::Relaxed);
    // Process 0 would be the whole process group.
    if job == 0 {
        return;
    }
    // SAFETY: with SA_SIGINFO the kernel passes a valid siginfo.
    let from_the_kernel = unsafe { (*info).si_code } > 0;
    // Ctrl-C at the terminal has reached the whole process group already; twice would be once too often for launchers
    // that kill their ranks at the second.
    if !from_the_kernel {
        // SAFETY: kill is async-signal-safe.
        unsafe { libc::kill(job, signal) };
    }
}
