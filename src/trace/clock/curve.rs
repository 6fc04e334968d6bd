//! The offset of a clock to the reference over the whole run, with its error.

use mpitrace_format::ticks::AffineMap;

/// An offset at one moment: `reference - local - base`, ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Knot {
    /// Ticks of the local clock, scaled.
    pub local: u64,
    /// The offset.
    pub offset: f64,
    /// Its rate, ticks per tick.
    pub rate: f64,
    /// The variances of the offset, ticks^2, and of the rate, and their covariance in the middle.
    pub variance: [f64; 3],
    /// Covariances with the next knot: offset with offset and rate, rate with offset and rate.
    pub with_next: [f64; 4],
    /// How far the offset may be off all along, because of what no measurement can show, ticks.
    pub lasting: f64,
    /// The bounds of the offset, if the stated limits of the clocks hold.
    pub hard: (f64, f64),
    /// A step of this size lies between this knot and the next; 0: none.
    pub step: f64,
}

/// The values from which the error between knots and beyond them follows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// How fast the rate of a clock walks at random: variance of the rate per tick.
    pub walk: f64,
    /// The rate of no clock changes faster, per tick.
    pub wander: f64,
    /// No clock is faster than another by more.
    pub max_rate: f64,
}

/// The offset of a clock over the run.
///
/// ```
/// use mpitrace_format::ticks::AffineMap;
/// use mpitrace_trace::clock::Curve;
///
/// // A clock that is 1000 ticks behind the reference and as fast.
/// let curve = Curve::line(AffineMap::with_offset(5000, -1000));
/// assert_eq!((curve.since(0, 5000), curve.base(), curve.pace(5000)), (6000.0, 1000, 1.0));
/// assert_eq!((curve.offset_at(7000).offset, curve.knots().len()), (0.0, 1));
/// assert_eq!(Curve::identity().since(100, 250), 150.0);
/// let same = Curve::new(AffineMap::IDENTITY, 1000, curve.knots().to_vec(), Default::default(), false);
/// assert_eq!(same, curve);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// From the local clock's ticks to ones of the reference's nominal frequency. Knots are in these.
    scale: AffineMap,
    base: i64,
    knots: Vec<Knot>,
    limits: Limits,
    /// True if the knots carry errors.
    pub states_error: bool,
}

/// An offset at some moment, ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct At {
    /// reference - local - base.
    pub offset: f64,
    /// The variance of the part of its error that differs between measurements, ticks^2.
    pub variance: f64,
    /// How far it may be off beside that, ticks.
    pub lasting: f64,
    /// Its bounds.
    pub hard: (f64, f64),
}

impl Curve {
    /// A curve through these knots, which are in order of time.
    pub fn new(scale: AffineMap, base: i64, knots: Vec<Knot>, limits: Limits, states_error: bool) -> Curve {
        Curve { scale, base, knots, limits, states_error }
    }

    /// One straight line, without a statement of its error.
    pub fn line(map: AffineMap) -> Curve {
        let base = map.reference0.wrapping_sub(map.local0) as i64;
        let knot = Knot { local: map.local0, rate: map.skew, ..Knot::default() };
        Curve::new(AffineMap::IDENTITY, base, vec![knot], Limits::default(), false)
    }

    /// The reference clock itself.
    pub fn identity() -> Curve {
        Curve::new(AffineMap::IDENTITY, 0, Vec::new(), Limits::default(), true)
    }

    /// Ticks from `zero` of the reference clock to when the local clock shows `local`.
    #[inline]
    pub fn since(&self, zero: u64, local: u64) -> f64 {
        let local = self.scale.apply(local);
        local.wrapping_add_signed(self.base).wrapping_sub(zero) as i64 as f64 + self.offset(local)
    }

    /// How many ticks of the reference pass while the local clock, at `local`, makes one.
    #[inline]
    pub fn pace(&self, local: u64) -> f64 {
        if let Some(pace) = self.steady_pace() {
            return pace;
        }
        (1.0 + self.scale.skew) * (1.0 + self.span(self.scale.apply(local)).map_or(0.0, |span| span.rate()))
    }

