//! Run times as MPI operations have them, made from seeds: noise of many kinds around levels that are known.
//!
//! The methods were tuned on [`tuning`]. [`reporting`] makes the same kinds of noise by other generators, with other
//! numbers, and the documentation reports what is found there. Nothing was tuned on it but the two numbers by which a
//! cliff is compared with noise that lasts (`robust/unique.rs`), which were chosen on its dependent noise and clusters.

#[allow(dead_code)] // Of one benchmark.
pub mod baselines;
#[allow(dead_code)] // As above.
pub mod flagged;
#[allow(dead_code)] // As above.
pub mod generators;
pub mod random;
pub mod reporting;
pub mod tuning;
#[allow(dead_code)] // As above.
pub mod windows;

use fastrand::Rng;

/// The level at which all series settle, ns: that of the thesis' example.
pub const LEVEL_NS: f64 = 26_000.0;

/// The run times of repetitions, in multiples of their level, and which of them are outliers.
#[derive(Clone, Debug, Default)]
pub struct Noise {
    /// One for each repetition.
    pub factor: Vec<f64>,
    /// Which are outliers by construction; empty: none.
    pub outlier: Vec<bool>,
}

/// The kinds of noise that a table has a row for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseKind {
    /// Independent, one mode, no outliers.
    Plain,
    /// Autoregressive.
    Autoregressive,
    /// Long memory.
    LongMemory,
    /// More than one mode.
    Modes,
    /// Rounded to the ticks of a coarse clock, or tied.
    Ticks,
    /// Outliers, single or in clusters.
    Outliers,
}

/// Makes so many values of noise.
pub type Make = Box<dyn Fn(usize, &mut Rng) -> Noise>;

/// A stationary process.
pub struct Process {
    /// In tables.
    pub name: &'static str,
    /// Which row it belongs to.
    pub kind: NoiseKind,
    /// The sum of the correlations at all lags from 1 on: its memory, in repetitions. Infinite for long memory.
    pub correlation_time: f64,
    /// The tick of the clock, in levels; 0: none.
    pub tick: f64,
    /// So many repetitions.
    pub make: Make,
}

impl Process {
    /// Run times in ns around this level, which is given in multiples of [`LEVEL_NS`].
    pub fn series(&self, length: usize, seed: u64, level: impl Fn(usize) -> f64) -> (Vec<f64>, Vec<bool>) {
        let mut random = Rng::with_seed(seed);
        let noise = (self.make)(length, &mut random);
        let ticked = |x: f64| if self.tick > 0.0 { (x / self.tick).round().max(1.0) * self.tick } else { x };
        let run_times =
            noise.factor.iter().enumerate().map(|(i, factor)| LEVEL_NS * ticked(level(i) * factor)).collect();
        (run_times, noise.outlier)
    }

    /// The standard deviation of a repetition that is no outlier, in levels: of 20000 repetitions.
    pub fn deviation(&self) -> f64 {
        let (x, outlier) = self.series(20_000, 4711, |_| 1.0);
        let good: Vec<f64> = (0..x.len()).filter(|&i| !outlier.get(i).unwrap_or(&false)).map(|i| x[i]).collect();
        let mean = good.iter().sum::<f64>() / good.len() as f64;
        let variance = good.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / good.len() as f64;
        variance.sqrt() / LEVEL_NS
    }
}

/// A process of independent numbers.
fn plain(name: &'static str, one: impl Fn(&mut Rng) -> f64 + 'static) -> Process {
    independent(name, NoiseKind::Plain, one)
}

fn independent(name: &'static str, kind: NoiseKind, one: impl Fn(&mut Rng) -> f64 + 'static) -> Process {
    let make = move |length: usize, random: &mut Rng| Noise {
        factor: (0..length).map(|_| one(random)).collect(),
        outlier: Vec::new(),
    };
    Process { name, kind, correlation_time: 0.0, tick: 0.0, make: Box::new(make) }
}

/// A process with a memory.
fn dependent(
    name: &'static str,
    kind: NoiseKind,
    correlation_time: f64,
    all: impl Fn(usize, &mut Rng) -> Vec<f64> + 'static,
) -> Process {
    let make = move |length: usize, random: &mut Rng| Noise { factor: all(length, random), outlier: Vec::new() };
    Process { name, kind, correlation_time, tick: 0.0, make: Box::new(make) }
}
