//! The main promise: how often which collective was called, on which communicator, of which size.

use crate::support::want::{NUMBERED, WORLD};
use crate::support::{Case, Test, Want, want};

pub const TESTS: &[Test] = &[
    Test::new("of_a_program_on_the_world_and_on_two_halves_of_it", halves),
    Test::new("of_a_program_on_two_ranks", pair),
    Test::new("of_a_program_on_one_rank", single),
    Test::new("times_of_a_rank_follow_one_another", times),
];

/// The calls of counts.c on a communicator.
pub fn calls(communicator: &'static str, ranks: u64, root: i64) -> [Want; 3] {
    [
        want("MPI_Allreduce", communicator, ranks).of(64, "MPI_DOUBLE").by("MPI_SUM").times(20),
        want("MPI_Bcast", communicator, ranks).of(16, "MPI_INT").root(root).times(10),
        want("MPI_Barrier", communicator, ranks).times(3),
    ]
}

fn halves(case: &Case) {
    let info = case.traced(4, "counts.c").info();
    info.assert_is(&[calls(WORLD, 4, 1), calls(NUMBERED, 2, 0), calls(NUMBERED, 2, 0)].concat());
    assert_eq!((info.ranks, info.abi.as_str()), (4, case.mpi.abi));
    assert!(info.library.contains(case.mpi.library), "{} is no {}", info.library, case.mpi.library);
    assert!(info.counters.is_empty(), "{:?}", info.counters);
    let ids: Vec<u64> = info.operations.iter().map(|operation| operation.communicator_id).collect();
    let [world, even, odd] = [ids[0], ids[3], ids[6]];
    assert_eq!(ids, [[world; 3], [even; 3], [odd; 3]].concat(), "one number for each communicator");
    assert!(world != even && even != odd && odd != world, "{ids:?}");
}

fn pair(case: &Case) {
    let info = case.traced(2, "counts.c").info();
    info.assert_is(&[calls(WORLD, 2, 1), calls(NUMBERED, 2, 0)].concat());
}

/// On one rank alone, which many programs are tried on first; the root of the Bcast would not exist.
fn single(case: &Case) {
    let info = case.traced(1, "repeat.c").info();
    info.assert_is(&[want("MPI_Allreduce", WORLD, 1).of(8, "MPI_DOUBLE").by("MPI_SUM").times(10)]);
}

fn times(case: &Case) {
    let trace = case.traced(2, "counts.c");
    let rows = trace.dump(&[]);
    assert_eq!(rows.len(), 2 * 66);
    for rank in 0..2 {
        let mut mine: Vec<_> = rows.iter().filter(|row| row.rank == rank).collect();
        mine.sort_by(|a, b| a.enter_ns.total_cmp(&b.enter_ns));
        let functions: Vec<_> = mine.iter().map(|row| row.function.as_str()).collect();
        let half = [vec!["MPI_Allreduce"; 20], vec!["MPI_Bcast"; 10], vec!["MPI_Barrier"; 3]].concat();
        assert_eq!(functions, [half.clone(), half].concat(), "the order of rank {rank}'s calls");
        let mut free = 0.0;
        for row in mine {
            let exit = row.exit_ns.unwrap_or_else(|| panic!("a call that did not return: {row:?}"));
            assert!(free <= row.enter_ns && row.enter_ns < exit, "not after {free}: {row:?}");
            free = exit;
        }
        assert!(free < 120e9, "{free} ns is longer than the test may take");
    }
    // On one clock: no rank leaves a Barrier before the last one enters it.
    let barriers = rows.iter().filter(|row| row.function == "MPI_Barrier");
    for row in barriers.clone() {
        let other = barriers.clone().find(|other| {
            other.rank != row.rank && other.operation == row.operation && other.repetition == row.repetition
        });
        let other = other.unwrap_or_else(|| panic!("no other rank's {row:?}"));
        assert!(other.exit_ns.is_some_and(|exit| row.enter_ns < exit), "left too early: {other:?} with {row:?}");
    }
}
