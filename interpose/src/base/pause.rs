//! How a rank waits for other ranks that may need its processor.

use std::time::Duration;

use mpitrace_platform::time::{Instant, sleep};

/// After this many polls a clock is read and the processor is yielded.
const LOOKS: u32 = 16;
/// Between two looks it sleeps for this part of the time that it has waited so far: what it waits for is seen late by
/// no more than that.
const PART: u32 = 64;
const SHORTEST: Duration = Duration::from_micros(20);
const LONGEST: Duration = Duration::from_millis(1);

/// A wait that leaves the processor to others. A rank that looks without a pause keeps the ranks from running that it
/// waits for, where there are more ranks than processors: a reduction over six ranks on two processors takes 10 to 60
/// ms then, and 1 to 6 ms with these pauses.
#[derive(Debug)]
pub struct Pause {
    eager: Duration,
    looks: u32,
    since: Option<Instant>,
    waited: Duration,
}

impl Default for Pause {
    /// Where each rank has a processor, a message comes within 50 us.
    fn default() -> Pause {
        Pause::after(Duration::from_micros(50))
    }
}

impl Pause {
    pub fn after(eager: Duration) -> Pause {
        Pause { eager, looks: 0, since: None, waited: Duration::ZERO }
    }

    /// Pauses between two looks. Returns how long this wait has taken.
    pub fn pause(&mut self) -> Duration {
        self.looks = self.looks.wrapping_add(1);
        if self.waited <= self.eager && !self.looks.is_multiple_of(LOOKS) {
            std::hint::spin_loop();
            return self.waited;
        }
        self.waited = self.since.get_or_insert_with(Instant::now).elapsed();
        if self.waited > self.eager {
            sleep((self.waited / PART).clamp(SHORTEST, LONGEST));
        } else {
            std::thread::yield_now();
        }
        self.waited
    }
}
