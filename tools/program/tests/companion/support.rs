//! Small traces, and the companion run over them.

use std::path::Path;
use std::process::Command;

use mpitrace_format::layout::state;
use mpitrace_testing::synthetic::{self, SyntheticRank};
use serde_json::Value;

/// The result of a run of the companion.
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Standard output as JSON: the rows of a list, else the keys without the schema.
    pub fn json(&self) -> Value {
        let mut value: Value =
            serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {}", self.stdout));
        let keys = value.as_object_mut().unwrap_or_else(|| panic!("not an object: {}", self.stdout));
        let schema = keys.remove("schema");
        let is_of_a_command = |schema: &str| schema.starts_with("mpitrace/") && schema.ends_with("/1");
        assert!(schema.as_ref().and_then(Value::as_str).is_some_and(is_of_a_command), "schema {schema:?}");
        keys.remove("rows").unwrap_or(value)
    }
}

/// The companion, not yet started.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpitrace"));
    // Sentences are looked for as a whole.
    command.args(arguments).env("COLUMNS", "1000");
    command
}

/// Runs it to its end.
pub fn mpitrace(arguments: &[&str]) -> Ran {
    let output = command(arguments).output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The paths of the layers of this name in an SVG picture, each as the places (from the left and from the top) that its
/// absolute steps lead to.
pub fn layers(svg: &str, name: &str) -> Vec<Vec<(f64, f64)>> {
    let class = format!(" class=\"{name}\"/>");
    let places = |line: &str| {
        let data = line.strip_prefix("<path d=\"")?.split('"').next()?;
        let steps = data.split(['M', 'L']).filter(|step| !step.is_empty());
        let numbers = |step: &str| -> Option<(f64, f64)> {
            let (x, rest) = step.split_once(' ')?;
            let end = rest.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(rest.len());
            Some((x.parse().ok()?, rest[..end].trim().parse().ok()?))
        };
        Some(steps.filter_map(numbers).collect())
    };
    svg.lines().filter(|line| line.ends_with(&class)).filter_map(places).collect()
}

/// A folder that goes with the test.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    pub fn file(&self, name: &str, bytes: &[u8]) -> String {
        std::fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    pub fn trace(&self, ranks: &[SyntheticRank]) -> String {
        let path = self.path("a.mpitrace");
        synthetic::write(Path::new(&path), ranks).unwrap();
        path
    }
}

/// Two ranks, 60 Allreduces with a warm-up of 20 and an outlier at 50, and on a communicator of rank 1's own 3 Bcasts
/// of another thread.
pub fn plain() -> [SyntheticRank; 2] {
    [0, 1].map(|number| {
        let mut rank = SyntheticRank::new(number, 2);
        let factor = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        rank.metadata.push(factor("host", "node1"));
        if number == 0 {
            rank.metadata.extend([
                factor("library", "MPICH Version:\t4.0.2"),
                factor("command", "./a.out"),
                factor("start_time", "2026-11-20T18:00:00Z"),
                factor("governor", "unknown"),
                factor("cache_control", "unknown"),
                factor("env.UCX_TLS", "sm"),
            ]);
        }
        let allreduce = rank.operation("MPI_Allreduce", 0, 8);
        rank.describe(allreduce, None, "MPI_DOUBLE", Some("MPI_SUM"));
        for i in 0..60 {
            let took = match i {
                0..20 | 50 => 50_000,
                _ => 2000,
            };
            let enter = 1_000_000 + 2_000_000 * i;
            rank.call(allreduce, enter + 100 * u64::from(number), enter + took);
            if (number, i) == (0, 0) {
                rank.disturb();
            }
        }
        if number == 1 {
            // Each rank's communicators have numbers of their own; this one is the third that any rank knows.
            rank.communicator(7, 1, 0, None);
            let own = rank.communicator(8, 1, 0, None);
            let bcast = rank.operation("MPI_Bcast", own, 4);
            rank.describe(bcast, Some(0), "MPI_INT", None);
            rank.thread();
            (0..3).for_each(|i| rank.call(bcast, 125_000_000 + 2000 * i, 125_001_000 + 2000 * i));
        }
        (rank.header.last_anchor.tick, rank.header.last_anchor.raw_ns) = (130_000_000, 130_000_000);
        rank
    })
}

/// Three ranks of which the last called MPI_Abort, and one waits for the others.
pub fn killed() -> [SyntheticRank; 3] {
    [0, 1, 2].map(|number| {
        let mut rank = SyntheticRank::new(number, 3);
        let allreduce = rank.operation("MPI_Allreduce", 0, 8);
        (0..4).for_each(|i| rank.call(allreduce, 1000 + 100 * i, 1050 + 100 * i));
        rank.header.state = state::RUNNING;
        match number {
            1 => rank.call(allreduce, 1400, 0),
            2 => rank.header.state = state::ABORTED,
            _ => {}
        }
        rank
    })
}
