//! How often the categories are right, in series whose truth is known, beside what is wanted; and what they take beside
//! sorting: `cargo bench --bench categories`. With `-- one-level` only whether the good ones are one level; with
//! `-- flagged` only how much of the outliers is noise.
//!
//! `TRIALS` (200): series of each kind and length, of the seeds 0, 1, 2 and so on. `FAMILY` (reporting): `tuning` for
//! the series that the methods were tuned on. `LONGEST` (10000000): repetitions of the longest series that is timed; 0
//! times none. `HALF` (unseen): of `-- flagged`, `tuning` for the pairs of noise and outliers that the rule was tuned
//! on.

mod series;

use std::hint::black_box;
use std::time::{Duration, Instant};

use mpitrace_statistics::categories::{Category, Class, Robust, RobustCategories, Roth, Rule};
use mpitrace_statistics::median;
use series::random::{exponential, normal};
use series::{NoiseKind, Process, reporting, tuning};

/// Lengths of stationary series.
const LENGTHS: [usize; 7] = [12, 23, 40, 100, 300, 1000, 3000];
/// Lengths of series with outliers.
const WITH_OUTLIERS: [usize; 3] = [100, 300, 1000];
/// Repetitions before and after a cliff.
const CLIFFS: [(usize, usize); 12] = [
    (3, 20),
    (10, 20),
    (20, 60),
    (5, 200),
    (60, 200),
    (3, 997),
    (20, 980),
    (60, 940),
    (240, 760),
    (600, 400),
    (900, 20),
    (900, 100),
];
/// A cliff can be found in so many correlation times.
const CORRELATION_TIMES: f64 = 20.0;

/// Shares of the slow one of two modes.
const MODES: [f64; 11] = [0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9];

fn main() {
    let number = |name: &str, default: usize| match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is a number")),
        Err(_) => default,
    };
    let trials = number("TRIALS", 200) as u64;
    let family = std::env::var("FAMILY").unwrap_or_else(|_| "reporting".to_owned());
    let processes = match family.as_str() {
        "tuning" => tuning::processes(),
        "reporting" => reporting::processes(),
        _ => panic!("FAMILY is tuning or reporting"),
    };
    println!("series of the {family} family, seeds 0 to {}", trials.saturating_sub(1));
    if std::env::args().any(|argument| argument == "flagged") {
        flagged(trials);
        return flagged_of_pairs(trials, &std::env::var("HALF").unwrap_or_else(|_| "unseen".to_owned()));
    }
    one_level(&processes, trials);
    if std::env::args().any(|argument| argument == "one-level") {
        return;
    }
    stationary(&processes, trials);
    cliffs(&processes, trials);
    outliers(&processes, trials);
    shapes(&processes[0], trials);
    speed(&processes[0], number("LONGEST", 10_000_000));
}

fn robust(x: &[f64]) -> RobustCategories {
    Robust.categorize(&numbers(x), x).expect("finite run times")
}

fn numbers(x: &[f64]) -> Vec<u64> {
    (0..x.len() as u64).collect()
}

/// Shares of several cases in %, and the largest or smallest of them.
#[derive(Default)]
struct Shares {
    all: Vec<(f64, String)>,
}

impl Shares {
    fn add(&mut self, count: usize, of: usize, case: String) {
        if of > 0 {
            self.all.push((count as f64 * 100.0 / of as f64, case));
        }
    }

    fn mean(&self) -> f64 {
        self.all.iter().map(|(share, _)| share).sum::<f64>() / self.all.len() as f64
    }

    fn highest(&self) -> String {
        self.extreme(|a, b| a.0 > b.0)
    }

    fn lowest(&self) -> String {
        self.extreme(|a, b| a.0 < b.0)
    }

    fn extreme(&self, beyond: impl Fn(&(f64, String), &(f64, String)) -> bool) -> String {
        let found = self.all.iter().reduce(|found, other| if beyond(other, found) { other } else { found });
        found.map_or_else(|| "-".to_owned(), |(share, case)| format!("{share:.1} ({case})"))
    }
}

