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
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Clock, RankClock};
use crate::reader::{Part, Trace};

/// Ticks at which the error of a rank's clock is looked at.
const LOOKS: usize = 33;

impl Clock {
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
