//! False differences and power of `compare`.

use mpitrace::comparison::{Comparison, Run, Settings, Test, Verdict, compare, correct};
use mpitrace::statistics::student_quantile;
use mpitrace_testing::Random;

use crate::truth::each;

/// Operations that are compared at once.
const OPERATIONS: usize = 10;

/// Runs of one operation whose medians differ by `between` from run to run.
fn runs(random: &mut Random, count: usize, level: f64, between: f64, skewed: bool) -> Vec<Run> {
    let run = |random: &mut Random| {
        let noise = if skewed { (random.gamma(2.0) - 2.0) / 2.0_f64.sqrt() } else { random.normal() };
        let level = level * (between * noise).exp();
        let times = each(100, || level * (0.05 * random.normal()).exp());
        Run::new(&times, &times)
    };
    (0..count).filter_map(|_| run(random)).collect()
}

/// Prints the share of comparisons of equal sides in which an operation is said to differ (wanted: 5 %), and the share
/// of those with a difference in which it is found, against the t test that knows that both sides scatter alike (wanted:
/// 90 %).
pub fn print(draws: u64) {
    println!("\ncomparison of {OPERATIONS} operations; familywise: % of A/A with any difference, wanted: at most 5");
    println!("power: % of differences found in one operation of them, and what the t test with pooled variance finds");
    println!(
        "{:>5} {:>7} {:>10} {:>12} {:>12} | {:>7} {:>7} {:>9} {:>9}",
        "runs", "skewed", "crossings", "A/A welch", "A/A wilcoxon", "welch", "oracle", "wilcoxon", "relative"
    );
    for count in [2, 3, 4, 5, 8, 15, 30] {
        for skewed in [false, true] {
            let (mut apart, mut found, mut oracle, mut crossings) = ([0; 2], [0; 2], 0, 0);
            for seed in 0..draws {
                let mut random = Random::new(500_000 + seed + 10_000 * count as u64);
                let equal: Vec<[Vec<Run>; 2]> =
                    (0..OPERATIONS).map(|_| [0, 1].map(|_| runs(&mut random, count, 1000.0, 0.03, skewed))).collect();
                let mut differ = equal.clone();
                // What a t test finds in some 80 % of cases.
                let factor = 1.0 + 0.03 * shift(count);
                differ[0][1] = runs(&mut random, count, 1000.0 * factor, 0.03, skewed);
                for (index, test) in [Test::Welch, Test::Wilcoxon].into_iter().enumerate() {
                    let of_equal = compared(&equal, test);
                    let verdict = |one: &Comparison| one.verdict();
                    let differs = |one: &Comparison| matches!(verdict(one), Verdict::A | Verdict::B);
                    apart[index] += usize::from(of_equal.iter().any(differs));
                    crossings +=
                        usize::from(index == 0 && of_equal.iter().any(|one| verdict(one) == Verdict::Crossing));
                    found[index] += usize::from(compared(&differ, test)[0].verdict() == Verdict::A);
                }
                oracle += usize::from(pooled(&differ[0]));
            }
            let share = |count: usize| 100.0 * count as f64 / draws as f64;
            println!(
                "{count:5} {skewed:7} {:10.1} {:12.1} {:12.1} | {:7.1} {:7.1} {:9.1} {:9.2}",
                share(crossings),
                share(apart[0]),
                share(apart[1]),
                share(found[0]),
                share(oracle),
                share(found[1]),
                found[0] as f64 / oracle.max(1) as f64
            );
        }
    }
}

/// How many standard deviations between runs it takes.
fn shift(count: usize) -> f64 {
    match count {
        2 => 25.0,
        3 => 7.0,
        4 => 4.5,
        5 => 3.5,
        8 => 2.3,
        15 => 1.5,
        _ => 1.0,
    }
}

fn compared(sides: &[[Vec<Run>; 2]], test: Test) -> Vec<Comparison> {
    let settings = Settings { test, ..Settings::default() };
    let mut compared: Vec<Comparison> = sides.iter().filter_map(|[a, b]| compare(a, b, settings)).collect();
    correct(compared.iter_mut());
    compared
}

/// Student's test of the runs' medians with one variance for both, at 5 % over all operations.
fn pooled([a, b]: &[Vec<Run>; 2]) -> bool {
    let mean = |runs: &[Run]| runs.iter().map(|run| run.median_ns).sum::<f64>() / runs.len() as f64;
    let squares = |runs: &[Run]| runs.iter().map(|run| (run.median_ns - mean(runs)).powi(2)).sum::<f64>();
    let n = a.len() as f64;
    let freedom = 2.0 * n - 2.0;
    let error = ((squares(a) + squares(b)) / freedom * 2.0 / n).sqrt();
    student_quantile(freedom, 1.0 - 0.025 / OPERATIONS as f64).is_some_and(|limit| mean(b) - mean(a) > limit * error)
}
