//! How often `robust` finds where a warm-up of many shapes ends, and how often it finds one where there is none, beside
//! PELT on ranks and the method of Barrett et al. (2017), on the same series: `cargo bench --bench warmups`.
//!
//! `TRIALS` (4): series of each noise and shape. `LENGTHS` (100,1000). `HALF` (unseen): `tuning` for the generators
//! that the rule was tuned on. The unseen ones were looked at once, for docs/developers/measurements/warmups.txt.
//! `ONLY=robust`: without the others, of which PELT takes long.
//! `LEVELS`: so many series of each kind of levels that come and go, and nothing else, from seed `FIRST` (0) on.

#[allow(dead_code)] // Shared with other benchmarks.
mod series;

use std::collections::BTreeMap;
use std::ops::Range;

use mpitrace_statistics::categories::Robust;
use series::generators::{is_unseen, levels, noises, shapes};
use series::{Process, baselines};

/// The penalties of PELT on ranks, in ln n: the least is the one in use, the others lower the rate of false warm-ups.
const PELT: [f64; 8] = [3.0, 8.0, 14.0, 20.0, 32.0, 48.0, 64.0, 96.0];
/// The penalties of Barrett's method: the published one first.
const BARRETT: [f64; 3] = [15.0, 30.0, 45.0];
/// Methods compared.
const METHODS: usize = 1 + PELT.len() + BARRETT.len();
/// An end is right within this share of the series.
const WITHIN: f64 = 0.05;
/// What ends later is no warm-up: less than a quarter follows (Barrett et al. 2017). For all methods alike.
const LATEST: f64 = 0.75;
/// A level that lasts for fewer repetitions, or for less than an eighth of the series, is a burst.
const BURST: usize = 25;

fn main() {
    let variable = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    let trials: u64 = variable("TRIALS", "4").parse().expect("TRIALS is a number");
    let half = variable("HALF", "unseen");
    let first: u64 = variable("FIRST", "0").parse().expect("FIRST is a number");
    let levels: Option<u64> = std::env::var("LEVELS").ok().map(|count| count.parse().expect("LEVELS is a number"));
    let belongs = |name: &str| is_unseen(name) == (half == "unseen");
    let noises: Vec<Process> = noises().into_iter().filter(|process| belongs(process.name)).collect();
    match levels {
        Some(count) => println!("the {half} half, {count} series of each kind of levels from seed {first} on, %"),
        None => println!("the {half} half, {trials} series each, %"),
    }
    for length in variable("LENGTHS", "100,1000").split(',') {
        let length: usize = length.trim().parse().expect("LENGTHS are numbers");
        println!("\n{length} repetitions\n{:30}{}", "", titles());
        if let Some(count) = levels {
            come_and_go(length, first..first + count, &belongs);
            continue;
        }
        right_ends(&noises, length, trials, &belongs);
        let mut all = false_ends(&noises, length, trials);
        all.join(come_and_go(length, 0..8 * trials, &belongs));
        all.print("false warm-up: both");
    }
}

fn titles() -> String {
    let pelt = PELT.map(|penalty| format!("PELT {penalty}"));
    let barrett = BARRETT.map(|penalty| format!("Barrett {penalty}"));
    ["robust".to_owned()].into_iter().chain(pelt).chain(barrett).map(|title| format!("{title:>12}")).collect()
}

/// The end of the warm-up by each method, where a quarter follows.
fn ends(series: &[f64]) -> [Option<usize>; METHODS] {
    let latest = LATEST * series.len() as f64;
    any_ends(series).map(|end| end.filter(|&end| end as f64 <= latest))
}

fn any_ends(series: &[f64]) -> [Option<usize>; METHODS] {
    let numbers: Vec<u64> = (0..series.len() as u64).collect();
    let robust = Robust.categorize(&numbers, series).expect("categories").categories.warmup_end;
    let mut found = [None; METHODS];
    found[0] = robust.map(|end| end as usize);
    if std::env::var_os("ONLY").is_some() {
        return found;
    }
    for (found, penalty) in found[1..].iter_mut().zip(PELT) {
        *found = baselines::on_ranks(series, penalty);
    }
    for (found, penalty) in found[1 + PELT.len()..].iter_mut().zip(BARRETT) {
        *found = baselines::barrett(series, penalty);
    }
    found
}