fn stationary(processes: &[Process], trials: u64) {
    println!(
        "\nstationary noise, n from 12 to 3000; wanted: warm-up found in <= 1 %, class other than flat or undecided"
    );
    println!("in <= 5 %, undecided in <= 10 % of independent noise; mean of all n, and the worst n");
    println!(
        "{:22} {:>10} {:>10} {:>16} {:>10} {:>16} {:>10}",
        "series", "roth w, %", "robust w", "worst", "other", "worst", "undecided"
    );
    for process in processes {
        let [mut by_roth, mut warmup, mut other, mut undecided] = <[Shares; 4]>::default();
        for length in LENGTHS {
            let mut counts = [0; 4];
            for seed in 0..trials {
                let (x, _) = process.series(length, seed, |_| 1.0);
                let found = robust(&x);
                let class = found.class;
                counts[0] += usize::from(Roth::default().categorize(&numbers(&x), &x).warmup_end.is_some());
                counts[1] += usize::from(found.categories.warmup_end.is_some());
                counts[2] += usize::from(!matches!(class, Class::Flat | Class::Undecided));
                counts[3] += usize::from(class == Class::Undecided);
            }
            for (shares, count) in [&mut by_roth, &mut warmup, &mut other, &mut undecided].into_iter().zip(counts) {
                shares.add(count, trials as usize, format!("n {length}"));
            }
        }
        println!(
            "{:22} {:10.1} {:10.2} {:>16} {:10.2} {:>16} {:10.1}",
            process.name,
            by_roth.mean(),
            warmup.mean(),
            warmup.highest(),
            other.mean(),
            other.highest(),
            undecided.mean()
        );
    }
}

/// Shares of scattered slow repetitions, which robust takes for a mode from some 15 % on.
const SCATTERED: [f64; 6] = [0.1, 0.14, 0.18, 0.22, 0.3, 0.4];

/// In how many series the good repetitions are said not to be one level: of the processes, none of whose series has
/// another level unless robust leaves a cluster of outliers among the good ones; and of lognormal noise of 4 % in which
/// a share of the repetitions takes 3 to 10000 times as long.
fn one_level(processes: &[Process], trials: u64) {
    println!(
        "\nthe good repetitions are not one level, % of series with n from 12 to 3000: said; wanted: 0 where less"
    );
    println!("than 5 % of the good ones are slow by construction, and 100 where more are");
    println!("{:22} {:>10} {:>10} {:>16} {:>10} {:>10}", "series", "are one", "said", "worst", "are not", "said");
    for process in processes {
        let made = |length: usize, seed: u64| process.series(length, seed, |_| 1.0);
        print_one_level(process.name, made, trials);
    }
    for share in SCATTERED {
        let made = |length: usize, seed: u64| {
            let (mut x, _) = processes[0].series(length, seed, |_| 1.0);
            let mut random = fastrand::Rng::with_seed(!seed);
            let slow: Vec<bool> = (0..length).map(|_| random.f64() < share).collect();
            let times = |random: &mut fastrand::Rng| (3.0_f64.ln() + (1e4_f64 / 3.0).ln() * random.f64()).exp();
            x.iter_mut().zip(&slow).filter(|(_, slow)| **slow).for_each(|(x, _)| *x *= times(&mut random));
            (x, slow)
        };
        print_one_level(&format!("{:.0} % scattered", 100.0 * share), made, trials);
    }
    two_modes(&processes[0], trials);
}

/// How often it is said of two modes.
fn two_modes(noise: &Process, trials: u64) {
    println!("\ntwo modes, of which this share is slow at random, % of series with n from 100 to 3000: said;");
    println!("wanted: 100 from 30 to 70 %, 0 else up to x2");
    print!("{:8}", "ratio");
    MODES.iter().for_each(|share| print!("{:>7}", format!("{:.0} %", 100.0 * share)));
    println!();
    for ratio in [1.3, 1.5, 2.0, 10.0, 100.0] {
        print!("{:8}", format!("x{ratio}"));
        for share in MODES {
            let lengths = LENGTHS.into_iter().filter(|&length| length >= 100);
            let all: Vec<bool> = lengths
                .flat_map(|length| (0..trials).map(move |seed| (length, seed)))
                .map(|(length, seed)| {
                    let (mut x, _) = noise.series(length, seed, |_| 1.0);
                    let mut random = fastrand::Rng::with_seed(!seed);
                    x.iter_mut().for_each(|x| *x *= if random.f64() < share { ratio } else { 1.0 });
                    let found = Rule::Robust(Robust).apply(&numbers(&x), &x).expect("finite run times");
                    found.remarks(&numbers(&x), &x).not_one_level.is_some()
                })
                .collect();
            let said = all.iter().filter(|&&said| said).count();
            print!("{:7.1}", 100.0 * said as f64 / all.len() as f64);
        }
        println!();
    }
}

