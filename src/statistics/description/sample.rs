//! A series, sorted, and the numbers that need no more than that.

use crate::parallel;

use super::{Interval, Moments, interval_ranks, median_of, moments, quantile, sort};

/// Values in ascending order, all of them finite.
///
/// ```
/// use mpitrace_statistics::Sample;
///
/// let sample = Sample::new(&[4.0, f64::NAN, 1.0, 3.0, 2.0]);
/// assert_eq!((sample.sorted(), sample.len(), sample.is_empty()), (&[1.0, 2.0, 3.0, 4.0][..], 4, false));
/// assert_eq!((sample.minimum(), sample.median(), sample.maximum()), (Some(1.0), Some(2.5), Some(4.0)));
/// assert_eq!(sample.quantile(0.25), Some(1.75));
/// assert_eq!(sample.median_absolute_deviation(), Some(1.0));
/// assert_eq!(sample.moments().map(|moments| moments.mean), Some(2.5));
/// assert_eq!(sample.distribution(10).last(), Some(&(4.0, 1.0)));
/// // The interval of a median at 95 % takes 6 values; four are in no steps.
/// assert_eq!((sample.quantile_interval(0.5, 0.95), sample.step()), (None, None));
/// assert_eq!(Sample::union(&[sample, Sample::new(&[9.0])]).maximum(), Some(9.0));
/// assert_eq!(Sample::new(&[]).median(), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    sorted: Vec<f64>,
}

impl Sample {
    /// Sorts the values. Those that are infinite or not a number are left out.
    pub fn new(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.retain(|value| value.is_finite());
        sort(&mut sorted);
        Sample { sorted }
    }

    /// All values of several samples.
    pub fn union(samples: &[Sample]) -> Self {
        let mut sorted = samples.iter().map(Sample::sorted).collect::<Vec<_>>().concat();
        // A stable sort merges what is sorted already.
        sorted.sort_by(f64::total_cmp);
        Sample { sorted }
    }

    /// The values, ascending.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// The lowest value.
    pub fn minimum(&self) -> Option<f64> {
        self.sorted.first().copied()
    }

    /// The highest value.
    pub fn maximum(&self) -> Option<f64> {
        self.sorted.last().copied()
    }

    /// The quantile at `p` (0 to 1) of R's type 7 (Hyndman and Fan 1996), which NumPy has by default too: linear
    /// between the order statistics around 1 + (n - 1) p.
    pub fn quantile(&self, p: f64) -> Option<f64> {
        quantile(&self.sorted, p)
    }

    /// The median.
    pub fn median(&self) -> Option<f64> {
        self.quantile(0.5)
    }

    /// The interval of the quantile at `p` between two order statistics, whose coverage is `confidence` or more
    /// whatever the distribution; `None` where the sample is too small for one (the median at 95 % needs 6 values).
    pub fn quantile_interval(&self, p: f64, confidence: f64) -> Option<Interval> {
        let (lower, upper, coverage) = interval_ranks(self.len() as u64, p, confidence)?;
        let at = |rank: u64| self.sorted[rank as usize - 1];
        Some(Interval { lower: at(lower), upper: at(upper), coverage })
    }

    /// Mean and standard deviation.
    pub fn moments(&self) -> Option<Moments> {
        moments(&self.sorted)
    }

    /// The empirical distribution function as at most `points` steps (value, share of the values that are not above
    /// it): as exact as a picture so wide can show. The lowest and the highest value are always among them.
    pub fn distribution(&self, points: usize) -> Vec<(f64, f64)> {
        let sorted = self.sorted();
        let n = sorted.len();
        let points = points.clamp(2, n.max(2));
        let mut steps: Vec<(f64, f64)> = Vec::with_capacity(points);
        for step in 0..points.min(n) {
            let value = sorted[step * (n - 1) / (points - 1)];
            if steps.last().is_none_or(|last| last.0 < value) {
                let share = sorted.partition_point(|&other| other <= value) as f64 / n as f64;
                steps.push((value, share));
            }
        }
        steps
    }

    /// The median absolute deviation from the median, without a factor. Times 1.4826 it estimates the standard
    /// deviation of a normal distribution.
    pub fn median_absolute_deviation(&self) -> Option<f64> {
        let median = self.median()?;
        median_of(&parallel::filled(self.len(), |index| (self.sorted[index] - median).abs()))
    }

