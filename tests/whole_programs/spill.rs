//! Full chunks are packed and written out: runs of any length are one trace, with a bounded number of records in
//! memory.

use std::path::Path;

use crate::support::want::WORLD;
use crate::support::{Case, Launch, Test, Trace};

pub const TESTS: &[Test] = &[
    Test::new("keeps_every_call_in_order", every_call),
    Test::new("keeps_the_calls_of_all_threads", threads),
    Test::new("of_a_killed_rank_is_recovered", killed),
    Test::new("goes_on_beside_a_child_that_was_forked_off", forked),
    Test::new("matches_calls_and_reads_as_a_trace_without_it", same_as_without),
    Test::new("that_is_not_used_leaves_no_file", unused),
];

/// Records in memory.
const CAPACITY: u64 = 4096;

fn spilling<'c>(case: &'c Case<'_>, calls: u64, threads: u64) -> Launch<'c> {
    let launch = case.launch(2, "spills.c").arg(calls.to_string()).arg(threads.to_string());
    launch.set("MPITRACE_CAPACITY", CAPACITY.to_string())
}

/// The names of block files beside the trace.
fn files(trace: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(trace.parent().expect("a folder")).expect("the folder of the trace");
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".blocks")).collect()
}

/// The calls on the communicator of a rank's thread are all there, in order, and of one thread.
#[track_caller]
fn assert_in_order(trace: &Trace, rank: u64, thread: u64, calls: u64) {
    let info = trace.info();
    let name = format!("rank {rank} thread {thread}");
    let of = |function: &str| {
        let mut found = info.operations.iter().filter(|one| one.communicator == name && one.function == function);
        found.next().unwrap_or_else(|| panic!("no {function} on {name} in {:#?}", info.operations)).operation
    };
    let rows = trace.dump(&["--operation", &of("MPI_Allreduce").to_string(), "--rank", &rank.to_string()]);
    assert_eq!(rows.len() as u64, calls, "{name}");
    for (number, row) in rows.iter().enumerate() {
        assert_eq!((row.repetition, row.thread), (number as u64, rows[0].thread), "{name}");
        let exit = row.exit_ns.expect("a call that returned");
        assert!(exit >= row.enter_ns && rows.get(number + 1).is_none_or(|next| next.enter_ns >= exit), "{row:?}");
    }
    assert!(rows.iter().any(|row| row.perturbed), "the call after a chunk was written counts as delayed");
    // It was complete when its record was in the file already.
    let (returned, open) = trace.repetitions(of("MPI_Ibarrier"), rank);
    assert_eq!((returned, open), (vec![0], vec![]), "{name}");
}

/// The calls on MPI_COMM_WORLD at the end of the program, and those before them on each rank.
const AT_THE_END: u64 = 100;

fn every_call(case: &Case) {
    const CALLS: u64 = 50_000;
    let plain = spilling(case, CALLS, 1).run();
    let traced = spilling(case, CALLS, 1).trace().run();
    traced.same_as(&plain);
    let info = traced.trace.info();
    let expected = 2 * (CALLS + 1 + AT_THE_END);
    assert_eq!((info.records, info.dropped, info.complete), (expected, 0, true), "{}", traced.stderr);
    assert_eq!((info.only("MPI_Barrier").repetitions, info.only("MPI_Barrier").incomplete), (AT_THE_END, 0));
    assert_eq!(info.only("MPI_Barrier").communicator, WORLD);
    for rank in 0..2 {
        assert_in_order(&traced.trace, rank, 0, CALLS);
    }
    assert_eq!(files(&traced.trace.path), Vec::<String>::new(), "they go when the trace is safe");
}

fn threads(case: &Case) {
    const CALLS: u64 = 10_000;
    const THREADS: u64 = 3;
    let traced = spilling(case, CALLS, THREADS).trace().run();
    traced.same_as(&spilling(case, CALLS, THREADS).run());
    let info = traced.trace.info();
    let expected = 2 * (THREADS * (CALLS + 1) + AT_THE_END);
    assert_eq!((info.records, info.dropped, info.complete), (expected, 0, true), "{}", traced.stderr);
    for thread in 0..THREADS {
        assert_in_order(&traced.trace, 1, thread, CALLS);
    }
}

fn killed(case: &Case) {
    const CALLS: u64 = 100_000;
    let killed = spilling(case, CALLS, 1).arg("death").trace().run();
    assert_ne!(killed.code, 0);
    let trace = case.recover();
    let info = trace.info();
    assert!(!info.complete);
    let of_rank = |rank: u64| {
        let name = format!("rank {rank} thread 0");
        let found = info.operations.iter().find(|one| one.communicator == name && one.function == "MPI_Allreduce");
        trace.repetitions(found.unwrap_or_else(|| panic!("no calls of {name}")).operation, rank)
    };
    // Rank 0 dies after this call; where rank 1 is then is for the launcher to say.
    assert_eq!(of_rank(0), ((0..CALLS / 2 + 1).collect(), vec![]));
    let (returned, open) = of_rank(1);
    assert!(returned.iter().copied().eq(0..returned.len() as u64) && open.len() <= 1, "{} calls", returned.len());
    assert_eq!(files(&killed.trace.path), Vec::<String>::new(), "they go when the trace is safe");
}

fn forked(case: &Case) {
    const CALLS: u64 = 20_000;
    let traced = spilling(case, CALLS, 1).arg("fork").trace().run();
    traced.same_as(&spilling(case, CALLS, 1).arg("fork").run());
    let info = traced.trace.info();
    assert_eq!((info.records, info.dropped, info.complete), (2 * (CALLS + 1 + AT_THE_END), 0, true));
    assert_in_order(&traced.trace, 0, 0, CALLS);
    assert_eq!(files(&traced.trace.path), Vec::<String>::new());
}

/// Allreduces on the world, matched across the ranks.
fn same_as_without(case: &Case) {
    const CALLS: u64 = 5000;
    let launch = || case.launch(2, "repeat.c").arg(CALLS.to_string());
    let traced = launch().set("MPITRACE_CAPACITY", "100").trace().run();
    traced.same_as(&launch().run());
    let info = traced.trace.info();
    let operation = info.only("MPI_Allreduce");
    assert_eq!((operation.repetitions, operation.incomplete, info.records), (CALLS, 0, 2 * CALLS));
    assert!(info.all_calls.is_empty());
    let categories = &traced.trace.categorize(&[])[0];
    assert_eq!((categories.first_repetition, categories.run_time_ns.len() as u64), (0, CALLS));
    assert_eq!(traced.trace.clock().1.causality.violated, 0);
    // As it is with room for all of them.
    let whole = launch().trace().run();
    assert_eq!(whole.trace.info().only("MPI_Allreduce").repetitions, CALLS);
}

fn unused(case: &Case) {
    let traced = case.launch(2, "repeat.c").arg("10").trace().run();
    assert_eq!((traced.trace.info().records, traced.trace.info().complete), (20, true));
    assert_eq!(files(&traced.trace.path), Vec::<String>::new());
}
