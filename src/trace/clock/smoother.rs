//! The offset of one clock over time, out of what the synchronisations have measured: a Kalman filter whose state is
//! the offset and its rate, the rate walking at random, and the Rauch-Tung-Striebel smoother behind it.
//!
//! How fast the rate walks is not known beforehand: it is what makes the measurements most likely, drawn towards what a
//! quartz does where there are few of them.

/// A measurement of the offset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// s.
    pub at: f64,
    /// ns.
    pub offset: f64,
    /// ns^2.
    pub variance: f64,
    /// The offset jumps by about this between here and the next measurement, ns; 0: it does not.
    pub step: f64,
}

/// Offset and rate at a measurement: ns, ns/s, and their covariance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct State {
    /// Offset and rate.
    pub mean: [f64; 2],
    /// Their variances, and the covariance in the middle.
    pub variance: [f64; 3],
    /// Covariances with the next state: offset with offset and rate, rate with offset and rate.
    pub with_next: [f64; 4],
}

/// Before anything is measured, a rate may be anything up to 100 ppm either way (in ns/s).
const PRIOR_RATE: f64 = 100_000.0;
/// The walk of a quartz in a machine room, ns/s per sqrt(s): some 5 ppb in half a minute.
const USUAL_WALK: f64 = 1.0;
/// How far from that a walk may be, as a factor's natural logarithm.
const WALK_SPREAD: f64 = 3.0;

/// The smoothed states, and the variance by which the rate walks in a second.
///
/// ```
/// use mpitrace_trace::clock::{Measured, smooth};
///
/// // A clock that gains 10 ns/s, measured each second to 1 ns.
/// let measured: Vec<Measured> = (0..10)
///     .map(|s| Measured { at: f64::from(s), offset: 10.0 * f64::from(s), variance: 1.0, step: 0.0 })
///     .collect();
/// let (states, _) = smooth(&measured);
/// assert_eq!(states.len(), 10);
/// assert!((states[5].mean[0] - 50.0).abs() < 1.0 && (states[5].mean[1] - 10.0).abs() < 1.0);
/// ```
pub fn smooth(measured: &[Measured]) -> (Vec<State>, f64) {
    // Half decades from 0.001 to 10^4 ns/s per sqrt(s).
    let walks = (-6..=8).map(|half_decades| 10f64.powf(f64::from(half_decades) / 2.0));
    let walk = walks
        .map(|walk| {
            let away = (walk / USUAL_WALK).ln() / WALK_SPREAD;
            (filter(measured, walk * walk).likelihood - away * away / 2.0, walk)
        })
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map_or(USUAL_WALK, |(_, walk)| walk);
    let walk = walk * walk;
    (smooth_with(measured, walk), walk)
}

fn smooth_with(measured: &[Measured], walk: f64) -> Vec<State> {
    let mut smoothed = backward(&filter(measured, walk));
    // At the first measurement the filter hardly knows the rate, and what the smoother takes off its variance drowns in
    // it. Run from the other end, that state is the last one, which needs no smoothing.
    let mirrored = backward(&filter(&mirrored(measured), walk));
    if let (Some(first), [.., before, last]) = (smoothed.first_mut(), &mirrored[..]) {
        let [c0, c1, c2, c3] = before.with_next;
        *first = State {
            mean: [last.mean[0], -last.mean[1]],
            variance: [last.variance[0], -last.variance[1], last.variance[2]],
            with_next: if measured.len() == 2 { covariances_of_two(measured, walk) } else { [c0, -c2, -c1, c3] },
        };
    }
    smoothed
}

fn mirrored(measured: &[Measured]) -> Vec<Measured> {
    let before = |index: usize| index.checked_sub(1).map_or(0.0, |index| measured[index].step);
    let mirror = |(index, now): (usize, &Measured)| Measured { at: -now.at, step: before(index), ..*now };
    measured.iter().enumerate().map(mirror).rev().collect()
}

/// The covariances between the two states of two measurements: all four quantities together, the second measurement
/// taken in last, without a difference of large numbers.
fn covariances_of_two(measured: &[Measured], walk: f64) -> [f64; 4] {
    let (first, second) = (&measured[0], &measured[1]);
    let length = second.at - first.at;
    let rate = PRIOR_RATE * PRIOR_RATE;
    let (offset_noise, both) = (walk * length.powi(3) / 3.0 + first.step.powi(2), walk * length * length / 2.0);
    let total = first.variance + second.variance + length * length * rate + offset_noise;
    [
        first.variance * second.variance / total,
        -first.variance * (length * rate + both) / total,
        length * rate * second.variance / total,
        rate * (first.variance + second.variance + offset_noise - length * both) / total,
    ]
}

