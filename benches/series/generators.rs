//! Noise, levels that come and go, and warm-ups of many shapes. A seed that was chosen first divides them into a half
//! that the rule was tuned on and one that was looked at once, for the documentation.

use fastrand::Rng;

use super::random::{autoregressive, exponential, gamma, normal, uniform};
use super::{Noise, NoiseKind, Process, dependent, independent, plain};

/// The seed of the division.
const DIVISION: u64 = 20_261_125;

/// True if the generator of this name belongs to the half that nothing was tuned on.
pub fn is_unseen(name: &str) -> bool {
    half_of(DIVISION, name)
}

/// In which half this seed puts the name.
pub fn half_of(seed: u64, name: &str) -> bool {
    let hash = name.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    Rng::with_seed(hash).bool()
}

/// Stationary noise.
pub fn noises() -> Vec<Process> {
    let mut all = vec![
        plain("lognormal .01", |random| (0.01 * normal(random)).exp()),
        plain("lognormal .03", |random| (0.03 * normal(random)).exp()),
        plain("lognormal .08", |random| (0.08 * normal(random)).exp()),
        plain("lognormal .1", |random| (0.1 * normal(random)).exp()),
        plain("lognormal .5", |random| (0.5 * normal(random)).exp()),
        plain("uniform 10 %", |random| 0.9 + 0.2 * random.f64()),
        plain("Student 3, .03", |random| {
            let square: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
            (0.03 * normal(random) / (square / 3.0).sqrt()).exp()
        }),
        plain("gamma floor", |random| 0.9 + 0.05 * gamma(2.0, random)),
        plain("floor, Pareto 1.2", |random| 1.0 + 0.05 * (uniform(random).powf(-1.0 / 1.2) - 1.0)),
        plain("maximum of 16 ranks", |random| {
            1.0 + 0.02 * (0..16).map(|_| normal(random)).fold(f64::NEG_INFINITY, f64::max)
        }),
        plain("maximum of 4, exponential", |random| {
            1.0 + 0.05 * (0..4).map(|_| exponential(random)).fold(0.0, f64::max)
        }),
        plain("two modes .3, x1.5", |random| {
            (0.02 * normal(random)).exp() * if random.f64() < 0.3 { 1.5 } else { 1.0 }
        }),
    ];
    for (name, phi, sigma) in [
        ("AR(1) .4, .03", 0.4, 0.03),
        ("AR(1) .7, .05", 0.7, 0.05),
        ("AR(1) .8, .15", 0.8, 0.15),
        ("AR(1) .93, .04", 0.93, 0.04),
    ] {
        all.push(logarithms(name, phi / (1.0 - phi), sigma, move |length, random| {
            autoregressive(length, phi, random, normal)
        }));
    }
    for (name, radius, period) in [("AR(2) .97, period 23", 0.97, 23.0), ("AR(2) .99, period 120", 0.99, 120.0)] {
        all.push(logarithms(name, 0.0, 0.04, move |length, random| resonance(length, radius, period, random)));
    }
    all.push(logarithms("GARCH", 0.0, 0.04, |length, random| {
        let (mut variance, mut last) = (1.0_f64, 0.0_f64);
        let mut next = || {
            variance = 0.05 + 0.15 * last * last + 0.8 * variance;
            last = variance.sqrt() * normal(random);
            last
        };
        (0..length + 300).map(|_| next()).skip(300).collect()
    }));
    all.push(logarithms("MA(12)", 6.0, 0.03, |length, random| {
        let white: Vec<f64> = (0..length + 12).map(|_| normal(random)).collect();
        (0..length).map(|i| white[i..i + 12].iter().sum::<f64>() / 12.0_f64.sqrt()).collect()
    }));
    all.push(daemon("daemon 1/50 x3", 50.0, 0.2, 3.0, 1));
    all.push(daemon("daemon 1/30 x1.6, 3 at once", 30.0, 1.0, 1.6, 3));
    all.push(daemon("daemon 1/20 x1.4, 2 at once", 20.0, 0.05, 1.4, 2));
    all.push(daemon("daemon 1/60 x2, 4 at once", 60.0, 1.0, 2.0, 4));
    all.push(daemon("daemon 1/97 x3", 97.0, 0.1, 3.0, 1));
    all.push(levels_of("levels for 5 to 50, x1.15", &[1.0, 1.15], 5.0, 50.0, 0.03));
    all.push(levels_of("three levels for 5 to 50", &[1.0, 1.15, 1.4], 5.0, 50.0, 0.03));
    all.push(dependent("blocks of 20, x1.5", NoiseKind::Outliers, 0.0, |length, random| {
        let mut x: Vec<f64> = (0..length + 20).map(|_| (0.03 * normal(random)).exp()).collect();
        for from in 0..length {
            if random.f64() < 1.0 / 700.0 {
                x[from..from + 20].iter_mut().for_each(|x| *x *= 1.5);
            }
        }
        x.split_off(20)
    }));
    all.push(dependent("shots that fade", NoiseKind::Outliers, 0.0, |length, random| {
        let mut x = vec![1.0; length + 200];
        for from in 0..length + 200 {
            if random.f64() < 1.0 / 150.0 {
                let height = 0.6 * (0.5 + random.f64());
                x.iter_mut()
                    .skip(from)
                    .take(48)
                    .enumerate()
                    .for_each(|(i, x)| *x += height * (-(i as f64) / 8.0).exp());
            }
        }
        x.split_off(200).iter().map(|x| x * (0.03 * normal(random)).exp()).collect()
    }));
    all.push(periodic("every second x1.2", 2, 1.2));
    all.push(periodic("every 8th x1.3", 8, 1.3));
    for (name, tick, one) in
        [("ticks 10 of 200", 0.05, 0.02), ("ticks 10 of 404", 10.0 / 404.0, 0.015), ("ticks 1 of 26", 1.0 / 26.0, 0.03)]
    {
        let process = independent(name, NoiseKind::Ticks, move |random| (one * normal(random)).exp());
        all.push(Process { tick, ..process });
    }
    all.push(Process {
        tick: 10.0 / 150.0,
        ..independent("ticks 10 of 150, skewed", NoiseKind::Ticks, |random| {
            1.0 + 0.02 * (gamma(4.0, random) / 2.0 - 2.0)
        })
    });
    all.push(Process {
        tick: 1.0 / 20.0,
        ..independent("ticks 1 of 20, skewed", NoiseKind::Ticks, |random| 1.0 + 0.035 * gamma(2.0, random))
    });
    all
}

