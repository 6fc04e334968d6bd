//! What the statistics tell beside the numbers, in words.

use mpitrace::categories::Category;
use mpitrace::statistics::{self, Dependence, Outliers, Sample};

use super::series::Series;
use crate::text;

/// Lags of the test of Ljung and Box.
const TESTED_LAGS: usize = 20;

/// What is known of the good repetitions.
#[derive(Clone, Copy, Debug)]
pub struct OfGood<'a> {
    /// Their number.
    pub count: usize,
    /// Of their run times in order, at lag 1, 2, ...
    pub autocorrelation: &'a [f64],
    /// Their effective sample size.
    pub dependence: Option<Dependence>,
}

/// Sentences about the run times.
pub fn of(series: &Series, category: &[Category], all: &Sample, good: OfGood) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(dependence) = good.dependence {
        let lags = &good.autocorrelation[..TESTED_LAGS.min(good.autocorrelation.len())];
        let tested = statistics::ljung_box(lags, good.count).map_or_else(String::new, |test| {
            format!("; Ljung-Box over {} lags: {:.1}, {}", test.lags, test.statistic, probability(test.p))
        });
        let size = dependence.effective.round();
        remarks.push(format!("{} good repetitions have an effective sample size of {size}{tested}", good.count));
    }
    if let Some(outliers) = Outliers::of(all) {
        let rules = [
            ("twice the median", outliers.twice_median),
            ("Tukey's fence", outliers.tukey),
            ("3.5 scaled MAD", outliers.median_deviation),
            ("MPIBench", outliers.mpibench),
        ];
        let texts: Vec<String> =
            rules.iter().map(|(name, (limit, count))| format!("{count} by {name} ({})", text::time(*limit))).collect();
        remarks.push(format!("outliers: {}", texts.join(", ")));
    }
    if let Some(period) = outlier_period(series, category) {
        let length = text::time(period.length);
        remarks.push(format!(
            "outliers come every {length} (strength {:.2}, {})",
            period.strength,
            probability(period.p)
        ));
    }
    if let Some(cut) = statistics::mser5(series.run_time_ns) {
        let number = series.repetition.get(cut).copied().unwrap_or_default();
        remarks.push(format!("MSER-5 would start at repetition {number}"));
    }
    if all.not_finite() > 0 {
        remarks.push(format!("{} run times are not finite and in no number", all.not_finite()));
    }
    remarks
}

/// The period of the outliers, ns. Repetitions that follow each other evenly are a grid, to whose step all of them
/// keep.
fn outlier_period(series: &Series, category: &[Category]) -> Option<statistics::Period> {
    let mut steps: Vec<f64> = series.enter_ns.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let outliers = category.iter().zip(series.enter_ns).filter(|(category, _)| **category == Category::Outlier);
    let mut slow: Vec<f64> = outliers.map(|(_, &enter)| enter).collect();
    slow.sort_unstable_by(f64::total_cmp);
    statistics::period(&slow, 2.0 * statistics::median(&mut steps)?)
}

/// A p-value; below what a float can hold it is 0, which no probability is.
fn probability(p: f64) -> String {
    if p > 0.0 { format!("p = {p:.2e}") } else { "p < 1e-300".to_owned() }
}
