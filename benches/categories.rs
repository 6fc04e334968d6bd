//! How often each method finds a warm-up, and where, in series of known levels; and what it takes beside sorting:
//! `cargo bench --bench categories`. `TRIALS` (1000): seeded series of each kind. `LONGEST` (10000000): repetitions of
//! the longest series that is timed; 0 times none.

mod series;

use std::hint::black_box;
use std::time::{Duration, Instant};

use mpitrace::categories::{Category, Class, Robust, Roth};
use mpitrace::statistics::median;
use series::{Noise, Shape, series};

/// A line of the table.
struct Kind {
    name: &'static str,
    shape: Shape,
    noise: Noise,
    length: usize,
}

const fn kind(name: &'static str, shape: Shape, noise: Noise) -> Kind {
    Kind { name, shape, noise, length: 1000 }
}

impl Kind {
    const fn of(self, length: usize) -> Kind {
        Kind { length, ..self }
    }
}

const fn plain(sigma: f64) -> Noise {
    Noise::Lognormal { sigma }
}

const fn cliff(at: usize, factor: f64) -> Shape {
    Shape::Cliff { at, factor }
}

/// Without a warm-up: each that is found is false.
const WITHOUT: [Kind; 25] = [
    kind("stationary, sigma 0.05", Shape::Flat, plain(0.05)),
    kind("stationary, sigma 0.1", Shape::Flat, plain(0.1)),
    kind("stationary, sigma 0.2", Shape::Flat, plain(0.2)),
    kind("stationary, sigma 0.3", Shape::Flat, plain(0.3)),
    kind("1 % lucky", Shape::Flat, Noise::Lucky { sigma: 0.02 }),
    kind("1 % outliers", Shape::Flat, Noise::Outliers { sigma: 0.05, share: 0.01 }),
    kind("5 % outliers", Shape::Flat, Noise::Outliers { sigma: 0.05, share: 0.05 }),
    kind("slow first", Shape::Flat, Noise::SlowFirst { sigma: 0.05 }),
    kind("AR(1), phi 0.5", Shape::Flat, Noise::Autoregressive { sigma: 0.1, phi: 0.5 }),
    kind("AR(1), phi 0.9", Shape::Flat, Noise::Autoregressive { sigma: 0.1, phi: 0.9 }),
    kind("AR(1), phi 0.9, sigma 0.3", Shape::Flat, Noise::Autoregressive { sigma: 0.3, phi: 0.9 }),
    kind("bursts x1.3", Shape::Flat, Noise::Bursts { sigma: 0.05, factor: 1.3 }),
    kind("bursts x2", Shape::Flat, Noise::Bursts { sigma: 0.1, factor: 2.0 }),
    kind("two modes, half and half", Shape::Flat, Noise::Modes { sigma: 0.03, share: 0.5 }),
    kind("two modes, 10 % slow", Shape::Flat, Noise::Modes { sigma: 0.03, share: 0.1 }),
    kind("two modes, 20 % slow", Shape::Flat, Noise::Modes { sigma: 0.03, share: 0.2 }),
    kind("two modes that last", Shape::Flat, Noise::Switching { sigma: 0.03 }),
    kind("20 repetitions", Shape::Flat, plain(0.1)).of(20),
    kind("50 repetitions", Shape::Flat, plain(0.1)).of(50),
    kind("100 repetitions", Shape::Flat, plain(0.1)).of(100),
    kind("50 repetitions, two modes", Shape::Flat, Noise::Modes { sigma: 0.03, share: 0.5 }).of(50),
    kind("50 repetitions, AR(1), phi 0.5", Shape::Flat, Noise::Autoregressive { sigma: 0.1, phi: 0.5 }).of(50),
    kind("drop x1.5 at 600", Shape::Cliff { at: 600, factor: 1.5 }, plain(0.05)),
    kind("rise x1.5 at 600", Shape::Later { at: 600, factor: 1.5 }, plain(0.05)),
    kind("slowing down to x1.5", Shape::Slower { factor: 1.5 }, plain(0.05)),
];

