//! What the benchmarks of the clocks share: a program of two ranks, launched with a pretended clock.

#[allow(dead_code, reason = "the companion is of no interest here")]
#[path = "../../tests/whole_programs/support/binaries.rs"]
mod binaries;

use std::path::{Path, PathBuf};
use std::process::Command;

/// A variable of the environment.
pub fn variable(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.to_owned())
}

/// benches/clock_methods.c, compiled by `MPICC` and launched by `MPIRUN`. What it leaves goes with it.
pub struct Program {
    /// The compiler's name.
    pub compiler: String,
    scratch: PathBuf,
    path: PathBuf,
}

impl Program {
    /// Says so, and is none, where there is no MPI.
    pub fn compile() -> Option<Program> {
        binaries::build();
        let scratch = std::env::temp_dir().join(format!("mpitrace-clocks-{}", std::process::id()));
        std::fs::create_dir_all(&scratch).expect("a temporary folder");
        let compiler = variable("MPICC", "mpicc.openmpi");
        let path = scratch.join("program");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/clock_methods.c");
        let compiled = Command::new(&compiler).arg("-O2").arg("-o").arg(&path).arg(source).status();
        if !compiled.is_ok_and(|status| status.success()) {
            println!("{compiler}: skipped, it does not compile an MPI program here");
            return None;
        }
        Some(Program { compiler, scratch, path })
    }

    /// Runs it for so many seconds with these settings of the tracer; the trace, until the next run.
    pub fn run(&self, seconds: f64, settings: &[(&str, String)]) -> PathBuf {
        let trace = self.scratch.join("run.mpitrace");
        let _ = std::fs::remove_file(&trace);
        let launcher = variable("MPIRUN", "mpirun.openmpi --allow-run-as-root --oversubscribe");
        let mut words = launcher.split_whitespace();
        let mut command = Command::new(words.next().expect("MPIRUN names a launcher"));
        command.args(words).args(["-np", "2", "env", "MPITRACE_VERBOSE=0"]);
        command.arg(format!("LD_PRELOAD={}", binaries::tracer().display()));
        command.arg(format!("MPITRACE_OUTPUT={}", trace.display()));
        command.args(settings.iter().map(|(name, value)| format!("{name}={value}")));
        let status = command.arg(&self.path).arg(seconds.to_string()).status().expect("the launcher starts");
        assert!(status.success(), "{command:?}");
        trace
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}
