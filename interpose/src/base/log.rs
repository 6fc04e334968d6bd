//! The few lines that the tracer says, on the standard error of one rank.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use mpitrace_format::layout::NO_RANK;

use crate::base::{errno, first_on_node, system};

static VERBOSE: AtomicU8 = AtomicU8::new(1);
/// Who this is, as far as it is known.
static RANK: AtomicU32 = AtomicU32::new(NO_RANK);

pub fn set_verbose(level: u8) {
    VERBOSE.store(level, Ordering::Relaxed);
}

pub fn set_rank(rank: u32) {
    RANK.store(rank, Ordering::Relaxed);
}

/// One line, from this rank.
pub fn line(text: &str) {
    at_level(1, &in_one_line(text));
}

/// One line about a trace that is lost: without lines in the system's log, as a user's warning (RFC 3164: <1 x 8 + 4>).
pub fn failure(text: &str) {
    line(text);
    if VERBOSE.load(Ordering::Relaxed) == 0 && first_on_node::is_first("log") {
        let text = format!("<12>mpitrace[{}]: {}", std::process::id(), in_one_line(text));
        let _ = errno::kept(|| UnixDatagram::unbound()?.send_to(text.as_bytes(), "/dev/log"));
    }
}

/// One line for `MPITRACE_VERBOSE=2`.
pub fn detail(text: &str) {
    at_level(2, &in_one_line(text));
}

/// Names of files may have any bytes in them, also those that end a line or steer a terminal.
fn in_one_line(text: &str) -> String {
    let shown = |letter: char| if letter.is_control() { letter.escape_default().to_string() } else { letter.into() };
    text.chars().map(shown).collect()
}

fn at_level(level: u8, text: &str) {
    if VERBOSE.load(Ordering::Relaxed) >= level {
        let line = format!("mpitrace: {text}\n");
        // A pipe that is closed at its other end raises SIGPIPE, which ends the process by default.
        errno::kept(|| system::without_signal(libc::SIGPIPE, || write(line.as_bytes())));
    }
}

/// The process was started without a standard error: what has its number is a file of the program.
static IS_MISSING: AtomicBool = AtomicBool::new(false);

/// Looks when the library is loaded, before the program opens anything.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = {
    extern "C" fn look() {
        // SAFETY: takes numbers, and changes nothing.
        let is_open = errno::kept(|| unsafe { libc::fcntl(libc::STDERR_FILENO, libc::F_GETFD) } >= 0);
        IS_MISSING.store(!is_open, Ordering::Relaxed);
    }
    look
};

/// Writes to the standard error in one piece, so that lines of several ranks do not mix. Where that cannot be written
/// to the text is lost.
fn write(mut text: &[u8]) {
    if IS_MISSING.load(Ordering::Relaxed) {
        return;
    }
    while !text.is_empty() {
        // SAFETY: the bytes are the slice's.
        let written = unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
        match usize::try_from(written) {
            Ok(written) => text = &text[written.min(text.len())..],
            Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// One line that names the rank: what went wrong on this rank only.
pub fn warn(text: &str) {
    match RANK.load(Ordering::Relaxed) {
        NO_RANK => line(text),
        rank => line(&format!("rank {rank}: {text}")),
    }
}

/// Warns ([`warn`]) of a subject that several ranks of a node may meet: the first one that does says it.
pub fn warn_on_node(subject: &str, text: &str) {
    if first_on_node::is_first(subject) {
        warn(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_control_characters_stays_in_its_line() {
        assert_eq!(in_one_line("é a\nb\u{1b}[31m \u{fffd}"), "é a\\nb\\u{1b}[31m \u{fffd}");
    }
}
