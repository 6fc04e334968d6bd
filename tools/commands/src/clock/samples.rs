//! The offset of a clock over the run, at as many moments as a picture shows.

use mpitrace_trace::clock::RankClock;

use super::domain::{Domain, Step};

/// Moments of a curve.
const POINTS: u64 = 400;

/// The offset of one clock to the first one: to its own straight line, from its first synchronisation to its last.
pub struct Samples {
    /// Evenly over the run.
    pub points: Vec<Sampled>,
    /// Of each synchronisation the global time and the offset to the line, ns.
    pub synchronisations: Vec<(f64, f64)>,
    pub steps: Vec<Step>,
}

/// One moment.
#[derive(Clone, Copy)]
pub struct Sampled {
    pub tick: u64,
    /// Global time, ns.
    pub at_ns: f64,
    /// By how much the clock is ahead of the first one, but for a constant, ns.
    pub ahead_ns: f64,
    /// By how much the clock is ahead of its straight line, ns.
    pub off_line_ns: f64,
    /// The half width of the 95 % interval, ns.
    pub error_ns: Option<f64>,
    /// What the offset to the line must lie between if the limits of the clocks hold, ns.
    pub hard_ns: Option<(f64, f64)>,
}

impl Samples {
    /// Over all calls and synchronisations of a domain.
    pub fn of(domain: &Domain) -> Samples {
        let syncs: Vec<u64> = domain.part.syncs().iter().map(|sync| sync.begin).collect();
        let calls = domain.part.all_times().flat_map(|(enter, exit)| [enter, if exit == 0 { enter } else { exit }]);
        let reach = calls.chain(syncs.iter().copied()).fold(None, |reach: Option<(u64, u64)>, tick| {
            let (from, to) = reach.unwrap_or((tick, tick));
            Some((from.min(tick), to.max(tick)))
        });
        let info = domain.part.info();
        let (from, to) = reach.unwrap_or((info.first_anchor.tick, info.last_anchor.tick));
        let to = to.max(from + 1);
        let ends = match &syncs[..] {
            [first, .., last] if last > first => [*first, *last],
            _ => [from, to],
        };
        let line = Line::through(ends.map(|tick| raw(domain, tick)));
        // Of 128 bits: ticks times points.
        let tick = |point: u64| from + (u128::from(to - from) * u128::from(point) / u128::from(POINTS)) as u64;
        let sampled = |point: u64| {
            let tick = tick(point);
            let (at_ns, ahead_ns) = raw(domain, tick);
            let off_line_ns = line.off(at_ns, ahead_ns);
            // Where global time may be later, the clock may be less ahead.
            let hard_ns = domain.clock.hard_bounds_ns(tick).map(|(low, high)| (off_line_ns - high, off_line_ns - low));
            Sampled { tick, at_ns, ahead_ns, off_line_ns, error_ns: domain.clock.error_ns(tick), hard_ns }
        };
        let synchronisation = |&tick: &u64| {
            let (at_ns, ahead_ns) = raw(domain, tick);
            (at_ns, line.off(at_ns, ahead_ns))
        };
        Samples {
            points: (0..=POINTS).map(sampled).collect(),
            synchronisations: syncs.iter().map(synchronisation).collect(),
            steps: domain.steps(),
        }
    }

    /// The time of each moment, and how much later global time is there by another estimate of the same clock, ns.
    pub fn against(&self, own: &RankClock, other: &RankClock) -> Vec<(f64, f64)> {
        self.points
            .iter()
            .map(|point| (point.at_ns, other.nanoseconds(point.tick) - own.nanoseconds(point.tick)))
            .collect()
    }
}

/// A straight line of an offset over time.
struct Line {
    from: (f64, f64),
    slope: f64,
}

impl Line {
    fn through([from, to]: [(f64, f64); 2]) -> Line {
        Line { from, slope: if to.0 > from.0 { (to.1 - from.1) / (to.0 - from.0) } else { 0.0 } }
    }

    fn off(&self, at_ns: f64, ahead_ns: f64) -> f64 {
        ahead_ns - self.from.1 - self.slope * (at_ns - self.from.0)
    }
}

/// The time and the offset, but for a constant, ns.
fn raw(domain: &Domain, tick: u64) -> (f64, f64) {
    (domain.clock.nanoseconds(tick), -domain.curve().offset_at(tick).offset * domain.period_ns())
}
