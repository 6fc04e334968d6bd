//! Run times as MPI operations have them, made from seeds: noise of several kinds around levels that are known.

use fastrand::Rng;

/// The level at which all series settle, ns: that of the thesis' example.
const LEVEL_NS: f64 = 26_000.0;

/// How repetitions scatter around their level. All but `Lucky` multiply it by exp(sigma z).
#[derive(Clone, Copy, Debug)]
pub enum Noise {
    /// Independent, z normal.
    Lognormal { sigma: f64 },
    /// The same, and this share of the repetitions takes 3 to 13 times as long.
    Outliers { sigma: f64, share: f64 },
    /// The same, and 1 % of the repetitions take 20 where the others take 26.
    Lucky { sigma: f64 },
    /// z is autoregressive: each is phi times the one before and a normal one, of variance 1 together.
    Autoregressive { sigma: f64, phi: f64 },
    /// A tenth of the time, 20 repetitions in a row on average, the level is `factor` times higher.
    Bursts { sigma: f64, factor: f64 },
    /// This share of the repetitions, each by itself, is 1.3 times slower.
    Modes { sigma: f64, share: f64 },
    /// Two modes, 1.3 times apart, that last 5 repetitions on average.
    Switching { sigma: f64 },
    /// The first repetition takes 5 times as long.
    SlowFirst { sigma: f64 },
}

impl Noise {
    /// The standard deviation of the logarithms, outliers and modes aside.
    pub fn sigma(self) -> f64 {
        match self {
            Noise::Lognormal { sigma }
            | Noise::Outliers { sigma, .. }
            | Noise::Lucky { sigma }
            | Noise::Autoregressive { sigma, .. }
            | Noise::Bursts { sigma, .. }
            | Noise::Modes { sigma, .. }
            | Noise::Switching { sigma }
            | Noise::SlowFirst { sigma } => sigma,
        }
    }
}

/// How the level goes, in multiples of the one that it settles at.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// It stays.
    Flat,
    /// `factor` up to this repetition.
    Cliff { at: usize, factor: f64 },
    /// From `factor` to 1, the excess falling to 1/e every `tau` repetitions.
    Gradual { tau: f64, factor: f64 },
    /// `factor` from this repetition on.
    Later { at: usize, factor: f64 },
    /// Steadily up to `factor` at the end.
    Slower { factor: f64 },
}

impl Shape {
    /// The level of repetition `i` of `length`.
    pub fn level(self, i: usize, length: usize) -> f64 {
        match self {
            Shape::Cliff { at, factor } if i < at => factor,
            Shape::Later { at, factor } if i >= at => factor,
            Shape::Gradual { tau, factor } => 1.0 + (factor - 1.0) * (-(i as f64) / tau).exp(),
            Shape::Slower { factor } => 1.0 + (factor - 1.0) * i as f64 / length as f64,
            _ => 1.0,
        }
    }
}

/// Run times in ns.
pub fn series(shape: Shape, noise: Noise, length: usize, seed: u64) -> Vec<f64> {
    let mut random = Rng::with_seed(seed);
    let mut disturbance = Disturbance::new(noise, &mut random);
    (0..length).map(|i| LEVEL_NS * shape.level(i, length) * disturbance.next(i, &mut random)).collect()
}

struct Disturbance {
    noise: Noise,
    /// The last z of an autoregressive series.
    z: f64,
    /// Whether a series that has two states is in the slower one.
    slow: bool,
}

impl Disturbance {
    fn new(noise: Noise, random: &mut Rng) -> Self {
        let slow = match noise {
            Noise::Bursts { .. } => random.f64() < 0.1,
            _ => random.f64() < 0.5,
        };
        Disturbance { noise, z: normal(random), slow }
    }

    fn next(&mut self, i: usize, random: &mut Rng) -> f64 {
        let z = normal(random);
        let plain = (self.noise.sigma() * z).exp();
        match self.noise {
            Noise::Lognormal { .. } => plain,
            Noise::Outliers { share, .. } if random.f64() < share => {
                let excess = -(1.0 - random.f64()).ln();
                plain * (3.0 + 2.0 * excess.min(5.0))
            }
            Noise::Outliers { .. } => plain,
            Noise::Lucky { .. } => plain * if random.f64() < 0.01 { 20.0 / 26.0 } else { 1.0 },
            Noise::Autoregressive { sigma, phi } => {
                self.z = phi * self.z + (1.0 - phi * phi).sqrt() * z;
                (sigma * self.z).exp()
            }
            Noise::Bursts { factor, .. } => {
                plain * if self.state(1.0 / 180.0, 1.0 / 20.0, random) { factor } else { 1.0 }
            }
            Noise::Modes { share, .. } => plain * if random.f64() < share { 1.3 } else { 1.0 },
            Noise::Switching { .. } => plain * if self.state(0.2, 0.2, random) { 1.3 } else { 1.0 },
            Noise::SlowFirst { .. } => plain * if i == 0 { 5.0 } else { 1.0 },
        }
    }

    /// The state of this repetition; the next one's follows with these chances to begin and to end being slow.
    fn state(&mut self, begin: f64, end: f64, random: &mut Rng) -> bool {
        let slow = self.slow;
        if random.f64() < if slow { end } else { begin } {
            self.slow = !slow;
        }
        slow
    }
}

/// A number from the standard normal distribution (Box and Muller, 1958).
fn normal(random: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}
