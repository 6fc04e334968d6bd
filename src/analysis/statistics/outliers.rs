//! How many values lie far above the others, by the rules in use.

use super::Sample;

/// Values above the limit of each rule, and the limits, in the unit of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outliers {
    /// Roth: twice the median or more.
    pub twice_median: (f64, usize),
    /// Tukey (1977): above Q3 + 1.5 IQR.
    pub tukey: (f64, usize),
    /// More than 3.5 x 1.4826 MAD above the median (Iglewicz and Hoaglin 1993): the factor makes the MAD of a normal
    /// distribution its standard deviation.
    pub median_deviation: (f64, usize),
    /// MPIBench: above twice the 99th percentile (Grove and Coddington 2001; seed 000, section 2).
    pub mpibench: (f64, usize),
}

impl Outliers {
    /// Counts them. `None` for no values.
    pub fn of(sample: &Sample) -> Option<Outliers> {
        let sorted = sample.sorted();
        let above = |limit: f64| (limit, sorted.len() - sorted.partition_point(|&value| value <= limit));
        let median = sample.median()?;
        let twice = 2.0 * median;
        Some(Outliers {
            twice_median: (twice, sorted.len() - sorted.partition_point(|&value| value < twice)),
            tukey: above(tukey_fences(sample)?[1]),
            median_deviation: above(median + 3.5 * 1.4826 * sample.median_absolute_deviation()?),
            mpibench: above(2.0 * sample.quantile(0.99)?),
        })
    }
}

/// Q1 - 1.5 IQR and Q3 + 1.5 IQR.
pub fn tukey_fences(sample: &Sample) -> Option<[f64; 2]> {
    let (first, third) = (sample.quantile(0.25)?, sample.quantile(0.75)?);
    let reach = 1.5 * (third - first);
    Some([first - reach, third + reach])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_has_its_own_limit() {
        // 310 is an outlier for three of the four.
        let mut values: Vec<f64> = (100..200).map(f64::from).collect();
        values.extend([310.0, 1000.0]);
        let found = Outliers::of(&Sample::new(&values)).unwrap();
        assert_eq!(found.twice_median, (301.0, 2));
        assert_eq!(found.tukey.1, 2);
        assert_eq!(found.median_deviation.1, 2);
        assert_eq!(found.mpibench.1, 1);
        assert_eq!(Outliers::of(&Sample::default()), None);
    }
}
