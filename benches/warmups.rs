//! How often `robust` finds where a warm-up of many shapes ends, and how often it finds one where there is none, beside
//! PELT on ranks and the method of Barrett et al. (2017), on the same series: `cargo bench --bench warmups`.
//!
//! `TRIALS` (4): series of each noise and shape. `LENGTHS` (100,1000). `HALF` (unseen): `tuning` for the generators
//! that the rule was tuned on. The unseen ones were looked at once, for docs/developers/measurements/warmups.txt.
//! `ONLY=robust`: without the others, of which PELT takes long.
//! `WINDOWS=FOLDER`: recorded run times in place of generated noise (benches/series/record_windows.sh).
//! `LEVELS`: so many series of each kind of levels that come and go, and nothing else, from seed `FIRST` (0) on.

#[allow(dead_code)] // Shared with other benchmarks.
mod series;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use mpitrace_statistics::categories::Robust;
use rayon::prelude::*;
use series::generators::{is_unseen, levels, noises, shapes};
use series::{Process, baselines, windows};

/// The penalties of PELT on ranks, in ln n: the least is the one in use, the others lower the rate of false warm-ups.
const PELT: [f64; 20] =
    [3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 14.0, 17.0, 20.0, 26.0, 32.0, 40.0, 48.0, 56.0, 64.0, 80.0, 96.0, 120.0];
/// Penalties that have a column: the others are there to find the penalty with a given rate.
const COLUMNS: [f64; 8] = [3.0, 8.0, 14.0, 20.0, 32.0, 48.0, 64.0, 96.0];
/// The penalties of Barrett's method: the published one first.
const BARRETT: [f64; 3] = [15.0, 30.0, 45.0];
/// Methods compared.
const METHODS: usize = 1 + PELT.len() + BARRETT.len();
/// An end is right within this share of the series.
const WITHIN: f64 = 0.05;
/// What ends later is no warm-up: less than a quarter follows (Barrett et al. 2017). For all methods alike.
const LATEST: f64 = 0.75;
/// Windows of all files together with a warm-up of more than three quarters, at least.
const LATE_WINDOWS: usize = 600;
/// A level that lasts for fewer repetitions, or for less than an eighth of the series, is a burst.
const BURST: usize = 25;

fn main() {
    let variable = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    let trials: u64 = variable("TRIALS", "4").parse().expect("TRIALS is a number");
    let half = variable("HALF", "unseen");
    let first: u64 = variable("FIRST", "0").parse().expect("FIRST is a number");
    let levels: Option<u64> = std::env::var("LEVELS").ok().map(|count| count.parse().expect("LEVELS is a number"));
    let belongs = |name: &str| is_unseen(name) == (half == "unseen");
    let folder = std::env::var_os("WINDOWS");
    let noises: Vec<Process> = match &folder {
        Some(folder) => windows::read(Path::new(folder)),
        None => noises().into_iter().filter(|process| belongs(process.name)).collect(),
    };
    match levels {
        Some(count) => println!("the {half} half, {count} series of each kind of levels from seed {first} on, %"),
        None if folder.is_some() => {
            println!("windows of {} files, shapes of the {half} half, {trials} each, %", noises.len())
        }
        None => println!("the {half} half, {trials} series each, %"),
    }
    for length in variable("LENGTHS", "100,1000").split(',') {
        let length: usize = length.trim().parse().expect("LENGTHS are numbers");
        println!("\n{length} repetitions\n{:30}{}", "", titles());
        if let Some(count) = levels {
            come_and_go(length, first..first + count, &belongs);
            continue;
        }
        let right = right_ends(&noises, length, trials, &belongs, folder.is_some());
        let FalseEnds { mut all, groups, late } = false_ends(&noises, length, trials);
        right.iter().for_each(|(name, counts)| counts.print_beside(name, &all));
        all.print("false warm-up: noise");
        if folder.is_some() {
            groups.iter().for_each(|(group, counts)| counts.print(&format!("false warm-up: {group}")));
            late.print("found behind 3/4: none there");
            continue;
        }
        all.join(come_and_go(length, 0..8 * trials, &belongs));
        all.print("false warm-up: both");
    }
}

fn titles() -> String {
    let pelt = COLUMNS.map(|penalty| format!("PELT {penalty}"));
    let barrett = BARRETT.map(|penalty| format!("Barrett {penalty}"));
    ["robust".to_owned()].into_iter().chain(pelt).chain(barrett).map(|title| format!("{title:>12}")).collect()
}

/// True if the method of this index has a column.
fn is_shown(method: usize) -> bool {
    method.checked_sub(1).and_then(|index| PELT.get(index)).is_none_or(|penalty| COLUMNS.contains(penalty))
}

/// The end of the warm-up by each method, where a quarter follows.
fn ends(series: &[f64]) -> [Option<usize>; METHODS] {
    in_time(any_ends(series), series.len())
}

fn in_time(found: [Option<usize>; METHODS], length: usize) -> [Option<usize>; METHODS] {
    found.map(|end| end.filter(|&end| end as f64 <= LATEST * length as f64))
}

