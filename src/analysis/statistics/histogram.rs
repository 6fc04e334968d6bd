//! The values of which a picture of a distribution is drawn.

use super::Sample;

/// The bins of a histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct Bins {
    /// The lower edge of the first bin.
    pub start: f64,
    /// The width of each; 0 where all values are equal.
    pub width: f64,
    /// How many values each holds. An upper edge belongs to the next bin, but the last one's to itself.
    pub counts: Vec<usize>,
}

/// More bins than that are no help to an eye.
const MOST_BINS: usize = 500;

/// A histogram over the whole range with the bin width of Freedman and Diaconis (1981), 2 IQR n^(-1/3), and at most 500
/// bins. Where the quartiles are equal, Sturges' (1926) number of bins. `None` for no values.
pub fn freedman_diaconis(sample: &Sample) -> Option<Bins> {
    let (start, end) = (sample.minimum()?, sample.maximum()?);
    let range = end - start;
    let n = sample.len() as f64;
    let spread = sample.quantile(0.75)? - sample.quantile(0.25)?;
    let ideal = 2.0 * spread / n.cbrt();
    let number = if range == 0.0 {
        1
    } else if ideal > 0.0 {
        (range / ideal).ceil().clamp(1.0, MOST_BINS as f64) as usize
    } else {
        (n.log2().ceil() as usize + 1).min(MOST_BINS)
    };
    let width = range / number as f64;
    // The values are sorted: each bin ends where a bisection finds its edge.
    let sorted = sample.sorted();
    let mut counts = Vec::with_capacity(number);
    let mut before = 0;
    for bin in 1..=number {
        let edge = start + bin as f64 * width;
        let until = if bin == number { sorted.len() } else { sorted.partition_point(|&value| value < edge) };
        counts.push(until - before);
        before = until;
    }
    Some(Bins { start, width, counts })
}

/// The empirical distribution function as at most `points` steps (value, share of the values that are not above it): as
/// exact as a picture so wide can show. The lowest and the highest value are always among them.
pub fn empirical_distribution(sample: &Sample, points: usize) -> Vec<(f64, f64)> {
    let sorted = sample.sorted();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_one_bin() {
        for values in [vec![], vec![3.0], vec![3.0; 9], (0..1000).map(|i| f64::from(i * i)).collect::<Vec<_>>()] {
            let bins = freedman_diaconis(&Sample::new(&values));
            assert_eq!(bins.map_or(0, |bins| bins.counts.iter().sum()), values.len());
        }
        // One value far off: the width of the others would give millions of bins.
        let mut values: Vec<f64> = (0..1000).map(f64::from).collect();
        values.push(1e12);
        assert_eq!(freedman_diaconis(&Sample::new(&values)).unwrap().counts.len(), MOST_BINS);
    }

    #[test]
    fn a_thinned_distribution_rises_from_the_lowest_to_the_highest_value() {
        let sample = Sample::new(&(1..=1000).map(f64::from).collect::<Vec<_>>());
        let steps = empirical_distribution(&sample, 11);
        assert_eq!((steps.len(), steps[0], steps[10]), (11, (1.0, 0.001), (1000.0, 1.0)));
        assert!(steps.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
        assert_eq!(empirical_distribution(&Sample::new(&[2.0; 5]), 10), [(2.0, 1.0)]);
        assert!(empirical_distribution(&Sample::default(), 10).is_empty());
    }
}
