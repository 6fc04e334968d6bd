//! Holm's correction: of many tests some come out by chance.

/// The p-values corrected for their number (Holm 1979): the smallest times n, the next times n - 1, and so on, none
/// below the one before it and none above 1. With all that are then at most 0.05 taken for real, the chance that any of
/// them is not is at most 0.05. One for each of `p`, in the same order.
///
/// ```
/// use mpitrace_statistics::comparison::holm;
///
/// assert_eq!(holm(&[0.25, 0.125]), [0.25, 0.25]);
/// assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
/// ```
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut corrected = vec![0.0; p.len()];
    let mut largest: f64 = 0.0;
    for (tests, index) in (1..=p.len()).rev().zip(ascending(p)) {
        largest = largest.max((p[index] * tests as f64).min(1.0));
        corrected[index] = largest;
    }
    corrected
}

/// The part of the level that each test has in this correction: an interval of 1 less this part leaves 0 out exactly
/// where the corrected p is at most 0.05. Those that are not found have that of the first of them.
pub(super) fn levels(p: &[f64], level: f64) -> Vec<f64> {
    let mut of_tests = vec![level; p.len()];
    let mut is_found = true;
    let mut part = level;
    for (tests, index) in (1..=p.len()).rev().zip(ascending(p)) {
        if is_found {
            part = level / tests as f64;
            is_found = p[index] <= part;
        }
        of_tests[index] = part;
    }
    of_tests
}

fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&one, &other| p[one].total_cmp(&p[other]));
    order
}
