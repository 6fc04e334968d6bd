//! The effect of `mpitrace watch` on the job that it looks at: `cargo bench --bench watch_cost`.
//!
//! Two ranks compute and call MPI_Allreduce in turn. The time of the job is cut into rounds (`ROUNDS`, 10) of three
//! windows of `SECONDS` (4), in changing order: in two of them nothing looks at the job, in the third `mpitrace watch`
//! does so once a second. For some quantiles of the run times of rank 0, and their mean, it shows the ratios of the
//! second window to the first (A/A) and of the watched one to the first: median and quartiles of the rounds. Windows of
//! one job are compared since jobs differ by more than that: their ranks get other processors and other memory.
//! `MPICC` and `MPIRUN` name compiler and launcher, with its options.

use mpitrace_testing::binaries;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use mpitrace_format::layout::OPERATION_MASK;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::reader::Trace;

/// Windows of a round: two without, one with a look a second.
const WINDOWS: [bool; 3] = [false, false, true];
/// Before the first window, s.
const BEFORE_S: u64 = 2;
/// The quantiles shown of the run times of a window; the last is their mean.
const SHOWN: [(&str, f64); 6] =
    [("median", 0.5), ("95 %", 0.95), ("99 %", 0.99), ("99.9 %", 0.999), ("99.99 %", 0.9999), ("mean", f64::NAN)];

fn variable(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.to_owned())
}

