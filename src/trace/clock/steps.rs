//! Steps of a clock between two synchronisations: what cannot be drift.

use super::curve::Limits;
use super::smoother::Measured;

/// Two synchronisations a few milliseconds apart, as the last two of a run may be, differ by tens of ns where the ways
/// between two nodes happen to be less alike: nothing below this is a step.
const SMALLEST_NS: f64 = 200.0;
/// So many intervals make up the longest span beside an interval.
const REACH: usize = 4;

/// Marks intervals in which an offset changes faster than any clock may run, or at a rate that the intervals beside it
/// do not have and that no clock wanders to: whatever the offsets are within `bounds`, ns, one pair for each
/// measurement. On a busy machine the middle of two bounds is off by anything up to half of their distance, and by
/// another part of it at each synchronisation. A smaller step cannot be told from drift.
///
/// Of three measurements it is not known which of both intervals is wrong: both are marked.
///
/// The rate beside an interval is first that of its neighbour, then also that from further measurements to it: bounds
/// that happen to be wide beside a step do not hide it.
pub(super) fn mark(measured: &mut [Measured], bounds: &[(f64, f64)], limits: &Limits, hz: f64) {
    // ns per s, and ns per s^2.
    let (fastest, wander) = (limits.max_rate * 1e9, limits.wander * 1e9 * hz);
    let is_above =
        |one: &Interval, other: &Interval| one.least - other.most > wander * (one.length + other.length) / 2.0;
    let is_below = |one: &Interval, other: &Interval| is_above(other, one);
    let differ = |one: &Interval, other: &Interval| is_above(one, other) || is_below(one, other);
    if measured.len() == 3 {
        let [first, last] = [0, 1].map(|from| Interval::between(measured, bounds, from, from + 1));
        let sizes = [(first.slope - last.slope) * first.length, (last.slope - first.slope) * last.length];
        if differ(&first, &last) && sizes.iter().all(|size| size.abs() >= SMALLEST_NS) {
            (measured[0].step, measured[1].step) = (sizes[0], sizes[1]);
        }
    }
    for reach in [1, REACH] {
        for index in 0..measured.len().saturating_sub(1) {
            if measured[index].step != 0.0 {
                continue;
            }
            // From one measurement to another, if there is none that a step follows in between.
            let span = |from: Option<usize>, to: usize| {
                let from = from.filter(|&from| from < to && to < measured.len())?;
                let is_steady = measured[from..to].iter().all(|measured| measured.step == 0.0);
                is_steady.then(|| Interval::between(measured, bounds, from, to))
            };
            let Some(interval) = span(Some(index), index + 1) else { continue };
            let before: Vec<_> = (1..=reach).filter_map(|reach| span(index.checked_sub(reach), index)).collect();
            let after: Vec<_> = (1..=reach).filter_map(|reach| span(Some(index + 1), index + 1 + reach)).collect();
            let of_both = |is_odd: &dyn Fn(&Interval, &Interval) -> bool| {
                let find =
                    |beside: &[Interval]| beside.iter().find(|beside| is_odd(&interval, beside)).map(|one| one.slope);
                Some((find(&before)? + find(&after)?) / 2.0)
            };
            let usual = match (&before[..], &after[..]) {
                ([_, ..], [_, ..]) => of_both(&is_above).or_else(|| of_both(&is_below)),
                // At an end it is not known which of two is wrong, unless the next one agrees with its own neighbour.
                ([], [beside, ..]) => span(Some(index + 2), index + 3)
                    .filter(|third| differ(&interval, beside) && !differ(beside, third))
                    .map(|_| beside.slope),
                ([beside, ..], []) => span(index.checked_sub(2), index - 1)
                    .filter(|third| differ(&interval, beside) && !differ(beside, third))
                    .map(|_| beside.slope),
                ([], []) => None,
            };
            if usual.is_some() || interval.least > fastest || interval.most < -fastest {
                let beside = before.first().into_iter().chain(after.first()).map(|one| one.slope);
                let usual = usual.or_else(|| beside.reduce(|one, other| (one + other) / 2.0));
                let usual = usual.filter(|usual| usual.abs() <= fastest).unwrap_or(0.0);
                let size = (interval.slope - usual) * interval.length;
                if size.abs() >= SMALLEST_NS {
                    measured[index].step = size;
                }
            }
        }
    }
}

struct Interval {
    /// s.
    length: f64,
    /// ns per s: between the offsets as they were measured, and the least and the most that the bounds allow.
    slope: f64,
    least: f64,
    most: f64,
}

