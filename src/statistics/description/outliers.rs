//! How many values lie far above the others, by the rules in use.

use serde::Serialize;

use super::Sample;

/// Values above the limit of each rule, and the limits, in the unit of the values.
///
/// ```
/// use mpitrace_statistics::{Outliers, Sample};
///
/// let mut values: Vec<f64> = (0..99).map(|i| 1000.0 + f64::from(i)).collect();
/// values.push(9000.0);
/// let found = Outliers::count(&Sample::new(&values)).expect("values");
/// assert_eq!((found.twice_median.count, found.tukey.count, found.median_deviation.count), (1, 1, 1));
/// assert!(Outliers::count(&Sample::new(&[])).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Outliers {
    /// Roth: twice the median or more.
    pub twice_median: Above,
    /// Tukey (1977): above Q3 + 1.5 IQR.
    pub tukey: Above,
    /// More than 3.5 x 1.4826 MAD above the median (Iglewicz and Hoaglin 1993): the factor makes the MAD of a normal
    /// distribution its standard deviation. Where values come in steps, each is taken as spread over its step; where
    /// half of them are equal, the mean absolute deviation stands for the MAD, as these authors say.
    #[serde(rename = "mad")]
    pub median_deviation: Above,
    /// MPIBench: above twice the 99th percentile (Grove and Coddington 2001; Hunold & Carpen-Amarie 2016, 2).
    pub mpibench: Above,
}

/// The limit of a rule, and the number of values above it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Above {
    /// In the unit of the values.
    #[serde(rename = "limit_ns")]
    pub limit: f64,
    /// Values above it.
    pub count: usize,
}

impl Outliers {
    /// Counts them. `None` for no values.
    pub fn count(sample: &Sample) -> Option<Outliers> {
        let sorted = sample.sorted();
        let above = |limit: f64| Above { limit, count: sorted.len() - sorted.partition_point(|&value| value <= limit) };
        let median = sample.median()?;
        let twice = 2.0 * median;
        Some(Outliers {
            twice_median: Above { limit: twice, count: sorted.len() - sorted.partition_point(|&value| value < twice) },
            tukey: above(tukey_fences(sample)?[1]),
            median_deviation: above(deviation_limit(sample)?),
            mpibench: above(2.0 * sample.quantile(0.99)?),
        })
    }
}

/// In how many scaled MADs above the median an outlier begins.
const SCALED_DEVIATIONS: f64 = 3.5;

/// The limit of the rule of Iglewicz and Hoaglin.
fn deviation_limit(sample: &Sample) -> Option<f64> {
    let median = sample.median()?;
    let deviation = sample.median_absolute_deviation()?;
    if let Some(step) = sample.step() {
        let (centre, deviation) = spread_out(sample.sorted(), step);
        return Some(centre + SCALED_DEVIATIONS * 1.4826 * deviation + step / 2.0);
    }
    if deviation > 0.0 {
        return Some(median + SCALED_DEVIATIONS * 1.4826 * deviation);
    }
    // sqrt(pi / 2) makes the mean absolute deviation of a normal distribution its standard deviation.
    let mean = sample.sorted().iter().map(|value| (value - median).abs()).sum::<f64>() / sample.len() as f64;
    Some(median + SCALED_DEVIATIONS * 1.2533 * mean)
}

/// The median and the MAD of values each of which is spread evenly over a step around it: those of grouped data.
fn spread_out(sorted: &[f64], step: f64) -> (f64, f64) {
    let n = sorted.len() as f64;
    // Equal values, which are one in ten at most where they come in steps: the value, how many, and how many before.
    let mut before = 0;
    let group = |equal: &[f64]| {
        before += equal.len();
        (equal[0], equal.len() as f64, (before - equal.len()) as f64)
    };
    let groups: Vec<(f64, f64, f64)> = sorted.chunk_by(|one, next| one == next).map(group).collect();
    // How many lie below a limit: whole groups, and a part of those that the limit cuts.
    let below = |limit: f64| {
        let cut = groups.partition_point(|&(value, ..)| value < limit - step / 2.0);
        let end = groups.partition_point(|&(value, ..)| value <= limit + step / 2.0);
        let part = |&(value, count, _): &(f64, f64, f64)| count * ((limit - value) / step + 0.5).clamp(0.0, 1.0);
        let whole = groups.get(cut).map_or(n, |&(.., before)| before);
        whole + groups[cut..end.max(cut)].iter().map(part).sum::<f64>()
    };
    let solve = |count: &dyn Fn(f64) -> f64, mut low: f64, mut high: f64| {
        for _ in 0..50 {
            let middle = f64::midpoint(low, high);
            if count(middle) < n / 2.0 { low = middle } else { high = middle }
        }
        f64::midpoint(low, high)
    };
    let (first, last) = (sorted[0] - step, sorted[sorted.len() - 1] + step);
    let centre = solve(&below, first, last);
    let within = |reach: f64| below(centre + reach) - below(centre - reach);
    (centre, solve(&within, 0.0, last - first))
}

/// Values that differ by less than this share of the larger quartile are one value: where a clock ticks coarsely many
/// lie on a fence, and multiples of a tick computed in floating point differ by some 1e-16 of themselves.
const ROUNDING: f64 = 1e-9;

