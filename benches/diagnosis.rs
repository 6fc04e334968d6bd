//! The aims of the diagnosis, and its results, on runs whose causes are known:
//! `cargo bench --bench diagnosis -- [--tuning] [--draws N]`.

#[path = "truth/mod.rs"]
mod truth;

use std::process::ExitCode;

use mpitrace_analysis::diagnosis::{Diagnosis, Examination, Metric, Quantity, Repetitions};
use mpitrace_statistics::categories::Rule;
use mpitrace_testing::Random;
use truth::{autoregressive, each, long_memory, switching};

/// Counters of a run.
const COUNTERS: usize = 10;
const LENGTH: usize = 1000;

type Make = fn(&mut Random, usize) -> Vec<f64>;
/// Which repetitions are slow.
type Slow = fn(&mut Random, usize) -> Vec<bool>;

/// Counters that cause nothing, for the choice of constants.
const TUNING: &[(&str, Make)] = &[
    ("independent", |r, n| each(n, || r.normal())),
    ("AR(1) 0.96", |r, n| autoregressive(r, &[0.96], n)),
    ("AR(1) 0.98 and white noise", |r, n| added(autoregressive(r, &[0.98], n), 1.0, r)),
    ("random walk", |r, n| walk(r, n, 0.0)),
];

/// Counters that no constant has seen.
const REPORTED: &[(&str, Make)] = &[
    ("lognormal", |r, n| each(n, || (0.5 * r.normal()).exp())),
    ("AR(1) 0.9", |r, n| autoregressive(r, &[0.9], n)),
    ("AR(2) 0.5 0.48", |r, n| autoregressive(r, &[0.5, 0.48], n)),
    ("AR(1) 0.99 and white noise", |r, n| added(autoregressive(r, &[0.99], n), 1.0, r)),
    ("AR(1) 0.995 and more white noise", |r, n| added(autoregressive(r, &[0.995], n), 2.0, r)),
    ("long memory 0.3", |r, n| long_memory(r, 0.3, n)),
    ("long memory 0.45", |r, n| long_memory(r, 0.45, n)),
    ("trend and noise", |r, n| (0..n).map(|t| 5.0 * t as f64 / n as f64 + r.normal()).collect()),
    ("curved trend and noise", |r, n| (0..n).map(|t| 5.0 * (t as f64 / n as f64).sqrt() + r.normal()).collect()),
    ("random walk", |r, n| walk(r, n, 0.0)),
    ("random walk and noise", |r, n| walk(r, n, 5.0)),
    ("switching, 100 / 100", |r, n| switching(r, n, 2.0, 100.0, 100.0, 0.1)),
    ("switching, 60 / 15, noisy", |r, n| switching(r, n, 1.3, 60.0, 15.0, 0.2)),
    ("few events", |r, n| each(n, || f64::from(u8::from(r.uniform() < 0.02)))),
];

/// Which repetitions are slow.
const PATTERNS: &[(&str, f64, Slow)] = &[
    ("3 outliers", 4.0, |r, n| chosen(r, n, 3)),
    ("5 outliers", 4.0, |r, n| chosen(r, n, 5)),
    ("2 %", 3.0, |r, n| random(r, n, 0.02)),
    ("10 %", 3.0, |r, n| random(r, n, 0.1)),
    ("30 %, x1.5", 1.5, |r, n| random(r, n, 0.3)),
    ("60 %, x1.5", 1.5, |r, n| random(r, n, 0.6)),
    ("bursts of 15", 3.0, |r, n| bursts(r, n, 15.0, 135.0)),
    ("switching 50 / 100, x1.5", 1.5, |r, n| bursts(r, n, 50.0, 100.0)),
    ("first 60, x1.6", 1.6, |_, n| (0..n).map(|t| t < 60).collect()),
    ("every 17th", 3.0, |_, n| (0..n).map(|t| t % 17 == 9).collect()),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let draws = arguments.iter().position(|one| one == "--draws").and_then(|at| arguments.get(at + 1)?.parse().ok());
    let draws = draws.unwrap_or(40);
    let families = if arguments.iter().any(|one| one == "--tuning") { TUNING } else { REPORTED };
    innocent(families, draws);
    guilty(draws);
    ExitCode::SUCCESS
}

