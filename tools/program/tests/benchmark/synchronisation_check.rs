//! `mpitrace benchmark synchronisation`: how an unmodified benchmark is synchronised.

use mpitrace_testing::synthetic::SyntheticRank;
use serde_json::json;

use crate::support::{Folder, mpitrace};

/// 50 Allreduces, each behind as many barriers, which two ranks leave 2 us apart.
fn benchmark(barriers: u64) -> Vec<SyntheticRank> {
    let of_rank = |number: u32| {
        let mut rank = SyntheticRank::new(number, 2);
        let allreduce = rank.operation("MPI_Allreduce", 0, 8);
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        for k in 0..50 {
            let begin = 1_000_000 + 100_000 * k;
            for each in 0..barriers {
                rank.call(barrier, begin + 10_000 * each, begin + 10_000 * each + 5000 + 2000 * u64::from(number));
            }
            let enter = begin + 10_000 * barriers + 2000 * u64::from(number);
            rank.call(allreduce, enter, enter + 20_000);
        }
        rank
    };
    vec![of_rank(0), of_rank(1)]
}

#[test]
fn barriers_are_named_with_how_far_apart_they_let_the_ranks_go() {
    let folder = Folder::new();
    let file = folder.trace(&benchmark(2));
    let ran = mpitrace(&["benchmark", "synchronisation", "--operation", "0", &file]);
    let expected = "operation 0: MPI_Allreduce of 8 bytes\n\
        * two barriers synchronise the ranks before a repetition\n\
        * the ranks started 2.00 µs apart (median; 95 % of them 2.00 µs or less, at most 2.00 µs); the error \
        of a rank's time is unknown\n\
        * they left the barrier 2.00 µs apart (median; 95 % of them 2.00 µs or less, at most 2.00 µs) and entered the \
        call 5.00 µs later\n\
        * barriers around 49: work of 85.0 µs to 95.0 µs without a clock, 85.0 µs with; contradicted 0, beyond the \
        clocks' errors 0\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (0, expected), "{}", ran.stderr);
    // They start every 100 us: without a barrier that is a window.
    for (barriers, name) in [(0, "window"), (1, "barrier"), (2, "double-barrier"), (3, "barriers")] {
        let file = folder.trace(&benchmark(barriers));
        let json = mpitrace(&["benchmark", "synchronisation", "--json", &file]).json();
        let check = &json[0]["synchronisation_check"];
        assert_eq!((&check["synchronisation"], &check["share"]), (&name.into(), &1.0.into()));
        assert_eq!(check["start_ns"].as_array().unwrap().len(), 50);
        assert_eq!(check["barrier_exit"].is_null(), barriers == 0);
    }
}

#[test]
fn what_is_no_trace_cannot_be_checked() {
    let folder = Folder::new();
    let file = folder.file("a.csv", b"0,0,runtime,5\n1,0,runtime,5\n");
    let ran = mpitrace(&["benchmark", "synchronisation", "--from", "csv", &file]);
    let line = "mpitrace: the synchronisation can be seen in a trace only: no other file holds the calls before each \
                repetition\n";
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (2, "", line));
}

#[test]
fn barriers_around_the_work_bound_it_without_a_clock() {
    let folder = Folder::new();
    let ranks = [0, 1].map(|number: u32| {
        let mut rank = SyntheticRank::new(number, 2);
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        let bcast = rank.operation("MPI_Bcast", 0, 8);
        for i in 0..20 {
            let at = 1_000_000 + 10_000 * i;
            rank.call(barrier, at + 40 * u64::from(number), at + 100);
            rank.call(bcast, at + 110, at + 600);
        }
        rank
    });
    let found = |operation: &str| {
        let ran =
            mpitrace(&["benchmark", "synchronisation", "--json", "--operation", operation, &folder.trace(&ranks)]);
        ran.json()[0]["barrier_bounds"].clone()
    };
    // The last call has no barrier behind it, nor has the last barrier. Bounds of a barrier are those of the work
    // behind it.
    let expected = json!({
        "repetitions": 19, "gaps": 0, "lower_ns": 9940.0, "global_ns": 9940.0, "upper_ns": 10_060.0,
        "contradicted": 0, "contradicted_with_errors": 0
    });
    assert_eq!([found("1"), found("0")], [expected.clone(), expected]);
}
