//! How many runs a test needs before it can find anything.

use super::rank_sum::smallest_p;
use super::{Alternative, SIGNIFICANCE, Test};

/// The smallest number of runs on each side with which the test can reach 0.05 for one of `operations` operations,
/// after Holm's correction. The rank-sum test cannot come below 1 in C(2n, n) orders, whatever the run times are;
/// Welch's needs a variance on each side and has no such floor.
pub fn runs_needed(test: Test, alternative: Alternative, operations: usize) -> usize {
    match test {
        Test::Welch => 2,
        Test::Wilcoxon => (1..)
            .find(|&runs| smallest_p(runs, runs, alternative) * operations.max(1) as f64 <= SIGNIFICANCE)
            .unwrap_or(usize::MAX),
    }
}

/// True if the test can reach 0.05 with this many runs of A and B for one of `operations` operations.
pub fn enough_runs(test: Test, alternative: Alternative, a: usize, b: usize, operations: usize) -> bool {
    match test {
        Test::Welch => a.min(b) > 1,
        Test::Wilcoxon => smallest_p(a, b, alternative) * operations.max(1) as f64 <= SIGNIFICANCE,
    }
}
