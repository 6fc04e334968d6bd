//! Communicators of every origin are told apart, and have the same number on all their ranks.

use crate::support::want::{NUMBERED, WORLD};
use crate::support::{Case, Test, Want, want};
use std::collections::BTreeSet;

pub const TESTS: &[Test] = &[Test::new("of_every_origin_are_told_apart", every_origin)];

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
