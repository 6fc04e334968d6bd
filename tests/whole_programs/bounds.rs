//! Programs that make ever new communicators and ever new operations: the tracer's memory has a bound.

use crate::support::{Case, On, Outcome, Test};

/// No library takes part in it, and `info` takes 10 s for so many operations.
const ONE: On = On::Only(&["ompi4"]);

pub const TESTS: &[Test] = &[
    Test::new("on_memory_hold_for_communicators_used_once", memory),
    Test::new("on_communicators_fold_those_used_once_and_keep_those_used_often", folded).second_tier(),
    Test::new("on_operations_merge_those_beyond", merged).on(ONE).second_tier(),
];

/// As many communicators that were used and freed have entries of their own; the calls on a later one need this many
/// before it gets one.
const KEPT: u64 = 2048;
const BEFORE_ENTRY: u64 = 64;

/// A million such communicators may add 1 MiB beside arrays and histograms: the bound is reached after some thousand.
fn memory(case: &Case) {
    let grown = |outcome: &Outcome| -> i64 {
        let lines = outcome.lines_with("grown ");
        lines[0].split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("a number of KiB")
    };
    let plain = case.launch(1, "short_lived.c").arg("50000").arg("0").run();
    let launch = case.launch(1, "short_lived.c").arg("50000").arg("0").set("MPITRACE_CAPACITY", "100");
    let traced = launch.set("MPITRACE_KEEP", "account").trace().run();
    traced.same_as(&plain);
    let added = grown(&traced) - grown(&plain);
    // Calls that are not kept are counted in histograms: at most 64 of 24 KiB.
    assert!(added <= 1024 + 64 * 24, "{added} KiB more than without the tracer");
    // Nothing is lost of the count.
    let info = traced.trace.info_of_all();
    // Each round duplicates, calls and frees; at the end a duplicate without a call.
    assert_eq!(info.records + info.dropped, 3 * 50_000 + 2);
    assert!((1..=128).contains(&info.records), "{} records", info.records);
}

/// On two ranks. Every call is in the trace.
fn folded(case: &Case) {
    let (rounds, later) = (3000, 200);
    let launch = || case.launch(2, "short_lived.c").arg(rounds.to_string()).arg(later.to_string());
    let traced = launch().trace().run();
    traced.same_as(&launch().run());
    let mut info = traced.trace.info_of_all();
    assert_eq!((info.records, info.dropped, info.complete), (2 * (3 * rounds + later + 2), 0, true));
    let own = info.operations.iter().filter(|operation| operation.communicator.starts_with("comm-"));
    let barriers: Vec<u64> = own.filter(|known| known.function == "MPI_Barrier").map(|one| one.repetitions).collect();
    let frees =
        info.operations.iter().filter(|known| known.function == "MPI_Comm_free" && known.communicator != "folded");
    assert_eq!(frees.count() as u64, KEPT + 1, "and the one that was used often");
    let once = barriers.iter().filter(|&&repetitions| repetitions == 1).count() as u64;
    assert_eq!((barriers.len() as u64, once), (KEPT, KEPT), "those with an entry of their own");
    info.operations.retain(|operation| operation.function == "MPI_Bcast" || operation.communicator == "folded");
    let of = |function: &str, communicator: &str| -> Vec<(u64, u64)> {
        let found = info.operations.iter().filter(|one| one.function == function);
        let found = found.filter(|one| (one.communicator == "folded") == (communicator == "folded"));
        found.map(|one| (one.repetitions, one.incomplete)).collect()
    };
    // One line for each function, with no repetition whose calls are known to belong together.
    for function in ["MPI_Barrier", "MPI_Comm_free"] {
        assert_eq!(of(function, "folded"), [(0, rounds - KEPT)], "{function}");
    }
    assert_eq!(of("MPI_Bcast", "folded"), [(0, BEFORE_ENTRY)]);
    assert_eq!(of("MPI_Bcast", "own"), [(later - BEFORE_ENTRY, 0)]);
}

/// On one rank, which copies nothing.
fn merged(case: &Case) {
    const OPERATIONS: usize = 1 << 17;
    let calls = OPERATIONS as u64 + 2000;
    let launch = || case.launch(1, "many_sizes.c").arg(calls.to_string());
    let traced = launch().trace().run();
    traced.same_as(&launch().run());
    let info = traced.trace.info();
    assert_eq!((info.records, info.dropped), (calls, 0));
    assert_eq!(info.operations.len(), OPERATIONS + 1);
    let last = &info.operations[OPERATIONS];
    assert_eq!((last.bytes, last.root, last.repetitions, last.incomplete), (u64::MAX, None, 2000, 0));
    assert_eq!(info.operations[OPERATIONS - 1].bytes, OPERATIONS as u64 - 1);
}
