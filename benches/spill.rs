//! Runs without end: `cargo bench --bench spill`.
//!
//! Two ranks make twice `CALLS` (10^6) calls each, untraced, traced with arrays for all of them, and with arrays for
//! 2^16, so that most are written out while they run, in turn, `TURNS` (3) times. What is shown of each are medians: ns
//! per call of the first loop, resident memory of rank 0 behind it and the most up to its end, seconds of MPI_Finalize,
//! pauses above 5 us in the second loop, and bytes per call in the trace. With more than 10^7 calls (`CALLS=100000000`)
//! the arrays for all of them are left out. `MPICC` and `MPIRUN` name compiler and launcher, with its options, `FOLDER`
//! where the traces go.

use mpitrace_testing::binaries;

use std::path::{Path, PathBuf};
use std::process::Command;

use mpitrace_trace::reader::Trace;

fn variable(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.to_owned())
}

fn number(name: &str, default: u64) -> u64 {
    variable(name, &default.to_string()).parse().unwrap_or_else(|_| panic!("{name} is not a number"))
}

/// More calls than this are not kept in memory.
const MOST_IN_MEMORY: u64 = 10_000_000;

/// A case that is run in turn: its name, capacity and mode, and its results.
struct Case<'s> {
    name: &'static str,
    capacity: Option<&'s str>,
    runs: Vec<Run>,
}

/// The output of a run, and its trace.
struct Run {
    call_ns: f64,
    resident_kib: f64,
    most_kib: f64,
    finalize_s: f64,
    /// Their number, median and 99th percentile, us.
    pauses: [f64; 3],
    bytes_per_call: f64,
}

fn main() {
    binaries::build();
    let calls = number("CALLS", 1_000_000);
    let temporary = std::env::temp_dir().display().to_string();
    let scratch = PathBuf::from(variable("FOLDER", &temporary)).join(format!("mpitrace-spill-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).expect("a folder for the traces");
    let (program, root) = (scratch.join("spill"), mpitrace_testing::root());
    let compiler = variable("MPICC", "mpicc.openmpi");
    let mut compile = Command::new(&compiler);
    compile.arg("-O2").arg("-o").arg(&program).arg(root.join("benches/spill.c"));
    assert!(compile.status().is_ok_and(|status| status.success()), "{compiler} does not compile an MPI program here");
    let capacity = (2 * calls).to_string();
    let cases: [(&str, Option<&str>); 3] =
        [("untraced", None), ("in memory", Some(&capacity)), ("written", Some("65536"))];
    let cases = cases.into_iter().filter(|(name, _)| *name != "in memory" || calls <= MOST_IN_MEMORY);
    let mut cases: Vec<Case> = cases.map(|(name, capacity)| Case { name, capacity, runs: Vec::new() }).collect();
    for _ in 0..number("TURNS", 3) {
        for case in &mut cases {
            case.runs.push(run(&program, calls, case.capacity, &scratch.join("run.mpitrace")));
        }
    }
    println!("2 ranks, {calls} calls each ({compiler})");
    for Case { name, runs, .. } in &cases {
        let of = |what: fn(&Run) -> f64| {
            mpitrace_statistics::median(&mut runs.iter().map(what).collect::<Vec<f64>>()).unwrap_or(f64::NAN)
        };
        println!(
            "  {name:9} {:6.1} ns a call, {:6.1} MiB resident, {:6.1} at most, {:5.2} bytes a call in the trace, \
             MPI_Finalize {:5.3} s, {:.0} pauses: {:.1} us, p99 {:.1} us",
            of(|run| run.call_ns),
            of(|run| run.resident_kib) / 1024.0,
            of(|run| run.most_kib) / 1024.0,
            of(|run| run.bytes_per_call),
            of(|run| run.finalize_s),
            of(|run| run.pauses[0]),
            of(|run| run.pauses[1]),
            of(|run| run.pauses[2]),
        );
    }
    let _ = std::fs::remove_dir_all(&scratch);
}

fn run(program: &Path, calls: u64, capacity: Option<&str>, trace: &Path) -> Run {
    let launcher = variable("MPIRUN", "mpirun.openmpi --allow-run-as-root --oversubscribe -np 2");
    let mut words = launcher.split_whitespace();
    let mut command = Command::new(words.next().expect("a launcher"));
    command.args(words).arg("env");
    if let Some(capacity) = capacity {
        command.arg(format!("LD_PRELOAD={}", binaries::tracer().display())).arg("MPITRACE_VERBOSE=0");
        command.arg(format!("MPITRACE_OUTPUT={}", trace.display()));
        command.arg(format!("MPITRACE_CAPACITY={capacity}"));
    }
    let output = command.arg(program).arg(calls.to_string()).output().expect("the launcher starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [seconds, resident_kib, most_kib, finalize_s, count, median_us, p99_us] = numbers[..] else {
        panic!("{text}{}", String::from_utf8_lossy(&output.stderr));
    };
    let mut bytes_per_call = 0.0;
    if capacity.is_some() {
        let bytes = std::fs::metadata(trace).expect("a trace").len();
        let found = Trace::open(&[trace]).expect("a trace that can be read");
        assert!(found.complete && found.records() >= 4 * calls, "{} records", found.records());
        bytes_per_call = bytes as f64 / found.records() as f64;
        std::fs::remove_file(trace).expect("the trace can be removed");
    }
    let pauses = [count, median_us, p99_us];
    Run { call_ns: seconds / calls as f64 * 1e9, resident_kib, most_kib, finalize_s, pauses, bytes_per_call }
}