fn any_ends(series: &[f64]) -> [Option<usize>; METHODS] {
    let numbers: Vec<u64> = (0..series.len() as u64).collect();
    let robust = Robust.categorize(&numbers, series).expect("categories").categories.warmup_end;
    let mut found = [None; METHODS];
    found[0] = robust.map(|end| end as usize);
    if std::env::var_os("ONLY").is_some() {
        return found;
    }
    let (pelt, barrett) = found[1..].split_at_mut(PELT.len());
    pelt.par_iter_mut().zip(PELT).for_each(|(end, penalty)| *end = baselines::on_ranks(series, penalty));
    barrett.par_iter_mut().zip(BARRETT).for_each(|(end, penalty)| *end = baselines::barrett(series, penalty));
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
        println!("{}", self.row(name));
    }

    /// A row with the rate of PELT at the penalty with which it has as many false warm-ups as the first method.
    fn print_beside(&self, name: &str, falses: &Counts) {
        println!("{}, PELT at the same false warm-ups {}", self.row(name), self.pelt_at_the_same(falses));
    }

    fn row(&self, name: &str) -> String {
        let error = (self.share(0) * (1.0 - self.share(0)) / self.1.max(1) as f64).sqrt();
        let cells: String = (0..METHODS)
            .filter(|&method| is_shown(method))
            .map(|method| format!("{:12.2}", 100.0 * self.share(method)))
            .collect();
        format!("{name:30}{cells}   of {}, +-{:.2}", self.1, 100.0 * error)
    }

    fn share(&self, method: usize) -> f64 {
        self.0[method] as f64 / self.1.max(1) as f64
    }

    /// Between the two penalties whose rates of false warm-ups are on both sides of the first method's, linear in that
    /// rate; with a limit where there are no such two.
    fn pelt_at_the_same(&self, falses: &Counts) -> String {
        let wanted = falses.share(0);
        if wanted > falses.share(1) {
            return format!("{:.2} (PELT {}, which has fewer)", 100.0 * self.share(1), PELT[0]);
        }
        let Some(above) = (1..PELT.len()).find(|&method| falses.share(method + 1) <= wanted) else {
            let most = PELT.len();
            return format!("{:.2} (PELT {}, which has more)", 100.0 * self.share(most), PELT[most - 1]);
        };
        let (more, fewer) = (falses.share(above), falses.share(above + 1));
        let part = if more > fewer { (more - wanted) / (more - fewer) } else { 0.0 };
        let rate = self.share(above) + part * (self.share(above + 1) - self.share(above));
        format!("{:.2}", 100.0 * rate)
    }
}

/// Rows of each kind of warm-up, of all, and of warm-ups of more than three quarters. Of windows also a row of each
/// library and load, and more of those long warm-ups; their places are those without a warm-up of [`false_ends`].
fn right_ends(
    noises: &[Process],
    length: usize,
    trials: u64,
    belongs: &impl Fn(&str) -> bool,
    are_windows: bool,
) -> Vec<(String, Counts)> {
    let [mut kinds, mut groups] = <[BTreeMap<&str, Counts>; 2]>::default();
    let [mut all, mut late] = <[Counts; 2]>::default();
    let deviations: Vec<f64> = noises.iter().map(|noise| noise.deviation().max(0.005)).collect();
    for (index, shape) in (0_u64..).zip(shapes().iter().filter(|shape| belongs(&shape.name))) {
        for (noise, deviation) in noises.iter().zip(&deviations) {
            for trial in 0..trials {
                let seed = if are_windows { (index * trials + trial) % (8 * trials) } else { trial };
                let warmup = shape.warmup(length, *deviation, seed);
                let (series, _) = noise.series(length, seed, |index| warmup.factor[index]);
                let allowed = WITHIN * length as f64;
                if warmup.ends.0 > LATEST * length as f64 {
                    late.add(|_| true, any_ends(&series));
                    continue;
                }
                let is_right = |end: usize| (warmup.ends.0 - allowed..=warmup.ends.1 + allowed).contains(&(end as f64));
                let found = ends(&series);
                kinds.entry(shape.kind).or_default().add(is_right, found);
                if are_windows {
                    groups.entry(windows::group(noise.name)).or_default().add(is_right, found);
                }
                all.add(is_right, found);
            }
        }
    }
    let named = |(kind, counts): (&str, Counts)| (format!("right end: {kind}"), counts);
    let mut rows: Vec<_> = kinds.into_iter().chain(groups).chain([("all", all)]).map(named).collect();
    rows.push(("warm-up of more than 3/4".to_owned(), late));
    if are_windows {
        let [mut any, mut late] = <[Counts; 2]>::default();
        for series in windows::with_late_cliffs(noises, length, LATE_WINDOWS) {
            let found = any_ends(&series);
            any.add(|_| true, found);
            late.add(|end| end as f64 > LATEST * length as f64, found);
        }
        rows.push(("cliff in the last quarter".to_owned(), any));
        rows.push(("found behind 3/4: cliff there".to_owned(), late));
    }
    rows
}

/// The ends that are found where there is no warm-up.
#[derive(Default)]
struct FalseEnds<'a> {
    all: Counts,
    /// Of each library and load of windows.
    groups: BTreeMap<&'a str, Counts>,
    /// Ends in the last quarter, which are not among the others.
    late: Counts,
}

fn false_ends(noises: &[Process], length: usize, trials: u64) -> FalseEnds<'_> {
    let mut counts = FalseEnds::default();
    for noise in noises {
        for seed in 0..8 * trials {
            let found = any_ends(&noise.series(length, seed, |_| 1.0).0);
            counts.late.add(|end| end as f64 > LATEST * length as f64, found);
            let found = in_time(found, length);
            counts.all.add(|_| true, found);
            counts.groups.entry(windows::group(noise.name)).or_default().add(|_| true, found);
        }
    }
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
