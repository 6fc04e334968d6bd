//! Numbers of a series: mean and median, their intervals, and how much its values depend on each other.

mod autocorrelation;
mod correlation;
pub mod distributions;
mod intervals;
mod long_memory;
mod long_run;
mod moments;
mod order;
#[cfg(test)]
mod reference_tests;
mod select;
mod sort;
mod student;

pub(crate) use autocorrelation::product;
pub(crate) use long_run::{block_means, cosine_powers};
pub use {
    autocorrelation::{Dependence, autocorrelation, dependence, dependence_of_quantile},
    correlation::{pearson, spearman},
    intervals::Intervals,
    moments::{Moments, moments},
    order::{Interval, interval_ranks, quantile, ranks},
    select::{median_of, order_statistics},
    sort::sort,
    student::{ends_of_mean, student_quantile},
};

/// The median: the middle value, or the mean of the two middle ones. `None` for no values.
///
/// Takes the values out of order; 1 selection, no sort.
///
/// ```
/// use mpitrace_statistics::median;
///
/// assert_eq!(median(&mut [3.0, 1.0, 2.0, 10.0]), Some(2.5));
/// assert_eq!(median(&mut []), None);
/// ```
pub fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    let even = values.len().is_multiple_of(2);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if !even {
        return Some(upper);
    }
    let lower = below.iter().copied().max_by(f64::total_cmp)?;
    Some(lower + (upper - lower) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_two_middle_values() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [7.0]), Some(7.0));
        assert_eq!(median(&mut [9.0, 1.0, 5.0]), Some(5.0));
        assert_eq!(median(&mut [9.0, 1.0, 5.0, 6.0]), Some(5.5));
    }
}