/// Levels that come and go, each for 50 to 500 repetitions or so, with so many times their noise: with 0 times of it
/// the levels themselves.
pub fn levels(noise: f64) -> Vec<Process> {
    let levels_of = |name, levels, least, most, sigma: f64| levels_of(name, levels, least, most, noise * sigma);
    let geometric = |name, levels, mean| geometric(name, levels, mean, noise * 0.03);
    vec![
        levels_of("1, 1.15, 1.4", &[1.0, 1.15, 1.4], 50.0, 500.0, 0.03),
        levels_of("1, 1.3", &[1.0, 1.3], 50.0, 500.0, 0.03),
        levels_of("1, 2, 3", &[1.0, 2.0, 3.0], 50.0, 500.0, 0.03),
        levels_of("1, 1.1, 1.3, 1.6 for 20 to 200", &[1.0, 1.1, 1.3, 1.6], 20.0, 200.0, 0.03),
        levels_of("1, 1.2, noise 1 %", &[1.0, 1.2], 50.0, 500.0, 0.01),
        levels_of("1, 1.25, 2, noise 10 %", &[1.0, 1.25, 2.0], 50.0, 500.0, 0.1),
        levels_of("1, 1.5 for 100 to 300", &[1.0, 1.5], 100.0, 300.0, 0.05),
        levels_of("1, 1.05, 1.2, 1.5, 2", &[1.0, 1.05, 1.2, 1.5, 2.0], 50.0, 500.0, 0.02),
        geometric("geometric 150", &[1.0, 1.15, 1.4], 150.0),
        geometric("geometric 200, x1.2", &[1.0, 1.2], 200.0),
        geometric("geometric 100, x1.1", &[1.0, 1.1], 100.0),
        geometric("geometric 300, 1, 1.5, 2", &[1.0, 1.5, 2.0], 300.0),
    ]
}