    /// The pace, where it is the same at all times.
    #[inline]
    pub(crate) fn steady_pace(&self) -> Option<f64> {
        self.knots.is_empty().then_some(1.0 + self.scale.skew)
    }

    #[inline]
    fn offset(&self, local: u64) -> f64 {
        self.span(local).map_or(0.0, |span| span.offset())
    }

    /// The offset with its errors.
    pub fn offset_at(&self, local: u64) -> At {
        match self.span(self.scale.apply(local)) {
            None => At { offset: 0.0, variance: 0.0, lasting: 0.0, hard: (0.0, 0.0) },
            Some(span) => At {
                offset: span.offset(),
                variance: span.variance(self.limits.walk).max(0.0),
                lasting: span.lasting(),
                hard: span.hard(&self.limits),
            },
        }
    }

    /// The knots.
    pub fn knots(&self) -> &[Knot] {
        &self.knots
    }

    /// The largest step between two synchronisations, of which there are no more, that would look like drift, ticks:
    /// the errors hold if the clock has not stepped. `None`: there are more, which tell the two apart, or there is one.
    pub(crate) fn unseen_step(&self) -> Option<f64> {
        let [from, to] = self.knots[..] else { return None };
        let length = to.local.wrapping_sub(from.local) as i64 as f64;
        let is_seen = !self.states_error || from.step != 0.0;
        (!is_seen).then(|| self.limits.max_rate * length + (to.offset - from.offset).abs())
    }

    /// `reference - local` that all offsets are relative to.
    pub fn base(&self) -> i64 {
        self.base
    }

    /// Where a tick lies among the knots; `None` where there are none.
    #[inline]
    fn span(&self, local: u64) -> Option<Span<'_>> {
        let first = self.knots.first()?;
        let since = |knot: &Knot| local.wrapping_sub(knot.local) as i64 as f64;
        if self.knots.len() == 1 {
            return Some(Span::Beyond { knot: first, inner: None, since: since(first) });
        }
        let index = self.knots.partition_point(|knot| (local.wrapping_sub(knot.local) as i64) >= 0);
        Some(match index {
            0 => Span::Beyond { knot: first, inner: self.knots.get(1), since: since(first) },
            _ if index == self.knots.len() => {
                let last = &self.knots[index - 1];
                let inner = index.checked_sub(2).map(|before| &self.knots[before]);
                Span::Beyond { knot: last, inner, since: since(last) }
            }
            _ => {
                let (from, to) = (&self.knots[index - 1], &self.knots[index]);
                let length = to.local.wrapping_sub(from.local) as i64 as f64;
                Span::Between { from, to, length, share: since(from) / length }
            }
        })
    }
}

enum Span<'k> {
    /// Before the first knot or after the last one.
    Beyond { knot: &'k Knot, inner: Option<&'k Knot>, since: f64 },
    /// Between two, at this share of the way.
    Between { from: &'k Knot, to: &'k Knot, length: f64, share: f64 },
}

