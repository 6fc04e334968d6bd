//! How well a measurement comes out the same when it is made again.

use serde::Serialize;

use super::mean;

/// The results of several trials, each over the smallest of them (Hunold and Carpen-Amarie 2016, 6.3, figure 29).
/// Ratios.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reproducibility {
    /// For each trial, in the order given: its result over the smallest result, so 1 or more.
    pub normalised: Vec<f64>,
    /// The largest of them less 1: how far two trials may be apart.
    pub largest_difference: f64,
}

/// The reproducibility of a method, out of the averages (ns) of the runs of each trial. The result of a trial is their
/// mean. `None` for fewer than two trials, one without runs, and where a result is 0 or below.
///
/// ```
/// use mpitrace_statistics::comparison::reproducibility;
///
/// let found = reproducibility(&[&[10.0, 12.0], &[10.0, 10.0]]).expect("two trials");
/// assert_eq!(found.normalised, [1.1, 1.0]);
/// ```
pub fn reproducibility(trials: &[&[f64]]) -> Option<Reproducibility> {
    if trials.len() < 2 || trials.iter().any(|runs| runs.is_empty()) {
        return None;
    }
    let results: Vec<f64> = trials.iter().map(|runs| mean(runs)).collect();
    let smallest = results.iter().copied().fold(f64::INFINITY, f64::min);
    if smallest <= 0.0 {
        return None;
    }
    let normalised: Vec<f64> = results.iter().map(|result| result / smallest).collect();
    let largest_difference = normalised.iter().copied().fold(1.0, f64::max) - 1.0;
    Some(Reproducibility { normalised, largest_difference })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_told_over_the_smallest() {
        let found = reproducibility(&[&[10.0, 12.0], &[10.0, 10.0], &[9.0, 12.0]]).unwrap();
        assert_eq!(found.normalised, [1.1, 1.0, 1.05]);
        assert!((found.largest_difference - 0.1).abs() < 1e-12);
        assert_eq!(reproducibility(&[&[1.0]]), None);
        assert_eq!(reproducibility(&[&[1.0], &[]]), None);
        assert_eq!(reproducibility(&[&[1.0], &[0.0]]), None);
    }
}
