//! How often intervals hold what they are of.

use mpitrace_statistics::{Intervals, Sample};
use mpitrace_testing::Random;

use crate::families::Family;

const QUANTILES: [f64; 4] = [0.05, 0.5, 0.95, 0.99];
/// And the mean.
const COUNT: usize = QUANTILES.len() + 1;

/// Prints the share of intervals that hold the true value; wanted: 0.93 to 0.98 from 20 correlation times on.
pub fn print(families: &[Family], lengths: &[usize], draws: usize) {
    println!("coverage of 95 % intervals; wanted .93 to .98 where n is 20 correlation times or more");
    let titles: String = ["p5", "median", "p95", "p99", "mean"].map(|title| format!(" {title:>10}")).concat();
    println!("{:28} {:>6}{titles}", "family", "n");
    for (number, family) in families.iter().enumerate() {
        let long = Sample::new(&(family.make)(&mut Random::new(9000 + number as u64), 2_000_000));
        let true_mean = long.moments().map(|moments| moments.mean);
        let truth: Vec<Option<f64>> = QUANTILES.map(|p| long.quantile(p)).into_iter().chain([true_mean]).collect();
        for &n in lengths {
            let short = (n as f64) < 20.0 * family.correlation_time;
            let (mut held, mut made) = ([0; COUNT], [0; COUNT]);
            for seed in 0..draws as u64 {
                let mut random = Random::new(1_000_000 * (number as u64 + 1) + 1000 * n as u64 + seed);
                let values = (family.make)(&mut random, n);
                let sample = Sample::new(&values);
                let intervals = Intervals::new(&values, sample.sorted(), 0.95);
                let found = QUANTILES.map(|p| intervals.quantile(p)).into_iter().chain([intervals.mean()]);
                for (index, (found, truth)) in found.zip(&truth).enumerate() {
                    let (Some(found), Some(truth)) = (found, truth) else { continue };
                    made[index] += 1;
                    held[index] += usize::from(found.lower <= *truth && *truth <= found.upper);
                }
            }
            let cell = |index: usize| match made[index] {
                0 => "-".to_owned(),
                made => format!("{:.3}/{:.2}", held[index] as f64 / made as f64, made as f64 / draws as f64),
            };
            let mark = if short { " (short)" } else { "" };
            let cells: String = (0..COUNT).map(|index| format!(" {:>10}", cell(index))).collect();
            println!("{:28} {n:6}{cells}{mark}", family.name);
        }
    }
    println!("coverage of those that are stated / share of the series that have one");
}