/// Runs in which one counter or more is named, of those in which none is a cause.
fn innocent(families: &[(&str, Make)], draws: u64) {
    println!("% of runs that name an innocent counter, of ten; wanted: at most 5. {draws} runs each, seeds 0 on");
    print!("{:34}", "");
    PATTERNS.iter().for_each(|(name, ..)| print!(" {:>12}", name.chars().take(12).collect::<String>()));
    println!();
    let mut all = 0;
    for (number, (name, make)) in families.iter().enumerate() {
        print!("{name:34}");
        for (pattern, (_, factor, slow)) in PATTERNS.iter().enumerate() {
            let named = (0..draws).filter(|draw| {
                let mut random = Random::new(draw + 1000 * (pattern as u64 + 100 * number as u64));
                let slow = slow(&mut random, LENGTH);
                let times = run_times(&mut random, &slow, *factor);
                let counters = (0..COUNTERS).map(|_| make(&mut random, LENGTH)).collect();
                let found = diagnosed(&times, counters);
                !found.findings.is_empty()
            });
            let named = named.count();
            all += named;
            print!(" {:12.1}", 100.0 * named as f64 / draws as f64);
        }
        println!();
    }
    let runs = draws * (families.len() * PATTERNS.len()) as u64;
    println!("all {:.2} % of {runs}\n", 100.0 * all as f64 / runs as f64);
}

/// Causes that are found, and their shares.
fn guilty(draws: u64) {
    println!(
        "causes found of those there are, each with effect / sd x sqrt(its slow repetitions) = 5 or 8; wanted: 90 %"
    );
    println!(
        "{:26} {:>6} {:>8} {:>8} {:>8} {:>14} {:>10}",
        "slow", "causes", "strength", "found", "innocent", "share: error", "no share"
    );
    for (pattern, (name, factor, slow)) in
        PATTERNS.iter().enumerate().filter(|(_, (name, ..))| !name.contains("outliers"))
    {
        for causes in 1..=4 {
            for strength in [5.0, 8.0, 0.0] {
                let (mut found, mut there, mut innocent, mut error, mut known, mut null) = (0, 0, 0, 0.0, 0, 0);
                for draw in 0..draws {
                    let mut random = Random::new(7_000_000 + draw + 1000 * (pattern as u64 * 16 + causes as u64));
                    let slow = slow(&mut random, LENGTH);
                    // Each slow stretch has one cause.
                    let mut of = vec![usize::MAX; LENGTH];
                    for t in 0..LENGTH {
                        let continued = t > 0 && slow[t - 1] && !name.contains('%');
                        of[t] = match slow[t] {
                            false => usize::MAX,
                            true if continued && !name.contains("first") => of[t - 1],
                            true => (random.bits() % causes as u64) as usize,
                        };
                    }
                    let times = run_times(&mut random, &slow, *factor);
                    let counters: Vec<Vec<f64>> = (0..COUNTERS)
                        .map(|counter| {
                            let count = of.iter().filter(|cause| **cause == counter).count().max(1) as f64;
                            // The last kind of cause is an event that never happens otherwise.
                            match strength {
                                0.0 if counter < causes => {
                                    of.iter().map(|c| f64::from(u8::from(*c == counter))).collect()
                                }
                                _ => {
                                    let effect = (if strength > 0.0 { strength } else { 8.0 }) / count.sqrt();
                                    of.iter()
                                        .map(|c| random.normal() + if *c == counter { effect } else { 0.0 })
                                        .collect()
                                }
                            }
                        })
                        .collect();
                    let diagnosis = diagnosed(&times, counters);
                    let named = named(&diagnosis);
                    for cause in 0..causes {
                        let count = of.iter().filter(|of| **of == cause).count();
                        if count < 3 {
                            continue;
                        }
                        there += 1;
                        if !named.contains(&cause) {
                            continue;
                        }
                        found += 1;
                        let shares: Vec<Option<f64>> = diagnosis
                            .findings
                            .iter()
                            .filter(|finding| finding.metric == cause)
                            .map(|finding| {
                                diagnosis.metrics[cause].separations[finding.group].and_then(|one| one.explained)
                            })
                            .collect();
                        let truth = count as f64 / slow.iter().filter(|slow| **slow).count() as f64;
                        match shares.iter().flatten().next() {
                            Some(share) => {
                                known += 1;
                                error += (share - truth).abs();
                            }
                            None => null += 1,
                        }
                    }
                    innocent += usize::from(named.iter().any(|&counter| counter >= causes));
                }
                let kind = if strength > 0.0 { strength.to_string() } else { "event".to_owned() };
                println!(
                    "{name:26} {causes:6} {kind:>8} {:8.1} {:8.1} {:14.2} {null:10}",
                    100.0 * f64::from(found) / f64::from(there.max(1)),
                    100.0 * innocent as f64 / draws as f64,
                    error / f64::from(known.max(1))
                );
            }
        }
    }
}