fn main() {
    binaries::build();
    let scratch = std::env::temp_dir().join(format!("mpitrace-watched-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).expect("a temporary folder");
    let (program, root) = (scratch.join("program"), mpitrace_testing::root());
    let compiler = variable("MPICC", "mpicc.openmpi");
    let mut compile = Command::new(&compiler);
    compile.arg("-O2").arg("-o").arg(&program).arg(root.join("benches/watch_cost.c"));
    assert!(compile.status().is_ok_and(|status| status.success()), "{compiler} does not compile an MPI program here");
    let number = |name: &str, default: &str| -> u64 { variable(name, default).parse().expect("a number") };
    let (rounds, seconds) = (number("ROUNDS", "10"), number("SECONDS", "4"));
    let trace = scratch.join("run.mpitrace");
    let mut job = start(&program, &trace, BEFORE_S + (rounds * seconds + 1) * WINDOWS.len() as u64);
    sleep(Duration::from_secs(BEFORE_S));
    let (mut looks, processor_s) = (0, children_s());
    let rounds: Vec<[(u64, u64); WINDOWS.len()]> = (0..rounds as usize)
        .map(|round| {
            let mut windows = [(0, 0); WINDOWS.len()];
            for turn in 0..WINDOWS.len() {
                let which = (round + turn) % WINDOWS.len();
                let watcher = WINDOWS[which].then(|| watch(&mut job));
                let began = raw_ns();
                sleep(Duration::from_secs(seconds));
                windows[which] = (began, raw_ns());
                looks += watcher.map_or(0, looks_of);
            }
            windows
        })
        .collect();
    let processor_s = children_s() - processor_s;
    assert!(job.wait().is_ok_and(|status| status.success()), "the job failed");
    show(&compiler, &trace, &rounds);
    println!("{looks} looks, {:.1} ms of processor time each", 1e3 * processor_s / looks as f64);
    let _ = std::fs::remove_dir_all(&scratch);
}

/// The ratios of the windows of each round, by their times.
fn show(compiler: &str, trace: &Path, rounds: &[[(u64, u64); WINDOWS.len()]]) {
    let calls = calls(trace);
    let ratios: Vec<[[f64; SHOWN.len()]; 2]> = rounds
        .iter()
        .map(|windows| {
            let [first, others @ ..] = windows.map(|window| figures(&calls, window));
            others.map(|other| std::array::from_fn(|index| other[index] / first[index]))
        })
        .collect();
    println!("2 ranks, {} calls on rank 0, {} rounds ({compiler})", calls.len(), rounds.len());
    println!("| run times | A/A: median | quartiles | watched/A: median | quartiles |");
    println!("|---|---|---|---|---|");
    for (index, (name, _)) in SHOWN.iter().enumerate() {
        let cells = [0, 1].map(|which| {
            let mut values: Vec<f64> = ratios.iter().map(|ratios| ratios[which][index]).collect();
            values.sort_by(f64::total_cmp);
            let [low, middle, high] = [0.25, 0.5, 0.75].map(|share| quantile(&values, share));
            format!("{middle:.3} | {low:.3} to {high:.3}")
        });
        println!("| {name} | {} |", cells.join(" | "));
    }
}

/// Of sorted values.
fn quantile(values: &[f64], share: f64) -> f64 {
    values[((values.len() - 1) as f64 * share).round() as usize]
}

fn start(program: &Path, trace: &Path, seconds: u64) -> Child {
    let launcher = variable("MPIRUN", "mpirun.openmpi --allow-run-as-root --oversubscribe -np 2");
    let mut words = launcher.split_whitespace();
    let mut command = Command::new(words.next().expect("a launcher"));
    command.args(words).args(["env", "MPITRACE_VERBOSE=0", "MPITRACE_CAPACITY=20000000"]);
    command.arg(format!("LD_PRELOAD={}", binaries::tracer().display()));
    command.arg(format!("MPITRACE_OUTPUT={}", trace.display())).arg("MPITRACE_SEGMENT_DIR=/dev/shm");
    command.arg(program).arg(seconds.to_string()).spawn().expect("the launcher starts")
}

/// Starts `mpitrace watch` on a job.
fn watch(job: &mut Child) -> Child {
    assert!(job.try_wait().is_ok_and(|status| status.is_none()), "the job has ended before it was watched");
    let mut command = Command::new(binaries::companion());
    command.args(["watch", &job.id().to_string(), "--json"]).env("MPITRACE_SEGMENT_DIR", "/dev/shm");
    command.stdout(Stdio::piped()).stderr(Stdio::inherit()).stdin(Stdio::null());
    command.spawn().expect("mpitrace starts")
}

/// Ends a watcher; how often it looked.
fn looks_of(mut watcher: Child) -> usize {
    assert!(watcher.try_wait().is_ok_and(|status| status.is_none()), "mpitrace watch has ended by itself");
    // SAFETY: a signal to a child that has not been waited for.
    unsafe { libc::kill(watcher.id() as i32, libc::SIGINT) };
    let output = watcher.wait_with_output().expect("what it wrote");
    let values = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<serde_json::Value>();
    values.filter(Result::is_ok).count()
}

fn raw_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime writes to `now` alone.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
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

/// Of each call of rank 0 of the operation that has most of them: when it began, ns of CLOCK_MONOTONIC_RAW, and its run
/// time, ns.
fn calls(trace: &Path) -> Vec<(u64, f64)> {
    let trace = Trace::open(&[trace]).expect("a trace that can be read");
    let (part, clock) = (&trace.parts[0], Clock::new(&trace));
    let mut counts = vec![0; part.operations().len()];
    let operation = |record: usize| (part.operation_of(record) & OPERATION_MASK) as usize;
    (0..part.records()).for_each(|record| counts[operation(record)] += 1);
    let most = (0..counts.len()).max_by_key(|&entry| counts[entry]).expect("an operation");
    let (clock, anchor) = (clock.of_part(0), part.info().first_anchor);
    let call = |record: usize| {
        let (enter, exit) = part.times_of(record);
        (anchor.raw_ns + clock.duration_ns(anchor.tick, enter) as u64, clock.duration_ns(enter, exit))
    };
    (0..part.records()).filter(|&record| operation(record) == most).map(call).collect()
}

/// The figures of the calls that began in a window.
fn figures(calls: &[(u64, f64)], (from, to): (u64, u64)) -> [f64; SHOWN.len()] {
    let mut values: Vec<f64> =
        calls.iter().filter(|(began, _)| (from..to).contains(began)).map(|(_, run_time)| *run_time).collect();
    values.sort_by(f64::total_cmp);
    SHOWN.map(|(_, share)| match share.is_nan() {
        true => values.iter().sum::<f64>() / values.len() as f64,
        false => quantile(&values, share),
    })
}