fn print_one_level(name: &str, made: impl Fn(usize, u64) -> (Vec<f64>, Vec<bool>), trials: u64) {
    let mut denied = Shares::default();
    // Series of one level, the others, and those of the others of which it is said.
    let [mut one, mut other, mut said] = [0, 0, 0];
    for length in LENGTHS {
        let mut of_length = [0, 0];
        for seed in 0..trials {
            let (x, slow) = made(length, seed);
            let found = Rule::Robust(Robust).apply(&numbers(&x), &x).expect("finite run times");
            let is_said = usize::from(found.remarks(&numbers(&x), &x).not_one_level.is_some());
            let category = &found.categories.category;
            let among_good = slow.iter().zip(category).filter(|(slow, of)| **slow && **of == Category::Good).count();
            if among_good * 20 > found.categories.count(Category::Good) {
                (other, said) = (other + 1, said + is_said);
            } else {
                of_length = [of_length[0] + 1, of_length[1] + is_said];
            }
        }
        denied.add(of_length[1], of_length[0], format!("n {length}"));
        one += of_length[0];
    }
    let said = if other > 0 { format!("{:.1}", 100.0 * said as f64 / other as f64) } else { "-".to_owned() };
    println!("{name:22} {one:10} {:10.2} {:>16} {other:10} {said:>10}", denied.mean(), denied.highest());
}

/// As far as this from its place a cliff is found.
fn tolerance(at: usize) -> u64 {
    (at as u64 / 50).max(2)
}

fn cliffs(processes: &[Process], trials: u64) {
    println!(
        "\ncliffs after 3 to 900 repetitions, as high as 5 standard deviations of the noise or 1.5 levels, 20 to 980"
    );
    println!("after them; wanted: w within max(2, 2 %) in >= 95 %, where n is above 20 correlation times; where an");
    println!("outlier hides the cliff itself, the series is left out; mean of all lengths, and the worst");
    println!("{:22} {:>7} {:>9} {:>9} {:>20} {:>9}", "series", "height", "roth, %", "robust", "worst", "as a change");
    for process in processes {
        let height = (1.0 + 5.0 * process.deviation()).max(1.5);
        let [mut by_roth, mut by_robust, mut as_change] = <[Shares; 3]>::default();
        for (at, after) in CLIFFS {
            let length = at + after;
            if process.correlation_time.is_finite() && (length as f64) < CORRELATION_TIMES * process.correlation_time {
                continue;
            }
            let (mut counts, mut seen) = ([0; 3], 0);
            for seed in 0..trials {
                let (x, outlier) = process.series(length, seed, |i| if i < at { height } else { 1.0 });
                if (at.saturating_sub(2)..at + 2).any(|i| *outlier.get(i).unwrap_or(&false)) {
                    continue;
                }
                seen += 1;
                let near = |&end: &u64| end.abs_diff(at as u64) <= tolerance(at);
                let found = robust(&x);
                let end = Roth::default().categorize(&numbers(&x), &x).warmup_end;
                counts[0] += usize::from(end.as_ref().is_some_and(near));
                counts[1] += usize::from(found.categories.warmup_end.as_ref().is_some_and(near));
                counts[2] += usize::from(found.change_points.iter().any(near));
            }
            for (shares, count) in [&mut by_roth, &mut by_robust, &mut as_change].into_iter().zip(counts) {
                shares.add(count, seen, format!("{at} of {length}"));
            }
        }
        println!(
            "{:22} {:7.2} {:9.1} {:9.1} {:>20} {:9.1}",
            process.name,
            height,
            by_roth.mean(),
            by_robust.mean(),
            by_robust.lowest(),
            as_change.mean()
        );
    }
}

fn outliers(processes: &[Process], trials: u64) {
    println!("\noutliers beyond 5 standard deviations; wanted: precision and recall >= .95 each");
    println!("{:22} {:>6} {:>22} {:>22}", "series", "n", "roth: precision recall", "robust");
    for process in processes.iter().filter(|process| process.kind == NoiseKind::Outliers) {
        for length in WITH_OUTLIERS {
            let mut counts = [[0_u64; 3]; 2];
            for seed in 0..trials {
                let (x, outlier) = process.series(length, seed, |_| 1.0);
                let found = [Roth::default().categorize(&numbers(&x), &x), robust(&x).categories];
                for (counts, found) in counts.iter_mut().zip(found) {
                    // The first repetition is `first`, whatever it takes.
                    for (&truth, &category) in outlier.iter().zip(&found.category).skip(1) {
                        match (truth, category == Category::Outlier) {
                            (true, true) => counts[0] += 1,
                            (false, true) => counts[1] += 1,
                            (true, false) => counts[2] += 1,
                            (false, false) => {}
                        }
                    }
                }
            }
            let cells = counts.map(|[right, wrong, missed]| {
                let share = |other: u64| right as f64 / (right + other) as f64;
                format!("{:.3} {:.3}", share(wrong), share(missed))
            });
            println!("{:22} {length:6} {:>22} {:>22}", process.name, cells[0], cells[1]);
        }
    }
}

