//! Repetitions are not independent (Hunold & Carpen-Amarie 2016, 5.3): what that does to a test.
//!
//! Two series that both drift look related, and whatever drifts tells the first sixty repetitions from the rest. With
//! the one series (run times, or who belongs to a group) given as weights c_t of mean 0, and the other taken as noise
//! of which each value remembers the share rho of the one before, sum(c_t x_t) has this many times the variance that it
//! has for independent x_t (after Bartlett 1935):
//!
//! 1 + 2 sum_{t>s} c_t c_s rho^(t-s) / sum c_t^2

/// How much of each value is left in the next one: the correlation of neighbours among `ranks`, where `wanted` says
/// that both count and their repetitions follow each other. 0 where there are too few, or no positive one.
pub(super) fn memory(ranks: &[f64], repetition: &[u64], wanted: impl Fn(usize) -> bool) -> f64 {
    let neighbours =
        || (1..ranks.len()).filter(|&at| repetition[at] == repetition[at - 1] + 1 && wanted(at) && wanted(at - 1));
    let pairs = neighbours().count() as f64;
    if pairs < 8.0 {
        return 0.0;
    }
    let mean = |shift: usize| neighbours().map(|at| ranks[at - shift]).sum::<f64>() / pairs;
    let (mean, mean_before) = (mean(0), mean(1));
    let (mut both, mut own, mut before) = (0.0, 0.0, 0.0);
    for at in neighbours() {
        let (x, y) = (ranks[at] - mean, ranks[at - 1] - mean_before);
        both += x * y;
        own += x * x;
        before += y * y;
    }
    let rho = both / (own * before).sqrt();
    // Shorter than the truth by (1 + 3 rho) / n on average (Kendall 1954).
    let rho = rho + (1.0 + 3.0 * rho) / pairs;
    if rho.is_finite() { rho.clamp(0.0, LONGEST) } else { 0.0 }
}

/// A memory of a thousand repetitions: more cannot be told from a drift.
const LONGEST: f64 = 0.999;

/// How many times the variance of sum(c_t x_t) is that for independent x_t; at least 1.
pub(super) fn inflation(weights: &[f64], repetition: &[u64], rho: f64) -> f64 {
    if rho <= 0.0 {
        return 1.0;
    }
    // What is left of all weights before.
    let mut kept = 0.0;
    let (mut cross, mut own) = (0.0, 0.0);
    for (at, &weight) in weights.iter().enumerate() {
        if at > 0 {
            let gap = repetition[at] - repetition[at - 1];
            kept = (kept + weights[at - 1]) * if gap == 1 { rho } else { rho.powf(gap as f64) };
        }
        cross += weight * kept;
        own += weight * weight;
    }
    let inflation = 1.0 + 2.0 * cross / own;
    if inflation.is_finite() { inflation.max(1.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_over_all_pairs_is_found_in_one_pass() {
        let weights = [0.5, -1.0, 0.25, 0.75, -0.5];
        let repetition = [0, 1, 4, 5, 9];
        let rho: f64 = 0.7;
        let mut sum = 0.0;
        for t in 0..5 {
            for s in 0..t {
                sum += weights[t] * weights[s] * rho.powi((repetition[t] - repetition[s]) as i32);
            }
        }
        let own: f64 = weights.iter().map(|weight| weight * weight).sum();
        // Negative here: the floor of 1 is what is told; twice the same sign is not.
        assert_eq!(inflation(&weights, &repetition, rho), (1.0 + 2.0 * sum / own).max(1.0));
        let block: Vec<f64> = (0..100).map(|t| if t < 10 { 0.9 } else { -0.1 }).collect();
        let numbers: Vec<u64> = (0..100).collect();
        let found = inflation(&block, &numbers, 0.5);
        // Within a long block each value counts 1 / (1 + 2 rho / (1 - rho)) of one, a third.
        assert!((2.5..3.0).contains(&found), "{found}");
    }

    #[test]
    fn only_neighbours_are_compared() {
        let ranks: Vec<f64> = (0..40).map(|t| f64::from(t / 4)).collect();
        let numbers: Vec<u64> = (0..40).collect();
        assert!(memory(&ranks, &numbers, |_| true) > 0.9);
        assert_eq!(memory(&ranks, &numbers, |at| at % 2 == 0), 0.0);
        let apart: Vec<u64> = (0..40).map(|t| 2 * t).collect();
        assert_eq!(memory(&ranks, &apart, |_| true), 0.0);
        assert_eq!(memory(&[1.0; 40], &numbers, |_| true), 0.0);
    }
}
