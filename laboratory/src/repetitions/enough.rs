//! How many repetitions, and how many runs, an interval of a chosen width takes.

use mpitrace_statistics::{Interval, Sample, interval_ranks, moments, student_quantile};

/// How wide an interval may be, and how sure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wish {
    /// Half the interval's width against the value, 0.01 for 1 %.
    pub half_width: f64,
    /// The confidence of the interval, 0.95.
    pub confidence: f64,
}

/// The result of a number of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Enough {
    /// The interval as it is, half its width against the value; `None` where there are too few values for one.
    pub half_width: Option<f64>,
    /// How many values the wish takes, as far as those at hand can tell; `None` where they cannot.
    pub needed: Option<u64>,
}

/// More are never asked for.
const MOST: u64 = 1 << 40;

/// The interval of the mean by Student's t, as MPIBlib's stopping rule takes it (Lastovetsky et al. 2008, 3): values
/// are measured until t(n - 1) s / sqrt(n) is below the half width wished for. `effective` is their effective sample
/// size ([`mpitrace_statistics::dependence`]); n / effective times as many are needed as of independent ones.
pub fn mean(values: &[f64], effective: f64, wish: Wish) -> Option<Enough> {
    let moments = moments(values)?;
    if values.len() < 2 || moments.mean == 0.0 || !moments.mean.is_finite() {
        return Some(Enough { half_width: None, needed: None });
    }
    let deviation = moments.standard_deviation? / moments.mean.abs();
    let half_width = |n: f64| student(n, wish.confidence).map(|t| t * deviation / n.sqrt());
    let per_value = values.len() as f64 / effective.clamp(1.0, values.len() as f64);
    let independent = least(|n| half_width(n as f64).is_some_and(|half| half <= wish.half_width), 2);
    Some(Enough {
        half_width: half_width(effective.clamp(1.0, values.len() as f64)),
        needed: independent.map(|n| (n as f64 * per_value).ceil() as u64),
    })
}

/// Student's interval of a mean of values with an effective sample size of `effective`, as MPIBlib prints it: its lower
/// end may be below 0 also where no value is.
pub fn mean_interval(values: &[f64], effective: f64, confidence: f64) -> Option<Interval> {
    let moments = moments(values)?;
    let half = student(effective, confidence)? * moments.standard_deviation? / effective.sqrt();
    Some(Interval { lower: moments.mean - half, upper: moments.mean + half, coverage: confidence })
}

/// The order-statistic interval of the median: so many values that it is narrow enough, if the values to come are
/// distributed as those at hand. Where a coarse clock lets them come in steps it is never narrower than a step, and no
/// number of them is enough for a wish below that.
pub fn median(sample: &Sample, effective: f64, wish: Wish) -> Option<Enough> {
    let median = sample.median()?;
    if median == 0.0 {
        return Some(Enough { half_width: None, needed: None });
    }
    let step = sample.step().unwrap_or(0.0);
    let half_width = |n: u64| {
        let (lower, upper, _) = interval_ranks(n, 0.5, wish.confidence)?;
        // Where these ranks of n values lie among those at hand.
        let at = |rank: u64| sample.quantile((rank as f64 - 0.5) / n as f64);
        Some((at(upper)? - at(lower)?).max(step) / 2.0 / median.abs())
    };
    let n = sample.len() as f64;
    let effective = effective.clamp(1.0, n);
    let needed = match sample.len() {
        // The quantiles of so few are no distribution.
        0..6 => None,
        // So fine is not even the clock.
        _ if step / 2.0 / median.abs() > wish.half_width => None,
        _ => least(|n| half_width(n).is_some_and(|half| half <= wish.half_width), 6),
    };
    Some(Enough {
        half_width: half_width(effective.round() as u64),
        needed: needed.map(|needed| (needed as f64 * (n / effective)).ceil() as u64),
    })
}

/// How many runs the mean of one number a run takes: `of_runs` are those of the runs at hand, the median of each for
/// instance. With one run nothing is known of how runs differ.
pub fn runs(of_runs: &[f64], wish: Wish) -> Enough {
    mean(of_runs, of_runs.len() as f64, wish).unwrap_or(Enough { half_width: None, needed: None })
}

