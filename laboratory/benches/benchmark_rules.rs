//! Benchmarks' own numbers of their run times, beside those of the trace of the same run:
//! `cargo bench --bench benchmark_rules`.
//!
//! The Intel MPI Benchmarks come with tests/mpi/install.sh. `OSU` names osu_allreduce of the OSU Micro-Benchmarks,
//! `REPROMPI` mpibenchmark of ReproMPI, both built with the MPI library of `MPIRUN` (mpirun.openmpi). Each is run
//! `RUNS` (5) times on two ranks, MPI_Allreduce of 8 and 1024 bytes, 1000 repetitions; what is not there is skipped.

use mpitrace_testing::binaries;

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mpitrace_laboratory::schemes::Removal;
use mpitrace_statistics::categories::{Category, Robust};
use mpitrace_statistics::{Intervals, Sample, median};
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::{Operation, Operations};
use mpitrace_trace::reader::Trace;

const SIZES: [u64; 2] = [8, 1024];
const REPETITIONS: usize = 1000;

/// A benchmark that can be run here.
struct Benchmark {
    name: &'static str,
    /// The meaning of its number, and how it comes out of the times of the ranks.
    rule: &'static str,
    number: fn(&[Vec<f64>]) -> f64,
    command: fn(&Path) -> Command,
    program: PathBuf,
    /// Size and number, us, of a line of its output.
    line: fn(&str) -> Option<(u64, f64)>,
}

/// The numbers of one run for one size.
struct SizeRow {
    /// us, as printed.
    printed: f64,
    /// us, by the same rule out of the trace.
    traced: f64,
    /// Calls of the operation, and how many of them the benchmark does not count.
    calls: usize,
    uncounted: usize,
    /// How many go by Tukey's fences, by twice the 99th percentile, by twice the median; how many are first and
    /// warm-up, and outliers.
    removed: [usize; 5],
    class: &'static str,
    /// us: median of the good ones, and its interval.
    median: f64,
    interval: Option<[f64; 2]>,
}

