//! `mpitrace benchmark work`.

use mpitrace_testing::synthetic::{SyntheticRank, SyntheticRequest};

use crate::support::{Folder, mpitrace};

/// Ten calls of 2000 ns on two ranks, of which starting takes 50 and waiting 100.
fn started() -> [SyntheticRank; 2] {
    [0, 1].map(|number| {
        let mut rank = SyntheticRank::new(number, 2);
        let started = rank.operation("MPI_Iallreduce", 0, 8);
        for i in 0..10 {
            let request = SyntheticRequest { init: 50, test: 0, wait: 100, tests: 0 };
            rank.call_with_request(started, 1000 + 10_000 * i, 3000 + 10_000 * i, request);
        }
        rank
    })
}

#[test]
fn the_overhead_is_what_the_work_alone_leaves() {
    let folder = Folder::new();
    let file = folder.trace(&started());
    let found = mpitrace(&["benchmark", "work", "--work", "1500", "--json", &file]).json();
    assert_eq!((&found[0]["total_ns"], &found[0]["overhead_by_work_ns"]), (&2000.0.into(), &500.0.into()));
    let table = mpitrace(&["benchmark", "work", "--work", "1500", &file]).stdout;
    assert!(table.lines().last().is_some_and(|row| row.ends_with("500 ns")), "{table}");
}
