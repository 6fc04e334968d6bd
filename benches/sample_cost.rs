//! The cost of `mpitrace run --sample` to the ranks: `cargo bench --bench sample_cost`.
//!
//! Two ranks do a fixed amount of work. Runs without and with samples take turns (`ROUNDS`, 10, pairs, for each of
//! `RATES`); shown are the quartiles of the ratios of processor time in each pair, and the time that a sample costs by
//! them. `MPICC` and `MPIRUN` name compiler and launcher, with its options.

use mpitrace_testing::binaries;

use std::path::Path;
use std::process::Command;

fn variable(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.to_owned())
}

fn main() {
    binaries::build();
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let (program, root) = (scratch.path().join("program"), mpitrace_testing::root());
    let compiler = variable("MPICC", "mpicc.openmpi");
    let mut compile = Command::new(&compiler);
    compile.arg("-O2").arg("-o").arg(&program).arg(root.join("benches/sample_cost.c"));
    assert!(compile.status().is_ok_and(|status| status.success()), "{compiler} does not compile an MPI program here");
    let rounds: usize = variable("ROUNDS", "10").parse().expect("a number");
    println!("| samples a second | ratio of processor time: quartiles | a sample, us: quartiles |");
    println!("|---|---|---|");
    for rate in variable("RATES", "0 100 1000 10000").split_whitespace() {
        let pair = |round: usize| {
            let with = |rate: &str| processor_s(&program, scratch.path(), rate);
            if round.is_multiple_of(2) {
                let plain = with("0");
                (plain, with(rate))
            } else {
                let sampled = with(rate);
                (with("0"), sampled)
            }
        };
        let mut ratios: Vec<f64> = (0..rounds).map(pair).map(|(plain, sampled)| sampled / plain).collect();
        ratios.sort_by(f64::total_cmp);
        let quartiles = [0.25, 0.5, 0.75].map(|share| ratios[((rounds - 1) as f64 * share).round() as usize]);
        let hz: f64 = rate.parse().expect("a number");
        // Of r times the time, which the clock of the samples has counted, r - 1 times it are theirs.
        let cost = quartiles.map(|ratio| 1e6 * (ratio - 1.0) / ratio / hz);
        let [low, middle, high] = quartiles;
        let [least, usual, most] = cost;
        println!("| {rate} | {low:.4}, {middle:.4}, {high:.4} | {least:.2}, {usual:.2}, {most:.2} |");
    }
}

/// Of both ranks.
fn processor_s(program: &Path, scratch: &Path, rate: &str) -> f64 {
    let launcher = variable("MPIRUN", "mpirun.openmpi --allow-run-as-root --oversubscribe -np 2");
    let mut command = Command::new(binaries::companion());
    command.args(["run", "--verbose", "0", "--sample", rate, "-o"]).arg(scratch.join("run.mpitrace")).arg("--");
    command.args(launcher.split_whitespace()).arg(program).arg(variable("WORK", "20"));
    let done = command.output().expect("mpitrace starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let printed = String::from_utf8_lossy(&done.stdout).into_owned();
    let times = printed.lines().filter_map(|line| line.strip_prefix("took ")?.parse::<f64>().ok());
    times.sum()
}
