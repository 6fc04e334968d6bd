//! The standard error, which belongs to the program: what is written there must not end it.

use std::io;

use crate::boundary::errno;

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

/// Runs what may raise SIGPIPE on this thread by a write, and takes the signal back. A SIGPIPE that was pending before is
/// the program's and stays pending.
fn without_sigpipe(work: impl FnOnce() -> io::Result<()>) {
    // SAFETY: a signal set is made of integers.
    let (mut pipe, mut pending, mut before): (libc::sigset_t, libc::sigset_t, libc::sigset_t) =
        unsafe { std::mem::zeroed() };
    // SAFETY: the sets outlive the calls, which change this thread's mask alone.
    let (was_pending, blocked) = unsafe {
        libc::sigemptyset(&raw mut pipe);
        libc::sigaddset(&raw mut pipe, libc::SIGPIPE);
        libc::sigemptyset(&raw mut pending);
        libc::sigpending(&raw mut pending);
        let blocked = libc::pthread_sigmask(libc::SIG_BLOCK, &raw const pipe, &raw mut before) == 0;
        (libc::sigismember(&raw const pending, libc::SIGPIPE) == 1, blocked)
    };
    if !blocked {
        return;
    }
    let broken = work().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
    if broken && !was_pending {
        let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the set and the time outlive the call, which may be given no place for what it finds.
        while unsafe { libc::sigtimedwait(&raw const pipe, std::ptr::null_mut(), &raw const now) } < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }
    // SAFETY: `before` was filled in above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
}
