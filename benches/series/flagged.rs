//! Noise as the longest of many ranks has it, and skewed noise, with outliers whose places are known: how much of what
//! robust flags is noise. A seed that was chosen before the rule was changed divides the pairs of noise and outliers
//! into a half that the rule was tuned on and one that was looked at once, for the documentation.

use std::rc::Rc;

use fastrand::Rng;

use super::LEVEL_NS;
use super::generators::half_of;
use super::random::{autoregressive, exponential, gamma, laplace, normal, uniform};

/// The seed of the division.
const DIVISION: u64 = 20_261_126;

/// The excess of repetitions over their level, in multiples of it.
type Excess = Rc<dyn Fn(usize, &mut Rng) -> Vec<f64>>;

/// True outliers: the share of the repetitions, and between which multiples of the level they take.
struct Outliers(&'static str, f64, f64, f64);

const OUTLIERS: [Outliers; 6] = [
    Outliers("1 % x1.3", 0.01, 1.3, 1.3),
    Outliers("1 % x1.3 to x3", 0.01, 1.3, 3.0),
    Outliers("1 % x3", 0.01, 3.0, 3.0),
    Outliers("2 % x1.5 to x2", 0.02, 1.5, 2.0),
    Outliers("5 % x1.3 to x3", 0.05, 1.3, 3.0),
    Outliers("5 % x2", 0.05, 2.0, 2.0),
];

/// A kind of noise with one of outliers.
pub struct Flagged {
    /// In tables.
    pub noise: &'static str,
    /// As above.
    pub outliers: &'static str,
    excess: Excess,
    of: &'static Outliers,
}

impl Flagged {
    /// True if it belongs to the half that nothing was tuned on.
    pub fn is_unseen(&self) -> bool {
        half_of(DIVISION, &format!("{}, {}", self.noise, self.outliers))
    }

    /// Run times in ns, and which are outliers.
    pub fn series(&self, length: usize, seed: u64) -> (Vec<f64>, Vec<bool>) {
        let mut random = Rng::with_seed(seed);
        let excess = (self.excess)(length, &mut random);
        let Outliers(_, rate, least, most) = *self.of;
        let one = |excess: f64| {
            let outlier = random.f64() < rate;
            let height = if outlier { least + (most - least) * random.f64() } else { 1.0 };
            (LEVEL_NS * (height + excess).max(0.05), outlier)
        };
        excess.into_iter().map(one).unzip()
    }
}

/// Every noise with all outliers.
pub fn all() -> Vec<Flagged> {
    let of = |(noise, excess): (&'static str, Excess)| {
        OUTLIERS.iter().map(move |of| Flagged { noise, outliers: of.0, excess: excess.clone(), of })
    };
    noises().into_iter().flat_map(of).collect()
}

fn noises() -> Vec<(&'static str, Excess)> {
    let independent = |one: fn(&mut Rng) -> f64| -> Excess {
        Rc::new(move |length, random| (0..length).map(|_| one(random)).collect())
    };
    let longest = |ranks: usize, one: fn(&mut Rng) -> f64| -> Excess {
        Rc::new(move |length, random| {
            (0..length).map(|_| (0..ranks).map(|_| one(random)).fold(f64::MIN, f64::max)).collect()
        })
    };
    let autoregressive = |phi: f64, make: fn(f64) -> f64| -> Excess {
        Rc::new(move |length, random| autoregressive(length, phi, random, normal).into_iter().map(make).collect())
    };
    vec![
        ("normal .01", independent(|random| 0.01 * normal(random))),
        ("normal .04", independent(|random| 0.04 * normal(random))),
        ("normal .012, 4 ranks", longest(4, |random| 0.012 * normal(random))),
        ("normal .03, 8 ranks", longest(8, |random| 0.03 * normal(random))),
        ("normal .012, 32 ranks", longest(32, |random| 0.012 * normal(random))),
        ("normal .03, 128 ranks", longest(128, |random| 0.03 * normal(random))),
        ("normal .02, 1024 ranks", longest(1024, |random| 0.02 * normal(random))),
        ("gamma 2, 4 ranks", longest(4, |random| 0.012 * gamma(2.0, random))),
        ("gamma 4, 16 ranks", longest(16, |random| 0.01 * gamma(4.0, random))),
        ("exponential", independent(|random| 0.04 * exponential(random))),
        ("exponential, 8 ranks", longest(8, |random| 0.02 * exponential(random))),
        ("lognormal .1", independent(|random| (0.1 * normal(random)).exp_m1())),
        ("lognormal floor", independent(|random| 0.03 * (0.6 * normal(random)).exp())),
        ("Weibull 1.5", independent(|random| 0.05 * exponential(random).powf(1.0 / 1.5))),
        ("Weibull .8", independent(|random| 0.03 * exponential(random).powf(1.0 / 0.8))),
        ("Laplace", independent(|random| 0.03 * laplace(random))),
        ("Gumbel", independent(|random| -0.02 * exponential(random).ln())),
        ("Pareto 4", independent(|random| 0.05 * (uniform(random).powf(-0.25) - 1.0))),
        ("Pareto 2.5, 4 ranks", longest(4, |random| 0.03 * (uniform(random).powf(-0.4) - 1.0))),
        ("inverse gamma 12", independent(|random| 0.1 * (12.0 / gamma(12.0, random) - 1.0))),
        ("AR(1) .7", autoregressive(0.7, |z| 0.03 * z)),
        ("AR(1) .8, squares", autoregressive(0.8, |z| 0.02 * z * z)),
        (
            "step 1 of 30, 32 ranks",
            Rc::new(|length, random| {
                let one = |random: &mut Rng| (0..32).map(|_| 0.02 * normal(random)).fold(f64::MIN, f64::max);
                (0..length).map(|_| (one(random) * 30.0).round() / 30.0).collect()
            }),
        ),
    ]
}