/// The quantile of Student's t that leaves out (1 - confidence) / 2 on either side.
fn student(n: f64, confidence: f64) -> Option<f64> {
    student_quantile(n - 1.0, f64::midpoint(1.0, confidence))
}

/// The least n from `from` on that fulfils a condition which larger ones fulfil too.
fn least(fulfilled: impl Fn(u64) -> bool, from: u64) -> Option<u64> {
    let mut high = from;
    while !fulfilled(high) {
        high *= 2;
        if high > MOST {
            return None;
        }
    }
    let mut low = if high == from { from } else { high / 2 };
    while low < high {
        let middle = u64::midpoint(low, high);
        if fulfilled(middle) { high = middle } else { low = middle + 1 }
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::Random;
    use serde_json::Value;

    const WISH: Wish = Wish { half_width: 0.01, confidence: 0.95 };

    fn noisy(n: usize, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..n).map(|_| 100.0 + 10.0 * random.normal()).collect()
    }

    #[test]
    fn as_many_as_were_asked_for_are_enough() {
        // (1.96 x 0.1 / 0.01)^2 = 384 for the mean, pi / 2 times that for the median.
        let few = noisy(2000, 1);
        let of_mean = mean(&few, 2000.0, WISH).unwrap().needed.unwrap();
        assert!((350..430).contains(&of_mean), "{of_mean}");
        let of_median = median(&Sample::new(&few), 2000.0, WISH).unwrap().needed.unwrap();
        assert!((500..720).contains(&of_median), "{of_median}");
        // Half as many independent ones: twice as many are needed.
        assert_eq!(mean(&few, 1000.0, WISH).unwrap().needed, Some(2 * of_mean));

        let enough = noisy(of_median as usize, 2);
        let found = median(&Sample::new(&enough), of_median as f64, WISH).unwrap().half_width.unwrap();
        assert!((found - 0.01).abs() < 0.003, "{found}");
    }

    /// Against the values of SciPy in tests/reference/statistics.json, which tests/reference/statistics.py has made.
    #[test]
    fn means_have_students_interval_and_need_as_many_as_it_takes() {
        let reference: Value = serde_json::from_str(include_str!("../../../tests/reference/statistics.json")).unwrap();
        let numbers = |value: &Value| -> Vec<f64> {
            value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
        };
        let series = reference["series"].as_array().unwrap();
        assert!(series.len() >= 7);
        for expected in series {
            let values = numbers(&expected["values"]);
            let n = values.len() as f64;
            let found = mean_interval(&values, n, 0.95).unwrap();
            for (found, expected) in [found.lower, found.upper].into_iter().zip(numbers(&expected["mean_interval"])) {
                let near = (found - expected).abs() <= 1e-9 * expected.abs().max(1e-3);
                assert!(near, "{found}, not {expected}");
            }
            let wish = Wish { half_width: 0.02, confidence: 0.95 };
            assert_eq!(mean(&values, n, wish).unwrap().needed, expected["mean_needed"].as_u64());
        }
    }

    #[test]
    fn one_value_and_none_tell_nothing() {
        assert_eq!(mean(&[], 1.0, WISH), None);
        let nothing = Enough { half_width: None, needed: None };
        assert_eq!(mean(&[5.0], 1.0, WISH), Some(nothing));
        assert_eq!(median(&Sample::new(&[5.0, 6.0]), 2.0, WISH), Some(nothing));
        assert_eq!(runs(&[5.0], WISH), nothing);
        assert_eq!(runs(&[], WISH), nothing);
        assert_eq!(mean(&[0.0; 10], 10.0, WISH), Some(nothing));
    }

    #[test]
    fn a_coarse_clock_is_never_fine_enough() {
        let coarse: Vec<f64> = noisy(2000, 3).iter().map(|value| (value / 5.0).round() * 5.0).collect();
        let found = median(&Sample::new(&coarse), 2000.0, WISH).unwrap();
        assert_eq!(found.needed, None);
        assert!(found.half_width.unwrap() >= 0.024, "{found:?}");
    }

    #[test]
    fn equal_values_need_no_more_than_the_fewest() {
        assert_eq!(mean(&[5.0; 100], 100.0, WISH).unwrap().needed, Some(2));
        assert_eq!(median(&Sample::new(&[5.0; 100]), 100.0, WISH).unwrap().needed, Some(6));
    }
}
