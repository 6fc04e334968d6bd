//! The values of which a picture of a distribution function is drawn.

use super::Sample;

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
    fn a_thinned_distribution_rises_from_the_lowest_to_the_highest_value() {
        let sample = Sample::new(&(1..=1000).map(f64::from).collect::<Vec<_>>());
        let steps = empirical_distribution(&sample, 11);
        assert_eq!((steps.len(), steps[0], steps[10]), (11, (1.0, 0.001), (1000.0, 1.0)));
        assert!(steps.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
        assert_eq!(empirical_distribution(&Sample::new(&[2.0; 5]), 10), [(2.0, 1.0)]);
        assert!(empirical_distribution(&Sample::default(), 10).is_empty());
    }
}
