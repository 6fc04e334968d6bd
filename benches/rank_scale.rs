//! The cost of the tracer for a rank of a world of up to 10^5 ranks: `cargo bench --bench rank_scale`.
//!
//! One rank, rank 0, on an MPI library that simulates the others (tests/programs/mock_ranks.c): its group functions
//! take the time that Open MPI's take, its messages and collectives none. So what is measured is the tracer's own time,
//! and its use of the library's local functions. Each world runs with the tracer and without it in turn; what is shown
//! are medians of the differences, and the ratio of the largest world to the smallest. Rank 0 does more than any other
//! at Finalize: it writes the table of all parts.
//!
//! `MPICC` names a compiler for the standard's interface (default: `mpicc_abi` of tests/mpi/install.sh), `RANKS` the
//! worlds.

use mpitrace_testing::binaries;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const TURNS: usize = 5;

/// A row of the table: phase, name, and how often the phase does it.
const ROWS: [(&str, &str, f64); 8] = [
    ("init", "MPI_Init", 1.0),
    ("dup", "MPI_Comm_dup", 100.0),
    ("split", "MPI_Comm_split in halves", 10.0),
    ("create_group", "MPI_Comm_create_group of a half", 10.0),
    ("intercomm_create", "MPI_Intercomm_create of two halves", 1.0),
    ("allreduce", "MPI_Allreduce", 1000.0),
    ("free", "MPI_Comm_free", 121.0),
    ("finalize", "MPI_Finalize", 1.0),
];

/// The cost of a phase: us, bytes asked for, KiB that came to the process.
type Phase = [f64; 3];

fn main() {
    binaries::build();
    let root = mpitrace_testing::root();
    let compiler =
        std::env::var_os("MPICC").map_or_else(|| binaries::TARGET.join("mpi/mpich5/bin/mpicc_abi"), PathBuf::from);
    let scratch = std::env::temp_dir().join(format!("mpitrace-rank-scale-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).expect("a temporary folder");
    let compile = |name: &str, options: &[&str]| {
        let (source, made) = (root.join("tests/programs").join(name), scratch.join(name).with_extension("made"));
        let done = Command::new(&compiler).arg("-O2").args(options).arg("-o").arg(&made).arg(source).status();
        assert!(done.is_ok_and(|status| status.success()), "{} compiles no {name}", compiler.display());
        made
    };
    let programs = (compile("rank_scale.c", &[]), compile("mock_ranks.c", &["-shared", "-fPIC"]));
    let worlds = std::env::var("RANKS").unwrap_or_else(|_| "1000 10000 100000".to_owned());
    let worlds: Vec<u32> = worlds.split_whitespace().map(|word| word.parse().expect("RANKS are numbers")).collect();
    let measured: Vec<_> = worlds.iter().map(|&ranks| measure(&programs, &scratch, ranks)).collect();
    for (index, what, unit) in [(0, "time", "us"), (1, "memory asked for", "bytes"), (2, "memory that came", "KiB")] {
        println!("\nWhat the tracer adds to each call on rank 0: {what}, {unit}\n");
        let heads: Vec<_> = worlds.iter().map(|ranks| format!(" {ranks} ranks |")).collect();
        println!("| |{} ratio |\n|---|{}---|", heads.concat(), "---|".repeat(worlds.len()));
        for (phase, name, times) in ROWS {
            let of = |world: &HashMap<String, Phase>| world[phase][index] / times;
            let cells: Vec<_> = measured.iter().map(|world| format!(" {:.2} |", of(world))).collect();
            let (first, last) = (of(&measured[0]), of(&measured[measured.len() - 1]));
            println!("| {name} |{} {:.2} |", cells.concat(), last / first);
        }
    }
    println!("\nFor comparison, all ranks of the world translated once, as Open MPI does it:");
    for &ranks in &worlds {
        let found = run(&programs, &scratch, ranks, false, &["translate"]);
        println!("  {ranks} ranks: {:.1} ms", found["translate"][0] / 1e3);
    }
    let _ = std::fs::remove_dir_all(&scratch);
}

/// The tracer's addition in each phase, in a world of so many ranks.
fn measure(programs: &(PathBuf, PathBuf), scratch: &Path, ranks: u32) -> HashMap<String, Phase> {
    let mut turns: HashMap<String, Vec<Phase>> = HashMap::new();
    for _ in 0..TURNS {
        let plain = run(programs, scratch, ranks, false, &[]);
        for (phase, traced) in run(programs, scratch, ranks, true, &[]) {
            let added = std::array::from_fn(|index| traced[index] - plain[&phase][index]);
            turns.entry(phase).or_default().push(added);
        }
    }
    let median = |turns: &[Phase], index: usize| {
        let mut values: Vec<f64> = turns.iter().map(|turn| turn[index]).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    turns.into_iter().map(|(phase, turns)| (phase, std::array::from_fn(|index| median(&turns, index)))).collect()
}

/// The cost of each phase.
fn run(
    (program, mock): &(PathBuf, PathBuf),
    scratch: &Path,
    ranks: u32,
    traced: bool,
    arguments: &[&str],
) -> HashMap<String, Phase> {
    let mut preload = mock.display().to_string();
    if traced {
        preload = format!("{}:{preload}", binaries::tracer().display());
    }
    let trace = scratch.join("trace.mpitrace");
    let _ = std::fs::remove_file(&trace);
    let mut command = Command::new(program);
    command.args(arguments).env("LD_PRELOAD", preload).env("MOCK_RANKS", ranks.to_string());
    command.env("MPITRACE_OUTPUT", &trace).env("MPITRACE_JOINT", "1").env("MPITRACE_VERBOSE", "0");
    let output = command.output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(!traced || trace.exists(), "no trace was written: {}", String::from_utf8_lossy(&output.stderr));
    let lines = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let value = |words: &[&str], name: &str| -> f64 {
        let place = words.iter().position(|word| *word == name).expect("a count of the mock");
        words[place + 1].parse().expect("a number")
    };
    let phase =
        |words: Vec<&str>| (words[1].to_owned(), ["us", "allocated", "resident_kib"].map(|name| value(&words, name)));
    lines.filter(|words| words[0] == "phase").map(phase).collect()
}
