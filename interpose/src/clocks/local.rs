//! The clock of this rank.

use mpitrace_format::ticks::SimulatedClock;

/// The clock of this process as the synchronisation sees it: the tick counter, or a simulated clock in its place.
#[derive(Clone, Copy)]
pub struct LocalClock {
    /// The clock, the tick at which it begins, ticks per second.
    pub simulated: Option<(SimulatedClock, u64, f64)>,
}

impl LocalClock {
    /// The time that it shows at a reading of the tick counter.
    pub fn shown(&self, reading: u64) -> u64 {
        match &self.simulated {
            Some((clock, epoch, hz)) => clock.local(reading, *epoch, *hz),
            None => reading,
        }
    }
}
