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

/// Fractionally integrated noise, (1 - L)^-d e, from its moving average of 2000 terms; of variance 1 as that of all terms.
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

/// Normal values whose variance is 1 on average, and depends on the last value and the last variance.
pub fn garch(random: &mut Random, n: usize, of_value: f64, of_variance: f64) -> Vec<f64> {
    let (mut variance, mut value) = (1.0, 0.0_f64);
    let next = || {
        variance = 1.0 - of_value - of_variance + of_value * value * value + of_variance * variance;
        value = variance.sqrt() * random.normal();
        value
    };
    each(500 + n, next).split_off(500)
}

/// Normal values whose standard deviation is exp(sd z), z being an autoregressive series.
pub fn lasting_spread(random: &mut Random, n: usize, phi: f64, sd: f64) -> Vec<f64> {
    let spread = autoregressive(random, &[phi], n);
    spread.into_iter().map(|z| (sd * z).exp() * random.normal()).collect()
}

/// A value above a floor; without variance for an exponent below 2.
pub fn pareto(random: &mut Random, exponent: f64, scale: f64) -> f64 {
    LEVEL * (1.0 + scale * (random.uniform().powf(-1.0 / exponent) - 1.0))
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
