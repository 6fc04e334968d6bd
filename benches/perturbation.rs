//! How much longer the tracer makes the run times that a benchmark measures (after Roth 2018, figures 4.2 and 4.6):
//! `cargo bench --bench perturbation`.
//!
//! A program that measures as ReproMPI does (benches/perturbation.c, 2 ranks) runs untraced twice, and traced in
//! several ways, in turn. Of each run there are the median and the 95th percentile of the run times. A row has the
//! differences to the first untraced run of the same turn: the median of the turns and its interval of 95 %. The second
//! untraced run shows what differs without any tracer, the wrapper written by hand (benches/prototype.c, MPI_Allreduce
//! alone) the least that a tracer can do. `MPICC` and `MPIRUN` name compiler and launcher, with its options, `TURNS`
//! (15) how often.

use mpitrace_testing::binaries;

use std::path::Path;
use std::process::Command;

const SIZES: [&str; 3] = ["8", "1024", "16384"];

/// Name and what is set; untraced without anything.
const CASES: [(&str, Option<&[&str]>); 7] = [
    ("untraced", None),
    ("untraced again", None),
    (WRAPPER, None),
    ("traced", Some(&[])),
    ("without interruptions", Some(&["MPITRACE_INTERRUPTIONS=0"])),
    ("1 counter", Some(&["MPITRACE_EVENTS=task-clock"])),
    ("4 counters", Some(&["MPITRACE_EVENTS=task-clock,context-switches,cpu-migrations,page-faults"])),
];

/// The case of the wrapper written by hand.
const WRAPPER: &str = "hand-written wrapper";

/// Of each size: the median and the 95th percentile, ns.
type Run = [[f64; 2]; SIZES.len()];

fn main() {
    binaries::build();
    let turns = variable("TURNS", "15").parse().expect("TURNS is a number");
    let scratch = std::env::temp_dir().join(format!("mpitrace-perturbation-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).expect("a temporary folder");
    let (compiler, program) = (variable("MPICC", "mpicc.openmpi"), scratch.join("perturbation"));
    let compile = |options: &[&str], source: &str, made: &Path| {
        let mut command = Command::new(&compiler);
        command.args(["-O2", "-fPIC"]).args(options).arg("-o").arg(made);
        command.arg(mpitrace_testing::root().join(source));
        command.status().is_ok_and(|status| status.success())
    };
    let compiled = compile(&[], "benches/perturbation.c", &program)
        && compile(&["-shared"], "benches/prototype.c", &scratch.join("wrapper.so"));
    assert!(compiled, "{compiler} does not compile an MPI program here");
    let runs: Vec<[Run; CASES.len()]> = (0..turns).map(|_| CASES.map(|case| run(&program, case, &scratch))).collect();
    show(&compiler, &runs);
    let _ = std::fs::remove_dir_all(&scratch);
}

fn variable(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.to_owned())
}

fn run(program: &Path, (name, settings): (&str, Option<&[&str]>), scratch: &Path) -> Run {
    let launcher = variable("MPIRUN", "mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to core -np 2");
    let mut words = launcher.split_whitespace();
    let mut command = Command::new(words.next().expect("a launcher"));
    command.args(words);
    if name == WRAPPER {
        command.args(["env", &format!("LD_PRELOAD={}", scratch.join("wrapper.so").display())]);
    }
    if let Some(settings) = settings {
        command.args(["env", "MPITRACE_VERBOSE=0"]).args(settings);
        command.arg(format!("LD_PRELOAD={}", binaries::tracer().display()));
        command.arg(format!("MPITRACE_OUTPUT={}", scratch.join("trace.mpitrace").display()));
    }
    let output = command.arg(program).output().expect("the launcher starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert_eq!(numbers.len(), 2 * SIZES.len(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    std::array::from_fn(|size| [numbers[2 * size], numbers[2 * size + 1]])
}

fn show(compiler: &str, runs: &[[Run; CASES.len()]]) {
    println!("2 ranks, {} turns ({compiler})", runs.len());
    println!("| bytes | run | median, ns more | 95th percentile, % more |");
    println!("|--:|---|--:|--:|");
    for (size, bytes) in SIZES.iter().enumerate() {
        let [usual, high] = [0, 1].map(|which| quantile(runs.iter().map(|turn| turn[0][size][which]).collect(), 0.5));
        println!("| {bytes} | untraced | {usual:.0} in all | {high:.0} ns in all |");
        for (case, (name, _)) in CASES.iter().enumerate().skip(1) {
            let median = runs.iter().map(|turn| turn[case][size][0] - turn[0][size][0]).collect();
            let high = runs.iter().map(|turn| 100.0 * (turn[case][size][1] / turn[0][size][1] - 1.0)).collect();
            println!("| {bytes} | {name} | {} | {} |", with_interval(median, 0), with_interval(high, 1));
        }
    }
}

/// The median, and its interval of 95 % or more by the order of the values (sign test).
fn with_interval(values: Vec<f64>, digits: usize) -> String {
    let count = values.len() as f64;
    let middle = quantile(values.clone(), 0.5);
    let half = 0.98 * count.sqrt() / count;
    let [low, high] = [0.5 - half, 0.5 + half].map(|share| quantile(values.clone(), share.clamp(0.0, 1.0)));
    format!("{middle:.digits$} ({low:.digits$} to {high:.digits$})")
}

fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share).round() as usize]
}
