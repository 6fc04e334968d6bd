//! How much of a group's extra time each of several causes has.
//!
//! A repetition of the group has one of the named causes, or one that was not recorded. The metric of a cause is higher
//! in its repetitions than in the others, by an amount that is estimated with the causes' shares: a mixture of normal
//! distributions, by expectation and maximisation (Dempster, Laird and Rubin 1977).

const ROUNDS: usize = 200;
/// A metric that is named differs by something.
const LEAST_EFFECT: f64 = 0.05;
/// So much more likely, twice its logarithm, must the repetitions be with a cause that was not recorded than without:
/// the quantile at 99 % of chi-squared with one degree of freedom.
const UNKNOWN: f64 = 6.63;

/// The share of the extra time that each cause has: `effects[cause][member]` is how far the metric lies from its mean
/// among the others, in standard deviations and in the direction of the cause; `extra_ns[member]` by how much the
/// repetition is slower than the others. The shares are 0 to 1 and add up to 1 at most: to 1 unless the metrics show
/// that some repetitions have another cause.
pub(super) fn shares(effects: &[Vec<f64>], extra_ns: &[f64]) -> Vec<f64> {
    let [complete, partial] = [0.0, 1.0].map(|unknown| Mixture::new(effects, extra_ns.len(), unknown));
    let found = if 2.0 * (partial.likelihood - complete.likelihood) > UNKNOWN { partial } else { complete };
    let all: f64 = extra_ns.iter().sum();
    let of = |belongs: &Vec<f64>| {
        let attributed: f64 = belongs.iter().zip(extra_ns).map(|(p, extra)| p * extra).sum();
        if all > 0.0 { (attributed / all).clamp(0.0, 1.0) } else { 0.0 }
    };
    found.belongs.iter().map(of).collect()
}

struct Mixture {
    /// The probability, by cause and repetition.
    belongs: Vec<Vec<f64>>,
    /// The logarithm of the likelihood.
    likelihood: f64,
}

impl Mixture {
    /// `unknown`: the weight at first of the causes that were not recorded, against each that was.
    fn new(effects: &[Vec<f64>], members: usize, unknown: f64) -> Mixture {
        let causes = effects.len();
        let mut weight = vec![1.0 / (causes as f64 + unknown); causes];
        let mut unknown = unknown / (causes as f64 + unknown);
        let mut effect: Vec<f64> = effects.iter().map(|values| start(values, causes)).collect();
        let mut belongs = vec![vec![0.0; members]; causes];
        let mut likelihood = 0.0;
        for _ in 0..ROUNDS {
            likelihood = 0.0;
            for member in 0..members {
                // Against the one that was not recorded, under which all metrics are as among the others.
                let ratio = |cause: usize| {
                    let exponent = effect[cause] * (effects[cause][member] - effect[cause] / 2.0);
                    exponent.clamp(-300.0, 300.0).exp() * weight[cause]
                };
                let ratios: Vec<f64> = (0..causes).map(ratio).collect();
                let sum = (ratios.iter().sum::<f64>() + unknown).max(f64::MIN_POSITIVE);
                likelihood += sum.ln();
                belongs.iter_mut().zip(ratios).for_each(|(belongs, ratio)| belongs[member] = ratio / sum);
            }
            for cause in 0..causes {
                let sum: f64 = belongs[cause].iter().sum();
                weight[cause] = sum / members as f64;
                if sum > 0.0 {
                    let products = belongs[cause].iter().zip(&effects[cause]).map(|(p, value)| p * value);
                    effect[cause] = (products.sum::<f64>() / sum).max(LEAST_EFFECT);
                }
            }
            unknown = if unknown > 0.0 { (1.0 - weight.iter().sum::<f64>()).max(1e-9) } else { 0.0 };
        }
        Mixture { belongs, likelihood }
    }
}

/// The mean of the values that would be the cause's if all causes had equally many.
fn start(values: &[f64], causes: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let largest = &sorted[..values.len().div_ceil(causes)];
    (largest.iter().sum::<f64>() / largest.len() as f64).max(LEAST_EFFECT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::Random;

    #[test]
    fn each_cause_has_the_extra_time_of_its_repetitions() {
        let mut random = Random::new(1);
        // 300 of the first cause, 100 of the second, whose cost twice as much, and 100 of none.
        let cause = |member: usize| [0, 0, 0, 1, 2][member % 5];
        let value = |of: usize, random: &mut Random| {
            (0..500).map(|member| random.normal() + if cause(member) == of { 4.0 } else { 0.0 }).collect::<Vec<f64>>()
        };
        let effects = [value(0, &mut random), value(1, &mut random)];
        let extra: Vec<f64> = (0..500).map(|member| if cause(member) == 1 { 2.0 } else { 1.0 }).collect();
        let found = shares(&effects, &extra);
        assert!((found[0] - 0.5).abs() < 0.03 && (found[1] - 1.0 / 3.0).abs() < 0.03, "{found:?}");
        let only = shares(&effects[..1], &[1.0; 500]);
        assert!((only[0] - 0.6).abs() < 0.03, "{only:?}");
        // Of an effect that is weak in each repetition nothing says that some have another cause.
        let weak: Vec<f64> = (0..500).map(|_| random.normal() + 0.4).collect();
        assert!(shares(&[weak], &[1.0; 500])[0] > 0.99);
        assert_eq!(shares(&effects[..1], &[0.0; 500]), [0.0]);
    }
}
