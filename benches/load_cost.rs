//! The cost of the preloaded library for a process that never calls MPI: `cargo bench --bench load_cost`.
//!
//! `/bin/true` with an empty library preloaded and with the tracer, in turn, `RUNS` (2000) times: the time from its
//! start to its end. Memory is what a process has of its own (`Anonymous` in /proc/self/smaps_rollup of `cat`): pages
//! of files are shared by all processes of the node.

use mpitrace_testing::binaries;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

fn main() {
    let runs: usize = std::env::var("RUNS").map_or(2000, |runs| runs.parse().expect("RUNS is a number"));
    binaries::build();
    let folder = std::env::temp_dir().join(format!("mpitrace-load-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let empty = empty_library(&folder);
    let mut rows = [("an empty library", empty), ("the tracer", binaries::tracer())].map(|row| (row, Vec::new()));
    for _ in 0..runs {
        for ((_, library), times) in &mut rows {
            times.push(microseconds(library));
        }
    }
    println!("| preloaded into /bin/true, {runs} runs | median | quartiles | memory |");
    println!("|---|---|---|---|");
    let mut found = Vec::new();
    for ((name, library), times) in &mut rows {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
        let memory = memory(library);
        println!("| {name} | {:.0} us | {:.0} to {:.0} us | {memory} KiB |", at(0.5), at(0.25), at(0.75));
        found.push((at(0.5), memory));
    }
    let [(empty, least), (tracer, most)] = found[..] else { unreachable!("two rows") };
    let (more, ratio, memory) = (tracer - empty, tracer / empty, most - least);
    println!("\nThe tracer adds {more:.0} us ({ratio:.2} of the time with the empty library) and {memory} KiB.");
    std::fs::remove_dir_all(folder).expect("the temporary folder");
}

fn empty_library(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("empty.c"), folder.join("empty.so"));
    std::fs::write(&source, "int nothing;\n").expect("a source");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    assert!(built.expect("a compiler").success());
    library
}

fn preloading(library: &Path, program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("LD_PRELOAD", library);
    command
}

/// How long the process took, us.
fn microseconds(library: &Path) -> f64 {
    let mut command = preloading(library, "/bin/true");
    let since = Instant::now();
    assert!(command.status().expect("/bin/true").success());
    since.elapsed().as_secs_f64() * 1e6
}

/// Memory of a process' own, KiB.
fn memory(library: &Path) -> i64 {
    let shown = preloading(library, "/bin/cat").arg("/proc/self/smaps_rollup").output().expect("/bin/cat");
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("Anonymous:")).expect("a line");
    line.trim().trim_end_matches(" kB").trim().parse().expect("a number")
}
