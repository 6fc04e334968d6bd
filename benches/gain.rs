//! Gains predicted from traces, against the simulated job without the delay:
//! `cargo bench --bench gain -- [--programs N] [--seed N]`. The replay was tuned on the default seed.

use std::process::ExitCode;

use mpitrace_analysis::account::{Account, Because, LossKind};
use mpitrace_analysis::replay::{self, Gain};
use mpitrace_statistics::categories::Rule;
use mpitrace_testing::Random;
use mpitrace_testing::programs::{self, Delayed};
use mpitrace_testing::synthetic;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;

/// A prediction is right within this share of the truth.
const CLOSE: f64 = 0.05;
/// Or within the standard deviation of the undelayed job's time over so many runs that differ by their noise alone.
const RUNS: u64 = 8;
/// Predictions that are right, of 100.
const AIM: f64 = 95.0;

type Make = fn(&mut Random, &mut Random) -> Delayed;
/// Families; true: the value has to be right, else the interval has to hold the truth.
const FAMILIES: [(&str, Make, bool); 4] = [
    ("bulk-synchronous", programs::bulk_synchronous, true),
    ("halo", programs::halo, true),
    ("several halos", programs::several_halos, false),
    ("rooted", programs::rooted, false),
];

fn main() -> ExitCode {
    let option = |name: &str, default: u64| match std::env::args().skip_while(|word| word != name).nth(1) {
        None => Ok(default),
        Some(number) => number.parse().map_err(|error| format!("{name}: {error}")),
    };
    let (programs, seed) = match (option("--programs", 1000), option("--seed", 20_261_123)) {
        (Ok(programs), Ok(seed)) => (programs, seed),
        (Err(error), _) | (_, Err(error)) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    println!("gain: {programs} programs of each family, seed {seed}; ns are those of a simulated machine");
    println!(
        "{:<18} {:>9} {:>12} {:>10} {:>9} {:>14}",
        "family", "programs", "within 5 %", "in bounds", "unknown", "median error"
    );
    let mut failed = false;
    for (name, make, exact) in FAMILIES {
        let mut random = Random::new(seed);
        let mut errors = Vec::new();
        let (mut close, mut held, mut bounded, mut unknown) = (0, 0, 0, 0);
        for index in 0..programs {
            let again = random.clone();
            let delayed = make(&mut random, &mut Random::new(seed + index));
            let undelayed = delayed.program.run(false).end;
            let truth = delayed.program.run(true).end - undelayed;
            let ends: Vec<f64> = (1..=RUNS)
                .map(|run| {
                    make(&mut again.clone(), &mut Random::new(seed + index + (run << 32))).program.run(false).end
                })
                .collect();
            let mean = ends.iter().sum::<f64>() / RUNS as f64;
            let noise = (ends.iter().map(|end| (end - mean).powi(2)).sum::<f64>() / (RUNS - 1) as f64).sqrt() / 1e9;
            let found = predicted(&delayed);
            let (Some(least), Some(most)) = (found.least, found.most) else {
                unknown += 1;
                if std::env::var_os("GAIN_VERBOSE").is_some() {
                    println!("{index}: {} ranks: {:?}", delayed.program.ranks.len(), found.unknown);
                }
                continue;
            };
            let truth = truth / 1e9;
            let room = noise.max(CLOSE * truth);
            held += usize::from((least - room..=most + room).contains(&truth));
            bounded += 1;
            let Some(likely) = found.seconds else { continue };
            close += usize::from((likely - truth).abs() <= room);
            errors.push((likely - truth) / truth.max(1e-12));
            if std::env::var_os("GAIN_VERBOSE").is_some() && (likely - truth).abs() > room {
                println!(
                    "{index}: {} ranks, rank {} {}: {likely:.6} ({least:.6} to {most:.6}) for {truth:.6}",
                    delayed.program.ranks.len(),
                    delayed.rank,
                    delayed.asleep
                );
            }
        }
        let known = errors.len();
        errors.sort_by(|one, other| one.abs().total_cmp(&other.abs()));
        let median = errors.get(errors.len() / 2).copied().unwrap_or(f64::NAN);
        let share = |count: usize, of: usize| if of == 0 { f64::NAN } else { 100.0 * count as f64 / of as f64 };
        let (close, held) = (share(close, known), share(held, bounded));
        println!(
            "{name:<18} {programs:>9} {close:>10.1} % {held:>8.1} % {unknown:>9} {:>12.2} %",
            100.0 * median.abs()
        );
        failed |= if exact { close < AIM } else { held < AIM };
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The gain without all that makes the rank late.
fn predicted(delayed: &Delayed) -> Gain {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("no temporary folder: {error}"));
    let path = folder.path().join("gain.mpitrace");
    synthetic::write(&path, &delayed.program.run(true).ranks).unwrap_or_else(|error| panic!("{error}"));
    let trace = Trace::open(&[&path]).unwrap_or_else(|error| panic!("{error}"));
    let (operations, clock) = (Operations::new(&trace), Clock::new(&trace));
    let account = Account::new(&trace, &clock, &operations, Rule::default());
    let is_of_rank = |loss: &mpitrace_analysis::account::Loss| {
        // What was late in a call before is late by the same delay.
        let asleep = loss.because.is_some_and(|because| because.is_off());
        let is_earlier = loss.because == Some(Because::EarlierCall);
        loss.kind == LossKind::LateRank
            && loss.rank == Some(delayed.rank as u32)
            && (is_earlier || asleep == delayed.asleep)
    };
    // Of several that wait for it in point-to-point calls each waits for the same delay.
    let awaits_rank = |loss: &mpitrace_analysis::account::Loss| {
        loss.kind == LossKind::PointToPoint && loss.late() == Some(delayed.rank as u32)
    };
    let all = account.losses(false);
    // What keeps the rank from its processor is known by itself.
    let sleeps = |loss: &mpitrace_analysis::account::Loss| {
        delayed.asleep
            && loss.operation.is_none()
            && loss.kind == LossKind::Interrupted
            && loss.rank == Some(delayed.rank as u32)
    };
    let waiting = all.iter().find(|loss| awaits_rank(loss));
    if let Some(loss) = waiting.map(|loss| all.iter().find(|loss| sleeps(loss)).unwrap_or(loss)) {
        let gains = replay::gains(&trace, &clock, &operations, &account, std::slice::from_ref(loss));
        return gains.into_iter().next().unwrap_or_default();
    }
    let losses: Vec<_> = all.into_iter().filter(is_of_rank).collect();
    let gains = replay::gains(&trace, &clock, &operations, &account, &losses);
    let sum = |of: fn(&Gain) -> Option<f64>| gains.iter().map(of).sum::<Option<f64>>();
    let unknown = gains.iter().find_map(|gain| gain.unknown).or(losses.is_empty().then_some("no loss"));
    if unknown.is_some() {
        return Gain { unknown, ..Gain::default() };
    }
    let [seconds, least, most] = [sum(|gain| gain.seconds), sum(|gain| gain.least), sum(|gain| gain.most)];
    Gain { seconds, least, most, ..Gain::default() }
}
