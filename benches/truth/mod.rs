//! Series whose truth is known, made from seeds.

use mpitrace_testing::Random;

/// The level of all series, ns.
pub const LEVEL: f64 = 1000.0;

/// n values, one after the other.
pub fn each(n: usize, next: impl FnMut() -> f64) -> Vec<f64> {
    std::iter::repeat_with(next).take(n).collect()
}

/// An autoregressive series of variance 1.
pub fn autoregressive(random: &mut Random, coefficients: &[f64], n: usize) -> Vec<f64> {
    let ahead = 1000;
    let mut z: Vec<f64> = Vec::with_capacity(n + ahead);
    for t in 0..n + ahead {
        let before: f64 =
            coefficients.iter().enumerate().filter(|(lag, _)| *lag < t).map(|(lag, c)| c * z[t - 1 - lag]).sum();
        z.push(before + random.normal());
    }
    let deviation = match *coefficients {
        [a] => (1.0 / (1.0 - a * a)).sqrt(),
        [a, b] => ((1.0 - b) / ((1.0 + b) * ((1.0 - b).powi(2) - a * a))).sqrt(),
        _ => 1.0,
    };
    z.drain(..ahead);
    z.iter_mut().for_each(|z| *z /= deviation);
    z
}

/// Fractionally integrated noise, (1 - L)^-d e, from its moving average of 2000 terms; of variance 1 as that of all
/// terms.
pub fn long_memory(random: &mut Random, d: f64, n: usize) -> Vec<f64> {
    const TERMS: usize = 2000;
    let mut weights = vec![1.0];
    for k in 1..TERMS {
        weights.push(weights[k - 1] * (k as f64 - 1.0 + d) / k as f64);
    }
    let variance: f64 = weights.iter().map(|weight| weight * weight).sum();
    let noise = each(n + TERMS, || random.normal());
    (0..n)
        .map(|t| {
            let terms = weights.iter().zip(noise[t..t + TERMS].iter().rev());
            terms.map(|(weight, noise)| weight * noise).sum::<f64>() / variance.sqrt()
        })
        .collect()
}

/// Two levels that last so long on average.
pub fn switching(random: &mut Random, n: usize, factor: f64, fast: f64, slow: f64, sd: f64) -> Vec<f64> {
    let mut is_slow = random.uniform() < slow / (fast + slow);
    each(n, || {
        let level = if is_slow { factor } else { 1.0 };
        if random.uniform() < 1.0 / if is_slow { slow } else { fast } {
            is_slow = !is_slow;
        }
        LEVEL * level * (sd * random.normal()).exp()
    })
}