#[derive(Default)]
struct Filtered {
    predicted: Vec<State>,
    filtered: Vec<State>,
    /// Seconds from each measurement to the next.
    steps: Vec<f64>,
    /// The determinants of the predicted variances, carried along: computed from the variances they would drown where a
    /// rate is hardly known.
    determinants: Vec<f64>,
    /// The logarithm of how likely the measurements are.
    likelihood: f64,
}

fn filter(measured: &[Measured], walk: f64) -> Filtered {
    let mut result = Filtered::default();
    let mut state = State::default();
    let mut determinant = 0.0;
    for (index, now) in measured.iter().enumerate() {
        let predicted = match index {
            0 => {
                // Nothing is known before: the first measurement is the offset.
                state = State {
                    mean: [now.offset, 0.0],
                    variance: [now.variance, 0.0, PRIOR_RATE * PRIOR_RATE],
                    ..State::default()
                };
                determinant = now.variance * PRIOR_RATE * PRIOR_RATE;
                result.predicted.push(state);
                result.filtered.push(state);
                result.determinants.push(determinant);
                continue;
            }
            _ => {
                let before = &measured[index - 1];
                let length = now.at - before.at;
                result.steps.push(length);
                determinant += growth(&state, length, walk, before.step);
                predict(&state, length, walk, before.step)
            }
        };
        let [xx, xv, vv] = predicted.variance;
        let total = xx + now.variance;
        let innovation = now.offset - predicted.mean[0];
        result.likelihood -= (total.ln() + innovation * innovation / total) / 2.0;
        let gain = [xx / total, xv / total];
        state = State {
            mean: [predicted.mean[0] + gain[0] * innovation, predicted.mean[1] + gain[1] * innovation],
            variance: [xx * now.variance / total, xv * now.variance / total, vv - gain[1] * xv],
            ..State::default()
        };
        result.predicted.push(predicted);
        result.filtered.push(state);
        result.determinants.push(determinant);
        determinant *= now.variance / total;
    }
    result
}

fn predict(state: &State, length: f64, walk: f64, step: f64) -> State {
    let [xx, xv, vv] = state.variance;
    State {
        mean: [state.mean[0] + state.mean[1] * length, state.mean[1]],
        variance: [
            xx + 2.0 * length * xv + length * length * vv + walk * length.powi(3) / 3.0 + step * step,
            xv + length * vv + walk * length * length / 2.0,
            vv + walk * length,
        ],
        ..State::default()
    }
}

/// By how much the determinant of a state's variance grows in a prediction: det(A + Q) - det A, where det A is that of
/// the state, since moving it on does not change it.
fn growth(state: &State, length: f64, walk: f64, step: f64) -> f64 {
    let moved = predict(state, length, 0.0, 0.0).variance;
    let noise = [walk * length.powi(3) / 3.0 + step * step, walk * length * length / 2.0, walk * length];
    noise[0] * noise[2] - noise[1] * noise[1] + moved[0] * noise[2] + moved[2] * noise[0] - 2.0 * moved[1] * noise[1]
}

