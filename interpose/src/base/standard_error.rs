//! The standard error, which belongs to the program: what is written there must not end it.

use std::io;

use crate::base::errno;

/// Writes a text in one piece, so that lines of several ranks do not mix. Where the standard error cannot be written to
/// the text is lost. A pipe that is closed at its other end raises no SIGPIPE, whose default action ends the process.
pub fn write(text: &[u8]) {
    errno::kept(|| without_sigpipe(|| write_all(text)));
}

/// The error with which it ended.
fn write_all(mut text: &[u8]) -> io::Result<()> {
    while !text.is_empty() {
        // SAFETY: the bytes are the slice's.
        let written = unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
        match usize::try_from(written) {
            Ok(written) => text = &text[written.min(text.len())..],
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
    Ok(())
}

/// Runs what may raise SIGPIPE on this thread by a write, and takes the signal back. A SIGPIPE that was pending before
/// is the program's and stays pending.
fn without_sigpipe(work: impl FnOnce() -> io::Result<()>) {
    let pipe = sigpipe();
    let mut before = no_signals();
    let was_pending = is_pending();
    // SAFETY: both sets outlive the call, which changes this thread's mask alone.
    if unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const pipe, &raw mut before) } != 0 {
        return;
    }
    if work().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
        let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // What is pending for the thread, as the write's is, comes before what is pending for the process.
        // SAFETY: the set and the time outlive the call, which may be given no place for what it finds.
        while unsafe { libc::sigtimedwait(&raw const pipe, std::ptr::null_mut(), &raw const now) } < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
        if was_pending && !is_pending() {
            // The one from before was the thread's too, and both were one.
            // SAFETY: the signal is blocked, so that nothing runs now.
            unsafe { libc::raise(libc::SIGPIPE) };
        }
    }
    // SAFETY: `before` was filled in above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
}

/// True if a SIGPIPE is pending, for this thread or for the process.
fn is_pending() -> bool {
    let mut pending = no_signals();
    // SAFETY: the set outlives the calls.
    unsafe {
        libc::sigpending(&raw mut pending);
        libc::sigismember(&raw const pending, libc::SIGPIPE) == 1
    }
}

fn sigpipe() -> libc::sigset_t {
    let mut set = no_signals();
    // SAFETY: the set outlives the call, which changes nothing else.
    unsafe { libc::sigaddset(&raw mut set, libc::SIGPIPE) };
    set
}

fn no_signals() -> libc::sigset_t {
    // SAFETY: a signal set is made of integers, of which zeros are the empty one.
    unsafe { std::mem::zeroed() }
}
