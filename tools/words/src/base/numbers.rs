//! The numbers of a series for people: rows of a table, and facts beside it. `stats`, the page and the terminal
//! show the same ones.

use mpitrace_show::text;
use mpitrace_statistics::{Above, IntervalNs, Summary};

/// A number of a summary, as words.
pub struct NumberRow {
    /// The name of the number.
    pub name: String,
    /// The number with its unit.
    pub value: String,
    /// Both ends; empty where there is none.
    pub interval: String,
    /// The coverage of the interval and how it was found.
    pub of_interval: String,
}

/// The rows of a table, always the same ones in the same order; values are empty where there is nothing to describe.
pub fn rows(summary: &Summary) -> Vec<NumberRow> {
    let found = &summary.description;
    let row = |name: &str, value: Option<f64>, interval: Option<IntervalNs>, how: &str| NumberRow {
        name: name.to_owned(),
        value: value.map(text::time).unwrap_or_default(),
        interval: interval.map(ends).unwrap_or_default(),
        of_interval: interval.map(|found| format!("{:.1} %{how}", 100.0 * found.coverage)).unwrap_or_default(),
    };
    let mut rows = vec![row("min", found.min_ns, None, "")];
    for quantile in [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99] {
        let known = summary.quantiles.iter().find(|known| known.p == quantile);
        let (value, interval) = (known.map(|known| known.value_ns), known.and_then(|known| known.interval));
        rows.push(match quantile {
            0.5 => row("median", value, interval, ", order statistics"),
            p => row(&format!("p{:.0}", 100.0 * p), value, interval, ""),
        });
    }
    rows.push(row("max", found.max_ns, None, ""));
    // On logarithms where Student's would reach below 0.
    let is_student = |(mean, interval): (f64, IntervalNs)| {
        (mean - interval.lower_ns - (interval.upper_ns - mean)).abs() <= 1e-9 * mean.abs()
    };
    let how =
        if found.mean_ns.zip(found.mean_interval).is_none_or(is_student) { ", Student" } else { ", on logarithms" };
    rows.push(row("mean", found.mean_ns, found.mean_interval, how));
    rows.push(row("sd", found.sd_ns, None, ""));
    rows.push(row("mad", found.mad_ns, None, ""));
    rows
}

/// The ends of an interval, with units.
pub fn ends(interval: IntervalNs) -> String {
    format!("{} to {}", text::time(interval.lower_ns), text::time(interval.upper_ns))
}

/// Further facts of a summary, each as its name and its words: outliers, period, dependence, modes.
pub fn facts(summary: &Summary) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(found) = summary.outliers {
        let above = |of: Above| format!("({})", text::time(of.limit));
        let (twice, tukey, mad, mpibench) = (found.twice_median, found.tukey, found.median_deviation, found.mpibench);
        facts.push((
            "outliers",
            format!(
                "{} at least twice the median {}, {} above Tukey's fence {}, {} above 3.5 MAD {}, {} above twice p99 {}",
                twice.count,
                above(twice),
                tukey.count,
                above(tukey),
                mad.count,
                above(mad),
                mpibench.count,
                above(mpibench)
            ),
        ));
    }
    if let Some(period) = summary.outlier_period {
        let length = match (period.period_ns, period.period_repetitions) {
            (Some(ns), _) => text::time(ns),
            (None, repetitions) => format!("{:.1} repetitions", repetitions.unwrap_or(f64::NAN)),
        };
        let (strength, p) = (period.strength, probability(period.p));
        facts.push(("outliers", format!("every {length} (strength {strength:.2}, {p})")));
    }
    if !summary.autocorrelation.is_empty() {
        let listed: Vec<String> = summary.autocorrelation.iter().take(5).map(|r| format!("{r:.2}")).collect();
        facts.push(("dependence", format!("autocorrelation {}", listed.join(" "))));
    }
    if let Some(test) = summary.ljung_box {
        let (lags, q, p) = (test.lags, test.statistic, probability(test.p));
        facts.push(("dependence", format!("Ljung-Box Q({lags}) = {q:.1}, {p}")));
    }
    if let (Some(mean), Some(median)) = (summary.effective_repetitions, summary.effective_repetitions_median) {
        let text = format!("effective sample size {mean:.0} for the mean, {median:.0} for the median");
        facts.push(("dependence", text));
    }
    facts
}

/// A p-value; below what a float can hold it is 0, which no probability is.
fn probability(p: f64) -> String {
    if p > 0.0 { format!("p {p:.1e}") } else { "p < 1e-300".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_probability_is_0() {
        assert_eq!([0.0, 2.5e-7].map(probability), ["p < 1e-300", "p 2.5e-7"]);
    }
}
