//! Applications as Debian ships them.

use crate::support::{Case, On, Test, build, library};
use std::collections::BTreeMap;
use std::fs;

/// The library that the packages are built for.
const DEBIAN: On = On::Only(&["ompi4"]);

pub const TESTS: &[Test] = &[
    Test::new("lammps_computes_the_same", lammps).on(DEBIAN).needs("lmp").second_tier(),
    Test::new("cp2k_computes_the_same", cp2k).on(DEBIAN).needs("cp2k.psmp").second_tier(),
];

/// The output of LAMMPS, without the lines that hold times.
fn without_times(output: &str) -> Vec<&str> {
    let timed = ["Loop time", "Performance:", "CPU", "Total wall time", " | "];
    output.lines().filter(|line| !timed.iter().any(|word| line.contains(word))).collect()
}

fn lammps(case: &Case) {
    let program = library::path_of("lmp").expect("asked for by the test");
    let program = program.to_str().expect("a plain path");
    let tally = build::shared_library(case.mpi, "tally.c");
    let launch = || {
        let launch = case.launch(2, program).arg("-in").arg(build::source("melt.lammps"));
        launch.arg("-log").arg("none").set("TALLY_OUTPUT", case.folder.join("tally"))
    };
    let plain = launch().preload(tally).run();
    assert_eq!(plain.code, 0, "{}{}", plain.stdout, plain.stderr);
    let traced = launch().trace().run();
    assert_eq!(traced.code, 0, "{}{}", traced.stdout, traced.stderr);
    let (with, without) = (without_times(&traced.stdout), without_times(&plain.stdout));
    assert!(without.len() > 60, "not what LAMMPS prints: {}", plain.stdout);
    assert_eq!(with, without);

    // As many calls of each function as an independent tool counted.
    let mut traced_calls = BTreeMap::new();
    for operation in traced.trace.info().operations {
        *traced_calls.entry(operation.function).or_insert(0) += operation.repetitions * operation.ranks;
    }
    let mut counted = BTreeMap::new();
    for rank in 0..2 {
        for line in fs::read_to_string(case.folder.join(format!("tally.{rank}"))).expect("the tally").lines() {
            let (function, calls) = line.split_once(' ').expect("a function and a number");
            *counted.entry(function.to_owned()).or_insert(0) += calls.parse::<u64>().expect("a number");
        }
    }
    assert!(counted.get("MPI_Allreduce").is_some_and(|calls| *calls > 40), "{counted:?}");
    traced_calls.retain(|function, _| counted.contains_key(function));
    assert_eq!(traced_calls, counted, "calls of both ranks, as the other tool counts on the right");
}

/// The energy of a hydrogen molecule, with all digits that CP2K prints.
fn cp2k(case: &Case) {
    let program = library::path_of("cp2k.psmp").expect("asked for by the test");
    let launch = || {
        let launch =
            case.launch(2, program.to_str().expect("a plain path")).arg("-i").arg(build::source("hydrogen.cp2k"));
        launch.set("OMP_NUM_THREADS", "1")
    };
    let plain = launch().run();
    assert_eq!(plain.code, 0, "{}{}", plain.stdout, plain.stderr);
    let traced = launch().trace().run();
    assert_eq!(traced.code, 0, "{}{}", traced.stdout, traced.stderr);
    let (with, without) = (computed(&traced.stdout), computed(&plain.stdout));
    assert!(without.iter().any(|line| line.contains("ENERGY| Total")) && without.len() > 100, "{}", plain.stdout);
    assert_eq!(with, without);
    let info = traced.trace.info();
    assert!(info.complete && info.dropped == 0 && info.records > 2000, "{} records", info.records);
}

/// The output of CP2K before its table of times, without values of the process; of the lines of its iterations without
/// the time, the fourth column.
fn computed(output: &str) -> Vec<String> {
    let of_process = ["STARTED AT", "PROCESS ID", "MEMORY|", "memory usage"];
    let lines = output.lines().take_while(|line| !line.contains("T I M I N G"));
    let lines = lines.filter(|line| !of_process.iter().any(|word| line.contains(word)));
    let iteration = |line: &str| line.contains("/Diag.");
    lines
        .map(|line| {
            let words = line.split_whitespace().enumerate();
            words.filter(|(column, _)| *column != 3 || !iteration(line)).map(|(_, word)| format!("{word} ")).collect()
        })
        .collect()
}