/// Makes the warm-up of a series of so many repetitions, with noise of this standard deviation.
type MakeWarmup = Box<dyn Fn(usize, f64, &mut Rng) -> Warmup>;

/// A warm-up: what repetitions take, in multiples of the level at which it settles, and between which places its end is
/// right, for noise of this standard deviation.
pub struct Shape {
    /// In tables.
    pub name: String,
    /// Which kind of shape it is.
    pub kind: &'static str,
    make: MakeWarmup,
}

/// A warm-up of a series.
pub struct Warmup {
    /// Of each repetition.
    pub factor: Vec<f64>,
    /// The ends that are right.
    pub ends: (f64, f64),
}

impl Shape {
    /// Of so many repetitions.
    pub fn warmup(&self, length: usize, deviation: f64, seed: u64) -> Warmup {
        (self.make)(length, deviation, &mut Rng::with_seed(!seed))
    }
}

/// Warm-ups of many shapes.
pub fn shapes() -> Vec<Shape> {
    let mut all = Vec::new();
    for share in [0.01, 0.05, 0.2, 0.5, 0.8] {
        for height in [1.1, 1.3, 2.0, 5.0] {
            let kind = if height < 1.2 { "cliff of 10 %" } else { "cliff" };
            all.push(shape(format!("cliff {share} x{height}"), kind, move |n, _, random| {
                let varied = if share < 0.6 { 0.8 + 0.4 * random.f64() } else { 1.0 };
                let end = ((share * n as f64 * varied) as usize).max(3);
                steps(n, &[(end, height)])
            }));
        }
    }
    for tau in [0.005, 0.03, 0.1, 0.3] {
        for height in [0.3, 1.0, 4.0] {
            let kind = if tau < 0.2 { "decay" } else { "unsettled decay" };
            all.push(shape(format!("decay {tau} +{height}"), kind, move |n, deviation, _| {
                let tau = tau * n as f64;
                let at = |part: f64| tau * (height / (part * deviation)).max(1.0).ln();
                let factor = (0..n).map(|i| 1.0 + height * (-(i as f64) / tau).exp()).collect();
                Warmup { factor, ends: (at(1.5).min(n as f64), at(0.1).min(n as f64)) }
            }));
        }
    }
    for (a, b, high, low) in
        [(0.05, 0.2, 3.0, 1.4), (0.1, 0.6, 1.5, 1.2), (0.02, 0.3, 10.0, 1.1), (0.1, 0.3, 1.3, 1.15)]
    {
        all.push(shape(format!("steps {a} x{high}, {b} x{low}"), "two steps", move |n, _, _| {
            let [a, b] = [a, b].map(|share: f64| (share * n as f64) as usize);
            steps(n, &[(a, high), (b, low)])
        }));
    }
    for share in [0.1, 0.4, 0.7] {
        for height in [1.3, 2.0] {
            all.push(shape(format!("ramp {share} x{height}"), "ramp", move |n, deviation, _| {
                let end = share * n as f64;
                let factor = (0..n).map(|i| 1.0 + (height - 1.0) * (1.0 - i as f64 / end).max(0.0)).collect();
                Warmup { factor, ends: (end * (1.0 - 1.5 * deviation / (height - 1.0)).max(0.0), end) }
            }));
        }
    }
    for (share, height, part) in [(0.2, 2.0, 0.5), (0.05, 5.0, 0.5), (0.2, 1.5, 0.7), (0.1, 3.0, 0.35)] {
        all.push(shape(format!("{part} of {share} x{height}"), "half slow", move |n, _, random| {
            let end = (share * n as f64) as usize;
            let mut made = steps(n, &[]);
            (0..end).for_each(|i| made.factor[i] = if i + 1 == end || random.f64() < part { height } else { 1.0 });
            made.ends = (end as f64, end as f64);
            made
        }));
    }
    for (share, height) in [(0.1, 3.0), (0.3, 1.4)] {
        all.push(shape(format!("1/k to {share}, +{height}"), "decay", move |n, deviation, _| {
            // Pages that are touched ever more seldom.
            let scale = share * n as f64 / 10.0;
            let factor = (0..n).map(|i| 1.0 + height / (1.0 + i as f64 / scale).powi(2)).collect();
            let at = |part: f64| scale * ((height / (part * deviation)).max(1.0).sqrt() - 1.0);
            Warmup { factor, ends: (at(1.5).min(n as f64), at(0.1).min(n as f64)) }
        }));
    }
    all.extend(several_levels());
    all
}

