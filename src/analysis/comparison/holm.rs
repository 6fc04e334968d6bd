//! Holm's correction: of many tests some come out by chance.

/// The p-values corrected for their number (Holm 1979): the smallest times n, the next times n - 1, and so on, none
/// below the one before it and none above 1. With all that are then at most 0.05 taken for real, the chance that any of
/// them is not is at most 0.05.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&one, &other| p[one].total_cmp(&p[other]));
    let mut corrected = vec![0.0; p.len()];
    let mut largest: f64 = 0.0;
    for (tests, index) in (1..=p.len()).rev().zip(order) {
        largest = largest.max((p[index] * tests as f64).min(1.0));
        corrected[index] = largest;
    }
    corrected
}