impl Interval {
    fn between(measured: &[Measured], bounds: &[(f64, f64)], from: usize, to: usize) -> Interval {
        let length = measured[to].at - measured[from].at;
        Interval {
            length,
            slope: (measured[to].offset - measured[from].offset) / length,
            least: (bounds[to].0 - bounds[from].1) / length,
            most: (bounds[to].1 - bounds[from].0) / length,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Limits of 500 ppm and 100 ppb per second, a tick a nanosecond; measurements every 10 s, 5 ns exact.
    fn steps(offset: impl Fn(f64) -> f64) -> Vec<f64> {
        steps_within(20.0, offset)
    }

    /// The steps that are found where the bounds are so far from what was measured.
    fn steps_within(room: f64, offset: impl Fn(f64) -> f64) -> Vec<f64> {
        let limits = Limits { walk: 0.0, wander: 100e-9 / 1e9, max_rate: 500e-6 };
        let measure = |index: u32| {
            let at = f64::from(index) * 10.0;
            Measured { at, offset: offset(at), variance: 25.0, step: 0.0 }
        };
        let mut measured: Vec<Measured> = (0..8).map(measure).collect();
        let bounds: Vec<_> = measured.iter().map(|one| (one.offset - room, one.offset + room)).collect();
        mark(&mut measured, &bounds, &limits, 1e9);
        measured.iter().map(|measured| measured.step).collect()
    }

    #[test]
    fn a_step_is_found_in_its_interval_with_its_size() {
        for at in [5.0, 35.0, 65.0] {
            let found = steps(|t| 3000.0 * t + if t > at { 40_000.0 } else { 0.0 });
            let interval = (at / 10.0) as usize;
            assert!((found[interval] - 40_000.0).abs() < 1.0, "{at}: {found:?}");
            assert_eq!(found.iter().filter(|step| **step != 0.0).count(), 1, "{at}: {found:?}");
        }
    }

    #[test]
    fn drift_and_wander_are_no_steps() {
        assert!(steps(|t| 50_000.0 * t).iter().all(|step| *step == 0.0));
        let swing = |t: f64| 500.0 * 60.0 / std::f64::consts::TAU * (1.0 - (std::f64::consts::TAU * t / 60.0).cos());
        assert!(steps(swing).iter().all(|step| *step == 0.0));
    }

    /// Middles of bounds that are off by a part of the distance that changes: as on a busy machine.
    #[test]
    fn what_lies_within_the_bounds_is_no_step() {
        let uneven = |t: f64| 3000.0 * t + if t == 30.0 { 90_000.0 } else { 0.0 };
        assert!(steps_within(50_000.0, uneven).iter().all(|step| *step == 0.0));
        assert!(steps_within(100.0, uneven).iter().any(|step| *step != 0.0));
        let found = steps_within(6000.0, |t| 3000.0 * t + if t > 35.0 { 60_000.0 } else { 0.0 });
        assert_eq!(found.iter().filter(|step| **step != 0.0).count(), 1, "{found:?}");
    }

    /// The measurements on both sides of the step have bounds that would let it be none.
    #[test]
    fn wide_bounds_beside_a_step_do_not_hide_it() {
        let limits = Limits { walk: 0.0, wander: 1e-16, max_rate: 500e-6 };
        let offset = |t: f64| 3000.0 * t + if t > 35.0 { 30_000.0 } else { 0.0 };
        let measure = |k: u32| f64::from(k) * 10.0;
        let mut measured: Vec<Measured> = (0..8)
            .map(|k| Measured { at: measure(k), offset: offset(measure(k)), variance: 25.0, step: 0.0 })
            .collect();
        let room = [500.0, 500.0, 9000.0, 9000.0, 500.0, 9000.0, 500.0, 500.0];
        let bounds: Vec<_> =
            measured.iter().zip(room).map(|(one, room)| (one.offset - room, one.offset + room)).collect();
        mark(&mut measured, &bounds, &limits, 1e9);
        let found: Vec<f64> = measured.iter().map(|one| one.step).collect();
        assert!((found[3] - 30_000.0).abs() < 1.0, "{found:?}");
        assert_eq!(found.iter().filter(|step| **step != 0.0).count(), 1, "{found:?}");
    }

    #[test]
    fn what_is_faster_than_any_clock_is_a_step_even_between_two_measurements() {
        let limits = Limits { walk: 0.0, wander: 1e-16, max_rate: 500e-6 };
        let mut measured =
            [(0.0, 0.0), (1.0, 5e6)].map(|(at, offset)| Measured { at, offset, variance: 25.0, step: 0.0 });
        let bounds = measured.map(|one| (one.offset - 20.0, one.offset + 20.0));
        mark(&mut measured, &bounds, &limits, 1e9);
        assert_eq!(measured[0].step, 5e6);
    }
}
