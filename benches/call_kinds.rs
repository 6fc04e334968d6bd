//! The cost of traced calls of several kinds, in times a wrapper written by hand: `cargo bench --bench call_kinds`.
//!
//! For each MPI compiler on the path the same program runs untraced, traced, traced without a look at interruptions,
//! and under the wrapper (benches/prototype.c), in turn. A row has what each adds to the untraced run of the same turn,
//! the median of the turns. The 99th percentile is that of single calls, between two time stamps of the program. The
//! wrapper does not see requests: a non-blocking call with its Wait is compared with its blocking call. `MPICC` names
//! other compilers, `TURNS` (21) how often.

use mpitrace_testing::binaries;

use std::path::{Path, PathBuf};
use std::process::Command;

const ROWS: [&str; 6] = [
    "median call",
    "99th percentile",
    "64 operations in turn",
    "non-blocking with its Wait",
    "MPI_Sendrecv",
    "MPI_Test that finds nothing",
];
/// The rows of requests.
const REQUESTS: [usize; 2] = [3, 5];
const CASES: [&str; 4] = ["untraced", "traced", "unwatched", "prototype"];

fn main() {
    let root = mpitrace_testing::root();
    binaries::build();
    let scratch = std::env::temp_dir().join(format!("mpitrace-call-kinds-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).expect("a temporary folder");
    let compilers = std::env::var("MPICC").unwrap_or_else(|_| "mpicc.openmpi mpicc.mpich".to_owned());
    let turns = std::env::var("TURNS").map_or(21, |turns| turns.parse().expect("TURNS is a number"));
    println!("added to a call on MPI_COMM_SELF, ns, medians of {turns} turns");
    for compiler in compilers.split_whitespace() {
        let made =
            [("benches/call_kinds.c", "call_kinds", &[][..]), ("benches/prototype.c", "prototype.so", &["-shared"])]
                .iter()
                .all(|(source, name, options)| compile(compiler, options, &root.join(source), &scratch.join(name)));
        if made {
            measure(compiler, &scratch, turns);
        } else {
            println!("{compiler}: skipped, it does not compile an MPI program here");
        }
    }
    let _ = std::fs::remove_dir_all(&scratch);
}

fn compile(compiler: &str, options: &[&str], source: &Path, made: &PathBuf) -> bool {
    let mut command = Command::new(compiler);
    command.args(["-O2", "-fPIC"]).args(options).arg("-o").arg(made).arg(source);
    command.status().is_ok_and(|status| status.success())
}

fn measure(compiler: &str, scratch: &Path, turns: usize) {
    // Of each case and row, a value for each turn.
    let mut added: [[Vec<f64>; ROWS.len()]; CASES.len()] = Default::default();
    for _ in 0..turns {
        let times = CASES.map(|case| run(case, scratch));
        for (added, time) in added.iter_mut().zip(times) {
            for (row, added) in added.iter_mut().enumerate() {
                added.push(time[row] - times[0][row]);
            }
        }
    }
    let [_, traced, unwatched, prototype] = added.map(|rows| rows.map(median));
    println!("{compiler}: {:28} traced  without a look at interruptions  the wrapper  traced / wrapper", "");
    for (row, name) in ROWS.iter().enumerate() {
        let wrapper = if prototype_counts(row) { prototype[row] } else { prototype[0] };
        println!(
            "  {name:36} {:8.1} {:31.1} {wrapper:12.1} {:17.2}",
            traced[row],
            unwatched[row],
            traced[row] / wrapper
        );
    }
}

/// True if the wrapper does anything in calls of this row.
fn prototype_counts(row: usize) -> bool {
    !REQUESTS.contains(&row)
}

fn run(case: &str, scratch: &Path) -> [f64; ROWS.len()] {
    let mut command = Command::new(scratch.join("call_kinds"));
    match case {
        "untraced" => {}
        "prototype" => drop(command.env("LD_PRELOAD", scratch.join("prototype.so"))),
        _ => {
            command.env("LD_PRELOAD", binaries::tracer()).env("MPITRACE_VERBOSE", "0");
            command.env("MPITRACE_OUTPUT", scratch.join("trace.mpitrace"));
            if case == "unwatched" {
                command.env("MPITRACE_INTERRUPTIONS", "0");
            }
        }
    }
    let output = command.output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    numbers.try_into().unwrap_or_else(|_| panic!("{case}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

fn median(mut values: Vec<f64>) -> f64 {
    mpitrace_statistics::median(&mut values).expect("at least one turn")
}