/// The level of a repetition, in multiples of the one that the series settles at.
type Shape = fn(usize) -> f64;

/// Series of 1000 repetitions whose level changes otherwise than by one cliff: the classes that are found.
const SHAPES: [(&str, Shape); 6] = [
    ("x2, falling to 1/e in 60", |i| 1.0 + (-(i as f64) / 60.0).exp()),
    ("x3 to 20, x1.5 to 200", |i| [3.0, 1.5, 1.0][usize::from(i >= 20) + usize::from(i >= 200)]),
    ("rise x1.2 at 100", |i| if i < 100 { 1.0 } else { 1.2 }),
    ("rise x1.5 at 600", |i| if i < 600 { 1.0 } else { 1.5 }),
    ("rising to x1.5", |i| 1.0 + 0.0005 * i as f64),
    ("x1.3 from 300 to 600", |i| if (300..600).contains(&i) { 1.3 } else { 1.0 }),
];

/// Prints how much of the outliers is noise: of independent values, each the largest of so many ranks, to which 60 us
/// are added in one of 97 repetitions.
fn flagged(trials: u64) {
    println!("\noutliers of noise, and one of 97 repetitions of 25 us that takes 60 us longer; wanted: noise <= 3 %");
    println!("{:22} {:>6} {:>10} {:>8} {:>8}", "series", "n", "outliers", "noise, %", "recall");
    type One = fn(&mut fastrand::Rng) -> f64;
    let noise_of_rank: One = |random| 0.012 * normal(random);
    let kinds: [(&str, usize, One); 8] = [
        ("normal", 1, noise_of_rank),
        ("normal, 4 ranks", 4, noise_of_rank),
        ("normal, 32 ranks", 32, noise_of_rank),
        ("gamma 2, 4 ranks", 4, |random| 0.012 * (exponential(random) + exponential(random))),
        ("exponential", 1, |random| 0.1 * exponential(random)),
        ("lognormal .25", 1, |random| (0.25 * normal(random)).exp_m1()),
        ("Pareto 2.5", 1, |random| 0.1 * ((1.0 - random.f64()).powf(-1.0 / 2.5) - 1.0)),
        ("Pareto 1.2", 1, |random| 0.1 * ((1.0 - random.f64()).powf(-1.0 / 1.2) - 1.0)),
    ];
    for length in [100, 1000, 10_000] {
        for (name, ranks, one) in kinds {
            let (mut outliers, mut noise) = (0, 0);
            for seed in 0..trials {
                let mut random = fastrand::Rng::with_seed(seed);
                let longest = |random: &mut fastrand::Rng| (0..ranks).map(|_| one(random)).fold(f64::MIN, f64::max);
                let slow = |i: usize| if i % 97 == 5 { 2.4 } else { 0.0 };
                let x: Vec<f64> = (0..length).map(|i| 25_000.0 * (1.0 + longest(&mut random) + slow(i))).collect();
                let category = robust(&x).categories.category;
                let found = (1..length).filter(|&i| category[i] == Category::Outlier);
                outliers += found.clone().count();
                noise += found.filter(|i| i % 97 != 5).count();
            }
            let recall = (outliers - noise) as f64 / (trials as usize * (length - 5).div_ceil(97)) as f64;
            let share = 100.0 * noise as f64 / outliers.max(1) as f64;
            println!("{name:22} {length:>6} {outliers:>10} {share:>8.1} {recall:>8.3}");
        }
    }
}

