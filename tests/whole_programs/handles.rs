//! A freed handle's value comes back for another thing: nothing that was known of the old one may be told of the new
//! one.

use crate::support::want::{NUMBERED, WORLD};
use crate::support::{Case, Test, want};
use std::collections::BTreeSet;

pub const TESTS: &[Test] = &[Test::new("that_come_back_are_not_mistaken", come_back)];

fn come_back(case: &Case) {
    let info = case.traced(2, "handles.c").info();
    let reduce = |communicator| want("MPI_Allreduce", communicator, 2).of(8, "MPI_DOUBLE");
    let mut wants = vec![
        want("MPI_Bcast", WORLD, 2).of(32, "derived").root(0).times(60),
        want("MPI_Bcast", WORLD, 2).of(64, "derived").root(0).times(60),
        want("MPI_Bcast", WORLD, 2).of(128, "derived").root(0).times(60),
        reduce(WORLD).by("user").times(60),
        reduce(WORLD).by("MPI_SUM").times(30),
        reduce(WORLD).by("MPI_MAX").times(30),
    ];
    wants.extend((1..=12).map(|n| reduce(if n == 5 { "the fifth" } else { NUMBERED }).by("MPI_SUM").times(n)));
    info.assert_is(&wants);
    let ids: BTreeSet<u64> = info.operations.iter().map(|operation| operation.communicator_id).collect();
    assert_eq!(ids.len(), 13, "the world and twelve more communicators");
}
