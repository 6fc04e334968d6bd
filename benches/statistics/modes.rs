//! Numbers of modes, of outliers and of false claims of dependence.

use mpitrace_statistics::{Outliers, Sample, are_dependent, modes};
use mpitrace_testing::Random;

use crate::truth::{LEVEL, each};

/// Values from so many levels, each `apart` standard deviations from the next; this share of them are outliers.
fn mixed(random: &mut Random, n: usize, levels: usize, apart: f64, sd: f64, outliers: f64, kind: usize) -> Vec<f64> {
    // The shares of the levels: 1, then 0.65 and 0.35, then 0.5, 0.3 and 0.2.
    let edges: &[f64] = match levels {
        1 => &[1.0],
        2 => &[0.65, 1.0],
        _ => &[0.5, 0.8, 1.0],
    };
    each(n, || {
        let share = random.uniform();
        let level = edges.iter().position(|edge| share < *edge).unwrap_or(0) as f64;
        let noise = match kind {
            0 => random.normal(),
            // Skewed, of variance 1.
            _ => (random.gamma(4.0) - 4.0) / 2.0,
        };
        let far = match random.uniform() < outliers {
            true => 2.5 + 7.5 * random.uniform(),
            false => 1.0,
        };
        LEVEL * far * (sd * (level * apart + noise)).exp()
    })
}

/// Prints the share of series whose number of modes is the true one; wanted: 90 %.
pub fn print_modes(tuning: bool, draws: u64) {
    println!("\n% of series with the right number of modes; wanted: at least 90");
    println!(
        "{:>6} {:>6} {:>9} {:>6} {:>10} {:>7} {:>7} {:>7}",
        "modes", "apart", "outliers", "sd", "noise", "100", "1000", "10000"
    );
    let (sds, kinds): (&[f64], &[(usize, &str)]) =
        if tuning { (&[0.03], &[(0, "normal")]) } else { (&[0.02, 0.06], &[(0, "lognormal"), (1, "gamma")]) };
    for levels in 1..=3 {
        for apart in if levels == 1 { &[0.0][..] } else { &[5.0, 8.0] } {
            for outliers in [0.0, 0.01, 0.05, 0.1] {
                for &sd in sds {
                    for &(kind, name) in kinds {
                        let right = [100, 1000, 10_000].map(|n| {
                            let right = (0..draws).filter(|&seed| {
                                let mut random = Random::new(seed + 1000 * n as u64 + if tuning { 0 } else { 1 << 40 });
                                let values = mixed(&mut random, n, levels, *apart, sd, outliers, kind);
                                modes(&values, &Sample::new(&values)).len() == levels
                            });
                            100.0 * right.count() as f64 / draws as f64
                        });
                        let [a, b, c] = right;
                        println!("{levels:6} {apart:6} {outliers:9} {sd:6} {name:>10} {a:7.0} {b:7.0} {c:7.0}");
                    }
                }
            }
        }
    }
}

/// Prints how often independent values are called dependent; wanted: 5 %.
pub fn print_dependence(draws: u64) {
    println!("\n% of independent series that are called dependent; wanted: at most 5");
    type Make = fn(&mut Random) -> f64;
    let families: [(&str, Make); 4] = [
        ("normal", |r| r.normal()),
        ("lognormal, sd 100 %", |r| r.normal().exp()),
        ("1 % at x10", |r| if r.uniform() < 0.01 { 10.0 } else { 1.0 + 0.05 * r.normal() }),
        ("ticks, 80 % ties", |r| (0.4 * r.normal()).round()),
    ];
    for (name, make) in families {
        print!("{name:24}");
        for n in [30, 100, 1000, 10_000] {
            let called = (0..draws).filter(|&seed| {
                let mut random = Random::new(seed + 77_000 + n as u64);
                let values = each(n, || make(&mut random));
                are_dependent(&values, &Sample::new(&values))
            });
            print!(" n {n}: {:4.1}", 100.0 * called.count() as f64 / draws as f64);
        }
        println!();
    }
}

/// Prints how many of a thousand values without outliers the rule of the MAD calls some, by ticks of the clock.
pub fn print_ticks(draws: u64) {
    println!("\noutliers by the MAD's rule in 1000 values of normal noise, a tick being so many sd; wanted: 0 to 1");
    for tick in [0.1, 0.5, 1.0, 2.0, 3.0, 4.0] {
        let found: usize = (0..draws)
            .map(|seed| {
                let mut random = Random::new(seed + 88_000);
                let values = each(1000, || tick * ((30.3 + random.normal()) / tick).round());
                Outliers::count(&Sample::new(&values)).map_or(0, |found| found.median_deviation.count)
            })
            .sum();
        print!(" tick {tick} sd: {:.2}", found as f64 / draws as f64);
    }
    println!();
}
