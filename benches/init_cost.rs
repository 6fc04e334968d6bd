//! The time that the tracer adds to MPI_Init of a small job on several nodes: `cargo bench --bench init_cost`.
//!
//! A job of two ranks on each of three virtual nodes (tests/cluster/cluster.sh), started by `srun`: without the tracer,
//! without synchronisation, and with it, in turn, `RUNS` (15) times. A run's time is that of the rank that took
//! longest; what is shown are medians and quartiles. `MPICC` names the compiler, `PMI` the interface of `srun` (pmix;
//! pmi2 for MPICH). `BEFORE` names another libmpitrace.so, which is measured in the same turns. Needs root and what
//! that script needs.

use mpitrace_testing::binaries;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the benchmark that has started this one on the cluster.
const FOLDER: &str = "MPITRACE_BENCH_FOLDER";

fn variable(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.to_owned())
}

fn main() {
    match std::env::var_os(FOLDER) {
        Some(folder) => measure(Path::new(&folder)),
        None => start(),
    }
}

/// Compiles the program, and goes on as another process on the head of a cluster.
fn start() {
    binaries::build();
    let scratch = std::env::temp_dir().join(format!("mpitrace-init-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).expect("a temporary folder");
    let root = mpitrace_testing::root();
    let compiler = variable("MPICC", "mpicc.openmpi");
    let mut compile = Command::new(&compiler);
    compile.arg("-O2").arg("-o").arg(scratch.join("program")).arg(root.join("benches/init_cost.c"));
    if compile.status().is_ok_and(|status| status.success()) {
        let mut cluster = Command::new(root.join("tests/cluster/cluster.sh"));
        cluster.arg(scratch.join("cluster")).arg(std::env::current_exe().expect("the path of this benchmark"));
        cluster.env(FOLDER, &scratch);
        let before = PathBuf::from(variable("BEFORE", "/"));
        let kept = [root, &binaries::TARGET, &scratch, before.parent().unwrap_or(Path::new("/"))];
        cluster.env("KEEP", kept.map(|folder| folder.display().to_string()).join(" "));
        assert!(cluster.status().is_ok_and(|status| status.success()), "{cluster:?}");
    } else {
        println!("{compiler}: skipped, it does not compile an MPI program here");
    }
    let _ = std::fs::remove_dir_all(&scratch);
}

struct InitRow {
    name: String,
    tracer: Option<PathBuf>,
    settings: &'static [&'static str],
    milliseconds: Vec<f64>,
}

fn measure(scratch: &Path) {
    let runs: usize = variable("RUNS", "15").parse().expect("RUNS is a number");
    let row = |name: &str, tracer: Option<PathBuf>, settings| InitRow {
        name: name.to_owned(),
        tracer,
        settings,
        milliseconds: Vec::new(),
    };
    let mut rows = vec![row("without the tracer", None, &[])];
    let tracers = [(binaries::tracer(), ""), (PathBuf::from(variable("BEFORE", "")), ", before")];
    for (tracer, which) in tracers.into_iter().filter(|(tracer, _)| tracer.exists()) {
        let mut add = |name: &str, settings| rows.push(row(&format!("{name}{which}"), Some(tracer.clone()), settings));
        add("traced, MPITRACE_CLOCKSYNC=none", &["MPITRACE_CLOCKSYNC=none"]);
        add("traced, clocks synchronised", &[]);
        add("the same, MPITRACE_JOINT=1", &["MPITRACE_JOINT=1"]);
    }
    for _ in 0..runs {
        for row in &mut rows {
            row.milliseconds.push(longest(scratch, row.tracer.as_deref(), row.settings));
        }
    }
    println!("| MPI_Init, {runs} runs | median | quartiles | added |");
    println!("|---|---|---|---|");
    let mut untraced = None;
    for InitRow { name, milliseconds, .. } in &mut rows {
        milliseconds.sort_by(f64::total_cmp);
        let at = |share: f64| milliseconds[((milliseconds.len() - 1) as f64 * share).round() as usize];
        let median = at(0.5);
        let added = median - *untraced.get_or_insert(median);
        println!("| {name} | {median:.0} ms | {:.0} to {:.0} ms | {added:.0} ms |", at(0.25), at(0.75));
    }
}

/// A run of the job: how long the rank took that was in MPI_Init longest, ms.
fn longest(scratch: &Path, tracer: Option<&Path>, settings: &[&str]) -> f64 {
    let trace = scratch.join("run.mpitrace");
    let _ = std::fs::remove_file(&trace);
    let mut command = Command::new("srun");
    command.args([
        &format!("--mpi={}", variable("PMI", "pmix")),
        "-N3",
        "--ntasks-per-node=2",
        "env",
        "FI_PROVIDER=tcp",
    ]);
    if let Some(tracer) = tracer {
        command.args(["MPITRACE_VERBOSE=0", "MPITRACE_SEGMENT_DIR=/dev/shm"]).args(settings);
        command.arg(format!("LD_PRELOAD={}", tracer.display()));
        command.arg(format!("MPITRACE_OUTPUT={}", trace.display()));
    }
    command.arg(scratch.join("program"));
    // On a busy machine Open MPI 4 fails to connect between nodes at times, without the tracer too.
    for _ in 0..3 {
        let output = command.output().expect("srun starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let ranks: Vec<f64> = text.lines().filter_map(|line| line.strip_prefix("init ")?.parse().ok()).collect();
        if output.status.success() && ranks.len() == 6 {
            assert!(tracer.is_none() || trace.exists(), "a trace of {command:?}");
            return ranks.into_iter().fold(0.0, f64::max);
        }
    }
    panic!("{command:?} fails")
}