fn named(diagnosis: &Diagnosis) -> Vec<usize> {
    let mut named: Vec<usize> = diagnosis.findings.iter().map(|finding| finding.metric).collect();
    named.sort_unstable();
    named.dedup();
    named
}

fn run_times(random: &mut Random, slow: &[bool], factor: f64) -> Vec<f64> {
    slow.iter().map(|slow| 1000.0 * if *slow { factor } else { 1.0 } * (0.03 * random.normal()).exp()).collect()
}

fn diagnosed(times: &[f64], counters: Vec<Vec<f64>>) -> Diagnosis {
    let number: Vec<u64> = (0..times.len() as u64).collect();
    let rule = Rule::named("robust").expect("a rule");
    let categories = rule.apply(&number, times).expect("numbers ascend").categories;
    let repetitions = Repetitions { run_time_ns: times, category: &categories.category };
    let examination = Examination::new(repetitions);
    let metric = |index: usize| Metric {
        name: format!("counter {index}"),
        quantity: Quantity::Counter,
        unit: String::new(),
        rank: None,
    };
    let examined = counters.iter().enumerate().map(|(index, values)| examination.examine(metric(index), values));
    let examined = examined.collect();
    examination.conclude(examined)
}

fn added(mut values: Vec<f64>, sd: f64, random: &mut Random) -> Vec<f64> {
    values.iter_mut().for_each(|value| *value += sd * random.normal());
    values
}

fn walk(random: &mut Random, n: usize, sd: f64) -> Vec<f64> {
    let mut at = 0.0;
    let walk = each(n, || {
        at += random.normal();
        at
    });
    added(walk, sd, random)
}

fn random(random: &mut Random, n: usize, share: f64) -> Vec<bool> {
    each_bool(n, || random.uniform() < share)
}

fn bursts(random: &mut Random, n: usize, slow: f64, fast: f64) -> Vec<bool> {
    let mut is_slow = random.uniform() < slow / (slow + fast);
    each_bool(n, || {
        let now = is_slow;
        if random.uniform() < 1.0 / if is_slow { slow } else { fast } {
            is_slow = !is_slow;
        }
        now
    })
}

fn chosen(random: &mut Random, n: usize, count: usize) -> Vec<bool> {
    let mut slow = vec![false; n];
    while slow.iter().filter(|slow| **slow).count() < count {
        slow[(random.bits() % n as u64) as usize] = true;
    }
    slow
}

fn each_bool(n: usize, next: impl FnMut() -> bool) -> Vec<bool> {
    std::iter::repeat_with(next).take(n).collect()
}
