//! Communicators of every origin are told apart, and have the same number on all their ranks.

use crate::support::want::{NUMBERED, WORLD};
use crate::support::{Case, On, Test, Trace, Want, tracer, want};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

/// Debian's MPICH cannot spawn, nor can Intel MPI without its own launcher's set-up.
const SPAWNING: On = On::Only(&["ompi4", "mpich5", "mpich5-abi", "ompi5"]);

pub const TESTS: &[Test] = &[
    Test::new("of_every_origin_are_told_apart", every_origin),
    Test::new("with_a_spawned_world_are_traced_on_both_sides", spawned).on(SPAWNING),
];

fn every_origin(case: &Case) {
    let info = case.traced(4, "communicators.c").info();
    let on = |communicator, ranks| want("MPI_Allreduce", communicator, ranks).of(4, "MPI_INT").by("MPI_SUM");
    let alone = || on("MPI_COMM_SELF", 1);
    let wants: Vec<Want> = [
        // Rank 0's, in the order of its calls: three duplicates, a half, a split with an order of its own, the node,
        // a group, a grid, a row of it, two graphs,
        vec![on(NUMBERED, 4), on(NUMBERED, 4), on(NUMBERED, 4), on(NUMBERED, 2), on(NUMBERED, 3), on(NUMBERED, 4)],
        vec![on(NUMBERED, 3), on(NUMBERED, 4), on(NUMBERED, 2), on(NUMBERED, 4), on(NUMBERED, 4)],
        // the two halves as an intercommunicator, and merged again, one with a name.
        vec![want("MPI_Barrier", NUMBERED, 4), on(NUMBERED, 4), on("pressure solver", 4), alone()],
        // Those that rank 0 is not in: rank 1's group, the other half and the other row from rank 2 on.
        vec![on(NUMBERED, 3), alone()],
        vec![on(NUMBERED, 2), on(NUMBERED, 2), alone()],
        vec![alone()],
    ]
    .concat();
    info.assert_is(&wants);
    let ids: BTreeSet<u64> = info.operations.iter().map(|operation| operation.communicator_id).collect();
    assert_eq!(ids.len(), wants.len(), "a number for each communicator: {ids:?}");
    assert!(info.operations.iter().all(|operation| operation.communicator != WORLD));
}

/// The spawned ranks get their environment from the launcher, and write a trace of their own.
fn spawned(case: &Case) {
    let variable = |name: &str, value: &Path| OsString::from(format!("{name}={}", value.display()));
    let path = case.folder.join("spawned.mpitrace");
    let before = [
        OsString::from("env"),
        variable("LD_PRELOAD", &tracer()),
        variable("MPITRACE_OUTPUT", &path),
        variable("MPITRACE_SEGMENT_DIR", &case.segments.0),
    ];
    let outcome = case.launch(2, "spawned.c").run_under(&before);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, "4 ranks\n"), "{}", outcome.stderr);
    for path in [path.clone(), path.with_extension("2.mpitrace")] {
        // What each trace holds are its own world's ranks.
        Trace::at(path).info().assert_is(&[
            want("MPI_Barrier", NUMBERED, 2),
            want("MPI_Allreduce", NUMBERED, 2).of(4, "MPI_INT").by("MPI_SUM").times(3),
        ]);
    }
}