/// Q1 - 1.5 IQR and Q3 + 1.5 IQR, both moved outwards by what rounding can do: a value on a fence is within. In the
/// unit of the values; `None` for no values.
///
/// ```
/// use mpitrace_statistics::{Sample, tukey_fences};
///
/// let [lower, upper] = tukey_fences(&Sample::new(&[1.0, 2.0, 3.0, 4.0, 5.0])).expect("values");
/// assert!((lower + 1.0).abs() < 1e-6 && (upper - 7.0).abs() < 1e-6);
/// ```
pub fn tukey_fences(sample: &Sample) -> Option<[f64; 2]> {
    let quartiles = [sample.quantile(0.25)?, sample.quantile(0.75)?];
    let room = ROUNDING * quartiles[0].abs().max(quartiles[1].abs());
    let [lower, upper] = fences(quartiles);
    Some([lower - room, upper + room])
}

/// Q1 - 1.5 IQR and Q3 + 1.5 IQR of these quartiles.
pub(super) fn fences([first, third]: [f64; 2]) -> [f64; 2] {
    let reach = 1.5 * (third - first);
    [first - reach, third + reach]
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::Random;

    #[test]
    fn a_coarse_clock_makes_no_outliers() {
        let mut random = Random::new(1);
        for sd in [0.2, 0.4, 0.7, 2.0] {
            let values: Vec<f64> = (0..1000).map(|_| 20.0 * (15.1 + sd * random.normal()).round()).collect();
            let found = Outliers::count(&Sample::new(&values)).unwrap().median_deviation;
            // 0.02 % of a normal distribution lie above 3.5 standard deviations.
            assert!(found.count <= 3, "sd of {sd} steps: {found:?}");
        }
        // Nine of ten are equal, and the others a step off.
        let mut ties: Vec<f64> = (0..1000).map(|i| if i % 10 == 3 { 320.0 } else { 300.0 }).collect();
        assert_eq!(Outliers::count(&Sample::new(&ties)).unwrap().median_deviation.count, 0);
        ties[5] = 900.0;
        assert_eq!(Outliers::count(&Sample::new(&ties)).unwrap().median_deviation.count, 1);
        // Most are equal, and the others are not in steps.
        let mixed: Vec<f64> =
            (0..1000).map(|i| if i % 5 == 0 { 300.0 + 10.0 * random.normal() } else { 300.0 }).collect();
        assert!(Outliers::count(&Sample::new(&mixed)).unwrap().median_deviation.count <= 60);
    }

    #[test]
    fn the_deviation_of_values_in_steps_is_that_of_values_spread_over_them() {
        let sorted = [1.0, 2.0, 2.0, 2.0, 3.0, 3.0];
        // The 3rd of 6 lies two thirds into the step of the three at 2: 1.5 + 2/3.
        let (centre, deviation) = spread_out(&sorted, 1.0);
        assert!((centre - 13.0 / 6.0).abs() < 1e-9, "{centre}");
        let within = |limit: f64| -> f64 { sorted.iter().map(|v| ((limit - v) + 0.5).clamp(0.0, 1.0)).sum() };
        assert!((within(centre + deviation) - within(centre - deviation) - 3.0).abs() < 1e-6, "{deviation}");
    }

    /// Multiples of a tick that is no binary fraction, held against the same numbers as integers.
    #[test]
    fn a_value_on_a_fence_is_within_whatever_rounding_makes_of_it() {
        let mut random = Random::new(2);
        let mut on_a_fence = 0;
        for _ in 0..2000 {
            // Of 41 values the quartiles are the 11th and the 31st.
            let mut ticks: Vec<i64> = (0..41).map(|_| 100 + (random.bits() % 12) as i64).collect();
            ticks.push(0);
            ticks.swap_remove(0);
            ticks.sort_unstable();
            let (first, third) = (ticks[10], ticks[30]);
            let twice = [5 * first - 3 * third, 5 * third - 3 * first];
            ticks[40] = twice[1] / 2;
            on_a_fence += usize::from(2 * ticks[40] == twice[1]);
            let values: Vec<f64> = ticks.iter().map(|&tick| tick as f64 * 10.013_351_137).collect();
            let sample = Sample::new(&values);
            let above = ticks.iter().filter(|&&tick| 2 * tick > twice[1]).count();
            let below = ticks.iter().filter(|&&tick| 2 * tick < twice[0]).count();
            assert_eq!(Outliers::count(&sample).unwrap().tukey.count, above, "{ticks:?}");
            assert_eq!(sample.box_plot().unwrap().outside, [below, above], "{ticks:?}");
            let [lower, upper] = tukey_fences(&sample).unwrap();
            let outside = values.iter().filter(|value| !(lower..=upper).contains(*value)).count();
            assert_eq!(outside, below + above, "{ticks:?}");
        }
        assert!(on_a_fence > 500, "{on_a_fence}");
    }

    #[test]
    fn each_rule_has_its_own_limit() {
        // 310 is an outlier for three of the four.
        let mut values: Vec<f64> = (100..200).map(f64::from).collect();
        values.extend([310.0, 1000.0]);
        let found = Outliers::count(&Sample::new(&values)).unwrap();
        assert_eq!(found.twice_median, Above { limit: 301.0, count: 2 });
        assert_eq!(found.tukey.count, 2);
        assert_eq!(found.median_deviation.count, 2);
        assert_eq!(found.mpibench.count, 1);
        assert_eq!(Outliers::count(&Sample::default()), None);
    }
}
