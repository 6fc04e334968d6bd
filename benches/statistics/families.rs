//! Families of series, around 1000 ns.
//!
//! There are two sets. Constants of the analysis were chosen on [`TUNING`] alone; what the benchmark prints by default
//! is of [`REPORTED`], whose distributions, dependences and parameters are others.

use mpitrace_testing::Random;

use crate::truth::{LEVEL, autoregressive, each, long_memory, switching};

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
    Family {
        name: "normal, sd 4 %",
        correlation_time: 1.0,
        make: |r, n| each(n, || LEVEL * (1.0 + 0.04 * r.normal())),
    },
    Family {
        name: "lognormal, sd 15 %",
        correlation_time: 1.0,
        make: |r, n| each(n, || LEVEL * (0.15 * r.normal()).exp()),
    },
    Family { name: "AR(1) 0.3", correlation_time: 1.0, make: |r, n| scale(autoregressive(r, &[0.3], n), 0.05) },
    Family { name: "AR(1) 0.7", correlation_time: 2.8, make: |r, n| scale(autoregressive(r, &[0.7], n), 0.05) },
    Family { name: "AR(1) 0.95", correlation_time: 19.5, make: |r, n| scale(autoregressive(r, &[0.95], n), 0.05) },
    Family { name: "AR(1) 0.98", correlation_time: 49.5, make: |r, n| scale(autoregressive(r, &[0.98], n), 0.05) },
    Family {
        name: "switching x1.4, 15 / 30",
        correlation_time: 9.5,
        make: |r, n| switching(r, n, 1.4, 30.0, 15.0, 0.04),
    },
    Family {
        name: "long memory 0.35",
        correlation_time: f64::INFINITY,
        make: |r, n| scale(long_memory(r, 0.35, n), 0.05),
    },
    Family { name: "GARCH .1 .88", correlation_time: 1.0, make: |r, n| exponential(garch(r, n, 0.1, 0.88), 0.04) },
    Family { name: "GARCH .15 .8", correlation_time: 1.0, make: |r, n| exponential(garch(r, n, 0.15, 0.8), 0.04) },
    Family {
        name: "spread lasts, .95",
        correlation_time: 1.0,
        make: |r, n| exponential(lasting_spread(r, n, 0.95, 0.5), 0.04),
    },
    Family { name: "Pareto 1.2", correlation_time: 1.0, make: |r, n| each(n, || pareto(r, 1.2, 0.1)) },
];

