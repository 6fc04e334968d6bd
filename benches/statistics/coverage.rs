//! How often intervals hold what they are of.

use mpitrace::statistics::{Intervals, Sample};
use mpitrace_testing::Random;

use crate::families::Family;

const QUANTILES: [f64; 3] = [0.5, 0.95, 0.99];

/// Prints the share of intervals that hold the true value; wanted: 0.93 to 0.98 from 20 correlation times on.
pub fn print(families: &[Family], lengths: &[usize], draws: usize) {
    println!("coverage of 95 % intervals; wanted .93 to .98 where n is 20 correlation times or more");
    println!("{:28} {:>6} {:>10} {:>10} {:>10} {:>10}", "family", "n", "median", "p95", "p99", "mean");
    for (number, family) in families.iter().enumerate() {
        let long = Sample::new(&(family.make)(&mut Random::new(9000 + number as u64), 2_000_000));
        let truth = [long.quantile(0.5), long.quantile(0.95), long.quantile(0.99), long.moments().map(|m| m.mean)];
        for &n in lengths {
            let short = (n as f64) < 20.0 * family.correlation_time;
            let (mut held, mut made) = ([0; 4], [0; 4]);
            for seed in 0..draws as u64 {
                let mut random = Random::new(1_000_000 * (number as u64 + 1) + 1000 * n as u64 + seed);
                let values = (family.make)(&mut random, n);
                let sample = Sample::new(&values);
                let intervals = Intervals::new(&values, sample.sorted(), 0.95);
                let found = [
                    intervals.quantile(QUANTILES[0]),
                    intervals.quantile(QUANTILES[1]),
                    intervals.quantile(QUANTILES[2]),
                    intervals.mean(),
                ];
                for (index, (found, truth)) in found.iter().zip(truth).enumerate() {
                    let (Some(found), Some(truth)) = (found, truth) else { continue };
                    made[index] += 1;
                    held[index] += usize::from(found.lower <= truth && truth <= found.upper);
                }
            }
            let cell = |index: usize| match made[index] {
                0 => "-".to_owned(),
                made => format!("{:.3}/{:.2}", held[index] as f64 / made as f64, made as f64 / draws as f64),
            };
            let mark = if short { " (short)" } else { "" };
            println!("{:28} {n:6} {:>10} {:>10} {:>10} {:>10}{mark}", family.name, cell(0), cell(1), cell(2), cell(3));
        }
    }
    println!("coverage of those that are stated / share of the series that have one");
}
