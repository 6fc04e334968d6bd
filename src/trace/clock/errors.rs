//! How far the times of a rank can be wrong.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("app.mpitrace");
//! # mpitrace_testing::synthetic::write_example(&path)?;
//! use mpitrace_trace::{clock::Clock, reader::Trace};
//!
//! let trace = Trace::open(&[path])?;
//! let clock = Clock::new(&trace);
//! assert_eq!(clock.errors_ns(&trace), [0.0, 0.0]);
//! assert_eq!(clock.of_part(1).largest_error_ns(&trace.parts[1]), 0.0);
//! // There are no two synchronisations between which a step could not be seen.
//! assert_eq!(clock.unseen_step_ns(), None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use mpitrace_statistics::median;
use serde::Serialize;

use super::{Clock, RankClock};
use crate::reader::{Part, Trace};

/// Ticks at which the error of a rank's clock is looked at.
const LOOKS: usize = 33;
/// Entries and exits whose errors the median is of, at most; of more every so many.
const LOOKED_AT: usize = 1 << 20;

/// The 95 % errors over every entry and exit kept, ns; `None` where the method states none, or there is one clock of
/// one rank, which is right by definition.
#[derive(Debug, Default, Serialize)]
pub struct Errors {
    /// The largest.
    pub max: Option<f64>,
    /// The median.
    pub median: Option<f64>,
}

impl Errors {
    /// The errors of the clocks of a trace.
    pub fn new(trace: &Trace, clock: &Clock) -> Errors {
        if clock.curves.iter().any(|curve| !curve.states_error) {
            return Errors::default();
        }
        let records: usize = trace.parts.iter().map(Part::records).sum();
        let step = (2 * records).div_ceil(LOOKED_AT).max(1);
        let mut max = None;
        let mut errors = Vec::new();
        // The reference clock is right by definition: of one rank's nothing is left open, and a median with as many
        // zeros says nothing of the others.
        let certain = clock.domains.first().is_some_and(|first| first.len() == 1);
        for (index, part) in trace.parts.iter().enumerate().skip(certain.into()) {
            let own = clock.of_part(index);
            // The exit of a call that did not return is 0.
            let ticks = part.all_times().flat_map(|(enter, exit)| [enter, exit]).filter(|&tick| tick != 0);
            for (number, error) in ticks.filter_map(|tick| own.error_ns(tick)).enumerate() {
                max = Some(error.max(max.unwrap_or(error)));
                errors.extend((number % step == 0).then_some(error));
            }
        }
        Errors { max, median: median(&mut errors) }
    }
}

impl Clock {
    /// The largest step of a clock, ns, that would look like drift; `None`: there are more synchronisations than two.
    pub fn unseen_step_ns(&self) -> Option<f64> {
        let unseen = self.curves.iter().filter_map(|curve| curve.unseen_step());
        let largest = unseen.reduce(f64::max)?;
        self.ranks.first().map(|rank| largest * rank.period_ns)
    }

    /// The error of the clock of each part: no difference between its times and another rank's is known better than the
    /// sum of the two, ns. 0 where the clock states none.
    pub fn errors_ns(&self, trace: &Trace) -> Vec<f64> {
        trace.parts.iter().enumerate().map(|(index, part)| self.of_part(index).largest_error_ns(part)).collect()
    }
}

impl RankClock {
    /// The largest error that the rank's clock states, of some ticks over its calls, ns; 0 where it states none.
    pub fn largest_error_ns(&self, part: &Part) -> f64 {
        *self.largest_error_ns.get_or_init(|| {
            let step = part.records().div_ceil(LOOKS).max(1);
            let looked_at = (0..part.records()).step_by(step).map(|record| part.times_of(record).0);
            looked_at.filter_map(|enter| self.error_ns(enter)).fold(0.0, f64::max)
        })
    }
}

#[cfg(test)]
mod tests {
    use mpitrace_testing::synthetic::{self, SyntheticRank};

    use super::*;

    #[test]
    fn a_single_rank_has_no_error_and_not_one_of_0() {
        let mut rank = SyntheticRank::new(0, 1);
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        rank.call(barrier, 100, 200);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mpitrace");
        synthetic::write(&path, &[rank]).unwrap();
        let trace = Trace::open(&[path]).unwrap();
        let clock = Clock::new(&trace);
        assert_eq!(clock.of_part(0).error_ns(100), Some(0.0));
        let errors = Errors::new(&trace, &clock);
        assert_eq!((errors.max, errors.median, clock.unseen_step_ns()), (None, None, None));
    }
}
