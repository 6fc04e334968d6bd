//! What a recorded call costs, counted and not timed: instructions do not depend on what else runs on the machine.

use crate::support::{Case, On, Test};

pub const TESTS: &[Test] = &[Test::new("a_recorded_call_executes_few_instructions", instructions)
    .on(On::Only(&["mpich4", "ompi4"]))
    .first_on(&["mpich4"])
    .needs("valgrind")];

/// Instructions that a recorded MPI_Allreduce adds to the library's own, with those for what is done once in many calls:
/// as measured of the profile `checked`, rustc 1.92. A newer compiler may need another figure.
const STORED: f64 = 130.0;
/// By so much it may be more.
const TOLERANCE: f64 = 1.05;

fn instructions(case: &Case) {
    let plain = per_call(case, false, "0");
    let [added, unwatched] = ["1", "0"].map(|interruptions| per_call(case, true, interruptions) - plain);
    assert!(
        added <= STORED * TOLERANCE,
        "a recorded call adds {added:.1} instructions, {unwatched:.1} without a look at interruptions; {STORED} are stored"
    );
    // What it costs to look at interruptions.
    assert!(added - unwatched <= 10.0, "{added:.1} instructions, {unwatched:.1} without a look at interruptions");
}

/// Instructions of one rank for each call beyond the first 5000.
fn per_call(case: &Case, traced: bool, interruptions: &str) -> f64 {
    const CALLS: [u32; 2] = [5_000, 25_000];
    let count = |calls: u32| {
        let words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"];
        let launch = case.launch(1, "repeat.c").arg(calls.to_string()).behind(&words.map(Into::into));
        let launch = launch.set("MPITRACE_INTERRUPTIONS", interruptions);
        let ran = if traced { launch.trace().run() } else { launch.run() };
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        // ==PID== Collected : N
        let line = ran.lines_with("Collected : ");
        let number = line.first().and_then(|line| line.rsplit(' ').next()).unwrap_or_default();
        number.parse::<f64>().unwrap_or_else(|_| panic!("no count of instructions\n{}", ran.stderr))
    };
    (count(CALLS[1]) - count(CALLS[0])) / f64::from(CALLS[1] - CALLS[0])
}