/// Families that no constant has seen.
pub const REPORTED: &[Family] = &[
    Family {
        name: "gamma(4), sd 10 %",
        correlation_time: 1.0,
        make: |r, n| each(n, || LEVEL * (0.8 + 0.05 * r.gamma(4.0))),
    },
    Family {
        name: "lognormal, sd 30 %",
        correlation_time: 1.0,
        make: |r, n| each(n, || LEVEL * (0.3 * r.normal()).exp()),
    },
    Family {
        name: "Weibull(1.5), sd 7 %",
        correlation_time: 1.0,
        make: |r, n| each(n, || LEVEL * (0.9 + 0.1 * (-r.uniform().ln()).powf(1.0 / 1.5))),
    },
    Family { name: "1 % at x3 to x8", correlation_time: 1.0, make: |r, n| each(n, || spiked(r, 0.01)) },
    Family {
        name: "ticks of 20 ns, sd 0.8 %",
        correlation_time: 1.0,
        make: |r, n| each(n, || (LEVEL * (1.0 + 0.008 * r.normal()) / 20.0).round() * 20.0),
    },
    Family {
        name: "exp of AR(1) 0.5, sd 8 %",
        correlation_time: 1.4,
        make: |r, n| exponential(autoregressive(r, &[0.5], n), 0.08),
    },
    Family {
        name: "exp of AR(1) 0.9, sd 8 %",
        correlation_time: 9.5,
        make: |r, n| exponential(autoregressive(r, &[0.9], n), 0.08),
    },
    Family {
        name: "exp of AR(1) 0.98, sd 8 %",
        correlation_time: 49.5,
        make: |r, n| exponential(autoregressive(r, &[0.98], n), 0.08),
    },
    Family {
        name: "AR(2) 0.6 0.3",
        correlation_time: 10.0,
        make: |r, n| scale(autoregressive(r, &[0.6, 0.3], n), 0.06),
    },
    Family { name: "AR(1) 0.95 and white noise", correlation_time: 19.5, make: noisy_autoregressive },
    Family {
        name: "switching x1.3, 10 / 10",
        correlation_time: 5.0,
        make: |r, n| switching(r, n, 1.3, 10.0, 10.0, 0.05),
    },
    Family {
        name: "switching x2, 40 / 20",
        correlation_time: 13.3,
        make: |r, n| switching(r, n, 2.0, 40.0, 20.0, 0.1),
    },
    Family {
        name: "long memory 0.2",
        correlation_time: f64::INFINITY,
        make: |r, n| scale(long_memory(r, 0.2, n), 0.06),
    },
    Family {
        name: "long memory 0.25",
        correlation_time: f64::INFINITY,
        make: |r, n| scale(long_memory(r, 0.25, n), 0.06),
    },
    Family {
        name: "long memory 0.4",
        correlation_time: f64::INFINITY,
        make: |r, n| scale(long_memory(r, 0.4, n), 0.06),
    },
    Family {
        name: "long memory 0.3",
        correlation_time: f64::INFINITY,
        make: |r, n| scale(long_memory(r, 0.3, n), 0.06),
    },
    Family {
        name: "long memory 0.45",
        correlation_time: f64::INFINITY,
        make: |r, n| scale(long_memory(r, 0.45, n), 0.06),
    },
    Family { name: "GARCH .12 .86", correlation_time: 1.0, make: |r, n| exponential(garch(r, n, 0.12, 0.86), 0.05) },
    Family { name: "GARCH .2 .75", correlation_time: 1.0, make: |r, n| exponential(garch(r, n, 0.2, 0.75), 0.05) },
    Family {
        name: "spread lasts, .93",
        correlation_time: 1.0,
        make: |r, n| exponential(lasting_spread(r, n, 0.93, 0.6), 0.05),
    },
    Family { name: "Pareto 1.4", correlation_time: 1.0, make: |r, n| each(n, || pareto(r, 1.4, 0.2)) },
    Family { name: "4 % at x3 to x8", correlation_time: 1.0, make: |r, n| each(n, || spiked(r, 0.04)) },
];

/// Level times 1 + sd z.
fn scale(z: Vec<f64>, sd: f64) -> Vec<f64> {
    z.into_iter().map(|z| LEVEL * (1.0 + sd * z)).collect()
}

/// Level times exp(sd z).
fn exponential(z: Vec<f64>, sd: f64) -> Vec<f64> {
    z.into_iter().map(|z| LEVEL * (sd * z).exp()).collect()
}

fn noisy_autoregressive(random: &mut Random, n: usize) -> Vec<f64> {
    let slow = autoregressive(random, &[0.95], n);
    slow.into_iter().map(|z| LEVEL * (1.0 + 0.03 * z + 0.04 * random.normal())).collect()
}

fn spiked(random: &mut Random, share: f64) -> f64 {
    let factor = if random.uniform() < share { 3.0 + 5.0 * random.uniform() } else { 1.0 };
    LEVEL * factor * (0.05 * random.normal()).exp()
}

/// Normal values whose variance is 1 on average, and depends on the last value and the last variance.
fn garch(random: &mut Random, n: usize, of_value: f64, of_variance: f64) -> Vec<f64> {
    let (mut variance, mut value) = (1.0, 0.0_f64);
    let next = || {
        variance = 1.0 - of_value - of_variance + of_value * value * value + of_variance * variance;
        value = variance.sqrt() * random.normal();
        value
    };
    each(500 + n, next).split_off(500)
}

/// Normal values whose standard deviation is exp(sd z), z being an autoregressive series.
fn lasting_spread(random: &mut Random, n: usize, phi: f64, sd: f64) -> Vec<f64> {
    let spread = autoregressive(random, &[phi], n);
    spread.into_iter().map(|z| (sd * z).exp() * random.normal()).collect()
}

/// A value above a floor; without variance for an exponent below 2.
fn pareto(random: &mut Random, exponent: f64, scale: f64) -> f64 {
    LEVEL * (1.0 + scale * (random.uniform().powf(-1.0 / exponent) - 1.0))
}
