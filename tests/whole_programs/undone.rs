//! Programs that end by themselves and are wrong all the same: `info` and `summary` state calls that not all ranks made,
//! requests that were never complete and data types that differ, and nothing of a program that is right.

use crate::support::companion::mpitrace;
use crate::support::process::Finished;
use crate::support::{Case, On, Test};

pub const TESTS: &[Test] = &[
    Test::new("a_call_that_a_rank_leaves_out_is_stated", |case| {
        stated(case, "call", "rank 0 never came to call 3 of MPI_COMM_WORLD: rank 1 MPI_Reduce (main at ")
    })
    // In the others the next calls of a communicator wait for the Reduce.
    .on(On::Only(&["ompi4", "mpich4", "ompi5"])),
    Test::new("a_request_that_is_never_complete_is_stated", |case| {
        stated(case, "request", "never completed by ranks 0-1: MPI_Ibarrier on MPI_COMM_WORLD (main at ")
    }),
    Test::new("data_types_that_differ_are_stated", |case| {
        stated(
            case,
            "types",
            "MISMATCH (datatype) at call 3 of MPI_COMM_WORLD: rank 0 MPI_Reduce of 4 bytes as MPI_INT",
        )
    }),
    Test::new("what_is_legal_and_looks_alike_is_not_stated", legal),
];

fn run(case: &Case, how: &str) -> [Finished; 2] {
    let outcome = case.launch(2, "undone.c").arg(how).set("MPITRACE_CALLSITE", "1").trace().run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let trace = outcome.trace.path.as_os_str().to_owned();
    ["info", "summary"].map(|command| mpitrace(&[command.as_ref(), &*trace]))
}

fn stated(case: &Case, how: &str, line: &str) {
    for finished in run(case, how) {
        assert_eq!(finished.code, 1, "{}", finished.stdout);
        assert!(finished.stdout.lines().any(|found| found.starts_with(line)), "{line} in\n{}", finished.stdout);
    }
}

fn legal(case: &Case) {
    for finished in run(case, "legal") {
        assert_eq!(finished.code, 0, "{}", finished.stdout);
    }
}
