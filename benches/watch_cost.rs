//! What `mpitrace watch` does to the job that it looks at: `cargo bench --bench watch_cost`.
//!
//! Two ranks compute and call MPI_Allreduce in turn for `SECONDS` (10). `ROUNDS` (8) times, in changing order, there are
//! three such jobs: two that run alone, and one at which `mpitrace watch` looks once a second. For some quantiles of
//! the run times, and their mean, it shows the ratios of the second job to the first (A/A) and of the watched one to the
//! first: median, smallest and largest of the rounds. `MPICC` and `MPIRUN` name compiler and launcher, with its options.

#[allow(dead_code, reason = "the signatures are shared with the tests")]
#[path = "../tests/whole_programs/support/binaries.rs"]
mod binaries;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use mpitrace::clock::Clock;
use mpitrace::operations::Operations;
use mpitrace::reader::Trace;
use mpitrace::run_time::RunTime;
use mpitrace::statistics::median;

/// Jobs of a round.
const JOBS: [&str; 3] = ["alone", "alone again", "watched"];
/// What is shown of the run times of a job; the last is their mean.
const SHOWN: [(&str, f64); 6] =
    [("median", 0.5), ("95 %", 0.95), ("99 %", 0.99), ("99.9 %", 0.999), ("99.99 %", 0.9999), ("mean", f64::NAN)];

fn variable(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.to_owned())
}

fn main() {
    binaries::build();
    let scratch = std::env::temp_dir().join(format!("mpitrace-watched-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).expect("a temporary folder");
    let (program, root) = (scratch.join("program"), Path::new(env!("CARGO_MANIFEST_DIR")));
    let compiler = variable("MPICC", "mpicc.openmpi");
    let mut compile = Command::new(&compiler);
    compile.arg("-O2").arg("-o").arg(&program).arg(root.join("benches/watch_cost.c"));
    assert!(compile.status().is_ok_and(|status| status.success()), "{compiler} does not compile an MPI program here");
    let rounds: usize = variable("ROUNDS", "8").parse().expect("ROUNDS is a number");
    let mut ratios: [Vec<[f64; SHOWN.len()]>; 2] = Default::default();
    let (mut looks, mut processor_s) = (0.0, 0.0);
    for round in 0..rounds {
        let mut found = [[0.0; SHOWN.len()]; JOBS.len()];
        for turn in 0..JOBS.len() {
            let job = (round + turn) % JOBS.len();
            let (figures, watched) = run(&program, &scratch, JOBS[job] == "watched");
            found[job] = figures;
            looks += watched.0;
            processor_s += watched.1;
        }
        for (which, ratios) in ratios.iter_mut().enumerate() {
            ratios.push(std::array::from_fn(|index| found[which + 1][index] / found[0][index]));
        }
    }
    println!("2 ranks, {rounds} rounds ({compiler})");
    println!("| run times | A/A: median | smallest to largest | watched/A: median | smallest to largest |");
    println!("|---|---|---|---|---|");
    for (index, (name, _)) in SHOWN.iter().enumerate() {
        let cells = ratios.each_ref().map(|ratios| {
            let mut values: Vec<f64> = ratios.iter().map(|ratios| ratios[index]).collect();
            let middle = median(&mut values).unwrap_or(f64::NAN);
            let [low, high] =
                [f64::min as fn(f64, f64) -> f64, f64::max].map(|of| values.iter().copied().reduce(of).unwrap_or(middle));
            format!("{middle:.3} | {low:.3} to {high:.3}")
        });
        println!("| {name} | {} |", cells.join(" | "));
    }
    println!("a look takes {:.1} ms of processor time", 1e3 * processor_s / looks);
    let _ = std::fs::remove_dir_all(&scratch);
}

/// The figures of a job's run times, and the looks and their processor time, s.
fn run(program: &Path, scratch: &Path, is_watched: bool) -> ([f64; SHOWN.len()], (f64, f64)) {
    let (trace, segments) = (scratch.join("run.mpitrace"), PathBuf::from("/dev/shm"));
    let seconds = variable("SECONDS", "10");
    let launcher = variable("MPIRUN", "mpirun.openmpi --allow-run-as-root --oversubscribe -np 2");
    let mut words = launcher.split_whitespace();
    let mut command = Command::new(words.next().expect("a launcher"));
    command.args(words).args(["env", "MPITRACE_VERBOSE=0", "MPITRACE_CAPACITY=2000000"]);
    command.arg(format!("LD_PRELOAD={}", binaries::tracer().display()));
    command.arg(format!("MPITRACE_OUTPUT={}", trace.display()));
    command.arg(format!("MPITRACE_SEGMENT_DIR={}", segments.display()));
    let mut job = command.arg(program).arg(&seconds).spawn().expect("the launcher starts");
    let watcher = is_watched.then(|| watch(&mut job, &segments));
    assert!(job.wait().is_ok_and(|status| status.success()), "{command:?}");
    let watched = watcher.map_or((0.0, 0.0), looks_of);
    let figures = figures(&trace);
    std::fs::remove_file(&trace).expect("the trace can be removed");
    (figures, watched)
}

/// Starts `mpitrace watch` on a job as soon as it is there.
fn watch(job: &mut Child, segments: &Path) -> Child {
    let launcher = job.id().to_string();
    loop {
        let mut command = Command::new(binaries::companion());
        command.args(["watch", &launcher, "--json"]).env("MPITRACE_SEGMENT_DIR", segments);
        command.stdout(Stdio::piped()).stderr(Stdio::null()).stdin(Stdio::null());
        let mut watcher = command.spawn().expect("mpitrace starts");
        sleep(Duration::from_millis(300));
        if watcher.try_wait().is_ok_and(|status| status.is_none()) {
            return watcher;
        }
        assert!(job.try_wait().is_ok_and(|status| status.is_none()), "the job has ended before it was watched");
    }
}

/// How often a process that has ended looked, and its processor time, s.
fn looks_of(watcher: Child) -> (f64, f64) {
    let before = children_s();
    let output = watcher.wait_with_output().expect("what it wrote");
    let values = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<serde_json::Value>();
    (values.filter(Result::is_ok).count() as f64, children_s() - before)
}

/// Processor time of the children that were waited for, s.
fn children_s() -> f64 {
    // SAFETY: all bytes of rusage may be zero, and getrusage writes to it alone.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

fn figures(trace: &Path) -> [f64; SHOWN.len()] {
    let trace = Trace::open(&[trace]).expect("a trace that can be read");
    let (operations, clock) = (Operations::of(&trace), Clock::of(&trace));
    let most = operations.operations.iter().max_by_key(|operation| operation.repetition.len());
    let mut values = most.expect("an operation").run_time_values(&trace, &clock, RunTime::Local);
    values.sort_by(f64::total_cmp);
    SHOWN.map(|(_, share)| match share.is_nan() {
        true => values.iter().sum::<f64>() / values.len() as f64,
        false => values[((values.len() - 1) as f64 * share) as usize],
    })
}