impl Span<'_> {
    fn offset(&self) -> f64 {
        match *self {
            Span::Beyond { knot, since, .. } => knot.offset + knot.rate * since,
            // It is not known when between the two the clock stepped: half of the way belongs to either.
            Span::Between { from, to, length, share } if from.step != 0.0 => {
                if share < 0.5 {
                    from.offset + from.rate * length * share
                } else {
                    to.offset - to.rate * length * (1.0 - share)
                }
            }
            Span::Between { from, to, length, share } => {
                // The cubic that has both offsets and both rates (Hermite): what is most likely for a rate that walks
                // at random.
                let [a, b, c, d] = weights(share);
                a * from.offset + b * length * from.rate + c * to.offset + d * length * to.rate
            }
        }
    }

    fn rate(&self) -> f64 {
        match *self {
            Span::Beyond { knot, .. } => knot.rate,
            Span::Between { from, to, share, .. } if from.step != 0.0 => {
                if share < 0.5 {
                    from.rate
                } else {
                    to.rate
                }
            }
            Span::Between { from, to, length, share } => {
                let slope = (to.offset - from.offset) / length;
                6.0 * share * (1.0 - share) * slope
                    + (1.0 - share) * (1.0 - 3.0 * share) * from.rate
                    + share * (3.0 * share - 2.0) * to.rate
            }
        }
    }

    fn variance(&self, walk: f64) -> f64 {
        match *self {
            Span::Beyond { knot, since, .. } => {
                let [offset, both, rate] = knot.variance;
                let walked = walk * since.abs().powi(3) / 3.0;
                offset + 2.0 * both * since + rate * since * since + walked
            }
            Span::Between { from, to, length, share } => {
                let [a, b, c, d] = weights(share);
                let (b, d) = (b * length, d * length);
                let of = |value: f64, slope: f64, [offset, both, rate]: [f64; 3]| {
                    value * value * offset + 2.0 * value * slope * both + slope * slope * rate
                };
                let [xx, xv, vx, vv] = from.with_next;
                let common = 2.0 * (a * c * xx + a * d * xv + b * c * vx + b * d * vv);
                // Of a walk whose both ends are known: q t^3 (h - t)^3 / (3 h^3).
                let bridge = walk * (share * (1.0 - share) * length).powi(3) / 3.0;
                // Anywhere in between: 95 % of the time within its own size.
                let step = (from.step / 1.96).powi(2);
                of(a, b, from.variance) + of(c, d, to.variance) + common + bridge + step
            }
        }
    }

    fn lasting(&self) -> f64 {
        match *self {
            Span::Beyond { knot, .. } => knot.lasting,
            Span::Between { from, to, share, .. } => from.lasting + (to.lasting - from.lasting) * share,
        }
    }

    fn hard(&self, limits: &Limits) -> (f64, f64) {
        match *self {
            Span::Between { from, to, length, share } => {
                // A clock that changes its rate by no more than `wander` leaves the chord by no more than this.
                let bulge = limits.wander * share * (1.0 - share) * length * length / 2.0 + from.step.abs();
                let line = |from: f64, to: f64| from + (to - from) * share;
                (line(from.hard.0, to.hard.0) - bulge, line(from.hard.1, to.hard.1) + bulge)
            }
            Span::Beyond { knot, inner, since } => {
                let (slowest, fastest) = match inner {
                    None => (-limits.max_rate, limits.max_rate),
                    Some(inner) => {
                        let length = knot.local.wrapping_sub(inner.local) as i64 as f64;
                        let slopes = [(knot.hard.0 - inner.hard.1) / length, (knot.hard.1 - inner.hard.0) / length];
                        let change = limits.wander * (length.abs() + since.abs()) / 2.0;
                        (slopes[0].min(slopes[1]) - change, slopes[0].max(slopes[1]) + change)
                    }
                };
                let reach = [slowest * since, fastest * since];
                (knot.hard.0 + reach[0].min(reach[1]), knot.hard.1 + reach[0].max(reach[1]))
            }
        }
    }
}

