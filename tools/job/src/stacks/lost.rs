//! How many samples of a thread were lost, at most, where the kernel says only how many records were.
//!
//! A record is a sample, a page fault, a context switch or mapped code. Between the record before the gap and the one
//! behind it there are no more samples than the clock of the event has periods.

/// Follows the records of an event.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    period: u64,
    /// When the last record was written, ns.
    last: Option<u64>,
    /// Records that are missing behind that one.
    open: u64,
    records: u64,
    samples: u64,
}

impl Lost {
    /// The losses of an event with this period, ns.
    pub fn new(period: u64) -> Lost {
        Lost { period: period.max(1), last: None, open: 0, records: 0, samples: 0 }
    }

    /// A record was written at this time.
    pub fn seen(&mut self, ns: u64) {
        self.samples += self.until(ns);
        (self.last, self.open) = (Some(ns), 0);
    }

    /// So many records are missing before the next one, and so many samples that had no stack yet.
    pub fn add(&mut self, records: u64, waiting: u64) {
        self.open += records;
        self.records += records;
        self.samples += waiting;
    }

    /// Records that were lost, of any kind.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Samples that were lost up to this time, at most.
    pub fn samples(&self, ns: u64) -> u64 {
        self.samples + self.until(ns)
    }

    fn until(&self, ns: u64) -> u64 {
        let fit = self.last.map_or(u64::MAX, |last| ns.saturating_sub(last) / self.period + 1);
        self.open.min(fit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_samples_are_lost_than_there_are_periods_between_two_records() {
        let mut lost = Lost::new(1000);
        lost.seen(5_000);
        lost.add(90_000, 0);
        lost.seen(8_500);
        assert_eq!((lost.records(), lost.samples(8_500)), (90_000, 4), "switches of a thread that yields");
        lost.add(2, 1);
        lost.seen(50_000);
        assert_eq!(lost.samples(50_000), 4 + 3, "where fewer records are lost these are all");
        lost.add(10, 0);
        assert_eq!(lost.samples(52_000), 7 + 3, "no record has come behind them");
        let mut unseen = Lost::new(1000);
        unseen.add(3, 0);
        assert_eq!(unseen.samples(1), 3);
    }
}
