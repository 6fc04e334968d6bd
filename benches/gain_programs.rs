//! Gains predicted from traces of real jobs, against the same job without the delay:
//! `cargo bench --bench gain_programs`.
//!
//! Programs (benches/gain_programs.c), of which rank 1 is delayed by sleeping or by a loop, run untraced with and
//! without the delay and traced with it, in turn. Of those with messages alone all messages are recorded. The
//! prediction is the gain without all that makes rank 1 late, the truth the difference of the untraced runs. Computing
//! and delays of `sleep` are sleeps, so that other load of the machine matters little. `MPICC` and `MPIRUN` name
//! compiler and launcher, with its options, `TURNS` (7) how often, `STEPS` (40) and `DELAY_US` (20000) are the
//! programs'; `PROGRAMS` names some of them.

use mpitrace_testing::binaries;

use std::path::Path;
use std::process::Command;

use mpitrace_analysis::account::{Account, Because, Loss, LossKind};
use mpitrace_analysis::replay::{self, Gain};
use mpitrace_statistics::categories::Rule;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;

/// All, and from which on they have messages alone.
const PROGRAMS: [&str; 8] = ["cg", "stencil", "transpose", "input", "pipeline", "workers", "requests", "ring"];
const OF_MESSAGES: usize = 4;
const DELAYS: [&str; 2] = ["sleep", "spin"];

fn main() {
    binaries::build();
    let turns: usize = variable("TURNS", "7").parse().expect("TURNS is a number");
    let scratch = std::env::temp_dir().join(format!("mpitrace-gain-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).expect("a temporary folder");
    let (compiler, program) = (variable("MPICC", "mpicc.openmpi"), scratch.join("program"));
    let source = mpitrace_testing::root().join("benches/gain_programs.c");
    let compiled = Command::new(&compiler).arg("-O2").arg("-o").arg(&program).arg(source).status();
    assert!(compiled.is_ok_and(|status| status.success()), "{compiler} does not compile an MPI program here");
    println!("{turns} turns, medians with the quartiles in parentheses, s ({compiler})");
    println!("| program | delay | with | without | truth | predicted | least | most | limits hold |");
    println!("|---|---|--:|--:|--:|--:|--:|--:|--:|");
    let wanted = variable("PROGRAMS", &PROGRAMS.join(" "));
    for name in PROGRAMS.into_iter().filter(|name| wanted.split(' ').any(|one| one == *name)) {
        for delay in DELAYS {
            let mut runs: [Vec<f64>; 6] = Default::default();
            let mut unknown = None;
            for _ in 0..turns {
                let [with, without] =
                    [variable("DELAY_US", "20000"), "0".to_owned()].map(|us| run(&program, [name, &us, delay], None));
                let trace = scratch.join("trace.mpitrace");
                let _ = std::fs::remove_file(&trace);
                run(&program, [name, &variable("DELAY_US", "20000"), delay], Some(&trace));
                let predicted = predicted(&trace);
                unknown = unknown.or(predicted.err());
                let [seconds, least, most] = predicted.unwrap_or([f64::NAN; 3]);
                let values = [with, without, with - without, seconds, least, most];
                runs.iter_mut().zip(values).for_each(|(all, value)| all.push(value));
            }
            // Of single runs, beside the noise of those without the delay.
            let [_, without, truth, _, least, most] = &runs;
            let truth = median(truth);
            let noise = spread(without).max(0.05 * truth);
            let is_held = |(least, most): &(&f64, &f64)| (*least - noise..=*most + noise).contains(&truth);
            let held = least.iter().zip(most).filter(is_held).count();
            let [with, without, truth, predicted, least, most] = runs.map(with_quartiles);
            let predicted = unknown.unwrap_or(&predicted);
            println!(
                "| {name} | {delay} | {with} | {without} | {truth} | {predicted} | {least} | {most} | {held} of {turns} |"
            );
        }
    }
    let _ = std::fs::remove_dir_all(&scratch);
}

fn variable(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.to_owned())
}

/// The seconds that the program says it took.
fn run(program: &Path, [name, us, delay]: [&str; 3], trace: Option<&Path>) -> f64 {
    let launcher = variable("MPIRUN", "mpirun.openmpi --allow-run-as-root --oversubscribe -np 2");
    let mut words = launcher.split_whitespace();
    let mut command = Command::new(words.next().expect("a launcher"));
    command.args(words);
    if let Some(trace) = trace {
        let messages = PROGRAMS[OF_MESSAGES..].contains(&name);
        command.args(["env", if messages { "MPITRACE_P2P=records" } else { "MPITRACE_P2P=1" }]);
        command.args(["MPITRACE_VERBOSE=0", &format!("LD_PRELOAD={}", binaries::tracer().display())]);
        command.arg(format!("MPITRACE_OUTPUT={}", trace.display()));
    }
    command.arg(program).args([name, &variable("STEPS", "40"), us, delay]);
    let output = command.output().expect("the launcher starts");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().unwrap_or_else(|_| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
}

/// The gain without all that makes rank 1 late, or without what others wait for it in point-to-point calls, where that
/// is more, the least and the most; seconds.
fn predicted(trace: &Path) -> Result<[f64; 3], &'static str> {
    let trace = Trace::open(&[trace]).expect("a trace");
    let (operations, clock) = (Operations::new(&trace), Clock::new(&trace));
    let account = Account::new(&trace, &clock, &operations, Rule::default());
    let of_kind = |kind: LossKind| {
        let losses = account.losses(false).into_iter().filter(move |loss| loss.kind == kind && loss.late() == Some(1));
        let mut all: Vec<Loss> = Vec::new();
        for loss in losses.filter(|loss| loss.because != Some(Because::PointToPoint)) {
            // Of one place in the program all reasons are one delay.
            match all.iter_mut().find(|known| known.message.is_some() && known.message == loss.message) {
                Some(known) => known.ns += loss.ns,
                None => all.push(loss),
            }
        }
        all
    };
    let kinds = [LossKind::LateRank, LossKind::PointToPoint].map(of_kind);
    let sum = |losses: &Vec<Loss>| losses.iter().map(|loss| loss.ns).sum::<f64>();
    let losses = kinds.into_iter().max_by(|one, other| sum(one).total_cmp(&sum(other))).unwrap_or_default();
    let gains = replay::gains(&trace, &clock, &operations, &account, &losses);
    let all = |of: fn(&Gain) -> Option<f64>| {
        gains.iter().map(|gain| of(gain).ok_or(gain.unknown.unwrap_or("unknown"))).sum::<Result<f64, _>>()
    };
    Ok([all(|gain| gain.seconds)?, all(|gain| gain.least)?, all(|gain| gain.most)?])
}

fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// From the first to the third quartile.
fn spread(values: &[f64]) -> f64 {
    quantile(values, 0.75) - quantile(values, 0.25)
}

fn quantile(values: &[f64], share: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share).round() as usize]
}

fn with_quartiles(values: Vec<f64>) -> String {
    format!("{:.3} ({:.3} to {:.3})", median(&values), quantile(&values, 0.25), quantile(&values, 0.75))
}