fn main() -> Result<(), Box<dyn Error>> {
    binaries::build();
    let runs = std::env::var("RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let scratch = std::env::temp_dir().join(format!("mpitrace-rules-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    for benchmark in benchmarks() {
        if !benchmark.program.exists() {
            println!("{}: skipped, not found ({})\n", benchmark.name, benchmark.program.display());
            continue;
        }
        println!("{}: {}", benchmark.name, benchmark.rule);
        println!(
            "| bytes | run | us, printed | by the same rule | calls | not counted | Tukey | 2 p99 | 2 medians | first, \
             warm-up | outliers | class | us, median of the good | its interval |\n\
             |--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|--:|--:|"
        );
        let mut all: Vec<Vec<SizeRow>> = SIZES.iter().map(|_| Vec::new()).collect();
        for run in 0..runs {
            let trace = scratch.join(format!("{run}.mpitrace"));
            let rows = benchmark.run(&trace)?;
            let _ = std::fs::remove_file(&trace);
            for ((bytes, row), all) in rows.into_iter().zip(&mut all) {
                row.print(bytes, run + 1);
                all.push(row);
            }
        }
        for (bytes, rows) in SIZES.iter().zip(&all) {
            let apart = |of: fn(&SizeRow) -> f64| {
                let values: Vec<f64> = rows.iter().map(of).collect();
                let (least, largest) =
                    (values.iter().copied().fold(f64::INFINITY, f64::min), values.iter().copied().fold(0.0, f64::max));
                100.0 * (largest / least - 1.0)
            };
            println!(
                "{bytes} bytes, largest over least of {} runs: printed +{:.1} %, median of the good +{:.1} %",
                rows.len(),
                apart(|row| row.printed),
                apart(|row| row.median)
            );
        }
        println!();
    }
    std::fs::remove_dir_all(&scratch)?;
    Ok(())
}

fn benchmarks() -> [Benchmark; 3] {
    let named = |name: &str| PathBuf::from(std::env::var_os(name).unwrap_or_else(|| OsString::from(name)));
    [
        Benchmark {
            name: "IMB-MPI1 Allreduce",
            rule: "t_avg: the mean of the ranks' means of the last calls; the calls before are not counted, nothing is \
                   removed",
            number: |ranks| ranks.iter().map(|times| mean(times)).sum::<f64>() / ranks.len() as f64,
            command: intel,
            program: intel_home().join("bin/IMB-MPI1"),
            line: |line| {
                let [bytes, _, _, _, average]: [f64; 5] = numbers(line)?.try_into().ok()?;
                Some((bytes as u64, average))
            },
        },
        Benchmark {
            name: "osu_allreduce",
            rule: "avg: the mean of the ranks' means; the first calls are skipped, nothing is removed",
            number: |ranks| ranks.iter().map(|times| mean(times)).sum::<f64>() / ranks.len() as f64,
            command: |program| {
                let mut command = mpirun(program);
                command.args(["-i", &REPETITIONS.to_string(), "-x", "200", "-m", "1024"]);
                command
            },
            program: named("OSU"),
            line: |line| {
                let [bytes, average]: [f64; 2] = numbers(line)?.try_into().ok()?;
                Some((bytes as u64, average))
            },
        },
        Benchmark {
            name: "ReproMPI mpibenchmark",
            rule: "median of the longest time on any rank (`--summary=median`); nothing is removed from a run",
            number: |ranks| {
                let longest = |row: usize| ranks.iter().map(|times| times[row]).fold(0.0, f64::max);
                median(&mut (0..ranks[0].len()).map(longest).collect::<Vec<f64>>()).unwrap_or(f64::NAN)
            },
            command: |program| {
                let mut command = mpirun(program);
                let sizes = SIZES.map(|bytes| bytes.to_string()).join(",");
                command.arg("--calls-list=MPI_Allreduce").arg(format!("--msizes-list={sizes}"));
                command.arg(format!("--nrep={REPETITIONS}")).arg("--summary=median");
                command
            },
            program: named("REPROMPI"),
            line: |line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let [test, bytes, _, _, seconds] = words[..] else { return None };
                (test == "MPI_Allreduce").then_some(())?;
                Some((bytes.parse().ok()?, seconds.parse::<f64>().ok()? * 1e6))
            },
        },
    ]
}

/// A line of numbers only.
fn numbers(line: &str) -> Option<Vec<f64>> {
    line.split_whitespace().map(|word| word.parse().ok()).collect()
}

fn intel_home() -> PathBuf {
    binaries::TARGET.join("mpi/impi")
}

fn intel(program: &Path) -> Command {
    let home = intel_home();
    let mut command = Command::new(home.join("bin/mpiexec.hydra"));
    command.envs([("I_MPI_ROOT", home.as_os_str()), ("I_MPI_FABRICS", "shm".as_ref()), ("I_MPI_PIN", "0".as_ref())]);
    command.args(["-np", "2", "env"]).arg(format!("LD_LIBRARY_PATH={}", home.join("lib").display()));
    command.arg(program).args(["-npmin", "2", "-iter", &REPETITIONS.to_string(), "-iter_policy", "off"]);
    command.args(["-msglog", "3:10", "Allreduce"]);
    command
}

fn mpirun(program: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("MPIRUN").unwrap_or_else(|| OsString::from("mpirun.openmpi")));
    command.args(["--allow-run-as-root", "--oversubscribe", "-np", "2"]).arg(program);
    command
}