/// With one.
const WITH: [Kind; 23] = [
    kind("cliff at 60, x2, sigma 0.05", cliff(60, 2.0), plain(0.05)),
    kind("cliff at 60, x1.3, sigma 0.05", cliff(60, 1.3), plain(0.05)),
    kind("cliff at 60, x1.3, sigma 0.02", cliff(60, 1.3), plain(0.02)),
    kind("cliff at 60, x1.15, sigma 0.05", cliff(60, 1.15), plain(0.05)),
    kind("cliff at 60, x2, sigma 0.15", cliff(60, 2.0), plain(0.15)),
    kind("cliff at 60, x1.3, sigma 0.1", cliff(60, 1.3), plain(0.1)),
    kind("cliff at 60, x1.3, sigma 0.2", cliff(60, 1.3), plain(0.2)),
    kind("cliff at 60, x1.5, sigma 0.3", cliff(60, 1.5), plain(0.3)),
    kind("cliff at 240, x1.3, sigma 0.1", cliff(240, 1.3), plain(0.1)),
    kind("cliff at 60, x1.3, 1 % outliers", cliff(60, 1.3), Noise::Outliers { sigma: 0.05, share: 0.01 }),
    kind("cliff at 60, x1.3, AR(1), phi 0.5", cliff(60, 1.3), Noise::Autoregressive { sigma: 0.05, phi: 0.5 }),
    kind("cliff at 60, x2, bursts x1.3", cliff(60, 2.0), Noise::Bursts { sigma: 0.05, factor: 1.3 }),
    kind("cliff at 2, x1.3, sigma 0.05", cliff(2, 1.3), plain(0.05)),
    kind("cliff at 3, x1.3, sigma 0.05", cliff(3, 1.3), plain(0.05)),
    kind("cliff at 5, x1.3, sigma 0.05", cliff(5, 1.3), plain(0.05)),
    kind("cliff at 9, x1.3, sigma 0.05", cliff(9, 1.3), plain(0.05)),
    kind("cliff at 5, x3, sigma 0.05", cliff(5, 3.0), plain(0.05)),
    kind("cliff at 5, x3, 1 % outliers", cliff(5, 3.0), Noise::Outliers { sigma: 0.05, share: 0.01 }),
    kind("20 repetitions, cliff at 4, x1.3", cliff(4, 1.3), plain(0.05)).of(20),
    kind("50 repetitions, cliff at 10, x1.3", cliff(10, 1.3), plain(0.05)).of(50),
    kind("100 repetitions, cliff at 20, x1.3", cliff(20, 1.3), plain(0.05)).of(100),
    kind("10^5 repetitions, cliff at 60, x1.3", cliff(60, 1.3), plain(0.05)).of(100_000),
    kind("10^5 repetitions, cliff at 9000, x1.3", cliff(9000, 1.3), plain(0.1)).of(100_000),
];

/// With one that has no place.
const GRADUAL: [Kind; 2] = [
    kind("gradual, tau 60, x2", Shape::Gradual { tau: 60.0, factor: 2.0 }, plain(0.05)),
    kind("gradual, tau 20, x1.5", Shape::Gradual { tau: 20.0, factor: 1.5 }, plain(0.1)),
];

fn main() {
    let number = |name: &str, default: usize| match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is a number")),
        Err(_) => default,
    };
    let trials = number("TRIALS", 1000);
    without(trials);
    with(trials);
    gradual(trials);
    speed(number("LONGEST", 10_000_000));
}

/// What a method finds in one series.
struct Found {
    end: Option<usize>,
    class: Option<Class>,
    outliers: usize,
}

fn roth(x: &[f64]) -> Found {
    let found = Roth::default().categorize(&numbers(x), x);
    Found { end: found.warmup_end.map(|end| end as usize), class: None, outliers: found.count(Category::Outlier) }
}

fn robust(x: &[f64]) -> Found {
    let found = Robust::default().categorize(&numbers(x), x).expect("finite run times");
    Found {
        end: found.categories.warmup_end.map(|end| end as usize),
        class: Some(found.class),
        outliers: found.categories.count(Category::Outlier),
    }
}

