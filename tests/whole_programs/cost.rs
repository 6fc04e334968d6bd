//! The cost of a recorded call, counted and not timed: instructions do not depend on what else runs on the machine.

use crate::support::{Case, On, Test, binaries};
use std::process::Command;

pub const TESTS: &[Test] = &[Test::new("a_recorded_call_executes_few_instructions", instructions)
    // Its own function has another name than the tracer's, so that the two are told apart.
    .on(On::Only(&["mpich4"]))
    .first_on(&["mpich4"])
    .needs("valgrind")];

/// Instructions that a recorded MPI_Allreduce executes beside the library's own: as measured of the profile `counted`,
/// rustc 1.95, x86-64. Another compiler or architecture needs another figure.
const STORED: f64 = 141.0;
/// By so much it may be more.
const TOLERANCE: f64 = 1.05;

fn instructions(case: &Case) {
    const CALLS: u32 = 20_000;
    let counted = case.folder.join("callgrind");
    let out = format!("--callgrind-out-file={}", counted.display());
    let words = ["valgrind", "--tool=callgrind", &out];
    let launch = case.launch(1, "repeat.c").arg(CALLS.to_string()).behind(&words.map(Into::into));
    let ran = launch.trace_by(binaries::counted_tracer()).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.trace.info().records, u64::from(CALLS));
    let annotated = Command::new("callgrind_annotate")
        .args(["--threshold=100", "--inclusive=no", "--auto=no"])
        .arg(&counted)
        .output();
    let text = String::from_utf8_lossy(&annotated.expect("a program of valgrind's").stdout).into_owned();
    // Instructions, their share, and FILE:FUNCTION; a line for each file that the function has code of.
    let of_wrapper = text.lines().filter(|line| line.split_whitespace().any(|word| word.ends_with(":MPI_Allreduce")));
    let count = |line: &str| -> u64 {
        let digits: String = line.trim_start().chars().take_while(|&c| c != ' ').filter(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(0)
    };
    let executed = of_wrapper.map(count).sum::<u64>() as f64 / f64::from(CALLS);
    assert!(executed > 20.0, "the wrapper was not found\n{text}");
    assert!(executed <= STORED * TOLERANCE, "a recorded call executes {executed:.1} instructions; {STORED} are stored");
}