    /// The step in which values come where a coarse clock or a coarse output made them: the median distance of
    /// neighbouring different values, where ten values or more share each on average. A distance counts as often as the
    /// rarer of its two values, so that single values far out say little. `None` where they do not come in steps.
    ///
    /// An interval between order statistics that is narrower than the step is no statement about the value.
    pub fn step(&self) -> Option<f64> {
        let mut distances: Vec<(f64, usize)> = Vec::new();
        let mut before: Option<&[f64]> = None;
        for equal in self.sorted.chunk_by(|one, next| one == next) {
            if let Some(before) = before.replace(equal) {
                distances.push((equal[0] - before[0], equal.len().min(before.len())));
                if distances.len() * 10 > self.len() {
                    return None;
                }
            }
        }
        distances.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let half: usize = distances.iter().map(|(_, count)| count).sum::<usize>().div_ceil(2);
        let mut sum = 0;
        let middle = distances.iter().find(|(_, count)| {
            sum += count;
            sum >= half
        });
        middle.map(|(distance, _)| *distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::Random;

    #[test]
    fn a_thinned_distribution_rises_from_the_lowest_to_the_highest_value() {
        let sample = Sample::new(&(1..=1000).map(f64::from).collect::<Vec<_>>());
        let steps = sample.distribution(11);
        assert_eq!((steps.len(), steps[0], steps[10]), (11, (1.0, 0.001), (1000.0, 1.0)));
        assert!(steps.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
        assert_eq!(Sample::new(&[2.0; 5]).distribution(10), [(2.0, 1.0)]);
        assert!(Sample::default().distribution(10).is_empty());
    }

    #[test]
    fn nothing_one_value_and_equal_values() {
        let empty = Sample::new(&[]);
        assert_eq!((empty.median(), empty.moments(), empty.box_plot()), (None, None, None));
        assert_eq!(empty.median_absolute_deviation(), None);
        let one = Sample::new(&[3.0]);
        assert_eq!(one.quantile(0.99), Some(3.0));
        assert_eq!(one.moments(), Some(Moments { mean: 3.0, standard_deviation: None }));
        assert_eq!(one.quantile_interval(0.5, 0.95), None);
        let equal = Sample::new(&[7.0; 100]);
        assert_eq!(equal.moments(), Some(Moments { mean: 7.0, standard_deviation: Some(0.0) }));
        assert_eq!(equal.median_absolute_deviation(), Some(0.0));
        let plot = equal.box_plot().unwrap();
        assert_eq!((plot.whiskers, plot.outside), ([7.0, 7.0], [0, 0]));
    }

    #[test]
    fn a_union_is_the_sample_of_all_values() {
        let mut random = Random::new(8);
        let values: Vec<f64> = (0..1000).map(|_| (20.0 * random.normal()).round()).collect();
        let parts: Vec<Sample> = [0..0, 0..1, 1..990, 990..1000].map(|part| Sample::new(&values[part])).into();
        assert_eq!(Sample::union(&parts), Sample::new(&values));
    }

    #[test]
    fn a_coarse_clock_shows_in_its_steps() {
        let mut random = Random::new(4);
        let fine: Vec<f64> = (0..1000).map(|_| 200.0 + 20.0 * random.normal()).collect();
        assert_eq!(Sample::new(&fine).step(), None);
        let coarse: Vec<f64> = fine.iter().map(|value| (value / 10.0).round() * 10.0).collect();
        assert_eq!(Sample::new(&coarse).step(), Some(10.0));
        assert_eq!(Sample::new(&[5.0; 100]).step(), None);
        // Nearly all values are one of three, and single ones lie far out.
        let mut few: Vec<f64> = (0..1000).map(|i| f64::from(10 * (i % 3))).collect();
        few.splice(0..9, (1..10).map(|i| 1000.0 * f64::from(i * i)));
        assert_eq!(Sample::new(&few).step(), Some(10.0));
        assert_eq!(Sample::new(&[]).step(), None);
    }

    #[test]
    fn what_is_not_finite_is_left_out() {
        let sample = Sample::new(&[f64::NAN, 2.0, f64::INFINITY, 1.0, f64::NEG_INFINITY]);
        assert_eq!(sample.sorted(), [1.0, 2.0]);
        assert_eq!(Sample::new(&[f64::NAN]).median(), None);
    }

    #[test]
    fn the_deviation_found_by_bisection_is_that_of_sorted_deviations() {
        let mut random = Random::new(3);
        for n in 1..60 {
            // Few different values: many ties.
            let values: Vec<f64> = (0..n).map(|_| (random.bits() % 12) as f64).collect();
            let sample = Sample::new(&values);
            let median = sample.median().unwrap();
            let deviations: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
            assert_eq!(sample.median_absolute_deviation(), Sample::new(&deviations).median(), "{values:?}");
        }
    }
}
