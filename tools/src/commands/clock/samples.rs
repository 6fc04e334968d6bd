//! The offset of a clock over the run, at as many moments as a picture shows.

use super::domain::{Domain, Step};

/// Moments of a curve.
const POINTS: u64 = 400;

/// The offset of one clock, relative to the straight line from its first synchronisation to its last.
pub struct Samples {
    /// Evenly over the run.
    pub points: Vec<Point>,
    /// Of each synchronisation the time (s) and the offset (ns).
    pub synchronisations: Vec<(f64, f64)>,
    pub steps: Vec<Step>,
}

/// One moment.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Global time, s.
    pub at_s: f64,
    /// ns; positive: the clock is ahead.
    pub ahead_ns: f64,
    /// The half width of the 95 % interval, ns.
    pub error_ns: Option<f64>,
    /// What it must lie between if the limits of the clocks hold, ns.
    pub hard_ns: Option<(f64, f64)>,
}

impl Samples {
    /// Of a domain, over all of its calls and synchronisations.
    pub fn of(domain: &Domain) -> Samples {
        let syncs: Vec<u64> = domain.part.syncs().iter().map(|sync| sync.begin).collect();
        let calls = domain.part.all_times().flat_map(|(enter, exit)| [enter, if exit == 0 { enter } else { exit }]);
        let widened = |reach: Option<(u64, u64)>, tick: u64| match reach {
            Some((from, to)) => Some((from.min(tick), to.max(tick))),
            None => Some((tick, tick)),
        };
        let info = domain.part.info();
        let reach = calls.chain(syncs.iter().copied()).fold(None, widened);
        let (from, to) = reach.unwrap_or((info.first_anchor.tick, info.last_anchor.tick));
        let to = to.max(from + 1);
        let line = match &syncs[..] {
            [first, .., last] if last > first => Line::through(domain, *first, *last),
            _ => Line::through(domain, from, to),
        };
        // Of 128 bits: ticks times points.
        let tick = |point: u64| from + (u128::from(to - from) * u128::from(point) / u128::from(POINTS)) as u64;
        Samples {
            points: (0..=POINTS).map(|point| line.point(domain, tick(point))).collect(),
            synchronisations: syncs.iter().map(|&sync| line.place(domain, sync)).collect(),
            steps: domain.steps(),
        }
    }

    /// The lowest and the highest offset with its error, ns.
    pub fn reach_ns(&self) -> (f64, f64) {
        let low = |point: &Point| point.ahead_ns - point.error_ns.unwrap_or(0.0);
        let high = |point: &Point| point.ahead_ns + point.error_ns.unwrap_or(0.0);
        range(self.points.iter().map(low), self.points.iter().map(high))
    }

    /// The same of the hard bounds; `None` where there are none.
    pub fn hard_reach_ns(&self) -> Option<(f64, f64)> {
        let bounds: Option<Vec<(f64, f64)>> = self.points.iter().map(|point| point.hard_ns).collect();
        bounds.map(|bounds| range(bounds.iter().map(|bound| bound.0), bounds.iter().map(|bound| bound.1)))
    }
}

fn range(low: impl Iterator<Item = f64>, high: impl Iterator<Item = f64>) -> (f64, f64) {
    (low.fold(f64::INFINITY, f64::min), high.fold(f64::NEG_INFINITY, f64::max))
}

/// A straight line of an offset over time.
struct Line {
    from: (f64, f64),
    slope: f64,
}

impl Line {
    fn through(domain: &Domain, first: u64, last: u64) -> Line {
        let (from, to) = (raw(domain, first), raw(domain, last));
        Line { from, slope: (to.1 - from.1) / (to.0 - from.0) }
    }

    /// The time and the offset relative to this line.
    fn place(&self, domain: &Domain, tick: u64) -> (f64, f64) {
        let (at, ahead) = raw(domain, tick);
        (at, ahead - self.from.1 - self.slope * (at - self.from.0))
    }

    fn point(&self, domain: &Domain, tick: u64) -> Point {
        let (at_s, ahead_ns) = self.place(domain, tick);
        // Where global time may be later, the clock may be less ahead.
        let hard_ns = domain.clock.hard_bounds_ns(tick).map(|(low, high)| (ahead_ns - high, ahead_ns - low));
        Point { at_s, ahead_ns, error_ns: domain.clock.error_ns(tick), hard_ns }
    }
}

/// The time and the offset, but for a constant.
fn raw(domain: &Domain, tick: u64) -> (f64, f64) {
    (domain.clock.nanoseconds(tick) * 1e-9, -domain.curve().at(tick).offset * domain.period_ns())
}