/// Beginnings of several levels, which rise and fall.
fn several_levels() -> Vec<Shape> {
    let mut all = Vec::new();
    let shares: [&[(f64, f64)]; 8] = [
        &[(0.2, 1.5), (0.4, 2.0)],
        &[(0.05, 1.2), (0.15, 1.5), (0.3, 2.0)],
        &[(0.1, 2.0), (0.125, 3.0), (0.3, 2.0)],
        &[(0.1, 1.3), (0.2, 1.6), (0.35, 1.3)],
        &[(0.1, 2.0), (0.2, 1.5), (0.25, 3.0), (0.4, 1.8)],
        &[(0.05, 1.5), (0.08, 4.0), (0.12, 1.5)],
        &[(0.15, 3.0), (0.3, 1.4), (0.4, 1.8)],
        &[(0.02, 1.3), (0.1, 2.5)],
    ];
    for levels in shares {
        let name = levels.iter().map(|(share, height)| format!("x{height} to {share}")).collect::<Vec<_>>().join(", ");
        all.push(shape(name, "several levels", move |n, _, random| {
            let varied = 0.9 + 0.2 * random.f64();
            let ends = levels.iter().map(|(share, height)| ((share * varied * n as f64) as usize, *height));
            steps(n, &ends.collect::<Vec<_>>())
        }));
    }
    for (share, low, high) in [(0.4, 1.2_f64, 1.8_f64), (0.3, 1.5, 4.0), (0.2, 1.3, 2.0)] {
        all.push(shape(format!("any of x{low} to x{high} to {share}"), "several levels", move |n, _, random| {
            let count = random.usize(2..6);
            let mut ends: Vec<f64> = (1..count).map(|_| 0.05 + 0.9 * random.f64()).chain([1.0]).collect();
            ends.sort_unstable_by(f64::total_cmp);
            let level =
                |end: f64, random: &mut Rng| ((end * share * n as f64) as usize, low * (high / low).powf(random.f64()));
            let levels: Vec<(usize, f64)> = ends.into_iter().map(|end| level(end, random)).collect();
            steps(n, &levels)
        }));
    }
    for (share, height, hump) in [(0.3, 1.5, 1.0), (0.2, 2.0, 0.5), (0.4, 1.3, 0.7)] {
        all.push(shape(format!("hump of {hump} on x{height} to {share}"), "hump", move |n, _, _| {
            let end = (share * n as f64) as usize;
            let mut made = steps(n, &[(end, height)]);
            let part = std::f64::consts::PI / end.max(1) as f64;
            (0..end).for_each(|i| made.factor[i] *= 1.0 + hump * (part * i as f64).sin());
            made
        }));
    }
    all
}

fn shape(name: String, kind: &'static str, make: impl Fn(usize, f64, &mut Rng) -> Warmup + 'static) -> Shape {
    Shape { name, kind, make: Box::new(make) }
}

/// Levels up to these places, and 1 from the last one on.
fn steps(length: usize, levels: &[(usize, f64)]) -> Warmup {
    let of = |i: usize| levels.iter().find(|(end, _)| i < *end).map_or(1.0, |(_, height)| *height);
    let end = levels.last().map_or(0.0, |(end, _)| *end as f64);
    Warmup { factor: (0..length).map(of).collect(), ends: (end, end) }
}

