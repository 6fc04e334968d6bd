//! The stopping rule: `cargo bench --bench online`.
//!
//! How many repetitions it takes, how often the interval at the stop holds the true median, and what asking costs.
//! Series are of the reporting family (`FAMILY=tuning` for the other), of the kinds with `SERIES` in their names (all),
//! `TRIALS` (200) of each; a warm-up of 40
//! repetitions at 1.5 times the level is in every second one. `MPICC` names other compilers than those of Open MPI and
//! MPICH.

#[allow(dead_code, reason = "the companion is of no interest here")]
#[path = "../tests/whole_programs/support/binaries.rs"]
mod binaries;
#[allow(dead_code, reason = "other benchmarks use more of it")]
mod series;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use mpitrace::statistics::median;
use mpitrace::stopping::{Decision, MOST, Rule};
use series::{LEVEL_NS, Process, reporting, tuning};

/// Of a warm-up.
const WARMUP: usize = 40;
const HEIGHT: f64 = 1.5;
/// The rule that is tried.
const RULE: Rule = Rule { minimum: 50, maximum: 10_000, error: 0.02, confidence: 0.95 };

fn main() {
    let trials = std::env::var("TRIALS").ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    let (family, processes) = match std::env::var("FAMILY").as_deref() {
        Ok("tuning") => ("tuning", tuning::processes()),
        _ => ("reporting", reporting::processes()),
    };
    println!("series of the {family} family, {trials} each");
    stops(&processes, trials);
    looks();
    questions();
}

fn stops(processes: &[Process], trials: u64) {
    println!(
        "\n{} to {} repetitions, error {} %; interval at the stop: wanted .93 to .98; error: median of the deviations \
         from the true median, and how many are within the rule's; left: of those with a warm-up, how many stop in it",
        RULE.minimum,
        RULE.maximum,
        100.0 * RULE.error
    );
    println!(
        "{:22} {:>9} {:>12} {:>9} {:>9} {:>9} {:>9}",
        "series", "enough, %", "repetitions", "interval", "error, %", "within, %", "left, %"
    );
    let kinds = std::env::var("SERIES").unwrap_or_default();
    for process in processes.iter().filter(|process| process.name.contains(&kinds)) {
        let truth = truth(process);
        let (mut enough, mut held, mut within, mut left, mut warm) = (0, 0, 0, 0, 0);
        let (mut stops, mut errors) = (Vec::new(), Vec::new());
        for seed in 0..trials {
            let warmup = if seed % 2 == 0 { 0 } else { WARMUP };
            let level = |i: usize| if i < warmup { HEIGHT } else { 1.0 };
            let (x, _) = process.series(RULE.maximum as usize, seed, level);
            let Some((stop, answer)) = RULE.stops_at(&x, 1) else { continue };
            warm += u64::from(warmup > 0);
            if answer.decision != Decision::Enough {
                continue;
            }
            enough += 1;
            stops.push(stop as f64);
            let found = answer.median_ns.unwrap_or(f64::NAN);
            held += u64::from(answer.interval.is_some_and(|i| i.lower <= truth && truth <= i.upper));
            let error = (found / truth - 1.0).abs();
            within += u64::from(error <= RULE.error);
            errors.push(error);
            left += u64::from(warmup > 0 && answer.warmup_end.is_none_or(|end| end.abs_diff(warmup as u64) > 2));
        }
        let share = |count: u64, of: u64| if of == 0 { f64::NAN } else { count as f64 / of as f64 };
        println!(
            "{:22} {:>9.1} {:>12.0} {:>9.3} {:>9.2} {:>9.1} {:>9.1}",
            process.name,
            100.0 * share(enough, trials),
            median(&mut stops).unwrap_or(f64::NAN),
            share(held, enough),
            100.0 * median(&mut errors).unwrap_or(f64::NAN),
            100.0 * share(within, enough),
            100.0 * share(left, warm)
        );
    }
}

/// The median without a warm-up, ns.
fn truth(process: &Process) -> f64 {
    let (mut x, _) = process.series(1_000_000, 4711, |_| 1.0);
    median(&mut x).unwrap_or(LEVEL_NS)
}

fn looks() {
    println!("\n{:>12} {:>22} {:>26}", "repetitions", "one look / one sort", "all looks up to it / one");
    let process = &reporting::processes()[0];
    let (x, _) = process.series(MOST as usize, 1, |_| 1.0);
    for n in [100, 1000, 10_000, MOST as usize] {
        let rule = Rule { maximum: n as u64, error: 1e-9, ..RULE };
        let x = &x[..n];
        let sort = fastest(|| {
            let mut copy = x.to_vec();
            copy.sort_unstable_by(f64::total_cmp);
            black_box(copy);
        });
        let one = fastest(|| look(&rule, x));
        let all = fastest(|| rule.looks().for_each(|end| look(&rule, &x[..end as usize])));
        println!("{n:>12} {:>22.1} {:>26.1}", one / sort, all / one);
    }
}

/// Judged, and nothing made of it.
fn look(rule: &Rule, run_times: &[f64]) {
    black_box(rule.judge_all(run_times));
}

/// Of several turns, s.
fn fastest(work: impl Fn()) -> f64 {
    let turn = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..7).map(turn).fold(f64::INFINITY, f64::min)
}

fn questions() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    binaries::build();
    let scratch = std::env::temp_dir().join(format!("mpitrace-online-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).expect("a temporary folder");
    println!(
        "\na question with nothing new to look at, over two bare time stamps; a call with a question after it, all"
    );
    println!("looks included, over a call: medians of 5 processes");
    let compilers = std::env::var("MPICC").unwrap_or_else(|_| "mpicc.openmpi mpicc.mpich".to_owned());
    for compiler in compilers.split_whitespace() {
        match compile(compiler, root, &scratch) {
            Some(program) => {
                let runs: Vec<[f64; 4]> = (0..5).map(|_| run(&program, &scratch)).collect();
                let ratio = |of: fn(&[f64; 4]) -> f64| median(&mut runs.iter().map(of).collect::<Vec<f64>>());
                let question = ratio(|[stamps, question, _, _]| question / stamps).unwrap_or(f64::NAN);
                let call = ratio(|[_, _, call, both]| both / call).unwrap_or(f64::NAN);
                println!("{compiler}: {question:.2}, {call:.2}");
            }
            None => println!("{compiler}: skipped, it does not compile an MPI program here"),
        }
    }
    let _ = std::fs::remove_dir_all(&scratch);
}

fn compile(compiler: &str, root: &Path, scratch: &Path) -> Option<PathBuf> {
    let program = scratch.join("online");
    let mut command = Command::new(compiler);
    command.arg("-O2").arg("-o").arg(&program).arg("-I").arg(root.join("include")).arg(root.join("benches/online.c"));
    command.status().is_ok_and(|status| status.success()).then_some(program)
}

/// ns: two time stamps, a question, a call, a call with a question.
fn run(program: &Path, scratch: &Path) -> [f64; 4] {
    let mut command = Command::new(program);
    command.env("LD_PRELOAD", binaries::tracer()).env("MPITRACE_VERBOSE", "0");
    let output = command.env("MPITRACE_OUTPUT", scratch.join("%p.mpitrace")).output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    numbers.try_into().unwrap_or_else(|_| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
}
