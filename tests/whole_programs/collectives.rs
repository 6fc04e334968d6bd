//! Every blocking collective of MPI 3.1, with and without MPI_IN_PLACE: recorded once, with the right size.

use crate::support::want::{NUMBERED, WORLD};
use crate::support::{Case, Test, Want, want};

pub const TESTS: &[Test] = &[
    Test::new("of_every_kind_are_recorded_with_their_size", every_kind),
    Test::new("of_unequal_ranks_keep_each_rank's_own_size", own_sizes),
];

/// Blocks of 6 ints, and rank r's share of r + 1 ints where shares differ; four ranks, the root is 1. In an operation
/// whose ranks pass different sizes the largest one counts.
fn of(communicator: &'static str, in_place: bool) -> Vec<Want> {
    let on = |function| want(function, communicator, 4).times(2);
    let int = |function, bytes| on(function).of(bytes, "MPI_INT");
    let rooted = |function, bytes| int(function, bytes).root(1);
    let sum = |function, bytes| int(function, bytes).by("MPI_SUM");
    let largest_share = 4 * 4;
    let all_shares = (1 + 2 + 3 + 4) * 4;
    // A rank that says MPI_IN_PLACE has its share in place, or only receives: the contract leaves that open.
    let shares = |want: Want| if in_place { want.or_bytes(all_shares) } else { want };
    vec![
        on("MPI_Barrier"),
        rooted("MPI_Bcast", 24),
        rooted("MPI_Scatter", 24),
        rooted("MPI_Scatterv", all_shares),
        rooted("MPI_Gather", 24),
        shares(rooted("MPI_Gatherv", largest_share)),
        rooted("MPI_Reduce", 24).by("MPI_SUM"),
        int("MPI_Allgather", 24),
        shares(int("MPI_Allgatherv", largest_share)),
        int("MPI_Alltoall", 24),
        int("MPI_Alltoallv", 4 * 24),
        // It has a datatype for each peer.
        on("MPI_Alltoallw").of(4 * 24, "any"),
        sum("MPI_Allreduce", 24),
        sum("MPI_Reduce_scatter_block", 24),
        sum("MPI_Reduce_scatter", all_shares),
        sum("MPI_Scan", 4),
        sum("MPI_Exscan", 4),
    ]
}

fn every_kind(case: &Case) {
    case.traced(4, "all_collectives.c").info().assert_is(&[of(WORLD, false), of(NUMBERED, true)].concat());
}

fn own_sizes(case: &Case) {
    let trace = case.traced(3, "all_collectives.c");
    let operations = trace.info().operations;
    // The root sends to all in a Scatterv, the others receive their share; in a Gatherv each sends its own.
    for (function, sizes) in
        [("MPI_Scatterv", [4, 24, 12]), ("MPI_Gatherv", [4, 8, 12]), ("MPI_Allgatherv", [4, 8, 12])]
    {
        let operation = operations.iter().find(|o| o.function == function && o.communicator == WORLD);
        let number = operation.unwrap_or_else(|| panic!("no {function}")).operation.to_string();
        let rows = trace.dump(&["--operation", &number]);
        for (rank, size) in (0..).zip(sizes) {
            let got: Vec<u64> = rows.iter().filter(|row| row.rank == rank).map(|row| row.bytes).collect();
            assert_eq!(got, [size; 2], "{function} on rank {rank}");
        }
    }
}
