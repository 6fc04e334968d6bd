//! How large a difference must be to be seen with the runs that there are.

use super::effect::both_logarithms;
use super::{Alternative, SIGNIFICANCE, Test, permutation, welch};
use crate::student_quantile;

/// The probability with which a difference of the size that [`detectable`] gives is found.
pub const POWER: f64 = 0.8;

/// The smallest difference of B from A, as a share of A, that the test finds at the level of 0.05 in 8 of 10
/// experiments with as many runs that scatter as these do; the level is divided by the number of operations that are
/// tested. On logarithms (t at 1 - alpha / 2 + t at the power) times the standard error: Chow, Shao, Wang, "Sample size
/// calculations in clinical research", 3.2.1, with Student's t for the variances of the samples. The rank-sum test
/// needs pi / 3 as many runs for the same (Lehmann, "Nonparametrics", 2.4).
///
/// `None` with less than two runs on a side, where no run differs from another, and where a run takes no time.
///
/// ```
/// use mpitrace_statistics::comparison::{Alternative, Test, detectable};
///
/// let runs: Vec<f64> = (0..10).map(|i| 1e3 * (1.0 + 0.01 * f64::from(i % 3))).collect();
/// let seen = |runs: &[f64]| detectable(runs, runs, Test::Welch, Alternative::TwoSided, 1);
/// let of_ten = seen(&runs).expect("ten runs");
/// assert!((0.005..0.05).contains(&of_ten), "{of_ten}");
/// assert!(seen(&runs[..5]).is_some_and(|of_five| of_five > of_ten));
/// assert_eq!(seen(&runs[..1]), None);
/// ```
pub fn detectable(a: &[f64], b: &[f64], test: Test, alternative: Alternative, operations: usize) -> Option<f64> {
    detectable_at(a, b, test, alternative, [SIGNIFICANCE / operations.max(1) as f64, POWER])
}

/// [`detectable`] at another level, and with another probability of being found.
pub(super) fn detectable_at(
    a: &[f64],
    b: &[f64],
    test: Test,
    alternative: Alternative,
    [mut level, power]: [f64; 2],
) -> Option<f64> {
    let [a, b] = both_logarithms(a, b)?;
    if test == Test::Permutation {
        // p has steps: of 4 runs a side 0.029 is the largest one at the level of 0.05.
        let step = permutation::smallest_p(a.len(), b.len(), alternative);
        level = (level / step).floor().max(1.0) * step;
    }
    let sides = if alternative == Alternative::TwoSided { 2.0 } else { 1.0 };
    let reach = |(error, freedom): (f64, f64)| {
        Some(error * (student_quantile(freedom, 1.0 - level / sides)? + student_quantile(freedom, power)?))
    };
    let of_all = reach(welch::error(&a, &b)?)?;
    let reach = match test {
        Test::Welch => of_all,
        Test::Wilcoxon => of_all * (std::f64::consts::PI / 3.0).sqrt(),
        // Its statistic is the larger one of two.
        Test::Permutation => reach(welch::error_of(permutation::errors([&a, &b]))).map_or(of_all, |it| it.min(of_all)),
    };
    Some(reach.exp_m1()).filter(|share| share.is_finite() && *share > 0.0)
}

