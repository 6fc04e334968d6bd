//! The common part of the benchmarks of the clocks: a program of two ranks, launched with a simulated clock, on one
//! node or on two.

use mpitrace_testing::binaries;
mod nodes;

use std::path::{Path, PathBuf};
use std::process::Command;

/// A variable of the environment.
pub fn variable(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.to_owned())
}

/// benches/clock_methods.c, compiled by `MPICC` and launched by `MPIRUN`. What it leaves goes with it.
pub struct Program {
    /// The compiler's name, and where the ranks are.
    pub title: String,
    scratch: PathBuf,
    path: PathBuf,
}

impl Program {
    /// Says so, and is none, where there is no MPI.
    ///
    /// With `NODES=2` the benchmark goes on as another process, on a virtual cluster: this one ends with it.
    pub fn compile() -> Option<Program> {
        let compiler = variable("MPICC", "mpicc.openmpi");
        let name = Path::new(&compiler).file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(scratch) = nodes::folder() {
            let path = scratch.join("program");
            return Some(Program { title: format!("{name}, two virtual nodes"), scratch, path });
        }
        binaries::build();
        let scratch = std::env::temp_dir().join(format!("mpitrace-clocks-{}", std::process::id()));
        std::fs::create_dir_all(&scratch).expect("a temporary folder");
        let path = scratch.join("program");
        let source = mpitrace_testing::root().join("benches/clock_methods.c");
        let compiled = Command::new(&compiler).arg("-O2").arg("-o").arg(&path).arg(source).status();
        if !compiled.is_ok_and(|status| status.success()) {
            println!("{compiler}: skipped, it does not compile an MPI program here");
            return None;
        }
        if nodes::wanted() {
            nodes::run_on_cluster(&scratch);
        }
        Some(Program { title: format!("{name}, one node"), scratch, path })
    }

    /// Runs it for so many seconds with these settings of the tracer; the trace, until the next run.
    pub fn run(&self, seconds: f64, settings: &[(&str, String)]) -> PathBuf {
        let trace = self.scratch.join("run.mpitrace");
        let _ = std::fs::remove_file(&trace);
        let line = variable("MPIRUN", "mpirun.openmpi --allow-run-as-root --oversubscribe");
        let mut words = line.split_whitespace();
        let launcher = words.next().expect("MPIRUN names a launcher");
        let mut command = Command::new(launcher);
        command.args(words);
        if nodes::wanted() {
            command.args(nodes::words(launcher, &self.scratch)).env("FI_PROVIDER", "tcp");
        }
        command.args(["-np", "2", "env", "MPITRACE_VERBOSE=0", "MPITRACE_SEGMENT_DIR=/dev/shm"]);
        command.arg(format!("LD_PRELOAD={}", binaries::tracer().display()));
        command.arg(format!("MPITRACE_OUTPUT={}", trace.display()));
        command.args(settings.iter().map(|(name, value)| format!("{name}={value}")));
        command.arg(&self.path).arg(seconds.to_string());
        // On a busy machine Open MPI 4 fails to connect between nodes at times, without the tracer too.
        let succeeded = (0..3).any(|_| command.status().expect("the launcher starts").success());
        assert!(succeeded, "{command:?}");
        trace
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if nodes::folder().is_none() {
            let _ = std::fs::remove_dir_all(&self.scratch);
        }
    }
}