/// Counts of each method, and what they are out of.
#[derive(Clone, Copy, Default)]
struct Counts([u64; METHODS], u64);

impl Counts {
    fn add(&mut self, is_so: impl Fn(usize) -> bool, found: [Option<usize>; METHODS]) {
        for (count, end) in self.0.iter_mut().zip(found) {
            *count += u64::from(end.is_some_and(&is_so));
        }
        self.1 += 1;
    }

    fn join(&mut self, other: Counts) {
        self.0.iter_mut().zip(other.0).for_each(|(count, other)| *count += other);
        self.1 += other.1;
    }

    /// A row with the standard error of the first rate.
    fn print(&self, name: &str) {
        let share = |count: u64| count as f64 / self.1.max(1) as f64;
        let error = (share(self.0[0]) * (1.0 - share(self.0[0])) / self.1.max(1) as f64).sqrt();
        let cells: String = self.0.iter().map(|&count| format!("{:12.2}", 100.0 * share(count))).collect();
        println!("{name:30}{cells}   of {}, +-{:.2}", self.1, 100.0 * error);
    }
}

fn right_ends(noises: &[Process], length: usize, trials: u64, belongs: &impl Fn(&str) -> bool) {
    let mut kinds: BTreeMap<&str, Counts> = BTreeMap::new();
    let [mut all, mut late] = <[Counts; 2]>::default();
    for shape in shapes().iter().filter(|shape| belongs(&shape.name)) {
        for noise in noises {
            let deviation = noise.deviation().max(0.005);
            for seed in 0..trials {
                let warmup = shape.warmup(length, deviation, seed);
                let (series, _) = noise.series(length, seed, |index| warmup.factor[index]);
                let (found, allowed) = (ends(&series), WITHIN * length as f64);
                if warmup.ends.0 > LATEST * length as f64 {
                    late.add(|_| true, any_ends(&series));
                    continue;
                }
                let is_right = |end: usize| (warmup.ends.0 - allowed..=warmup.ends.1 + allowed).contains(&(end as f64));
                kinds.entry(shape.kind).or_default().add(is_right, found);
                all.add(is_right, found);
            }
        }
    }
    kinds.iter().for_each(|(kind, counts)| counts.print(&format!("right end: {kind}")));
    all.print("right end: all");
    late.print("warm-up of more than 3/4");
}

fn false_ends(noises: &[Process], length: usize, trials: u64) -> Counts {
    let mut counts = Counts::default();
    for noise in noises {
        for seed in 0..8 * trials {
            counts.add(|_| true, ends(&noise.series(length, seed, |_| 1.0).0));
        }
    }
    counts.print("false warm-up: noise");
    counts
}

/// Levels that come and go: with three changes or more, which it counts; with so many where some of the levels are
/// bursts; and with one or two, where the run times do not show what they are.
fn come_and_go(length: usize, seeds: Range<u64>, belongs: &impl Fn(&str) -> bool) -> Counts {
    let [mut several, mut bursts, mut few] = <[Counts; 3]>::default();
    for (noisy, plain) in levels(1.0).iter().zip(&levels(0.0)).filter(|(noisy, _)| belongs(noisy.name)) {
        for seed in seeds.clone() {
            let (level, _) = plain.series(length, seed, |_| 1.0);
            let parts: Vec<&[f64]> = level.chunk_by(|one, other| one == other).collect();
            let mut lasting: Vec<f64> =
                parts.iter().filter(|part| part.len() >= BURST.min(length / 8)).map(|part| part[0]).collect();
            lasting.dedup();
            let counts = match (parts.len(), lasting.len()) {
                (1, _) => continue,
                (_, 4..) => &mut several,
                (4.., _) => &mut bursts,
                _ => &mut few,
            };
            counts.add(|_| true, ends(&noisy.series(length, seed, |_| 1.0).0));
        }
    }
    several.print("false warm-up: levels return");
    bursts.print("warm-up: some are bursts");
    few.print("warm-up: one or two changes");
    several
}
