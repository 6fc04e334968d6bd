//! The processes that the documentation reports on. Nothing was tuned on them but what [`super`] names.

use fastrand::Rng;

use super::random::{autoregressive, exponential, gamma, laplace, normal, uniform};
use super::{Noise, NoiseKind, Process, dependent, independent, plain};

/// All of them.
pub fn processes() -> Vec<Process> {
    let mut all = vec![
        plain("lognormal .02", |random| (0.02 * normal(random)).exp()),
        plain("lognormal .25", |random| (0.25 * normal(random)).exp()),
        // A floor that nothing is faster than, and a skewed excess.
        plain("floor, gamma 2", |random| 0.8 + 0.1 * gamma(2.0, random)),
        plain("floor, Weibull 1.5", |random| 0.9 + 0.15 * exponential(random).powf(1.0 / 1.5)),
        plain("inverse gamma 12", |random| 12.0 / gamma(12.0, random)),
        // Lomax: Pareto's distribution from 0 on, above a floor.
        plain("floor, Pareto 1.7", |random| 0.9 + 0.2 * (uniform(random).powf(-1.0 / 1.7) - 1.0)),
        plain("floor, Pareto 2.5", |random| 0.9 + 0.3 * (uniform(random).powf(-1.0 / 2.5) - 1.0)),
        plain("logistic", |random| {
            let u = uniform(random).min(1.0 - 1e-12);
            (0.05 * (u / (1.0 - u)).ln()).exp()
        }),
    ];
    for (name, phi) in [("AR(1) .6, Laplace", 0.6), ("AR(1) .97, Laplace", 0.97)] {
        all.push(dependent(name, NoiseKind::Autoregressive, phi / (1.0 - phi), move |length, random| {
            autoregressive(length, phi, random, laplace).iter().map(|z| 1.0 + 0.06 * z).map(positive).collect()
        }));
    }
    // The sum of a persistent process and of independent noise of the same variance.
    all.push(dependent("AR(1) .95 and white", NoiseKind::Autoregressive, 9.5, |length, random| {
        let z = autoregressive(length, 0.95, random, normal);
        z.iter().map(|z| (0.07 * z + 0.07 * normal(random)).exp()).collect()
    }));
    // Gamma marginals: each value shares a random part of the one before (Lewis, McKenzie & Hugus 1989).
    all.push(dependent("gamma, AR .9", NoiseKind::Autoregressive, 9.0, |length, random| {
        let z = [(); 3].map(|()| autoregressive(length, 0.9_f64.sqrt(), random, normal));
        (0..length).map(|i| 0.85 + 0.05 * z.iter().map(|z| z[i] * z[i]).sum::<f64>()).collect()
    }));
    // 1/f^0.5 or so: autoregressive processes whose memories are 4 times as long each.
    all.push(dependent("sum of AR(1)", NoiseKind::LongMemory, f64::INFINITY, |length, random| {
        let mut sum = vec![0.0; length];
        let (mut memory, mut weight) = (1.0_f64, 1.0_f64);
        for _ in 0..6 {
            let phi = (-1.0 / memory).exp();
            let z = autoregressive(length, phi, random, normal);
            sum.iter_mut().zip(z).for_each(|(sum, z)| *sum += weight * z);
            memory *= 4.0;
            weight *= 0.7;
        }
        sum.iter().map(|z| (0.04 * z).exp()).collect()
    }));
    // Sources that are on and off for times of heavy tails (Willinger et al., 1997): H = (3 - 2.4) / 2 + ... = 0.8.
    all.push(dependent("on and off, 1.4", NoiseKind::LongMemory, f64::INFINITY, |length, random| {
        let mut sum: Vec<f64> = (0..length).map(|_| 0.5 * normal(random)).collect();
        for _ in 0..20 {
            let (mut i, mut on) = (0, random.bool());
            // The first time is cut short: it has begun before.
            let mut left = (duration(random) as f64 * random.f64()) as usize;
            while i < length {
                if on {
                    sum[i] += 0.4;
                }
                i += 1;
                if left == 0 {
                    on = !on;
                    left = duration(random);
                } else {
                    left -= 1;
                }
            }
        }
        sum.iter().map(|z| (0.04 * (z - 4.0)).exp()).collect()
    }));
    all.push(independent("three modes", NoiseKind::Modes, |random| {
        let mode = [1.0, 1.0, 1.0, 1.15, 1.15, 1.6][random.usize(0..6)];
        mode * (1.0 + 0.02 * normal(random))
    }));
    all.push(dependent("two modes that last 3", NoiseKind::Modes, 1.0, |length, random| {
        let mut slow = random.bool();
        (0..length)
            .map(|_| {
                slow ^= random.f64() < 1.0 / 3.0;
                (if slow { 1.25 } else { 1.0 }) * (1.0 + 0.03 * normal(random))
            })
            .collect()
    }));
    for (name, deviation, tick) in [("tick .09, gamma", 0.08, 0.09), ("tick .05, gamma", 0.03, 0.05)] {
        let process = independent(name, NoiseKind::Ticks, move |random| {
            let shape = 1.0 / (deviation * deviation);
            gamma(shape, random) / shape
        });
        all.push(Process { tick, ..process });
    }
    // The usual value, or a tick or two more.
    all.push(independent("90 % ties, upwards", NoiseKind::Ticks, |random| {
        let more = random.f64();
        1.0 + if more < 0.9 {
            0.0
        } else if more < 0.98 {
            0.04
        } else {
            0.08
        }
    }));
    for (name, rate, mean) in [
        ("outliers 2 %", 0.02, 1.0),
        ("outliers 8 %", 0.08, 1.0),
        ("clusters to 6", 0.015, 3.0),
        ("clusters to 20", 0.006, 9.0),
        ("clusters to 50", 0.003, 25.0),
    ] {
        all.push(bursts(name, rate, mean));
    }
    all
}

fn positive(x: f64) -> f64 {
    x.max(0.05)
}

/// At least 2 repetitions; the chance of more than t is (t / 2)^-1.4.
fn duration(random: &mut Rng) -> usize {
    (2.0 * uniform(random).powf(-1.0 / 1.4)).min(1e7) as usize
}

/// Normal noise of 4 %, and bursts that begin with this rate and last up to twice as many repetitions as their mean.
/// Each burst has a height of its own, from 6 standard deviations on, which its repetitions scatter around.
fn bursts(name: &'static str, rate: f64, mean: f64) -> Process {
    let make = move |length: usize, random: &mut Rng| {
        let mut factor: Vec<f64> = (0..length).map(|_| 1.0 + 0.04 * normal(random)).collect();
        let mut outlier = vec![false; length];
        let most = (0.1 * length as f64) as usize;
        let (mut i, mut count) = (0, 0);
        while i < length {
            if random.f64() < rate && count < most {
                let duration = if mean > 1.0 { 1 + random.usize(0..(2.0 * mean) as usize) } else { 1 };
                let height = 0.24 + 0.8 * exponential(random);
                for at in i..(i + duration).min(length) {
                    factor[at] += height * (1.0 + 0.1 * random.f64());
                    outlier[at] = true;
                    count += 1;
                }
                i += duration;
            }
            i += 1;
        }
        Noise { factor, outlier }
    };
    Process { name, kind: NoiseKind::Outliers, correlation_time: 0.0, tick: 0.0, make: Box::new(make) }
}
