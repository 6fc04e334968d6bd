//! The metrics of the run time by which a warm-up can be seen: those of Roth's thesis, section 4.5, figures 4.7 and
//! 4.8.

use std::collections::BTreeSet;

/// Statistics of the run times up to each repetition, and of those around it. All are as long as the series, and ns.
///
/// ```
/// use mpitrace_statistics::{DEFAULT_WINDOW, Metrics, differences};
///
/// let metrics = Metrics::new(&[9.0, 3.0, 6.0], 3)?;
/// assert_eq!(metrics.cumulative_mean, [9.0, 6.0, 6.0]);
/// assert_eq!(metrics.cumulative_minimum, [9.0, 3.0, 3.0]);
/// assert_eq!(metrics.running_median, [9.0, 6.0, 6.0]);
/// assert_eq!(differences(&metrics.cumulative_mean), [0.0, -3.0, 0.0]);
/// assert!(Metrics::new(&[9.0], DEFAULT_WINDOW + 1).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Metrics {
    /// (x_0 + ... + x_j) / (j + 1): equation 4.2.
    pub cumulative_mean: Vec<f64>,
    /// median(x_0 .. x_i): equation 4.3.
    pub cumulative_median: Vec<f64>,
    /// minimum(x_0 .. x_i): equation 4.6.
    pub cumulative_minimum: Vec<f64>,
    /// The mean of the window around x_j: equation 4.4.
    pub running_mean: Vec<f64>,
    /// The median of the window around x_j: equation 4.5.
    pub running_median: Vec<f64>,
}

/// The width of a window has no middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a window of {window} has no repetition in its middle: it must be odd")]
pub struct EvenWindow {
    /// The width.
    pub window: usize,
}

/// k in figure 4.8.
pub const DEFAULT_WINDOW: usize = 21;

impl Metrics {
    /// The metrics of run times x_i in ns, with windows of k repetitions. Where a window sticks out of the series, its
    /// outermost values stand for those that are not there. O(n log n).
    ///
    /// # Errors
    /// Where `window` is not odd.
    pub fn new(run_time_ns: &[f64], window: usize) -> Result<Metrics, EvenWindow> {
        if window.is_multiple_of(2) {
            return Err(EvenWindow { window });
        }
        let padded = padded(run_time_ns, window / 2);
        Ok(Metrics {
            cumulative_mean: cumulative_mean(run_time_ns),
            cumulative_median: cumulative_median(run_time_ns),
            cumulative_minimum: cumulative_minimum(run_time_ns),
            running_mean: running_mean(&padded, window),
            running_median: running_median(&padded, window),
        })
    }
}

/// delta_0 = 0, delta_j = metric_j - metric_(j-1): equation 4.1. In the unit of the metric.
///
/// ```
/// use mpitrace_statistics::differences;
///
/// assert_eq!(differences(&[5.0, 3.0, 4.0]), [0.0, -2.0, 1.0]);
/// ```
pub fn differences(metric: &[f64]) -> Vec<f64> {
    let first = metric.first().map(|_| 0.0);
    first.into_iter().chain(metric.windows(2).map(|pair| pair[1] - pair[0])).collect()
}

fn cumulative_mean(x: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let mean = |(index, x): (usize, &f64)| {
        sum += x;
        sum / (index + 1) as f64
    };
    x.iter().enumerate().map(mean).collect()
}

fn cumulative_minimum(x: &[f64]) -> Vec<f64> {
    let mut minimum = f64::INFINITY;
    let least = |x: &f64| {
        minimum = minimum.min(*x);
        minimum
    };
    x.iter().map(least).collect()
}

fn cumulative_median(x: &[f64]) -> Vec<f64> {
    let mut halves = Halves::new(x);
    let median = |index: usize| {
        halves.insert(index);
        halves.median()
    };
    (0..x.len()).map(median).collect()
}

/// The series with its first and last value repeated.
fn padded(x: &[f64], count: usize) -> Vec<f64> {
    let (Some(&first), Some(&last)) = (x.first(), x.last()) else { return Vec::new() };
    let mut padded = Vec::with_capacity(x.len() + 2 * count);
    padded.resize(count, first);
    padded.extend_from_slice(x);
    padded.resize(x.len() + 2 * count, last);
    padded
}

/// The mean of each window. A window is the end of one block of its length and the beginning of the next, whose sums
/// are known: no value is ever subtracted again, so a large one leaves no error behind.
fn running_mean(padded: &[f64], window: usize) -> Vec<f64> {
    let mut from_block_start = padded.to_vec();
    let mut to_block_end = padded.to_vec();
    for block in from_block_start.chunks_mut(window) {
        (1..block.len()).for_each(|i| block[i] += block[i - 1]);
    }
    for block in to_block_end.chunks_mut(window) {
        (1..block.len()).rev().for_each(|i| block[i - 1] += block[i]);
    }
    let sum = |start: usize| match start % window {
        0 => to_block_end[start],
        _ => to_block_end[start] + from_block_start[start + window - 1],
    };
    let windows = (padded.len() + 1).saturating_sub(window);
    (0..windows).map(|start| sum(start) / window as f64).collect()
}

