//! Gains predicted from traces of real jobs, against the same job without the delay:
//! `cargo bench --bench gain_programs`.
//!
//! Four programs (benches/gain_programs.c), 2 ranks, of which rank 1 is delayed by sleeping or by a loop, run untraced with
//! and without the delay and traced with it, in turn. The prediction is the gain without all that makes rank 1 late, the
//! truth the difference of the untraced runs. Computing and delays of `sleep` are sleeps, so that other load of the machine
//! matters little. `MPICC` and `MPIRUN` name compiler and launcher, with its options, `TURNS` (7) how often, `STEPS` (40)
//! and `DELAY_US` (20000) are the programs'.

#[allow(dead_code, reason = "the companion is of no interest here")]
#[path = "../tests/whole_programs/support/binaries.rs"]
mod binaries;

use std::path::Path;
use std::process::Command;

use mpitrace::account::{Account, Kind, Loss};
use mpitrace::categories::Rule;
use mpitrace::clock::Clock;
use mpitrace::operations::Operations;
use mpitrace::reader::Trace;
use mpitrace::replay;

const PROGRAMS: [&str; 4] = ["cg", "stencil", "transpose", "input"];
const DELAYS: [&str; 2] = ["sleep", "spin"];

fn main() {
    binaries::build();
    let turns: usize = variable("TURNS", "7").parse().expect("TURNS is a number");
    let scratch = std::env::temp_dir().join(format!("mpitrace-gain-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).expect("a temporary folder");
    let (compiler, program) = (variable("MPICC", "mpicc.openmpi"), scratch.join("program"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/gain_programs.c");
    let compiled = Command::new(&compiler).arg("-O2").arg("-o").arg(&program).arg(source).status();
    assert!(compiled.is_ok_and(|status| status.success()), "{compiler} does not compile an MPI program here");
    println!("2 ranks, {turns} turns, medians with the quartiles in parentheses, s ({compiler})");
    println!("| program | delay | with | without | truth | predicted |");
    println!("|---|---|--:|--:|--:|--:|");
    for name in PROGRAMS {
        for delay in DELAYS {
            let mut runs: [Vec<f64>; 4] = Default::default();
            let mut unknown = None;
            for _ in 0..turns {
                let [with, without] =
                    [variable("DELAY_US", "20000"), "0".to_owned()].map(|us| run(&program, [name, &us, delay], None));
                let trace = scratch.join("trace.mpitrace");
                let _ = std::fs::remove_file(&trace);
                run(&program, [name, &variable("DELAY_US", "20000"), delay], Some(&trace));
                let predicted = predicted(&trace);
                unknown = unknown.or(predicted.err());
                let values = [with, without, with - without, predicted.unwrap_or(f64::NAN)];
                runs.iter_mut().zip(values).for_each(|(all, value)| all.push(value));
            }
            let [with, without, truth, predicted] = runs.map(with_quartiles);
            println!("| {name} | {delay} | {with} | {without} | {truth} | {} |", unknown.unwrap_or(&predicted));
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
        command.args(["env", "MPITRACE_VERBOSE=0", &format!("LD_PRELOAD={}", binaries::tracer().display())]);
        command.arg(format!("MPITRACE_OUTPUT={}", trace.display()));
    }
    command.arg(program).args([name, &variable("STEPS", "40"), us, delay]);
    let output = command.output().expect("the launcher starts");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().unwrap_or_else(|_| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
}

/// The gain without all that makes rank 1 late, or without what rank 0 waits for it in point-to-point calls, where that is
/// more; seconds.
fn predicted(trace: &Path) -> Result<f64, &'static str> {
    let trace = Trace::open(&[trace]).expect("a trace");
    let (operations, clock) = (Operations::new(&trace), Clock::new(&trace));
    let account = Account::of(&trace, &clock, &operations, Rule::default());
    let is_late = |loss: &Loss| loss.kind == Kind::LateRank && loss.rank == Some(1);
    let awaits = |loss: &Loss| loss.kind == Kind::PointToPoint && loss.partner == Some(1);
    let [late, awaited] = [account.losses(), account.losses()];
    let late: Vec<Loss> = late.into_iter().filter(is_late).collect();
    let awaited: Vec<Loss> = awaited.into_iter().filter(awaits).take(1).collect();
    let sum = |losses: &[Loss]| losses.iter().map(|loss| loss.ns).sum::<f64>();
    let losses = if sum(&awaited) > sum(&late) { awaited } else { late };
    let gains = replay::gains(&trace, &clock, &operations, &account, &losses);
    gains.iter().map(|gain| gain.seconds.ok_or(gain.unknown.unwrap_or("unknown"))).sum()
}

fn with_quartiles(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let quantile = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    format!("{:.3} ({:.3} to {:.3})", quantile(0.5), quantile(0.25), quantile(0.75))
}