fn numbers(x: &[f64]) -> Vec<u64> {
    (0..x.len() as u64).collect()
}

fn trials_of(kind: &Kind, trials: usize) -> impl Iterator<Item = Vec<f64>> {
    // Long ones take long, and scatter no more than short ones.
    let trials = if kind.length > 10_000 { trials.div_ceil(5) } else { trials };
    (0..trials as u64).map(|seed| series(kind.shape, kind.noise, kind.length, seed))
}

fn share(found: &[Found], of: impl Fn(&Found) -> bool) -> f64 {
    found.iter().filter(|found| of(found)).count() as f64 * 100.0 / found.len() as f64
}

fn without(trials: usize) {
    println!("{:38} {:>17} {:>8}   class by robust, %", "no warm-up: what is found is false", "found, %", "number");
    println!("{:38} {:>8} {:>8} {:>8}   {}", "series", "roth", "robust", "outliers", class_titles());
    for kind in &WITHOUT {
        let (mut by_roth, mut by_robust) = (Vec::new(), Vec::new());
        for x in trials_of(kind, trials) {
            by_roth.push(roth(&x));
            by_robust.push(robust(&x));
        }
        let has = |found: &Found| found.end.is_some();
        let outliers: usize = by_robust.iter().map(|found| found.outliers).sum();
        println!(
            "{:38} {:8.1} {:8.1} {:8.1}   {}",
            kind.name,
            share(&by_roth, has),
            share(&by_robust, has),
            outliers as f64 / by_robust.len() as f64,
            classes(&by_robust)
        );
    }
}

/// Shorter than the classes' names, in the order of [`Class::ALL`].
fn class_titles() -> String {
    ["flat", "warmup", "slowdown", "shift", "unsteady"].map(|title| format!("{title:>9}")).concat()
}

fn classes(found: &[Found]) -> String {
    Class::ALL.map(|class| format!("{:9.1}", share(found, |found| found.class == Some(class)))).concat()
}

fn with(trials: usize) {
    println!("\n{:38} {:^26} | {:^26} | {:>11}", "warm-up found, %; within 1 of its place,", "roth", "robust", "best");
    println!("{:38} {COLUMNS} | {COLUMNS} | {:>5} {:>5}", "%; mean error of the found ones", "in 1", "err");
    for kind in &WITH {
        let Shape::Cliff { at, factor } = kind.shape else { continue };
        let (mut by_roth, mut by_robust, mut by_best) = (Vec::new(), Vec::new(), Vec::new());
        for x in trials_of(kind, trials) {
            by_roth.push(roth(&x));
            by_robust.push(robust(&x));
            by_best.push(Found { end: Some(best(&x, factor)), class: None, outliers: 0 });
        }
        let place = Place { at };
        println!(
            "{:38} {} | {} | {:5.1} {:5.2}",
            kind.name,
            place.cells(&by_roth),
            place.cells(&by_robust),
            place.within_one(&by_best),
            place.error(&by_best)
        );
    }
}

/// Of each method: the share found, the share within one of its place, the mean error, the median w.
const COLUMNS: &str = "found    in 1   err    w";

/// The place of a cliff, and how near to it a method comes.
struct Place {
    at: usize,
}

impl Place {
    fn within_one(&self, found: &[Found]) -> f64 {
        share(found, |found| found.end.is_some_and(|end| end.abs_diff(self.at) <= 1))
    }

    fn error(&self, found: &[Found]) -> f64 {
        let ends: Vec<f64> =
            found.iter().filter_map(|found| found.end).map(|end| end.abs_diff(self.at) as f64).collect();
        ends.iter().sum::<f64>() / ends.len() as f64
    }

    fn cells(&self, found: &[Found]) -> String {
        let has = share(found, |found| found.end.is_some());
        let mut ends: Vec<f64> = found.iter().filter_map(|found| found.end).map(|end| end as f64).collect();
        let middle = median(&mut ends);
        let error = if ends.is_empty() { "-".to_owned() } else { format!("{:.2}", self.error(found)) };
        format!(
            "{has:5.1} {:7.1} {error:>5} {:>4}",
            self.within_one(found),
            middle.map_or("-".to_owned(), |middle| format!("{middle:.0}"))
        )
    }
}

