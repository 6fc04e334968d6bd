//! How a rank waits for other ranks that may need its processor.

use std::time::{Duration, Instant};

/// So long it looks again at once: where each rank has a processor, a message comes within that time.
const EAGER: Duration = Duration::from_micros(50);
/// Afterwards it sleeps between two looks, for this part of the time that it has waited so far: what it waits for is
/// seen late by no more than that.
const PART: u32 = 4;
/// The shortest and the longest sleep.
const SHORTEST: Duration = Duration::from_micros(20);
const LONGEST: Duration = Duration::from_millis(1);

/// A wait that leaves the processor to others. A rank that looks without a pause keeps the ranks from running that it
/// waits for, where there are more ranks than processors: a reduction over six ranks on two processors takes 10 to 60 ms
/// then, and 1 to 6 ms with these pauses.
#[derive(Debug, Default)]
pub struct Pause {
    since: Option<Instant>,
}

impl Pause {
    /// Pauses between two looks. Returns how long this wait has taken.
    pub fn pause(&mut self) -> Duration {
        let waited = self.since.get_or_insert_with(Instant::now).elapsed();
        if waited > EAGER {
            std::thread::sleep((waited / PART).clamp(SHORTEST, LONGEST));
        } else {
            std::hint::spin_loop();
        }
        waited
    }
}
