//! False differences, power and intervals of `compare`.

use mpitrace_statistics::comparison::{
    Alternative, Comparison, Run, SIGNIFICANCE, Settings, Test, Verdict, detectable, measure, test,
};
use mpitrace_statistics::student_quantile;
use mpitrace_testing::Random;

use crate::truth::each;

/// Operations that are compared at once.
const OPERATIONS: usize = 10;
const TESTS: [Test; 3] = [Test::Permutation, Test::Welch, Test::Wilcoxon];

/// How the medians of runs scatter: the logarithm of one.
type Scatter = (&'static str, fn(&mut Random) -> f64);

const NORMAL: Scatter = ("normal, 2 %", |random| 0.02 * random.normal());

/// A run's median is disturbed with this probability: 2 to 50 times as long.
fn disturbed(random: &mut Random, share: f64) -> f64 {
    let is_disturbed = random.uniform() < share;
    0.02 * random.normal() + if is_disturbed { (2.0 + 48.0 * random.uniform()).ln() } else { 0.0 }
}

/// The scatters in the table of one operation. Constants were chosen on the first four.
const SCATTERS: [Scatter; 10] = [
    NORMAL,
    ("5 % disturbed", |random| disturbed(random, 0.05)),
    ("10 % disturbed", |random| disturbed(random, 0.1)),
    ("two levels x1.15, half", |random| 0.02 * random.normal() + two_levels(random, 0.5, 1.15)),
    ("gamma(2), 2 %", |random| 0.02 * (random.gamma(2.0) - 2.0) / 2.0_f64.sqrt()),
    ("gamma(0.5), 5 %", |random| 0.05 * (random.gamma(0.5) - 0.5) / 0.5_f64.sqrt()),
    ("two levels x1.05, 1 of 3", |random| 0.005 * random.normal() + two_levels(random, 1.0 / 3.0, 1.05)),
    ("two levels x1.4, 1 of 5", |random| 0.01 * random.normal() + two_levels(random, 0.2, 1.4)),
    ("Student, 3 degrees, 2 %", |random| 0.02 * random.normal() / (random.gamma(1.5) / 1.5).sqrt()),
    ("ticks of 1 %", |random| (1.0 + 0.01 * (0.7 * random.normal()).round()).ln()),
];

fn two_levels(random: &mut Random, share: f64, factor: f64) -> f64 {
    if random.uniform() < share { factor.ln() } else { 0.0 }
}

fn runs(random: &mut Random, count: usize, level: f64, scatter: fn(&mut Random) -> f64) -> Vec<Run> {
    let run = |number: usize, random: &mut Random| {
        let level = level * scatter(random).exp();
        let times = each(100, || level * (0.05 * random.normal()).exp());
        Run::new(number, &times, &times)
    };
    (0..count).filter_map(|number| run(number, random)).collect()
}

/// Prints both tables.
pub fn print(draws: u64) {
    println!("\ncomparison of one operation, level 5 %; A/A: % of equal sides that differ, wanted: at most 5.5");
    println!("20 %: % in which a difference of 20 % is found; holds: % of intervals that hold it");
    println!("seen: % in which a difference of the size `detectable` is found, wanted: 80");
    println!(
        "{:>5} {:25} {:>17} | {:>20} | {:>20} | {:>6}",
        "runs", "runs' medians", "A/A perm welch wil", "20 % perm welch wil", "holds perm welch wil", "seen"
    );
    for counts in [[3, 3], [4, 4], [5, 5], [6, 6], [8, 8], [3, 8], [2, 6]] {
        for (index, (name, scatter)) in SCATTERS.into_iter().enumerate() {
            let (mut apart, mut found, mut held, mut made, mut seen) = ([0; 3], [0; 3], [0; 3], [0; 3], [0; 2]);
            for seed in 0..5 * draws {
                let mut random = Random::new(7_000_000 + 100_000 * index as u64 + seed + 31 * counts[1] as u64);
                let equal = counts.map(|count| runs(&mut random, count, 1000.0, scatter));
                let slower = runs(&mut random, counts[1], 1200.0, scatter);
                for (at, test) in TESTS.into_iter().enumerate() {
                    apart[at] += usize::from(differs(&one(&equal[0], &equal[1], test)));
                    let of = one(&equal[0], &slower, test);
                    found[at] += usize::from(of.verdict() == Verdict::A);
                    let interval = of.relative.and_then(|relative| relative.interval);
                    made[at] += usize::from(interval.is_some());
                    held[at] += usize::from(interval.is_some_and(|[low, high]| low <= 0.2 && 0.2 <= high));
                }
                let of = |runs: &[Run]| runs.iter().map(|run| run.median_ns).collect::<Vec<f64>>();
                let size = detectable(&of(&equal[0]), &of(&equal[1]), TESTS[0], Alternative::TwoSided, 1);
                if let Some(size) = size {
                    let slower = runs(&mut random, counts[1], 1000.0 * (1.0 + size), scatter);
                    seen[0] += usize::from(one(&equal[0], &slower, TESTS[0]).verdict() == Verdict::A);
                    seen[1] += 1;
                }
            }
            let all = |count: usize| 100.0 * count as f64 / (5 * draws) as f64;
            let cells = |counts: [usize; 3]| counts.map(|count| format!("{:6.1}", all(count))).concat();
            let share = |at: usize| format!("{:6.1}", 100.0 * held[at] as f64 / made[at].max(1) as f64);
            println!(
                "{:>5} {name:25} {} | {:>20} | {:>20} | {:6.1}",
                counts.map(|count| count.to_string()).join("+"),
                cells(apart),
                cells(found),
                [0, 1, 2].map(share).concat(),
                100.0 * seen[0] as f64 / f64::max(1.0, seen[1] as f64)
            );
        }
    }
    print_many(draws);
}

fn one(a: &[Run], b: &[Run], test: Test) -> Comparison {
    all(&[[a.to_vec(), b.to_vec()]], test).remove(0)
}

fn differs(one: &Comparison) -> bool {
    matches!(one.verdict(), Verdict::A | Verdict::B)
}

/// Prints the share of comparisons of equal sides in which any of ten operations is said to differ, the share of those
/// with a difference in one in which it is found, against the t test that knows that both sides scatter alike, and the
/// share of those in which all intervals hold.
fn print_many(draws: u64) {
    println!("\ncomparison of {OPERATIONS} operations; A/A: % with any difference, wanted: at most 5.5; power: % of");
    println!("differences found in one operation; all hold: % in which each of the ten intervals holds");
    println!(
        "{:>5} {:14} | {:>18} | {:>20} {:>7} | {:>22} | {:>9}",
        "runs", "medians", "A/A perm welch wil", "power perm welch wil", "t test", "all hold perm wel wil", "crossings"
    );
    let skewed: Scatter = ("gamma(2), 2 %", |random| 0.02 * (random.gamma(2.0) - 2.0) / 2.0_f64.sqrt());
    for count in [3, 4, 5, 8, 15] {
        for (name, scatter) in [NORMAL, skewed] {
            let (mut apart, mut found, mut held, mut oracle, mut crossings) = ([0; 3], [0; 3], [0; 3], 0, 0);
            for seed in 0..draws {
                let mut random = Random::new(500_000 + seed + 10_000 * count as u64);
                let equal: Vec<[Vec<Run>; 2]> =
                    (0..OPERATIONS).map(|_| [0, 1].map(|_| runs(&mut random, count, 1000.0, scatter))).collect();
                let mut differ = equal.clone();
                let factor = 1.0 + 0.02 * shift(count);
                differ[0][1] = runs(&mut random, count, 1000.0 * factor, scatter);
                for (at, test) in TESTS.into_iter().enumerate() {
                    let of_equal = all(&equal, test);
                    apart[at] += usize::from(of_equal.iter().any(differs));
                    crossings += usize::from(at == 0 && of_equal.iter().any(|one| one.verdict() == Verdict::Crossing));
                    let of_differ = all(&differ, test);
                    found[at] += usize::from(of_differ[0].verdict() == Verdict::A);
                    let holds = |(index, one): (usize, &Comparison)| {
                        let truth = if index == 0 { factor - 1.0 } else { 0.0 };
                        let interval = one.relative.and_then(|relative| relative.interval);
                        interval.is_none_or(|[low, high]| low <= truth && truth <= high)
                    };
                    held[at] += usize::from(of_differ.iter().enumerate().all(holds));
                }
                oracle += usize::from(pooled(&differ[0]));
            }
            let share = |count: usize| 100.0 * count as f64 / draws as f64;
            let cells = |counts: [usize; 3]| counts.map(|count| format!("{:6.1}", share(count))).concat();
            println!(
                "{count:5} {name:14} | {} | {:>20} {:7.1} | {:>22} | {:9.1}",
                cells(apart),
                cells(found),
                share(oracle),
                cells(held),
                share(crossings)
            );
        }
    }
}

/// How many standard deviations between runs it takes to find a difference in some 80 % of cases.
fn shift(count: usize) -> f64 {
    match count {
        3 => 7.0,
        4 => 4.5,
        5 => 3.5,
        8 => 2.3,
        _ => 1.5,
    }
}

fn all(sides: &[[Vec<Run>; 2]], by: Test) -> Vec<Comparison> {
    let settings = Settings { test: by, ..Settings::default() };
    let mut measured: Vec<Comparison> = sides.iter().filter_map(|[a, b]| measure(a, b, settings)).collect();
    test(measured.iter_mut());
    measured
}

/// Student's test of the runs' medians with one variance for both, at 5 % over all operations.
fn pooled([a, b]: &[Vec<Run>; 2]) -> bool {
    let mean = |runs: &[Run]| runs.iter().map(|run| run.median_ns).sum::<f64>() / runs.len() as f64;
    let squares = |runs: &[Run]| runs.iter().map(|run| (run.median_ns - mean(runs)).powi(2)).sum::<f64>();
    let n = a.len() as f64;
    let freedom = 2.0 * n - 2.0;
    let error = ((squares(a) + squares(b)) / freedom * 2.0 / n).sqrt();
    let level = SIGNIFICANCE / 2.0 / OPERATIONS as f64;
    student_quantile(freedom, 1.0 - level).is_some_and(|limit| mean(b) - mean(a) > limit * error)
}
