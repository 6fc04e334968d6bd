//! More calls than the arrays hold, and calls that the program doesn't want recorded.

use crate::support::{Case, Test, Trace};

pub const TESTS: &[Test] = &[
    Test::new("full_arrays_keep_the_first_calls", stop),
    Test::new("full_arrays_under_ring_keep_the_last_calls", ring),
    Test::new("paused_calls_are_counted_but_not_kept", paused),
];

/// 1000 Allreduces on two ranks, with room for 100 on each.
fn overfull(case: &Case, full: &str) -> Trace {
    let plain = case.launch(2, "repeat.c").arg("1000").run();
    let traced = case.launch(2, "repeat.c").arg("1000").set("MPITRACE_CAPACITY", "100").set("MPITRACE_FULL", full);
    let traced = traced.trace().run();
    traced.same_as(&plain);
    let info = traced.trace.info();
    assert_eq!((info.records, info.dropped), (200, 1800), "records and drops under {full}");
    traced.trace
}

fn stop(case: &Case) {
    let trace = overfull(case, "stop");
    for rank in 0..2 {
        assert_eq!(trace.repetitions(0, rank), ((0..100).collect(), vec![]), "rank {rank}");
    }
    let categories = &trace.categorize(&[])[0];
    assert_eq!((categories.first_repetition, categories.counts.first), (0, 1));
    assert_eq!(categories.run_time_ns.len(), 100);
}

fn ring(case: &Case) {
    let trace = overfull(case, "ring");
    for rank in 0..2 {
        assert_eq!(trace.repetitions(0, rank), ((900..1000).collect(), vec![]), "rank {rank}");
    }
    // Without the first repetition the start of the warm-up is not known.
    let categories = &trace.categorize(&[])[0];
    let counts = &categories.counts;
    assert_eq!((categories.first_repetition, counts.first, counts.warmup), (900, 0, 0));
    assert_eq!(counts.outlier + counts.good, 100);
    assert_eq!(categories.warmup_end, None);
}

fn paused(case: &Case) {
    let trace = case.traced(2, "pcontrol.c");
    let info = trace.info();
    let operation = info.only("MPI_Allreduce");
    // Those that no rank kept are counted as incomplete.
    assert_eq!((operation.repetitions, operation.incomplete), (20, 10), "{operation:?}");
    for rank in 0..2 {
        assert_eq!(trace.repetitions(0, rank), ((0..10).chain(20..30).collect(), vec![]), "rank {rank}");
    }
}