fn backward(filtered: &Filtered) -> Vec<State> {
    let mut smoothed = filtered.filtered.clone();
    for index in (0..smoothed.len().saturating_sub(1)).rev() {
        let (now, next, predicted) = (filtered.filtered[index], smoothed[index + 1], filtered.predicted[index + 1]);
        let length = filtered.steps[index];
        let [xx, xv, vv] = now.variance;
        let [pxx, pxv, pvv] = predicted.variance;
        let determinant = filtered.determinants[index + 1];
        // C = P F' (P predicted)^-1, with F = [1 length; 0 1].
        let cross = [xx + length * xv, xv, xv + length * vv, vv];
        let gain = [
            (cross[0] * pvv - cross[1] * pxv) / determinant,
            (cross[1] * pxx - cross[0] * pxv) / determinant,
            (cross[2] * pvv - cross[3] * pxv) / determinant,
            (cross[3] * pxx - cross[2] * pxv) / determinant,
        ];
        let moved = [next.mean[0] - predicted.mean[0], next.mean[1] - predicted.mean[1]];
        let change = [next.variance[0] - pxx, next.variance[1] - pxv, next.variance[2] - pvv];
        let through = |a: [f64; 2], b: [f64; 2]| {
            a[0] * (change[0] * b[0] + change[1] * b[1]) + a[1] * (change[1] * b[0] + change[2] * b[1])
        };
        let (x, v) = ([gain[0], gain[1]], [gain[2], gain[3]]);
        smoothed[index] = State {
            mean: [now.mean[0] + x[0] * moved[0] + x[1] * moved[1], now.mean[1] + v[0] * moved[0] + v[1] * moved[1]],
            variance: [xx + through(x, x), xv + through(x, v), vv + through(v, v)],
            // The gain times the next state's covariance.
            with_next: [
                x[0] * next.variance[0] + x[1] * next.variance[1],
                x[0] * next.variance[1] + x[1] * next.variance[2],
                v[0] * next.variance[0] + v[1] * next.variance[1],
                v[0] * next.variance[1] + v[1] * next.variance[2],
            ],
        };
    }
    smoothed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(offset: impl Fn(f64) -> f64, noise: f64, count: usize) -> Vec<Measured> {
        (0..count)
            .map(|index| {
                let at = index as f64 * 5.0;
                // Deterministic "noise" that averages out.
                let error = noise * [1.0, -1.0, 0.5, -0.5][index % 4];
                Measured { at, offset: offset(at) + error, variance: noise * noise, step: 0.0 }
            })
            .collect()
    }

    #[test]
    fn a_steady_clock_is_a_straight_line_better_known_than_any_measurement() {
        let (states, _) = smooth(&measured(|t| 1e6 + 37_000.0 * t, 10.0, 13));
        for (index, state) in states.iter().enumerate() {
            let truth = 1e6 + 37_000.0 * index as f64 * 5.0;
            assert!((state.mean[0] - truth).abs() < 8.0, "{index}: {}", state.mean[0] - truth);
            assert!(state.variance[0] < 100.0, "{index}: {:?}", state.variance);
        }
        assert!((states[6].mean[1] - 37_000.0).abs() < 1.0);
    }

    #[test]
    fn half_way_between_two_measurements_the_error_is_that_of_their_mean() {
        let two = [0.0, 0.5].map(|at| Measured { at, offset: 37_000.0 * at, variance: 16.0, step: 0.0 });
        let (states, _) = smooth(&two);
        let (from, to) = (states[0], states[1]);
        // The cubic's weights half way: 1/2, h/8, 1/2, -h/8.
        let weights = [0.5, 0.5 / 8.0, 0.5, -0.5 / 8.0];
        let [xx, xv, vx, vv] = from.with_next;
        let rows = [
            [from.variance[0], from.variance[1], xx, xv],
            [from.variance[1], from.variance[2], vx, vv],
            [xx, vx, to.variance[0], to.variance[1]],
            [xv, vv, to.variance[1], to.variance[2]],
        ];
        let sum: f64 = (0..4).map(|i| (0..4).map(|j| weights[i] * rows[i][j] * weights[j]).sum::<f64>()).sum();
        assert!((sum - 8.0).abs() < 0.1, "{sum}, {states:?}");
    }

    #[test]
    fn the_first_state_is_as_well_known_as_the_last() {
        let steady: Vec<Measured> = (0..7)
            .map(|k| Measured { at: f64::from(k) * 10.0, offset: 5.0 * f64::from(k), variance: 1.0, step: 0.0 })
            .collect();
        let (states, _) = smooth(&steady);
        let (first, last) = (states[0].variance, states[6].variance);
        assert!((first[2] / last[2] - 1.0).abs() < 0.01, "{first:?} {last:?}");
        assert!((first[0] / last[0] - 1.0).abs() < 0.01, "{first:?} {last:?}");
        assert!((first[1] / last[1] + 1.0).abs() < 0.01, "{first:?} {last:?}");
    }

    #[test]
    fn a_rate_that_swings_is_followed() {
        // 500 ppb over 60 s, as in the facts: the phase is 500 * 60 / (2 pi) (1 - cos).
        let phase = |t: f64| 500.0 * 60.0 / std::f64::consts::TAU * (1.0 - (std::f64::consts::TAU * t / 60.0).cos());
        let (states, walk) = smooth(&measured(phase, 3.0, 13));
        assert!(walk > 100.0, "{walk}");
        for (index, state) in states.iter().enumerate() {
            assert!((state.mean[0] - phase(index as f64 * 5.0)).abs() < 6.0, "{index}: {state:?}");
        }
    }
}
