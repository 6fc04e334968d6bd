//! Threads that call collectives at the same time, each on a communicator of its own.

use crate::support::want::WORLD;
use crate::support::{Case, Test, want};
use std::collections::{BTreeMap, BTreeSet};

pub const TESTS: &[Test] = &[Test::new("that_call_at_the_same_time_are_recorded_apart", at_the_same_time)];

fn at_the_same_time(case: &Case) {
    let trace = case.traced(2, "threads.c");
    let reduce = |communicator| want("MPI_Allreduce", communicator, 2).of(8, "MPI_DOUBLE").by("MPI_SUM");
    // Which thread is first is for the system to say.
    trace.info().assert_is_in_any_order(&[
        reduce("thread 0").times(40),
        reduce("thread 1").times(50),
        reduce("thread 2").times(60),
        want("MPI_Barrier", WORLD, 2).times(5),
    ]);
    let mut callers: BTreeMap<(u64, String), BTreeSet<u64>> = BTreeMap::new();
    for row in trace.dump(&[]) {
        callers.entry((row.rank, row.communicator)).or_default().insert(row.thread);
    }
    assert!(callers.values().all(|threads| threads.len() == 1), "a thread on each communicator: {callers:?}");
    for rank in 0..2 {
        let threads: BTreeSet<_> = callers.iter().filter(|((r, _), _)| *r == rank).flat_map(|(_, t)| t).collect();
        assert_eq!(threads.len(), 4, "three threads and the main one on rank {rank}: {callers:?}");
    }
}
