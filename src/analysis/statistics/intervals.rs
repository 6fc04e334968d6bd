//! Intervals of the mean and of quantiles that hold for values which depend on each other.

use statrs::function::beta::beta_reg;

use super::long_run::{blocks, long_run};
use super::order::Interval;
use super::student::student_quantile;
use super::{Sample, dependence, dependence_of_quantile};

/// A series of which intervals are made.
#[derive(Debug)]
pub struct Intervals<'v> {
    values: &'v [f64],
    sample: &'v Sample,
    confidence: f64,
    /// How many independent values the series is worth, for the mean or for the median: whichever are fewer.
    effective: f64,
    /// How long the correlation lasts, for the one or the other, as a share of the series.
    share: f64,
}

/// A series worth fewer independent values has no interval: what is known of its dependence is too little.
const FEWEST: f64 = 4.0;

/// A quantile beyond which less than so many independent values lie has none either.
const FEWEST_BEYOND: f64 = 3.0;

impl<'v> Intervals<'v> {
    /// Of values in the order in which they were measured; `sample` holds the same, sorted.
    pub fn of(values: &'v [f64], sample: &'v Sample, confidence: f64) -> Self {
        let of_median = sample.median().and_then(|median| dependence_of_quantile(values, median));
        let both = [dependence(values), of_median];
        let known = || both.iter().flatten();
        let n = values.len() as f64;
        let effective = known().map(|found| found.effective).fold(n, f64::min);
        let share = known().map(|found| found.time).fold(1.0, f64::max) / n;
        Intervals { values, sample, confidence, effective, share }
    }

    /// The interval of the mean: Student's, with the variance of a mean of dependent values.
    pub fn mean(&self) -> Option<Interval> {
        let mean = self.sample.moments()?.mean;
        let found = long_run(&blocks(self.values, |value| value), self.share)?;
        let half =
            student_quantile(found.freedom, f64::midpoint(1.0, self.confidence))? * found.variance_of_mean.sqrt();
        (self.effective >= FEWEST).then_some(Interval {
            lower: mean - half,
            upper: mean + half,
            coverage: self.confidence,
        })
    }

    /// The interval of the quantile at `p`.
    pub fn quantile(&self, p: f64) -> Option<Interval> {
        let value = self.sample.quantile(p)?;
        let n = self.values.len() as f64;
        let below = blocks(self.values, |other| f64::from(u8::from(other <= value)));
        let share = below.iter().sum::<f64>() / below.len() as f64;
        let found = long_run(&below, self.share)?;
        let student = student_quantile(found.freedom, f64::midpoint(1.0, self.confidence))?;
        let normal = student_quantile(1e9, f64::midpoint(1.0, self.confidence))?;
        let own = share * (1.0 - share);
        let ratio = if own > 0.0 { found.variance_of_mean * n / own } else { 1.0 };
        let beyond = self.effective * p.min(1.0 - p);
        if beyond < FEWEST_BEYOND {
            return None;
        }
        let least = if beyond < 20.0 { (n / self.effective).sqrt() } else { 0.5 };
        let effective = n / ratio.max(least) * (normal / student).powi(2);
        let [lower, upper] = places(effective, p, 1.0 - self.confidence)?;
        let at = |place: f64| self.sample.quantile((place * n - 0.5) / (n - 1.0));
        (self.effective >= FEWEST).then_some(Interval {
            lower: at(lower)?,
            upper: at(upper)?,
            coverage: self.confidence,
        })
    }
}

/// Shares of the values.
fn places(n: f64, p: f64, outside: f64) -> Option<[f64; 2]> {
    let tail = outside / 2.0;
    // P(B <= k - 1), rising with k.
    let below = |k: f64| beta_reg(n - k + 1.0, k, 1.0 - p);
    // P(B >= k), falling with k.
    let above = |k: f64| beta_reg(k, n - k + 1.0, p);
    if n < 1.0 || below(1.0) > tail || above(n) > tail {
        return None;
    }
    let solve = |is_low: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (1.0, n);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if is_low(middle) { low = middle } else { high = middle }
        }
        low
    };
    let lower = solve(&|k| below(k) <= tail);
    let upper = solve(&|k| above(k) > tail);
    Some([(lower - 0.5) / n, (upper - 0.5) / n])
}
