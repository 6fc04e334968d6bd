//! Roth's rule: the cumulative minimum and three factors.

use super::{Categories, Category};
use crate::median_of;

/// The three factors of Roth's rule.
///
/// ```
/// use mpitrace_statistics::categories::{Category, Roth};
///
/// // 20 repetitions of 8 us, then 80 of 2 us.
/// let run_time_ns: Vec<f64> = (0..100).map(|i| if i < 20 { 8000.0 } else { 2000.0 }).collect();
/// let found = Roth::default().categorize(&(0..100).collect::<Vec<u64>>(), &run_time_ns);
/// assert_eq!((found.warmup_end, found.count(Category::Warmup)), (Some(20), 19));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roth {
    /// The warm-up ends at this repetition at the earliest.
    pub earliest_end: u64,
    /// The cumulative minimum must fall by this share of the median.
    pub cliff: f64,
    /// An outlier takes this many medians or more.
    pub outlier: f64,
}

impl Default for Roth {
    /// The values of the thesis: "the 10 % of the median were chosen because we obtained the most reliable detection
    /// with it"; double the median is "again based on trial and error to find a good value".
    fn default() -> Self {
        Roth { earliest_end: 10, cliff: 0.1, outlier: 2.0 }
    }
}

impl Roth {
    /// Applies the rule to run times x_i in ns, x_0 being the run time of the repetition whose number is
    /// `repetition[0]`, and so on.
    ///
    /// cummin_i = min(x_0 .. x_i) (equation 4.6), delta_j = cummin_j - cummin_(j-1) (equation 4.1); w is the smallest
    /// number >= 10 with delta_w <= -0.1 median. Warm-up is 0 < i < w, an outlier has x_i >= 2 medians. The thesis
    /// leaves open what fits twice: first > warm-up > outlier > good. Where repetition 0 was not kept (`ring`) neither
    /// first nor warm-up exist, since the cumulative minimum has lost its start.
    pub fn categorize(&self, repetition: &[u64], run_time_ns: &[f64]) -> Categories {
        assert_eq!(repetition.len(), run_time_ns.len(), "one run time for each repetition");
        let Some(median_ns) = median_of(run_time_ns) else {
            return Categories { category: Vec::new(), warmup_end: None, median_ns: None, overlaps: 0 };
        };
        let from_the_start = repetition[0] == 0;
        let warmup_end = if from_the_start { self.warmup_end(repetition, run_time_ns, median_ns) } else { None };

        let mut overlaps = 0;
        let category = repetition
            .iter()
            .zip(run_time_ns)
            .map(|(&number, &x)| {
                let early = if from_the_start && number == 0 {
                    Some(Category::First)
                } else {
                    warmup_end.filter(|&end| number < end).map(|_| Category::Warmup)
                };
                let slow = x >= self.outlier * median_ns;
                overlaps += u64::from(early.is_some() && slow);
                early.unwrap_or(if slow { Category::Outlier } else { Category::Good })
            })
            .collect();
        Categories { category, warmup_end, median_ns: Some(median_ns), overlaps }
    }

    fn warmup_end(&self, repetition: &[u64], run_time_ns: &[f64], median_ns: f64) -> Option<u64> {
        let mut minimum = f64::INFINITY;
        for (&number, &x) in repetition.iter().zip(run_time_ns) {
            let next = minimum.min(x);
            // The first difference is 0 by definition, and infinity is not below it.
            let delta = if minimum.is_finite() { next - minimum } else { 0.0 };
            if number >= self.earliest_end && delta <= -self.cliff * median_ns {
                return Some(number);
            }
            minimum = next;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roth(run_times: &[f64]) -> Categories {
        let numbers: Vec<u64> = (0..run_times.len() as u64).collect();
        Roth::default().categorize(&numbers, run_times)
    }

    #[test]
    fn a_cliff_ends_the_warm_up_where_the_cumulative_minimum_falls() {
        let mut x = vec![50.0; 60];
        x.extend([25.0; 200]);
        x[100] = 50.0;
        x[30] = 400.0;
        let found = roth(&x);
        assert_eq!(found.warmup_end, Some(60));
        assert_eq!(found.median_ns, Some(25.0));
        let counts = Category::ALL.map(|category| found.count(category));
        assert_eq!(counts, [1, 59, 1, 199]);
        // Repetition 0 and all of the warm-up take twice the median or more.
        assert_eq!(found.overlaps, 60);
    }

    #[test]
    fn a_cliff_before_repetition_ten_is_not_seen() {
        let mut x = vec![75.0; 5];
        x.extend([25.0; 100]);
        assert_eq!(roth(&x).warmup_end, None);
    }

    #[test]
    fn the_fall_must_reach_a_tenth_of_the_median() {
        let mut x = vec![110.0; 20];
        x.extend([100.0; 100]);
        assert_eq!(roth(&x).warmup_end, Some(20));
        x[..20].fill(109.9);
        assert_eq!(roth(&x).warmup_end, None);
    }

    #[test]
    fn without_repetition_zero_there_is_neither_first_nor_warm_up() {
        let mut x = vec![50.0; 20];
        x.extend([25.0; 100]);
        let numbers: Vec<u64> = (1000..1120).collect();
        let found = Roth::default().categorize(&numbers, &x);
        assert_eq!(found.warmup_end, None);
        assert_eq!(Category::ALL.map(|category| found.count(category)), [0, 0, 20, 100]);
    }

    #[test]
    fn no_repetitions_have_no_median() {
        assert_eq!(roth(&[]).median_ns, None);
    }
}
