//! How wrong the global time is, where the true one is known: under simulated clocks.

use mpitrace_format::ticks::SimulatedClock;

use serde::Serialize;

use super::Clock;
use crate::reader::{Part, Trace};

/// The errors over every entry and exit kept.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// # mpitrace_testing::synthetic::write_example(&path)?;
/// use mpitrace_trace::clock::{Clock, Truth};
/// use mpitrace_trace::reader::Trace;
///
/// let trace = Trace::open(&[path])?;
/// let clock = Clock::new(&trace);
/// // No clock of this run was simulated: the true time is not known.
/// assert!(Truth::new(&trace, &clock).is_none());
/// assert!(Truth::between(&trace, &clock, 0.0, 1e9).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Truth {
    /// The largest, ns.
    pub max_ns: f64,
    /// Their root mean square, ns.
    pub rms_ns: f64,
    /// The share of them within the stated 95 % interval; `None` where none is stated.
    pub coverage_95: Option<f64>,
    /// True if all of them lay within the stated hard bounds; `None` where none are stated.
    pub hard_bounds_held: Option<bool>,
}

fn local_clock(part: &Part) -> impl Fn(u64) -> u64 + use<> {
    let info = part.info();
    let clock = part.text(info.pretended).filter(|_| info.pretended != 0).and_then(|text| SimulatedClock::parse(&text));
    let (epoch, hz) = (info.pretended_epoch, info.pretended_hz);
    move |tick| clock.map_or(tick, |clock| clock.local(tick, epoch, hz))
}

impl Truth {
    /// Compares the global time of every entry and exit with what the reference clock showed at the same true tick.
    /// `None` where no rank had a simulated clock.
    pub fn new(trace: &Trace, clock: &Clock) -> Option<Truth> {
        Truth::between(trace, clock, f64::NEG_INFINITY, f64::INFINITY)
    }

    /// The errors of the entries and exits between two moments of true global time, ns. `None` also where there are
    /// none.
    pub fn between(trace: &Trace, clock: &Clock, from_ns: f64, to_ns: f64) -> Option<Truth> {
        if trace.parts.iter().all(|part| part.info().pretended == 0) {
            return None;
        }
        let reference = local_clock(trace.parts.first()?);
        let reference_curve = clock.of_part(0).curve();
        let mut errors = Errors::default();
        for (index, part) in trace.parts.iter().enumerate() {
            let of_rank = clock.of_part(index);
            // The reference has nothing to be wrong about.
            let pretends = !std::ptr::eq(of_rank.curve(), reference_curve);
            let true_ticks = part.true_ticks();
            for (record, (enter, exit)) in part.all_times().enumerate() {
                let truth = true_ticks.map_or([enter, exit], |columns| columns.map(|column| column.get(record)));
                for (tick, true_tick) in [enter, exit].into_iter().zip(truth).filter(|(_, truth)| *truth != 0) {
                    let right = of_rank.reference_ns(reference(true_tick));
                    if right < from_ns || right >= to_ns {
                        continue;
                    }
                    errors.add(
                        of_rank.nanoseconds(tick) - right,
                        of_rank.error_ns(tick).filter(|_| pretends),
                        of_rank.hard_bounds_ns(tick).filter(|_| pretends),
                    );
                }
            }
        }
        errors.summary()
    }
}

#[derive(Default)]
struct Errors {
    count: u64,
    max: f64,
    squares: f64,
    stated: u64,
    covered: u64,
    bounded: u64,
    outside: u64,
}

impl Errors {
    fn add(&mut self, error: f64, stated: Option<f64>, hard: Option<(f64, f64)>) {
        self.count += 1;
        self.max = self.max.max(error.abs());
        self.squares += error * error;
        if let Some(stated) = stated {
            self.stated += 1;
            self.covered += u64::from(error.abs() <= stated);
        }
        if let Some((lower, upper)) = hard {
            self.bounded += 1;
            // The truth lies at -error from the estimate. A tick is as fine as it gets.
            self.outside += u64::from(-error < lower - 1.0 || -error > upper + 1.0);
        }
    }

    fn summary(&self) -> Option<Truth> {
        (self.count > 0).then(|| Truth {
            max_ns: self.max,
            rms_ns: (self.squares / self.count as f64).sqrt(),
            coverage_95: (self.stated > 0).then(|| self.covered as f64 / self.stated as f64),
            hard_bounds_held: (self.bounded > 0).then_some(self.outside == 0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors of stated intervals of 2 ns and bounds of -3 and 5 ns.
    fn found(errors: &[f64]) -> Truth {
        let mut all = Errors::default();
        errors.iter().for_each(|&error| all.add(error, Some(2.0), Some((-3.0, 5.0))));
        all.summary().unwrap()
    }

    #[test]
    fn intervals_cover_a_share_and_bounds_all_or_not() {
        let of_three = found(&[1.0, -2.0, 3.5]);
        let rms_ns = (17.25f64 / 3.0).sqrt();
        let expected = Truth { max_ns: 3.5, rms_ns, coverage_95: Some(2.0 / 3.0), hard_bounds_held: Some(true) };
        assert_eq!(of_three, expected);
        // The truth lies on the other side of the estimate; a tick is as fine as it gets.
        let held = |error| found(&[0.0, error]).hard_bounds_held;
        assert_eq!([4.0, 4.5, -6.0, -6.5].map(held), [true, false, true, false].map(Some));
    }
}