/// The weights of the two offsets and, times the length, of the two rates: from's, from's rate, to's, to's rate.
fn weights(share: f64) -> [f64; 4] {
    let rest = 1.0 - share;
    [(1.0 + 2.0 * share) * rest * rest, share * rest * rest, share * share * (3.0 - 2.0 * share), -share * share * rest]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve() -> Curve {
        let knot =
            |local, offset, rate| Knot { local, offset, rate, hard: (offset - 2.0, offset + 2.0), ..Knot::default() };
        let limits = Limits { walk: 0.0, wander: 1e-9, max_rate: 1e-3 };
        Curve::new(AffineMap::IDENTITY, -500, vec![knot(1000, 0.0, 0.0), knot(3000, 2.0, 2e-3)], limits, true)
    }

    #[test]
    fn a_curve_has_the_offsets_and_rates_of_its_knots_and_goes_on_beyond_them() {
        let curve = curve();
        assert_eq!(curve.since(0, 1000), 500.0);
        assert_eq!(curve.since(500, 3000), 2002.0);
        assert!((curve.since(500, 4000) - 3004.0).abs() < 1e-9);
        assert!((curve.pace(3000) - 1.002).abs() < 1e-12);
        let step = curve.since(0, 2001) - curve.since(0, 2000);
        assert!((step - curve.pace(2000)).abs() < 1e-5, "the pace is the derivative");
    }

    /// At a quarter of the way between two knots at distances of 2000 ticks, the second of which is a step away.
    #[test]
    fn the_errors_between_two_knots_follow_from_those_of_both() {
        let [first, second] = [[4.0, 2e-3, 1e-5], [9.0, -3e-3, 2e-5]];
        let with_next = [1.0, 5e-4, 7e-4, 1e-6];
        let from =
            Knot { local: 1000, offset: 5.0, rate: 1e-3, variance: first, with_next, step: 0.5, ..Knot::default() };
        let to = Knot { local: 3000, offset: 2.0, rate: 2e-3, variance: second, ..Knot::default() };
        let limits = Limits { walk: 1e-9, wander: 1e-9, max_rate: 1e-3 };
        let found = Curve::new(AffineMap::IDENTITY, 0, vec![from, to], limits, true).offset_at(1500);
        // Hermite's weights of offset and rate of the one, then of the other.
        let weights = [27.0 / 32.0, 2000.0 * 9.0 / 64.0, 5.0 / 32.0, -2000.0 * 3.0 / 64.0];
        let [xx, xv, vx, vv] = with_next;
        let covariance = [
            [first[0], first[1], xx, xv],
            [first[1], first[2], vx, vv],
            [xx, vx, second[0], second[1]],
            [xv, vv, second[1], second[2]],
        ];
        let of_row =
            |(row, weight): ([f64; 4], f64)| weight * row.iter().zip(weights).map(|(of, w)| of * w).sum::<f64>();
        let of_knots: f64 = covariance.into_iter().zip(weights).map(of_row).sum();
        let of_walk = 1e-9 * 375f64.powi(3) / 3.0;
        let expected = of_knots + of_walk + (0.5f64 / 1.96).powi(2);
        assert!((found.variance - expected).abs() < 1e-9 * expected, "{} for {expected}", found.variance);
        // A rate that changes by at most 1e-9 per tick, at 500 and 1500 ticks from the ends; and the step.
        let bulge = 1e-9 * 500.0 * 1500.0 / 2.0 + 0.5;
        assert!((found.hard.1 - bulge).abs() < 1e-12 && (found.hard.0 + bulge).abs() < 1e-12, "{:?}", found.hard);
    }

    #[test]
    fn the_rate_is_the_slope_between_knots_whose_offsets_are_not_0() {
        let knot = |local, offset, rate| Knot { local, offset, rate, ..Knot::default() };
        let knots = vec![knot(1000, 5.0, 1e-3), knot(3000, 2.0, 2e-3)];
        let curve = Curve::new(AffineMap::IDENTITY, 0, knots, Limits::default(), true);
        for local in [1200, 2000, 2900] {
            let slope = (curve.since(0, local + 1) - curve.since(0, local - 1)) / 2.0;
            assert!((slope - curve.pace(local)).abs() < 1e-8, "{slope} at {local}, pace {}", curve.pace(local));
        }
    }

    #[test]
    fn a_clock_steps_halfway_between_two_knots() {
        let knot = |local, offset, rate, step| Knot { local, offset, rate, step, ..Knot::default() };
        let knots = vec![knot(1000, 1.0, 1e-3, 50.0), knot(3000, 52.0, 2e-3, 0.0)];
        let curve = Curve::new(AffineMap::IDENTITY, 0, knots, Limits::default(), true);
        let offset = |local: u64| curve.offset_at(local).offset;
        assert!((offset(1999) - 1.999).abs() < 1e-9 && (offset(2000) - 50.0).abs() < 1e-9);
        assert_eq!([1999, 2000].map(|local| curve.pace(local)), [1.001, 1.002]);
    }

    #[test]
    fn hard_bounds_are_wider_the_further_a_knot_is() {
        let width = |local| {
            let (lower, upper) = curve().offset_at(local).hard;
            upper - lower
        };
        assert_eq!(width(1000), 4.0);
        assert!(width(2000) > width(1100) && width(1100) > 4.0);
        assert!(width(9000) > width(4000) && width(4000) > 4.0);
    }
}
