//! Samples in fixed memory: `cargo bench --bench sample -- [--traces N] [--calls N] [--seed N]`.
//!
//! Of each family so many (100) synthetic traces of 4 to 12 ranks are made twice, with the same times: with a record
//! for each call, and with a sample of 1 in 32. Waiting and time as the full record has them are compared with the
//! estimates of the sample and their intervals; the medians of single calls, from histograms, with the exact ones.
//!
//! Then a program makes so many calls (10^8) on MPI_COMM_SELF (benches/spill.c, twice), a hundredth of them, and both
//! with a record of each in arrays of 2^16: ns a call, and resident memory beyond the shorter run. `MPICC` and `MPIRUN`
//! name compiler and launcher.

use mpitrace_testing::binaries;

use std::path::Path;
use std::process::{Command, ExitCode};

use mpitrace_analysis::account::Account;
use mpitrace_statistics::categories::Rule;
use mpitrace_testing::Random;
use mpitrace_testing::synthetic::{self, SyntheticRank};
use mpitrace_trace::calls::whole_run::all_calls;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;

/// Steps of a program: an Allreduce each, and a Bcast on a second communicator in each third.
const STEPS: usize = 20_000;
/// 1 in 2^k is kept: some 830 records.
const LEVEL: u32 = 5;
/// Intervals that hold the truth, of 100.
const AIM: f64 = 95.0;

/// The time that a rank computes in a step, ns, by the ranks' number and the step.
type Compute = fn(&mut Random, usize, usize, usize) -> f64;

const FAMILIES: [(&str, Compute); 6] = [
    ("exponential", |random, _, _, _| -20_000.0 * random.uniform().ln()),
    ("Pareto 2.5", |random, _, _, _| 10_000.0 * random.uniform().powf(-1.0 / 2.5)),
    ("every 8th step", |random, _, rank, step| {
        20_000.0 + 1000.0 * random.normal() + if rank == 1 && step.is_multiple_of(8) { 50_000.0 } else { 0.0 }
    }),
    ("drift", |random, ranks, rank, step| {
        let late = 20_000.0 * (step as f64 / STEPS as f64) * f64::from(u8::from(rank + 1 == ranks));
        20_000.0 + late + 2000.0 * random.normal()
    }),
    ("three phases", |random, _, rank, step| {
        20_000.0 * (1.0 + 0.3 * (rank as f64) * f64::from(u8::from(3 * step / STEPS == 1))) + 1000.0 * random.normal()
    }),
    ("1 of 2000 steps", |random, _, _, _| {
        let event = if random.uniform() < 1.0 / 8000.0 { 5_000_000.0 } else { 0.0 };
        20_000.0 + 2000.0 * random.normal() + event
    }),
];

/// The ranks of a program, each with a record of each call or a sample of this level.
fn ranks(compute: Compute, seed: u64, level: Option<u32>) -> Vec<SyntheticRank> {
    let mut random = Random::new(seed);
    let size = 4 + (random.bits() % 9) as usize;
    let mut ranks: Vec<SyntheticRank> = (0..size as u32).map(|rank| SyntheticRank::new(rank, size as u32)).collect();
    let mut operations = Vec::new();
    for (number, rank) in (0..).zip(&mut ranks) {
        let other = rank.communicator(100 + seed, size as u32, number, None);
        let all = rank.operation("MPI_Allreduce", 0, 8);
        let from_root = rank.operation("MPI_Bcast", other, 64);
        rank.describe(from_root, Some(0), "MPI_BYTE", None);
        operations.push([all, from_root]);
    }
    let mut now = vec![1e6; size];
    for step in 0..STEPS {
        for (rank, now) in now.iter_mut().enumerate() {
            *now += compute(&mut random, size, rank, step).max(100.0);
        }
        let last = now.iter().copied().fold(0.0, f64::max);
        let both = [(0, last), (1, f64::NAN)];
        for (operation, free) in both.into_iter().take(if step.is_multiple_of(3) { 2 } else { 1 }) {
            let root = now[0];
            for (rank, now) in now.iter_mut().enumerate() {
                let from = if free.is_nan() { now.max(root) } else { free };
                let exit = from + 800.0 + 200.0 * random.uniform();
                let [enter_tick, exit_tick] = [*now, exit].map(|ns| ns.round() as u64);
                match level {
                    None => ranks[rank].call(operations[rank][operation], enter_tick, exit_tick),
                    Some(of) => ranks[rank].sampled_call(operations[rank][operation], enter_tick, exit_tick, of),
                }
                *now = exit + 500.0;
            }
        }
    }
    ranks
}

/// The account of a trace, and for each operation the median of all its calls, ns.
fn read(ranks: &[SyntheticRank], folder: &Path) -> (Account, Vec<f64>) {
    let path = folder.join("trace");
    synthetic::write(&path, ranks).expect("a trace is written");
    let trace = Trace::open(&[&path]).expect("the trace is read");
    let (operations, clock) = (Operations::new(&trace), Clock::new(&trace));
    let account = Account::new(&trace, &clock, &operations, Rule::default());
    let medians = match all_calls(&trace, &operations, &clock) {
        none if none.is_empty() => operations
            .operations
            .iter()
            .map(|operation| {
                let times = operation.parts.iter().enumerate().flat_map(|(member, &part)| {
                    let rows = operation.complete_rows();
                    let part = &trace.parts[part];
                    rows.map(move |row| part.times_of(operation.records(row).get(member) as usize))
                });
                let mut times: Vec<u64> = times.map(|(enter, exit)| exit - enter).collect();
                times.sort_unstable();
                times[times.len().div_ceil(2) - 1] as f64
            })
            .collect(),
        all => all.iter().map(|all| all.all.quantile_ns(0.5).expect("a histogram")).collect(),
    };
    (account, medians)
}

