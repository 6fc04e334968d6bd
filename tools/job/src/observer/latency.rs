//! How late an event is seen by a thread that polls.
//!
//! An event comes after the poll before returned without it. Where this poll had to wait for it, it came while it
//! waited, and what lay between is the time for which the thread was ready to run without a processor.

use std::time::{Duration, Instant};

/// A thread that is woken on an idle processor runs within this time.
const WAKING: Duration = Duration::from_millis(1);
/// A poll that returned sooner may have found its events there.
const WAITED: Duration = Duration::from_millis(1);

pub struct Latency {
    returned: Instant,
    began: Instant,
    ready: Option<Duration>,
    /// An event that was seen when the last poll returned may have come so much earlier.
    pub late: Duration,
}

impl Latency {
    pub fn new() -> Latency {
        let now = Instant::now();
        Latency { returned: now, began: now, ready: None, late: Duration::ZERO }
    }

    /// A poll begins.
    pub fn begin(&mut self) {
        (self.began, self.ready) = (Instant::now(), ready());
    }

    /// It has returned, now.
    pub fn end(&mut self) -> Instant {
        let at = Instant::now();
        let delayed = self.ready.zip(ready()).map(|(before, now)| now.saturating_sub(before) + WAKING);
        self.late = late(at - self.returned, at - self.began, delayed);
        self.returned = at;
        at
    }
}

/// How late an event may be seen: `since` the poll before returned, this one having taken `waited`, of which the thread
/// was `delayed`, where that is known, for want of a processor.
fn late(since: Duration, waited: Duration, delayed: Option<Duration>) -> Duration {
    match delayed {
        _ if waited < WAITED => since,
        Some(delayed) => waited.min(delayed),
        None => waited,
    }
}

/// For how long this thread has been ready to run without a processor.
fn ready() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_was_there_before_the_poll_is_as_late_as_the_poll_before_is_old() {
        let ms = Duration::from_millis;
        let late = |since, waited, delayed: Option<u64>| late(ms(since), ms(waited), delayed.map(ms)).as_millis();
        assert_eq!(late(300, 0, Some(1)), 300, "other work lay between two polls");
        assert_eq!(late(300, 100, Some(3)), 3, "it waited, and then for a processor");
        assert_eq!(late(300, 2, Some(3)), 2);
        assert_eq!(late(300, 100, None), 100);
    }
}
