//! The samples that are missing while a thread was in the kernel, where these are not allowed.
//!
//! The clock of an event runs while its thread is on a processor. It is stopped with the thread, with what is left of
//! its period, and goes on with it. So the time of each sample is known from the one before it and the context
//! switches: one that has not come fell into the kernel.

/// Samples come some us late; a gap that is shorter by this share of the period is still one.
const EARLY: f64 = 0.25;

/// Follows the clock of an event.
#[derive(Debug)]
pub struct Gaps {
    period: u64,
    /// Since when the clock runs, and how much of its period was left then. `None`: that is not known.
    since: Option<(u64, u64)>,
    /// The part of the period that was left when it was stopped.
    left: Option<u64>,
}

impl Gaps {
    /// The gaps of an event with this period, ns.
    pub fn new(period: u64) -> Gaps {
        Gaps { period, since: None, left: None }
    }

    /// The times of the samples that were to come before this one, or before the thread was at something else.
    pub fn until(&mut self, ns: u64, missing: &mut Vec<u64>) {
        let Some((since, left)) = &mut self.since else { return };
        let tolerance = (self.period as f64 * EARLY) as u64;
        while *since + *left + tolerance <= ns {
            *since += *left;
            *left = self.period;
            missing.push(*since);
        }
    }

    /// A sample has come.
    pub fn tick(&mut self, ns: u64) {
        (self.since, self.left) = (Some((ns, self.period)), None);
    }

    /// The thread was put on a processor, or taken off.
    pub fn switch(&mut self, ns: u64, on: bool) {
        match on {
            true => self.since = self.left.take().map(|left| (ns, left)),
            false => {
                self.left = self.since.take().map(|(since, left)| left.saturating_sub(ns.saturating_sub(since)));
            }
        }
    }

    /// Records are missing.
    pub fn lost(&mut self) {
        (self.since, self.left) = (None, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_that_have_not_come_have_their_times_also_across_switches() {
        let mut gaps = Gaps::new(1000);
        let mut missing = Vec::new();
        gaps.until(500, &mut missing);
        gaps.tick(10_000);
        gaps.until(11_010, &mut missing);
        gaps.tick(11_010);
        assert!(missing.is_empty(), "one that comes late is not missing");
        gaps.until(13_600, &mut missing);
        assert_eq!(missing, [12_010, 13_010]);
        gaps.switch(13_600, false);
        gaps.until(20_000, &mut missing);
        gaps.switch(20_000, true);
        gaps.until(20_700, &mut missing);
        assert_eq!(missing[2..], [20_410]);
        gaps.lost();
        gaps.until(90_000, &mut missing);
        gaps.switch(91_000, true);
        gaps.until(99_000, &mut missing);
        assert_eq!(missing.len(), 3, "what was lost is no time in the kernel");
    }
}
