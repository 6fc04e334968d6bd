//! The numbers of a distribution, in the order in which the table has them.

use mpitrace::statistics::{Interval, Intervals, Sample, empirical_distribution};

use super::fingerprint::{BoxPlot, Ecdf, Estimate, Number};

/// Of every interval.
const CONFIDENCE: f64 = 0.95;

/// The quantiles of the table.
const QUANTILES: [(&str, f64); 7] = [
    ("1 % quantile", 0.01),
    ("5 % quantile", 0.05),
    ("25 % quantile", 0.25),
    ("median", 0.5),
    ("75 % quantile", 0.75),
    ("95 % quantile", 0.95),
    ("99 % quantile", 0.99),
];

/// Of all values and of the good ones, ns, each in the order in which they were measured, and sorted. The intervals
/// allow for the dependence of the repetitions.
pub fn table(all: (&[f64], &Sample), good: (&[f64], &Sample)) -> Vec<Number> {
    let intervals = [all, good].map(|(values, sample)| Intervals::of(values, sample.sorted(), CONFIDENCE));
    let (all, good) = (all.1, good.1);
    let of_both =
        |name, unit, of: &dyn Fn(&Sample) -> Option<Estimate>| Number { name, unit, all: of(all), good: of(good) };
    let of_each = |name, of: &dyn Fn(&Sample, &Intervals<'_>) -> Option<Estimate>| Number {
        name,
        unit: "ns",
        all: of(all, &intervals[0]),
        good: of(good, &intervals[1]),
    };
    let mut numbers = vec![of_both("repetitions", "", &|x| plain(Some(x.len() as f64)))];
    numbers.push(of_both("minimum", "ns", &|x| plain(x.minimum())));
    for (name, p) in QUANTILES {
        numbers.push(of_each(name, &|x, intervals| {
            Some(Estimate { value: x.quantile(p)?, interval: intervals.quantile(p).map(ends) })
        }));
    }
    numbers.push(of_both("maximum", "ns", &|x| plain(x.maximum())));
    numbers.push(of_each("mean", &|x, intervals| {
        Some(Estimate { value: x.moments()?.mean, interval: intervals.mean().map(ends) })
    }));
    numbers.push(of_both("standard deviation", "ns", &|x| plain(x.moments()?.standard_deviation)));
    numbers.push(of_both("median absolute deviation", "ns", &|x| plain(x.median_absolute_deviation())));
    numbers
}

fn plain(value: Option<f64>) -> Option<Estimate> {
    value.map(|value| Estimate { value, interval: None })
}

fn ends(interval: Interval) -> (f64, f64) {
    (interval.lower, interval.upper)
}

/// The box plot of a sample.
pub fn box_plot(of: &'static str, sample: &Sample) -> Option<BoxPlot> {
    let found = sample.box_plot()?;
    let ([lower, median, upper], [low, high]) = (found.quartiles, found.whiskers);
    let (min, max) = (sample.minimum()?, sample.maximum()?);
    Some(BoxPlot { of, count: sample.len(), min, low, lower, median, upper, high, max })
}

/// The distribution function: at about so many even steps, and ever closer to both ends.
pub fn ecdf(sample: &Sample, even: usize) -> Ecdf {
    let sorted = sample.sorted();
    let mut steps = empirical_distribution(sample, even);
    let mut distance = 1;
    while distance < sorted.len() / even {
        for value in [sorted[distance], sorted[sorted.len() - 1 - distance]] {
            let until = sorted.partition_point(|&other| other <= value);
            steps.push((value, until as f64 / sorted.len() as f64));
        }
        distance *= 2;
    }
    steps.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    steps.dedup_by(|a, b| a.0 == b.0);
    let (at_ns, share) = steps.into_iter().unzip();
    Ecdf { at_ns, share }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distribution_function_keeps_both_ends() {
        let x: Vec<f64> = (0..1_000_000).map(f64::from).collect();
        let found = ecdf(&Sample::new(&x), 240);
        assert!(found.at_ns.len() < 300);
        assert_eq!((found.at_ns[0], found.at_ns[found.at_ns.len() - 1]), (0.0, 999_999.0));
        assert_eq!((found.share[0], found.share[found.share.len() - 1]), (1e-6, 1.0));
        assert!(found.at_ns.contains(&999_998.0), "the slowest but one");
        assert_eq!(ecdf(&Sample::new(&[3.0, 5.0]), 240).share, [0.5, 1.0]);
        assert!(ecdf(&Sample::new(&[]), 240).at_ns.is_empty());
    }

    #[test]
    fn few_values_have_numbers_without_intervals() {
        let numbers = table((&[3.0, 1.0], &Sample::new(&[3.0, 1.0])), (&[], &Sample::default()));
        let median = numbers.iter().find(|number| number.name == "median").unwrap();
        assert_eq!(median.all.map(|estimate| (estimate.value, estimate.interval)), Some((2.0, None)));
        assert!(median.good.is_none());
    }
}