/// exp(sigma z) of these z.
fn logarithms(
    name: &'static str,
    correlation_time: f64,
    sigma: f64,
    z: impl Fn(usize, &mut Rng) -> Vec<f64> + 'static,
) -> Process {
    let all = move |length: usize, random: &mut Rng| z(length, random).iter().map(|z| (sigma * z).exp()).collect();
    dependent(name, NoiseKind::Autoregressive, correlation_time, all)
}

/// A second-order autoregressive process of variance 1 that rings.
fn resonance(length: usize, radius: f64, period: f64, random: &mut Rng) -> Vec<f64> {
    const BEFORE: usize = 1000;
    let (a, b) = (2.0 * radius * (std::f64::consts::TAU / period).cos(), -radius * radius);
    let (mut last, mut z) = (0.0, 0.0);
    let mut all = Vec::with_capacity(length);
    for i in 0..length + BEFORE {
        (last, z) = (z, a * z + b * last + normal(random));
        if i >= BEFORE {
            all.push(z);
        }
    }
    let variance = (1.0 - b) / ((1.0 + b) * ((1.0 - b).powi(2) - a * a));
    all.iter().map(|z| z / variance.sqrt()).collect()
}

/// Another process that runs every so often, for so many repetitions, at times that vary by this share; 1: at any time.
fn daemon(name: &'static str, every: f64, varies: f64, height: f64, together: usize) -> Process {
    let make = move |length: usize, random: &mut Rng| {
        let mut factor: Vec<f64> = (0..length).map(|_| (0.02 * normal(random)).exp()).collect();
        let mut outlier = vec![false; length];
        let mut at = every * random.f64();
        while (at as usize) < length {
            let more = height * (1.0 + 0.2 * random.f64());
            let from = at as usize;
            for i in from..(from + together).min(length) {
                factor[i] *= more;
                outlier[i] = true;
            }
            let wait = if varies < 1.0 { every * (1.0 + varies * normal(random)) } else { every * exponential(random) };
            at = (at + wait).max((from + together) as f64);
        }
        Noise { factor, outlier }
    };
    Process { name, kind: NoiseKind::Outliers, correlation_time: 0.0, tick: 0.0, make: Box::new(make) }
}

/// Every so many repetitions are slow, from any on.
fn periodic(name: &'static str, every: usize, height: f64) -> Process {
    dependent(name, NoiseKind::Modes, 0.0, move |length, random| {
        let phase = random.usize(0..every);
        let one = |i: usize, random: &mut Rng| if (i + phase).is_multiple_of(every) { height } else { 1.0 } * (0.02 * normal(random)).exp();
        (0..length).map(|i| one(i, random)).collect()
    })
}

/// Each level lasts for a time that is uniform in logarithms; the first one has begun before the series.
fn levels_of(name: &'static str, levels: &'static [f64], least: f64, most: f64, sigma: f64) -> Process {
    switching(name, levels, sigma, move |random| (least.ln() + (most / least).ln() * random.f64()).exp())
}

/// Each level lasts for a time of a geometric distribution.
fn geometric(name: &'static str, levels: &'static [f64], mean: f64, sigma: f64) -> Process {
    switching(name, levels, sigma, move |random| 1.0 + mean * exponential(random))
}

fn switching(
    name: &'static str,
    levels: &'static [f64],
    sigma: f64,
    duration: impl Fn(&mut Rng) -> f64 + 'static,
) -> Process {
    dependent(name, NoiseKind::LongMemory, f64::INFINITY, move |length, random| {
        let mut level = random.usize(0..levels.len());
        let mut left = duration(random) * random.f64();
        let mut x = Vec::with_capacity(length);
        while x.len() < length {
            x.extend((0..left as usize + 1).map(|_| levels[level] * (sigma * normal(random)).exp()));
            level = (level + 1 + random.usize(0..levels.len() - 1)) % levels.len();
            left = duration(random);
        }
        x.truncate(length);
        x
    })
}