fn running_median(padded: &[f64], window: usize) -> Vec<f64> {
    let mut halves = Halves::new(padded);
    let mut medians = Vec::new();
    for index in 0..padded.len() {
        halves.insert(index);
        if let Some(start) = (index + 1).checked_sub(window) {
            medians.push(halves.median());
            halves.remove(start);
        }
    }
    medians
}

/// Some of a series' values, the lower and the upper half apart: the median is where they meet.
struct Halves<'a> {
    values: &'a [f64],
    /// As many as `upper`, or one more.
    lower: BTreeSet<(u64, usize)>,
    upper: BTreeSet<(u64, usize)>,
}

impl<'a> Halves<'a> {
    fn new(values: &'a [f64]) -> Self {
        Halves { values, lower: BTreeSet::new(), upper: BTreeSet::new() }
    }

    fn insert(&mut self, index: usize) {
        let key = (order(self.values[index]), index);
        if self.lower.last().is_some_and(|last| key > *last) { &mut self.upper } else { &mut self.lower }.insert(key);
        self.balance();
    }

    fn remove(&mut self, index: usize) {
        let key = (order(self.values[index]), index);
        if !self.lower.remove(&key) {
            self.upper.remove(&key);
        }
        self.balance();
    }

    fn balance(&mut self) {
        if self.lower.len() > self.upper.len() + 1 {
            self.upper.extend(self.lower.pop_last());
        } else if self.lower.len() < self.upper.len() {
            self.lower.extend(self.upper.pop_first());
        }
    }

    /// Not a number where there are no values.
    fn median(&self) -> f64 {
        let value = |key: Option<&(u64, usize)>| key.map_or(f64::NAN, |&(_, index)| self.values[index]);
        let lower = value(self.lower.last());
        match self.lower.len() > self.upper.len() {
            true => lower,
            false => lower + (value(self.upper.first()) - lower) / 2.0,
        }
    }
}

/// A number that orders as `f64::total_cmp` does.
fn order(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::median;

    /// A warm-up of 30, noise that no formula hides behind, two outliers.
    fn series(length: usize) -> Vec<f64> {
        let noise = |i: usize| ((i * 7919 + 13) % 101) as f64;
        let mut x: Vec<f64> = (0..length).map(|i| noise(i) + if i < 30 { 500.0 } else { 200.0 }).collect();
        [33, 77].iter().filter(|&&at| at < length).for_each(|&at| x[at] = 1e12);
        x
    }

    /// The window's values by the thesis' words.
    fn window(x: &[f64], j: usize, k: usize) -> Vec<f64> {
        let middle = k as i64 / 2;
        (j as i64 - middle..=j as i64 + middle).map(|i| x[i.clamp(0, x.len() as i64 - 1) as usize]).collect()
    }

    #[test]
    fn every_metric_is_what_its_equation_says() {
        for (length, k) in [(100, 21), (5, 21), (1, 21), (100, 1), (22, 3)] {
            let x = series(length);
            let metrics = Metrics::new(&x, k).unwrap();
            for j in 0..length {
                let mut until: Vec<f64> = x[..=j].to_vec();
                let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.abs();
                assert!(close(metrics.cumulative_mean[j], until.iter().sum::<f64>() / (j + 1) as f64));
                assert_eq!(metrics.cumulative_minimum[j], until.iter().copied().fold(f64::INFINITY, f64::min));
                assert_eq!(Some(metrics.cumulative_median[j]), median(&mut until));
                let mut around = window(&x, j, k);
                assert!(close(metrics.running_mean[j], around.iter().sum::<f64>() / k as f64), "{length} {k} {j}");
                assert_eq!(Some(metrics.running_median[j]), median(&mut around));
            }
        }
    }

    #[test]
    fn an_outlier_that_has_passed_leaves_no_trace_in_the_running_mean() {
        let x = series(200);
        let metrics = Metrics::new(&x, 21).unwrap();
        let exact: f64 = window(&x, 150, 21).iter().sum::<f64>() / 21.0;
        assert_eq!(metrics.running_mean[150], exact);
    }

    #[test]
    fn the_first_difference_is_zero() {
        assert_eq!(differences(&[5.0, 3.0, 4.0]), [0.0, -2.0, 1.0]);
        assert_eq!(differences(&[]), [0.0; 0]);
    }

    #[test]
    fn no_repetitions_and_windows_without_a_middle() {
        let none = Metrics::new(&[], 21).unwrap();
        assert!(none.cumulative_mean.is_empty() && none.running_mean.is_empty() && none.running_median.is_empty());
        for window in [0, 2, 20] {
            assert_eq!(Metrics::new(&[1.0], window), Err(EvenWindow { window }));
        }
    }

    #[test]
    fn numbers_order_as_the_standard_orders_them() {
        let ordered = [f64::NEG_INFINITY, -2.0, -1.0, -0.0, 0.0, 1e-300, 2.0, f64::INFINITY, f64::NAN];
        assert!(ordered.windows(2).all(|pair| order(pair[0]) < order(pair[1])));
    }
}
