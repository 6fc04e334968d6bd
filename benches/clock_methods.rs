//! The methods of clock synchronisation on the same program, with the truth beside them:
//! `cargo build --release --workspace && cargo bench --bench clock_methods`.
//!
//! Two ranks, of which one has a pretended clock: seconds off, and drifting. For each method a run of `SECONDS` (60), and how wrong
//! its global time was in the first second, around 20 s, around 60 s and in the last second. `MPICC` and `MPIRUN` name another
//! MPI, `CLOCK` another pretended clock, `METHODS` fewer methods.

use std::path::{Path, PathBuf};
use std::process::Command;

use mpitrace::clock::{Clock, Truth};
use mpitrace::trace::Trace;

const METHODS: &str = "skampi netgauge jk hca hca2 hca3 h2hca linear joint";
const CLOCK: &str = "1:offset_ns=1.5e9,ppm=37";

fn variable(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.to_owned())
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = root.join("target/release/libmpitrace.so");
    assert!(library.exists(), "{} is missing: cargo build --release --workspace", library.display());
    let scratch = std::env::temp_dir().join(format!("mpitrace-clock-methods-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).expect("a temporary folder");
    let compiler = variable("MPICC", "mpicc.openmpi");
    let program = scratch.join("program");
    let source = root.join("benches/clock_methods.c");
    let compiled = Command::new(&compiler).arg("-O2").arg("-o").arg(&program).arg(source).status();
    if !compiled.is_ok_and(|status| status.success()) {
        println!("{compiler}: skipped, it does not compile an MPI program here");
        return;
    }
    let seconds: f64 = variable("SECONDS", "60").parse().expect("SECONDS is a number");
    println!("{compiler}, {}, errors in ns: largest / root mean square", variable("CLOCK", CLOCK));
    println!(
        "| method | sync, ms | first second | at 20 s | at 60 s | last second | whole run | 95 % bars | hard bounds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for method in variable("METHODS", METHODS).split_whitespace() {
        let path = run(method, seconds, &program, &library, &scratch);
        row(method, seconds, &path);
    }
    let _ = std::fs::remove_dir_all(&scratch);
}

fn run(method: &str, seconds: f64, program: &Path, library: &Path, scratch: &Path) -> PathBuf {
    let path = scratch.join("run.mpitrace");
    let _ = std::fs::remove_file(&path);
    let launcher = variable("MPIRUN", "mpirun.openmpi --allow-run-as-root --oversubscribe");
    let mut words = launcher.split_whitespace();
    let mut command = Command::new(words.next().expect("MPIRUN names a launcher"));
    command.args(words).args(["-np", "2", "env"]);
    command.arg(format!("LD_PRELOAD={}", library.display()));
    command.arg(format!("MPITRACE_OUTPUT={}", path.display()));
    command.arg(format!("MPITRACE_TEST_CLOCK={}", variable("CLOCK", CLOCK)));
    command.arg(format!("MPITRACE_CLOCKSYNC={method}"));
    command.arg(format!("MPITRACE_RESYNC={}", variable("RESYNC", "auto")));
    command.args(["MPITRACE_VERBOSE=0"]).arg(program).arg(seconds.to_string());
    let status = command.status().expect("the launcher starts");
    assert!(status.success(), "{command:?}");
    path
}

fn row(method: &str, seconds: f64, path: &Path) {
    let trace = Trace::open(&[path]).expect("a trace");
    let clock = Clock::of(&trace);
    let second = |from: f64| {
        let truth = Truth::between(&trace, &clock, from * 1e9, (from + 1.0) * 1e9);
        truth.map_or_else(|| "-".to_owned(), |truth| format!("{:.0} / {:.0}", truth.max_ns, truth.rms_ns))
    };
    let whole = Truth::of(&trace, &clock).expect("a pretended clock");
    println!(
        "| {method} | {:.2} | {} | {} | {} | {} | {:.0} / {:.0} | {} | {} |",
        clock.sync_ns / 1e6,
        second(0.0),
        second(20.0),
        second(59.0),
        second(seconds - 1.0),
        whole.max_ns,
        whole.rms_ns,
        whole.coverage_95.map_or_else(|| "none".to_owned(), |share| format!("{:.0} %", share * 100.0)),
        whole.hard_bounds_held.map_or("none", |held| if held { "held" } else { "broken" }),
    );
}
