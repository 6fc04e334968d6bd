//! The processes that the methods were tuned on.

use fastrand::Rng;

use super::random::{autoregressive, fractional, gamma, normal, uniform};
use super::{Noise, NoiseKind, Process, dependent, independent, plain};

/// All of them.
pub fn processes() -> Vec<Process> {
    let mut all = vec![
        plain("lognormal .01", |random| (0.01 * normal(random)).exp()),
        plain("lognormal .05", |random| (0.05 * normal(random)).exp()),
        plain("lognormal .15", |random| (0.15 * normal(random)).exp()),
        plain("lognormal .3", |random| (0.3 * normal(random)).exp()),
        plain("gamma 4", |random| gamma(4.0, random) / 3.67),
        plain("gamma 20", |random| gamma(20.0, random) / 19.67),
        plain("Pareto 1.7", |random| uniform(random).powf(-1.0 / 1.7) / 1.5),
        plain("Pareto 3", |random| uniform(random).powf(-1.0 / 3.0) / 1.26),
    ];
    for (name, phi, sigma) in [
        ("AR(1) .5", 0.5, 0.1),
        ("AR(1) .8", 0.8, 0.1),
        ("AR(1) .9", 0.9, 0.1),
        ("AR(1) .95", 0.95, 0.1),
        ("AR(1) .98", 0.98, 0.1),
        ("AR(1) .98 sd .03", 0.98, 0.03),
    ] {
        let logs = move |length: usize, random: &mut Rng| autoregressive(length, phi, random, normal);
        all.push(logarithms(name, NoiseKind::Autoregressive, phi / (1.0 - phi), sigma, logs));
    }
    for (name, d) in [("long memory .1", 0.1), ("long memory .2", 0.2), ("long memory .3", 0.3)] {
        let logs = move |length: usize, random: &mut Rng| fractional(length, d, random);
        all.push(logarithms(name, NoiseKind::LongMemory, f64::INFINITY, 0.05, logs));
    }
    for (name, share) in [("two modes .5", 0.5), ("two modes .2", 0.2)] {
        let one = move |random: &mut Rng| (0.03 * normal(random)).exp() * if random.f64() < share { 1.3 } else { 1.0 };
        all.push(independent(name, NoiseKind::Modes, one));
    }
    for (name, sigma, tick) in [
        ("tick .067 sd .027", 0.027, 0.067),
        ("tick .1 sd .05", 0.05, 0.1),
        ("tick .02 sd .03", 0.03, 0.02),
        ("90 % ties", 0.02, 0.0658),
        ("99 % ties", 0.01, 0.0515),
    ] {
        let process = independent(name, NoiseKind::Ticks, move |random| (sigma * normal(random)).exp());
        all.push(Process { tick, ..process });
    }
    all.push(independent("90 % equal", NoiseKind::Ticks, |random| {
        if random.f64() < 0.9 { 1.0 } else { (0.05 * normal(random)).exp() }
    }));
    for (name, share, cluster) in [
        ("outliers 1 %", 0.01, 1),
        ("outliers 5 %", 0.05, 1),
        ("outliers 10 %", 0.1, 1),
        ("outliers 5 %, by 4", 0.05, 4),
        ("outliers 10 %, by 4", 0.1, 4),
        ("outliers 3 %, by 10", 0.03, 10),
        ("outliers 10 %, by 20", 0.1, 20),
        ("outliers 10 %, by 50", 0.1, 50),
    ] {
        all.push(clusters(name, share, cluster));
    }
    all
}

/// exp(sigma z) of these z.
fn logarithms(
    name: &'static str,
    kind: NoiseKind,
    correlation_time: f64,
    sigma: f64,
    z: impl Fn(usize, &mut Rng) -> Vec<f64> + 'static,
) -> Process {
    let all = move |length: usize, random: &mut Rng| z(length, random).iter().map(|z| (sigma * z).exp()).collect();
    dependent(name, kind, correlation_time, all)
}

/// Lognormal noise of 5 %, and clusters of outliers that take 2.5 to 10 times as long, anywhere.
fn clusters(name: &'static str, share: f64, length_of_cluster: usize) -> Process {
    let make = move |length: usize, random: &mut Rng| {
        let mut factor: Vec<f64> = (0..length).map(|_| (0.05 * normal(random)).exp()).collect();
        let mut outlier = vec![false; length];
        let count = (share * length as f64 / length_of_cluster as f64) as usize;
        for _ in 0..count {
            let from = random.usize(0..=length.saturating_sub(length_of_cluster));
            for i in from..(from + length_of_cluster).min(length) {
                if !outlier[i] {
                    factor[i] *= 2.5 + 7.5 * random.f64();
                    outlier[i] = true;
                }
            }
        }
        Noise { factor, outlier }
    };
    Process { name, kind: NoiseKind::Outliers, correlation_time: 0.0, tick: 0.0, make: Box::new(make) }
}