/// So many runs on each side are needed, if all scatter as these do, for a difference of this share to be found by the
/// test of permutation; up to `most`. `None`: not by so many, or as [`detectable`].
pub(super) fn runs_for(
    a: &[f64],
    b: &[f64],
    alternative: Alternative,
    [level, power]: [f64; 2],
    (share, most): (f64, usize),
) -> Option<usize> {
    let [a, b] = both_logarithms(a, b)?;
    welch::error(&a, &b)?;
    let sides = if alternative == Alternative::TwoSided { 2.0 } else { 1.0 };
    let errors = permutation::errors([&a, &b]);
    let squares = [&a, &b].map(|side| (super::variance(side) / side.len() as f64, side.len() as f64));
    (2..=most).find(|&runs| {
        let step = permutation::smallest_p(runs, runs, alternative);
        let level = (level / step).floor().max(1.0) * step;
        let scaled = |of: [(f64, f64); 2]| {
            let one =
                |(square, count): (f64, f64), known: f64| (square * known / runs as f64, count * runs as f64 / known);
            welch::error_of([one(of[0], a.len() as f64), one(of[1], b.len() as f64)])
        };
        let reach = |(error, freedom): (f64, f64)| {
            Some(error * (student_quantile(freedom, 1.0 - level / sides)? + student_quantile(freedom, power)?))
        };
        let is_seen = |of: [(f64, f64); 2]| reach(scaled(of)).is_some_and(|reach| reach.exp_m1() <= share);
        level <= super::SIGNIFICANCE && (is_seen(squares) || is_seen(errors))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_follows_the_scatter_and_the_runs() {
        let side = |runs: usize, scatter: f64| -> Vec<f64> {
            (0..runs).map(|run| 1000.0 * if run % 2 == 0 { scatter.exp() } else { (-scatter).exp() }).collect()
        };
        let of = |runs, scatter| {
            detectable(&side(runs, scatter), &side(runs, scatter), Test::Welch, Alternative::TwoSided, 1)
                .unwrap()
                .ln_1p()
        };
        assert!((of(10, 0.02) / of(10, 0.01) - 2.0).abs() < 1e-9);
        assert!(of(40, 0.01) < of(10, 0.01) / 1.9);
        // Ten runs a side, standard deviation 0.01 sqrt(10 / 9): t of 18 degrees 2.1009 and 0.8620.
        let error = 0.01 * (10.0f64 / 9.0).sqrt() * (2.0f64 / 10.0).sqrt();
        assert!((of(10, 0.01) - (2.1009 + 0.8620) * error).abs() < 1e-6);
        assert_eq!(detectable(&[1.0], &side(5, 1.0), Test::Welch, Alternative::TwoSided, 1), None);
        assert_eq!(detectable(&side(5, 0.0), &side(5, 0.0), Test::Welch, Alternative::TwoSided, 1), None);
        assert_eq!(detectable(&[0.0, 1.0], &side(5, 0.01), Test::Welch, Alternative::TwoSided, 1), None);
    }

    #[test]
    fn of_more_operations_only_a_larger_difference_is_seen() {
        let side: Vec<f64> = (0..10).map(|run| 1000.0 + f64::from(run % 3)).collect();
        let of = |operations| detectable(&side, &side, Test::Welch, Alternative::TwoSided, operations).unwrap();
        assert!(of(10) > of(2) && of(2) > of(1));
    }

    /// Of C(8, 4) = 70 and C(8, 3) = 56 ways; the mirror image of one is as extreme where the sides are alike.
    #[test]
    fn the_smallest_p_of_a_permutation_is_that_of_one_way_or_of_two() {
        let p = |a, b, alternative| permutation::smallest_p(a, b, alternative);
        assert_eq!(p(4, 4, Alternative::TwoSided), 2.0 / 70.0);
        assert_eq!(p(4, 4, Alternative::Less), 1.0 / 70.0);
        assert_eq!(p(3, 5, Alternative::TwoSided), 1.0 / 56.0);
    }

    /// The promise itself: of many experiments with a difference of that size the test finds 8 in 10.
    #[test]
    fn a_difference_of_that_size_is_found_as_often_as_said() {
        let mut state = 7u64;
        let mut uniform = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        // Irwin and Hall: twelve uniform numbers less six are normal for this purpose.
        let mut run = |level: f64| level + 10.0 * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0);
        let (mut found, mut all) = (0, 0);
        // The true standard error, so that the size does not vary with the samples.
        let error = 10.0 * (2.0f64 / 8.0).sqrt();
        let reach = student_quantile(14.0, 0.975).unwrap() + student_quantile(14.0, POWER).unwrap();
        for _ in 0..2000 {
            let a: Vec<f64> = (0..8).map(|_| run(1000.0)).collect();
            let b: Vec<f64> = (0..8).map(|_| run(1000.0 + reach * error)).collect();
            let tested = welch(&a, &b, Alternative::TwoSided, 0.95).unwrap();
            found += usize::from(tested.p <= SIGNIFICANCE);
            all += 1;
        }
        let share = found as f64 / all as f64;
        assert!((0.76..0.86).contains(&share), "{share}");
    }
}