impl Benchmark {
    /// One run: for each size what it prints and what the trace says.
    fn run(&self, trace: &Path) -> Result<Vec<(u64, SizeRow)>, Box<dyn Error>> {
        let mut command = (self.command)(&self.program);
        // Launchers pass the environment on, and are no MPI programs themselves.
        command.env("LD_PRELOAD", binaries::tracer()).env("MPITRACE_OUTPUT", trace).env("MPITRACE_VERBOSE", "0");
        let output = command.stdin(Stdio::null()).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            return Err(format!("{command:?}\n{text}{}", String::from_utf8_lossy(&output.stderr)).into());
        }
        let trace = Trace::open(&[trace])?;
        let (operations, clock) = (Operations::new(&trace), Clock::new(&trace));
        let of_size = |&bytes: &u64| -> Result<(u64, SizeRow), Box<dyn Error>> {
            let printed = text.lines().filter_map(self.line).find(|(size, _)| *size == bytes);
            let (_, printed) = printed.ok_or_else(|| format!("no line of {bytes} bytes:\n{text}"))?;
            let is_it = |operation: &&Operation| {
                operation.key.function == "MPI_Allreduce" && operation.key.bytes == Some(bytes)
            };
            let found = operations.operations.iter().filter(is_it).max_by_key(|operation| operation.repetitions());
            let operation = found.ok_or_else(|| format!("no MPI_Allreduce of {bytes} bytes in the trace"))?;
            Ok((bytes, self.row(printed, operation, &trace, &clock)?))
        };
        SIZES.iter().map(of_size).collect()
    }

    fn row(
        &self,
        printed: f64,
        operation: &Operation,
        trace: &Trace,
        clock: &Clock,
    ) -> Result<SizeRow, Box<dyn Error>> {
        let rows: Vec<usize> = operation.complete_rows().collect();
        let of_rank = |member: usize| -> Vec<f64> {
            let part = operation.parts[member];
            let clock = clock.of_part(part);
            let part = &trace.parts[part];
            let duration = |&row: &usize| {
                let record = operation.records(row).get(member) as usize;
                let (enter, exit) = part.times_of(record);
                clock.duration_ns(enter, exit)
            };
            rows.iter().map(duration).collect()
        };
        let ranks: Vec<Vec<f64>> = (0..operation.parts.len()).map(of_rank).collect();
        let calls = rows.len();
        let uncounted = calls.saturating_sub(REPETITIONS);
        let counted: Vec<Vec<f64>> = ranks.iter().map(|times| times[uncounted..].to_vec()).collect();
        let longest: Vec<f64> =
            (0..calls).map(|row| ranks.iter().map(|times| times[row]).fold(0.0, f64::max)).collect();
        let repetition: Vec<u64> = (0..calls as u64).collect();
        let found = Robust.categorize(&repetition, &longest)?;
        let good = found.categories.category.iter().zip(&longest).filter(|(category, _)| **category == Category::Good);
        let good: Vec<f64> = good.map(|(_, &x)| x).collect();
        let sample = Sample::new(&good);
        let interval = Intervals::new(&good, sample.sorted(), 0.95).quantile(0.5);
        let removed = |rule: Removal| rule.apply(&longest).1;
        let middle = median(&mut longest.clone()).unwrap_or(f64::NAN);
        let count = |category| found.categories.count(category);
        Ok(SizeRow {
            printed,
            traced: (self.number)(&counted) / 1e3,
            calls,
            uncounted,
            removed: [
                removed(Removal::Tukey),
                removed(Removal::MpiBench),
                longest.iter().filter(|&&x| x >= 2.0 * middle).count(),
                count(Category::First) + count(Category::Warmup),
                count(Category::Outlier),
            ],
            class: found.class.name(),
            median: sample.median().unwrap_or(f64::NAN) / 1e3,
            interval: interval.map(|interval| [interval.lower / 1e3, interval.upper / 1e3]),
        })
    }
}

impl SizeRow {
    fn print(&self, bytes: u64, run: usize) {
        let [tukey, mpibench, medians, early, outliers] = self.removed;
        let interval = self.interval.map_or("none".to_owned(), |[lower, upper]| format!("{lower:.2} to {upper:.2}"));
        println!(
            "| {bytes} | {run} | {:.2} | {:.2} | {} | {} | {tukey} | {mpibench} | {medians} | {early} | {outliers} | {} | \
             {:.2} | {interval} |",
            self.printed, self.traced, self.calls, self.uncounted, self.class, self.median
        );
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
