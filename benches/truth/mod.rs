//! Series whose truth is known, made from seeds: run times around 1000 ns.
//!
//! There are two sets of families. Constants of the analysis were chosen on [`TUNING`] alone; what the benchmarks print
//! by default is of [`REPORTED`], whose distributions, dependences and parameters are others.

use mpitrace::statistics::Random;

/// The level of all series, ns.
pub const LEVEL: f64 = 1000.0;

/// A kind of series.
#[derive(Clone, Copy)]
pub struct Family {
    /// Its name in tables.
    pub name: &'static str,
    /// Repetitions in which the dependence falls to 1/e, 1 for none; infinite for long memory.
    pub correlation_time: f64,
    /// Makes a series of this length.
    pub make: fn(&mut Random, usize) -> Vec<f64>,
}

/// Families on which constants were chosen.
pub const TUNING: &[Family] = &[
    Family { name: "normal, sd 4 %", correlation_time: 1.0, make: |r, n| each(n, || LEVEL * (1.0 + 0.04 * r.normal())) },
    Family { name: "lognormal, sd 15 %", correlation_time: 1.0, make: |r, n| each(n, || LEVEL * (0.15 * r.normal()).exp()) },
    Family { name: "AR(1) 0.3", correlation_time: 1.0, make: |r, n| scale(autoregressive(r, &[0.3], n), 0.05) },
    Family { name: "AR(1) 0.7", correlation_time: 2.8, make: |r, n| scale(autoregressive(r, &[0.7], n), 0.05) },
    Family { name: "AR(1) 0.95", correlation_time: 19.5, make: |r, n| scale(autoregressive(r, &[0.95], n), 0.05) },
    Family { name: "AR(1) 0.98", correlation_time: 49.5, make: |r, n| scale(autoregressive(r, &[0.98], n), 0.05) },
    Family { name: "switching x1.4, 15 / 30", correlation_time: 9.5, make: |r, n| switching(r, n, 1.4, 30.0, 15.0, 0.04) },
    Family { name: "long memory 0.35", correlation_time: f64::INFINITY, make: |r, n| scale(long_memory(r, 0.35, n), 0.05) },
];

/// Families that no constant has seen.
pub const REPORTED: &[Family] = &[
    Family { name: "gamma(4), sd 10 %", correlation_time: 1.0, make: |r, n| each(n, || LEVEL * (0.8 + 0.05 * r.gamma(4.0))) },
    Family { name: "lognormal, sd 30 %", correlation_time: 1.0, make: |r, n| each(n, || LEVEL * (0.3 * r.normal()).exp()) },
    Family { name: "Weibull(1.5), sd 7 %", correlation_time: 1.0, make: |r, n| each(n, || LEVEL * (0.9 + 0.1 * (-r.uniform().ln()).powf(1.0 / 1.5))) },
    Family { name: "1 % at x3 to x8", correlation_time: 1.0, make: |r, n| each(n, || spiked(r, 0.01)) },
    Family { name: "ticks of 20 ns, sd 0.8 %", correlation_time: 1.0, make: |r, n| each(n, || (LEVEL * (1.0 + 0.008 * r.normal()) / 20.0).round() * 20.0) },
    Family { name: "exp of AR(1) 0.5, sd 8 %", correlation_time: 1.4, make: |r, n| exponential(autoregressive(r, &[0.5], n), 0.08) },
    Family { name: "exp of AR(1) 0.9, sd 8 %", correlation_time: 9.5, make: |r, n| exponential(autoregressive(r, &[0.9], n), 0.08) },
    Family { name: "exp of AR(1) 0.98, sd 8 %", correlation_time: 49.5, make: |r, n| exponential(autoregressive(r, &[0.98], n), 0.08) },
    Family { name: "AR(2) 0.6 0.3", correlation_time: 10.0, make: |r, n| scale(autoregressive(r, &[0.6, 0.3], n), 0.06) },
    Family { name: "AR(1) 0.95 and white noise", correlation_time: 19.5, make: noisy_autoregressive },
    Family { name: "switching x1.3, 10 / 10", correlation_time: 5.0, make: |r, n| switching(r, n, 1.3, 10.0, 10.0, 0.05) },
    Family { name: "switching x2, 40 / 20", correlation_time: 13.3, make: |r, n| switching(r, n, 2.0, 40.0, 20.0, 0.1) },
    Family { name: "long memory 0.2", correlation_time: f64::INFINITY, make: |r, n| scale(long_memory(r, 0.2, n), 0.06) },
    Family { name: "long memory 0.3", correlation_time: f64::INFINITY, make: |r, n| scale(long_memory(r, 0.3, n), 0.06) },
    Family { name: "long memory 0.45", correlation_time: f64::INFINITY, make: |r, n| scale(long_memory(r, 0.45, n), 0.06) },
];

/// n values, one after the other.
pub fn each(n: usize, next: impl FnMut() -> f64) -> Vec<f64> {
    std::iter::repeat_with(next).take(n).collect()
}

/// Level times 1 + sd z.
pub fn scale(z: Vec<f64>, sd: f64) -> Vec<f64> {
    z.into_iter().map(|z| LEVEL * (1.0 + sd * z)).collect()
}

/// Level times exp(sd z).
pub fn exponential(z: Vec<f64>, sd: f64) -> Vec<f64> {
    z.into_iter().map(|z| LEVEL * (sd * z).exp()).collect()
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

fn noisy_autoregressive(random: &mut Random, n: usize) -> Vec<f64> {
    let slow = autoregressive(random, &[0.95], n);
    slow.into_iter().map(|z| LEVEL * (1.0 + 0.03 * z + 0.04 * random.normal())).collect()
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

fn spiked(random: &mut Random, share: f64) -> f64 {
    let factor = if random.uniform() < share { 3.0 + 5.0 * random.uniform() } else { 1.0 };
    LEVEL * factor * (0.05 * random.normal()).exp()
}
