//! How far a sum over all repetitions can be from what those that a sample has kept say of it.

use std::ops::AddAssign;

use mpitrace_statistics::estimators::student_quantile;

/// The probability with which a sum lies in its interval, at least: with few repetitions, some of which are outliers,
/// the t distribution promises more than it keeps.
const PROBABILITY: f64 = 0.99;

/// The error of a sum that a sample of repetitions stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Repetitions that are kept, and how many there are.
    pub kept: u64,
    /// See `kept`.
    pub of: u64,
    /// The variance of the sum, ns^2, and the sum of its squares over the degrees of freedom of each.
    variance: f64,
    squares: f64,
    /// How much less, and how much more, it can be beside that, ns: of what no repetition that is kept is like.
    below: f64,
    above: f64,
}

impl Estimate {
    /// The estimate from repetitions that were chosen at random of so many (`rest`), each with its share of the sum and
    /// of the time of all calls, which is known. `whole`: others, all of which are kept. The ratio of the sum to the
    /// time is estimated: its error is that of what a share differs by from the time times the ratio.
    pub(super) fn new(shares: &[(f64, f64)], whole: u64, rest: u64) -> Estimate {
        let kept = shares.len() as f64;
        let sums = shares.iter().fold((0.0, 0.0), |sums, (part, time)| (sums.0 + part, sums.1 + time));
        let mut estimate = Estimate { kept: whole + shares.len() as u64, of: whole + rest, ..Estimate::default() };
        if shares.len() < 2 || shares.len() as u64 >= rest {
            let is_known = shares.len() as u64 >= rest;
            (estimate.below, estimate.above) = if is_known { (0.0, 0.0) } else { (sums.0, sums.1 - sums.0) };
            return estimate;
        }
        let ratio = if sums.1 > 0.0 { sums.0 / sums.1 } else { 0.0 };
        let squares: f64 = shares.iter().map(|(part, time)| (part - ratio * time).powi(2)).sum();
        estimate.variance = (1.0 - kept / rest as f64) * kept / (kept - 1.0) * squares;
        estimate.squares = estimate.variance.powi(2) / (kept - 1.0);
        estimate
    }

    /// The estimate where no share is known of so much of the time, which was taken for this one.
    pub(super) fn with_unknown(self, time: f64, share: f64) -> Estimate {
        Estimate { below: self.below + share * time, above: self.above + (1.0 - share) * time, ..self }
    }

    /// The ends of the interval of a sum that was estimated as this.
    pub fn interval(&self, sum: f64) -> [f64; 2] {
        // Of several sums together by Welch and Satterthwaite.
        let freedom = if self.squares > 0.0 { self.variance.powi(2) / self.squares } else { f64::INFINITY };
        let quantile = student_quantile(freedom, 0.5 + PROBABILITY / 2.0).unwrap_or(0.0);
        let half = quantile * self.variance.sqrt();
        [(sum - half - self.below).max(0.0), sum + half + self.above]
    }
}

impl AddAssign for Estimate {
    fn add_assign(&mut self, other: Estimate) {
        self.kept += other.kept;
        self.of += other.of;
        self.variance += other.variance;
        self.squares += other.squares;
        self.below += other.below;
        self.above += other.above;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_of_which_all_is_kept_has_no_error_and_one_of_which_nothing_is_any() {
        let shares = [(1.0, 2.0), (0.5, 3.0), (2.0, 2.0)];
        assert_eq!(Estimate::new(&shares, 4, 3).interval(3.5), [3.5, 3.5]);
        assert_eq!(Estimate::new(&shares[..1], 0, 10).interval(1.0), [0.0, 2.0]);
        let half = Estimate::new(&shares, 0, 30).interval(35.0);
        assert!(half[0] < 35.0 && half[1] > 35.0 && half[0] + half[1] == 70.0, "{half:?}");
        let mut two = Estimate::new(&shares, 0, 30);
        two += Estimate::new(&shares, 0, 30);
        let of_two = two.interval(70.0);
        // Twice the variance, and 4 degrees of freedom in place of 2: quantiles of 4.60409 and 9.92484.
        let wider = (of_two[1] - 70.0) / (half[1] - 35.0);
        assert!((wider - 2f64.sqrt() * 4.60409 / 9.92484).abs() < 1e-5, "{of_two:?} {half:?}");
        assert_eq!(two.with_unknown(8.0, 0.25).interval(70.0), [of_two[0] - 2.0, of_two[1] + 6.0]);
        // The part is the same share of the time in each.
        assert_eq!(Estimate::new(&[(1.0, 2.0), (3.0, 6.0)], 0, 9).interval(4.0), [4.0, 4.0]);
    }
}