/// Prints the shares of noise among the flagged repetitions for the pairs of noise and outliers of one half.
fn flagged_of_pairs(trials: u64, half: &str) {
    println!("\nnoise with outliers, the {half} half; wanted: noise <= 3 % of the flagged ones");
    println!("{:22} {:>16} {:>6} {:>10} {:>8} {:>8}", "noise", "outliers", "n", "flagged", "noise, %", "recall");
    for length in [100, 1000, 10_000] {
        let [mut noise_shares, mut recalls] = <[Shares; 2]>::default();
        for pair in series::flagged::all().iter().filter(|pair| pair.is_unseen() == (half == "unseen")) {
            let (mut flagged, mut right, mut outliers) = (0, 0, 0);
            for seed in 0..trials {
                let (x, outlier) = pair.series(length, seed);
                let category = robust(&x).categories.category;
                for i in 1..length {
                    let found = category[i] == Category::Outlier;
                    flagged += usize::from(found);
                    right += usize::from(found && outlier[i]);
                    outliers += usize::from(outlier[i]);
                }
            }
            noise_shares.add(flagged - right, flagged, format!("{}, {}", pair.noise, pair.outliers));
            recalls.add(right, outliers, format!("{}, {}", pair.noise, pair.outliers));
            let [noise, recall] = [(flagged - right, flagged), (right, outliers)]
                .map(|(count, of)| 100.0 * count as f64 / of.max(1) as f64);
            println!(
                "{:22} {:>16} {length:>6} {flagged:>10} {noise:>8.1} {:>8.3}",
                pair.noise,
                pair.outliers,
                recall / 100.0
            );
        }
        let above = noise_shares.all.iter().filter(|(share, _)| *share > 3.0).count();
        println!(
            "n {length}: noise {:.1} % in the mean, above 3 % in {above} of {} pairs, at most {}; recall {:.1} %, at least {}",
            noise_shares.mean(),
            noise_shares.all.len(),
            noise_shares.highest(),
            recalls.mean(),
            recalls.lowest()
        );
    }
}

fn shapes(process: &Process, trials: u64) {
    println!("\nother shapes, n 1000, {}: class by robust, %; median w", process.name);
    let titles = ["flat", "warmup", "slowdown", "shift", "unsteady", "undecided", "too-few"];
    println!("{:26} {} {:>6}", "level", titles.map(|title| format!("{title:>9}")).concat(), "w");
    for (name, level) in SHAPES {
        let found: Vec<RobustCategories> =
            (0..trials).map(|seed| robust(&process.series(1000, seed, level).0)).collect();
        let share = |class: Class| {
            found.iter().filter(|found| found.class == class).count() as f64 * 100.0 / found.len() as f64
        };
        let mut ends: Vec<f64> =
            found.iter().filter_map(|found| found.categories.warmup_end).map(|end| end as f64).collect();
        let end = median(&mut ends).map_or("-".to_owned(), |end| format!("{end:.0}"));
        println!("{name:26} {} {end:>6}", Class::ALL.map(|class| format!("{:9.1}", share(class))).concat());
    }
}

fn speed(process: &Process, longest: usize) {
    if longest == 0 {
        return;
    }
    println!("\ntime, as a ratio; wanted from 10^6 on: robust <= 3 sorts");
    println!("{:20} {:>14} {:>14} {:>14}", "repetitions", "roth / median", "robust / sort", "robust, bursts");
    let mut length = 1000;
    while length <= longest {
        let (plain, _) = process.series(length, 1, |i| if i < 60 { 1.5 } else { 1.0 });
        let (bursts, _) = process.series(length, 1, |i| if i % 1000 < 20 { 2.0 } else { 1.0 });
        let numbers = numbers(&plain);
        // Each in turn, so that what disturbs one disturbs all; the least of each.
        let mut least = [Duration::MAX; 6];
        for _ in 0..(3_000_000 / length).clamp(3, 100) {
            let timed = [
                time(|| median(&mut plain.to_vec())),
                time(|| Roth::default().categorize(&numbers, &plain)),
                time(|| sorted(&plain)),
                time(|| Robust.categorize(&numbers, &plain)),
                time(|| sorted(&bursts)),
                time(|| Robust.categorize(&numbers, &bursts)),
            ];
            least.iter_mut().zip(timed).for_each(|(least, timed)| *least = timed.min(*least));
        }
        let ratio = |one: usize, other: usize| least[one].as_secs_f64() / least[other].as_secs_f64();
        println!("{length:20} {:14.2} {:14.2} {:14.2}", ratio(1, 0), ratio(3, 2), ratio(5, 4));
        length *= 10;
    }
}

fn sorted(x: &[f64]) -> Vec<f64> {
    let mut sorted = x.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}