/// The change point of maximum likelihood for who knows both levels and that the noise is lognormal, its sigma as well
/// (which does not move the maximum): no method that must find these out can be expected to come nearer.
fn best(x: &[f64], factor: f64) -> usize {
    let settled = 26_000_f64.ln();
    let slow = settled + factor.ln();
    let (mut place, mut least, mut sum) = (0, f64::INFINITY, 0.0);
    for (i, x) in x.iter().enumerate() {
        if sum < least {
            (place, least) = (i, sum);
        }
        let y = x.ln();
        sum += (y - slow).powi(2) - (y - settled).powi(2);
    }
    place
}

fn gradual(trials: usize) {
    println!("\n{:38} {:>14} {:>14}   excess at w over the noise, median", "found, %; median w", "roth", "robust");
    for kind in &GRADUAL {
        let (mut by_roth, mut by_robust) = (Vec::new(), Vec::new());
        for x in trials_of(kind, trials) {
            by_roth.push(roth(&x));
            by_robust.push(robust(&x));
        }
        let middle = |found: &[Found]| {
            median(&mut found.iter().filter_map(|found| found.end).map(|end| end as f64).collect::<Vec<_>>())
        };
        let cells = |found: &[Found]| {
            let end = middle(found).map_or("-".to_owned(), |end| format!("{end:.0}"));
            format!("{:8.1} {end:>5}", share(found, |found| found.end.is_some()))
        };
        let excess = |found: &[Found]| {
            let end = middle(found).unwrap_or(f64::NAN) as usize;
            (kind.shape.level(end, kind.length) - 1.0) / kind.noise.sigma()
        };
        println!(
            "{:38} {} {}   {:.2} {:.2}",
            kind.name,
            cells(&by_roth),
            cells(&by_robust),
            excess(&by_roth),
            excess(&by_robust)
        );
    }
}

fn speed(longest: usize) {
    if longest == 0 {
        return;
    }
    println!("\n{:38} {:>14} {:>14} {:>14}", "time, as a ratio", "roth / median", "robust / sort", "robust, bursts");
    let mut length = 1000;
    while length <= longest {
        let plain = series(Shape::Flat, Noise::Outliers { sigma: 0.1, share: 0.01 }, length, 1);
        let bursts = series(cliff(length / 20, 1.3), Noise::Bursts { sigma: 0.05, factor: 1.3 }, length, 1);
        let numbers = numbers(&plain);
        let rounds = (3_000_000 / length).clamp(3, 300);
        // Each in turn, so that what disturbs one disturbs all; the least of each.
        let mut least = [Duration::MAX; 4];
        for _ in 0..rounds {
            let timed = [
                time(|| median(&mut plain.to_vec())),
                time(|| Roth::default().categorize(&numbers, &plain)),
                time(|| {
                    let mut sorted = plain.to_vec();
                    sorted.sort_unstable_by(f64::total_cmp);
                    sorted
                }),
                time(|| Robust::default().categorize(&numbers, &plain)),
            ];
            least.iter_mut().zip(timed).for_each(|(least, timed)| *least = timed.min(*least));
        }
        let mut on_bursts = [Duration::MAX; 2];
        for _ in 0..rounds {
            let timed = [
                time(|| {
                    let mut sorted = bursts.to_vec();
                    sorted.sort_unstable_by(f64::total_cmp);
                    sorted
                }),
                time(|| Robust::default().categorize(&numbers, &bursts)),
            ];
            on_bursts.iter_mut().zip(timed).for_each(|(least, timed)| *least = timed.min(*least));
        }
        let ratio = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
        println!(
            "{:38} {:14.2} {:14.2} {:14.2}",
            format!("{length} repetitions"),
            ratio(least[1], least[0]),
            ratio(least[3], least[2]),
            ratio(on_bursts[1], on_bursts[0])
        );
        length *= 10;
    }
}

fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}
