//! The end of a process: its exit code or the signal.

use std::fmt;
use std::str::FromStr;

/// The end of a process, as its parent sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// By `exit` with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// Not the text of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("neither an exit code nor a signal")]
pub struct NoEnd;

const SIGNALS: [(i32, &str); 14] = [
    (libc::SIGHUP, "SIGHUP"),
    (libc::SIGINT, "SIGINT"),
    (libc::SIGQUIT, "SIGQUIT"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGABRT, "SIGABRT"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGKILL, "SIGKILL"),
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGPIPE, "SIGPIPE"),
    (libc::SIGALRM, "SIGALRM"),
    (libc::SIGTERM, "SIGTERM"),
    (libc::SIGXCPU, "SIGXCPU"),
    (libc::SIGXFSZ, "SIGXFSZ"),
];

/// With this code Open MPI ends a rank whose launcher has ended before it: `PMIX_ERR_LOST_CONNECTION`, -61.
const LOST_CONNECTION: i32 = 195;

impl ProcessEnd {
    /// True if it is the code by which Open MPI ends a rank whose launcher has ended before it.
    pub fn is_of_lost_launcher(self) -> bool {
        self == ProcessEnd::Code(LOST_CONNECTION)
    }

    /// True if it is one of the signals by which launchers, batch systems and users end the processes of a job.
    pub fn is_sent(self) -> bool {
        matches!(self, ProcessEnd::Signal(libc::SIGHUP | libc::SIGINT | libc::SIGKILL | libc::SIGTERM))
    }

    /// The exit code, or the number of the signal.
    pub fn number(self) -> i32 {
        let (ProcessEnd::Code(number) | ProcessEnd::Signal(number)) = self;
        number
    }
}

/// `exit code 4`, `signal 9 (SIGKILL)`.
impl fmt::Display for ProcessEnd {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProcessEnd::Code(code) => write!(to, "exit code {code}"),
            ProcessEnd::Signal(signal) => match SIGNALS.iter().find(|(number, _)| number == signal) {
                Some((_, name)) => write!(to, "signal {signal} ({name})"),
                None => write!(to, "signal {signal}"),
            },
        }
    }
}

/// Reads what [`ProcessEnd`] displays.
impl FromStr for ProcessEnd {
    type Err = NoEnd;

    fn from_str(text: &str) -> Result<ProcessEnd, NoEnd> {
        let (kind, rest) = match text.strip_prefix("exit code ") {
            Some(rest) => (ProcessEnd::Code as fn(i32) -> ProcessEnd, rest),
            None => (ProcessEnd::Signal as fn(i32) -> ProcessEnd, text.strip_prefix("signal ").ok_or(NoEnd)?),
        };
        rest.split(' ').next().and_then(|number| number.parse().ok()).map(kind).ok_or(NoEnd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_has_a_text_and_is_read_from_it() {
        let ends = [
            (ProcessEnd::Signal(9), "signal 9 (SIGKILL)"),
            (ProcessEnd::Signal(64), "signal 64"),
            (ProcessEnd::Code(4), "exit code 4"),
        ];
        for (end, text) in ends {
            assert_eq!((end.to_string().as_str(), text.parse()), (text, Ok(end)));
        }
        for text in ["", "exit", "exit code", "signal SIGKILL", "killed 9"] {
            assert_eq!(text.parse::<ProcessEnd>(), Err(NoEnd), "{text}");
        }
    }
}