fn main() -> ExitCode {
    let option = |name: &str, default: u64| match std::env::args().skip_while(|word| word != name).nth(1) {
        None => default,
        Some(number) => number.parse().unwrap_or_else(|_| panic!("{name} is not a number")),
    };
    let (traces, calls, seed) = (option("--traces", 100), option("--calls", 100_000_000), option("--seed", 1));
    let folder = std::env::temp_dir().join(format!("mpitrace-sample-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    println!("{traces} traces of each family, {STEPS} steps, 1 of {} kept, seed {seed}", 1 << LEVEL);
    println!(
        "{:<16} {:>8} {:>13} {:>13} {:>12} {:>12}",
        "family", "held", "error median", "half interval", "time", "medians"
    );
    let mut failed = false;
    for (name, compute) in FAMILIES {
        let (mut held, mut errors, mut halves) = (0, Vec::new(), Vec::new());
        let (mut time_error, mut median_error) = (0f64, 0f64);
        for trace in 0..traces {
            let seed = seed << 32 | trace;
            let (full, exact) = read(&ranks(compute, seed, None), &folder);
            let (sample, medians) = read(&ranks(compute, seed, Some(LEVEL)), &folder);
            let (truth, found) = (full.sum(), sample.sum());
            let [least, most] = sample.estimate().expect("a sample").interval(found.waiting);
            held += u32::from((least..=most).contains(&truth.waiting));
            errors.push((found.waiting - truth.waiting).abs() / truth.waiting);
            halves.push((most - least) / 2.0 / truth.waiting);
            time_error = time_error.max((found.run_time - truth.run_time).abs() / truth.run_time);
            let of_medians = exact.iter().zip(&medians).map(|(exact, found)| (found - exact).abs() / exact);
            median_error = of_medians.fold(median_error, f64::max);
        }
        let middle = |values: &mut Vec<f64>| 100.0 * mpitrace_statistics::median(values).unwrap_or(f64::NAN);
        let share = 100.0 * f64::from(held) / traces as f64;
        println!(
            "{name:<16} {share:>6.1} % {:>11.2} % {:>11.2} % {:>10.4} % {:>10.2} %",
            middle(&mut errors),
            middle(&mut halves),
            100.0 * time_error,
            100.0 * median_error
        );
        failed |= share < AIM;
    }
    if calls > 0 {
        memory(calls, &folder);
    }
    let _ = std::fs::remove_dir_all(&folder);
    ExitCode::from(u8::from(failed))
}

/// Runs a program with a hundredth of the calls and with all of them, with a sample and with a record of each.
fn memory(calls: u64, folder: &Path) {
    let variable = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    binaries::build();
    let (program, root) = (folder.join("spill"), mpitrace_testing::root());
    let compiler = variable("MPICC", "mpicc.mpich");
    let mut compile = Command::new(&compiler);
    compile.arg("-O2").arg("-o").arg(&program).arg(root.join("benches/spill.c"));
    assert!(compile.status().is_ok_and(|status| status.success()), "{compiler} does not compile an MPI program here");
    let run = |calls: u64, mode: &[&str]| -> [f64; 2] {
        let launcher = variable("MPIRUN", "mpiexec.mpich -n 1");
        let mut words = launcher.split_whitespace();
        let mut command = Command::new(words.next().expect("a launcher"));
        command.args(words).arg("env").arg(format!("LD_PRELOAD={}", binaries::tracer().display()));
        command.arg(format!("MPITRACE_OUTPUT={}", folder.join("run.mpitrace").display())).arg("MPITRACE_VERBOSE=0");
        let output = command.args(mode).arg(&program).arg(calls.to_string()).output().expect("the launcher starts");
        let text = String::from_utf8_lossy(&output.stdout);
        let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        assert!(numbers.len() > 3, "{text}{}", String::from_utf8_lossy(&output.stderr));
        let _ = std::fs::remove_file(folder.join("run.mpitrace"));
        [numbers[0] / calls as f64 * 1e9, numbers[1]]
    };
    println!("calls on MPI_COMM_SELF ({compiler}): ns a call of the first loop, KiB resident behind it");
    for (name, mode) in [
        ("untraced", &["MPITRACE_DISABLE=1"][..]),
        ("account", &["MPITRACE_KEEP=account"]),
        ("calls", &["MPITRACE_CAPACITY=65536"]),
    ] {
        let ([few_ns, few], [many_ns, many]) = (run(calls / 100, mode), run(calls, mode));
        println!(
            "{name:<9} {} calls {few_ns:6.1} ns, {few:8.0} KiB; {calls} calls {many_ns:6.1} ns, {many:8.0} KiB",
            calls / 100
        );
    }
}
