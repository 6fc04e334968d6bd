//! How many runs a test needs before it can find anything.

use super::compared::{levels_by_chance, permutation_suffices};
use super::rank_sum::smallest_p;
use super::{Alternative, SIGNIFICANCE, Test, permutation};

/// The smallest number of runs on each side with which the test can reach 0.05 for one of `operations` operations of
/// one of `pairs` pairs of sides. The rank-sum test cannot come below 1 in C(2n, n) orders, whatever the run times are,
/// and the test of permutation not below that for all operations together; Welch's needs a variance on each side.
///
/// ```
/// use mpitrace_statistics::comparison::{Alternative, Test, runs_needed};
///
/// // Of 4 runs a side there are 70 orders, of 3 only 20.
/// assert_eq!(runs_needed(Test::Wilcoxon, Alternative::TwoSided, 1, 1), 4);
/// ```
pub fn runs_needed(test: Test, alternative: Alternative, operations: usize, pairs: usize) -> usize {
    (2..).find(|&runs| enough_runs(test, alternative, [runs; 2], operations, pairs)).unwrap_or(usize::MAX)
}

/// True if the test can reach 0.05 with this many runs of A and B for one of `operations` operations of one of `pairs`
/// pairs of sides.
///
/// ```
/// use mpitrace_statistics::comparison::{Alternative, Test, enough_runs};
///
/// assert!(enough_runs(Test::Wilcoxon, Alternative::TwoSided, [4, 4], 1, 1));
/// assert!(!enough_runs(Test::Wilcoxon, Alternative::TwoSided, [4, 4], 2, 1));
/// ```
pub fn enough_runs(test: Test, alternative: Alternative, [a, b]: [usize; 2], operations: usize, pairs: usize) -> bool {
    let level = SIGNIFICANCE / pairs.max(1) as f64;
    match test {
        Test::Permutation if permutation_suffices(a, b, alternative) => {
            permutation::smallest_p(a, b, alternative) <= level
        }
        Test::Permutation => a.min(b) > 1 && levels_by_chance(a + b) <= SIGNIFICANCE,
        Test::Welch => a.min(b) > 1,
        Test::Wilcoxon => smallest_p(a, b, alternative) * operations.max(1) as f64 <= level,
    }
}
