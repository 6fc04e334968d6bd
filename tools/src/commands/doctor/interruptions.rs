//! The detection of interruptions of calls on this machine.

use mpitrace_platform::interruptions::{EventPage, Sequence, sees_sleep};
use serde::Serialize;

/// The two methods; the first is used if both work.
#[derive(Debug, Serialize)]
pub struct Interruptions {
    /// True if the kernel updates the page of a perf event at a context switch.
    pub page: bool,
    /// Why it does not.
    pub page_error: Option<String>,
    /// True if the kernel clears a restartable sequence at a context switch.
    pub rseq: bool,
}

impl Interruptions {
    /// Tests both with a short sleep.
    pub fn of_machine() -> Interruptions {
        let (page, page_error) = match EventPage::open() {
            Ok(page) if sees_sleep(page.word()) => (true, None),
            Ok(_) => (false, Some("the kernel does not update the perf event page".to_owned())),
            Err(error) => (false, Some(std::io::Error::from_raw_os_error(error).to_string())),
        };
        let rseq = Sequence::of_thread().is_some_and(|sequence| {
            let works = sees_sleep(sequence.word());
            sequence.disarm();
            works
        });
        Interruptions { page, page_error, rseq }
    }

    /// For people.
    pub fn line(&self) -> String {
        let why = self.page_error.as_ref().map(|error| format!("perf_event_open: {error}")).unwrap_or_default();
        match (self.page, self.rseq) {
            (true, true) => {
                "context switches are detected by a perf event page (restartable sequences also work)".to_owned()
            }
            (true, false) => "context switches are detected by a perf event page".to_owned(),
            (false, true) => format!("context switches are detected by restartable sequences ({why})"),
            (false, false) => {
                format!(
                    "context switches are not detected: {why}, and the C library registered no restartable sequences (glibc 2.35)"
                )
            }
        }
    }
}
