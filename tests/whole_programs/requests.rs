//! Non-blocking collectives and those over neighbours: recorded from their start until they are found complete.

use mpitrace_statistics::median;

use crate::support::companion::{self, mpitrace};
use crate::support::want::WORLD;
use crate::support::{Case, On, Test, Want, want};

/// Open MPI 4.1 has no persistent collectives.
const PERSISTENT: On = On::Only(&["mpich4", "mpich5", "mpich5-abi", "ompi5", "impi", "impi-abi", "ompi6", "ompi6-abi"]);
/// The second start of an MPI_Scatter_init fails in these, also without the tracer.
const NO_SCATTER: [&str; 3] = ["mpich4", "impi", "impi-abi"];

/// MPICH gives all calls that are complete at their start one request.
const SHARING: On = On::Only(&["mpich4", "mpich5", "mpich5-abi"]);

pub const TESTS: &[Test] = &[
    Test::new("of_every_kind_are_followed_in_every_way", every_kind),
    Test::new("tell_what_starting_testing_and_waiting_took", times),
    Test::new("have_the_work_and_the_tests_of_their_calls", progress).second_tier(),
    Test::new("that_persist_are_a_repetition_with_each_start", persistent).on(PERSISTENT),
    Test::new("that_persist_keep_their_count_where_a_start_is_refused", refused_start).on(PERSISTENT),
    Test::new("that_are_complete_at_their_start_end_there", complete_at_start).on(SHARING),
    Test::new("of_files_have_no_collectives_of_the_library_in_them", of_files),
    Test::new("over_neighbours_have_the_size_that_a_rank_sends", neighbours),
];

/// MPICH's file access begins collectives in MPI_Wait and MPI_Test, by the functions that programs call.
fn of_files(case: &Case) {
    case.traced(2, "file_access.c").info().assert_is(&[want("MPI_Barrier", WORLD, 2)]);
}

/// Blocks of 3 ints, and rank r's share of r + 1 ints where shares differ; nine ways to complete them.
fn every_kind(case: &Case) {
    let on = |function| want(function, WORLD, 4).times(9);
    let int = |function, bytes| on(function).of(bytes, "MPI_INT");
    let rooted = |function, bytes| int(function, bytes).root(1);
    let sum = |function, bytes| int(function, bytes).by("MPI_SUM");
    let all_shares = (1 + 2 + 3 + 4) * 4;
    let mut wants: Vec<Want> = vec![
        on("MPI_Ibarrier"),
        rooted("MPI_Ibcast", 12),
        rooted("MPI_Igather", 12),
        rooted("MPI_Igatherv", 16),
        rooted("MPI_Iscatter", 12),
        rooted("MPI_Iscatterv", all_shares),
        int("MPI_Iallgather", 12),
        int("MPI_Iallgatherv", 16),
        int("MPI_Ialltoall", 12),
        int("MPI_Ialltoallv", 4 * 12),
        on("MPI_Ialltoallw").of(4 * 12, "MPI_INT"),
        rooted("MPI_Ireduce", 12).by("MPI_SUM"),
        sum("MPI_Iallreduce", 12),
        sum("MPI_Ireduce_scatter_block", 12),
        sum("MPI_Ireduce_scatter", all_shares),
        sum("MPI_Iscan", 12),
        sum("MPI_Iexscan", 12),
    ];
    wants.extend((0..4).map(|_| want("MPI_Ibarrier", "MPI_COMM_SELF", 1).times(4)));
    let trace = case.traced(4, "requests.c");
    trace.info().assert_is(&wants);
    let open = trace.dump(&[]).into_iter().filter(|row| row.exit_ns.is_none()).count();
    assert_eq!(open, 0, "every call was found complete");
}

fn times(case: &Case) {
    let rows = case.traced(2, "requests.c").dump(&[]);
    assert!(rows.iter().all(|row| row.function.starts_with("MPI_I")));
    for row in rows.iter().filter(|row| row.communicator == WORLD) {
        let took = row.exit_ns.expect("complete") - row.enter_ns;
        let (init, test, wait) = (row.init_ns.unwrap(), row.test_ns.unwrap(), row.wait_ns.unwrap());
        // All of it lies between the start and the completion; time is divided by a rounded frequency.
        assert!(init > 0.0 && init + test + wait <= took + 1.0, "{row:?}");
        // The ways in the order of the program: four that wait, four that test, one that asks and then waits.
        match row.repetition {
            0..4 => assert!(row.tests == Some(0) && test == 0.0, "{row:?}"),
            4..8 => assert!(wait == 0.0, "{row:?}"),
            _ => assert!(wait == 0.0 || test > 0.0, "{row:?}"),
        }
    }
    let of = |repetitions: std::ops::Range<u64>| {
        let rows = rows.iter().filter(move |row| row.communicator == WORLD && repetitions.contains(&row.repetition));
        rows.map(|row| (row.tests.unwrap(), row.wait_ns.unwrap()))
    };
    assert!(of(0..4).any(|(_, wait)| wait > 0.0), "some were waited for");
    assert!(of(4..8).any(|(tests, _)| tests > 0), "some were tested for");
}

/// Three starts of each; and of two on one communicator, which the ranks start in different orders, four of each.
fn persistent(case: &Case) {
    let on = |function| want(function, WORLD, 3).times(3);
    let int = |function, bytes| on(function).of(bytes, "MPI_INT");
    let rooted = |function, bytes| int(function, bytes).root(1);
    let sum = |function, bytes| int(function, bytes).by("MPI_SUM");
    let all_shares = (1 + 2 + 3) * 4;
    let mut wants: Vec<Want> = vec![
        rooted("MPI_Bcast_init", 12),
        rooted("MPI_Gather_init", 12),
        rooted("MPI_Gatherv_init", 12),
        rooted("MPI_Scatterv_init", all_shares),
        int("MPI_Allgather_init", 12),
        int("MPI_Allgatherv_init", 12),
        int("MPI_Alltoall_init", 12),
        int("MPI_Alltoallv_init", 3 * 12),
        on("MPI_Alltoallw_init").of(3 * 12, "MPI_INT"),
        rooted("MPI_Reduce_init", 12).by("MPI_SUM"),
        sum("MPI_Allreduce_init", 12),
        sum("MPI_Reduce_scatter_block_init", 12),
        sum("MPI_Reduce_scatter_init", all_shares),
        sum("MPI_Scan_init", 12),
        sum("MPI_Exscan_init", 12),
        want("MPI_Allreduce_init", "pair", 3).of(4, "MPI_INT").by("MPI_SUM").times(8),
    ];
    let mut launch = case.launch(3, "persistent.c");
    let mut plain = case.launch(3, "persistent.c");
    if NO_SCATTER.contains(&case.mpi.name) {
        wants.push(on("MPI_Barrier_init").times(6));
        (launch, plain) = (launch.arg("no-scatter"), plain.arg("no-scatter"));
    } else {
        wants.extend([on("MPI_Barrier_init"), rooted("MPI_Scatter_init", 12)]);
    }
    let traced = launch.trace().run();
    traced.same_as(&plain.run());
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    traced.trace.info().assert_is_in_any_order(&wants);
    let open = traced.trace.dump(&[]).into_iter().filter(|row| row.exit_ns.is_none()).count();
    assert_eq!(open, 0, "every start was found complete");
}

/// As tests/programs/progress.c has them.
const REPETITIONS: u64 = 100;
const WORK_NS: f64 = 2e6;

/// The work and the tests in `stats` follow from the calls that `dump` shows.
fn progress(case: &Case) {
    let trace = case.traced(2, "progress.c");
    let started = trace.info().only("MPI_Iallreduce").operation.to_string();
    let path = trace.path.to_str().expect("a plain path");
    let finished = mpitrace(&["stats", path, "--json", "--operation", &started]);
    let facts = companion::json(&finished);
    let told = &facts[0]["non_blocking"];
    let number = |key: &str| told[key].as_f64().unwrap_or_else(|| panic!("no {key} in {told}"));

    let rows = trace.dump(&["--operation", &started]);
    let [mut total, mut tests, mut work] = [(); 3].map(|()| vec![0.0_f64; REPETITIONS as usize]);
    for row in &rows {
        row.assert_followed();
        let k = row.repetition as usize;
        let took = row.exit_ns.expect("complete") - row.enter_ns;
        let [init, test, wait] = [row.init_ns, row.test_ns, row.wait_ns].map(|time| time.expect("of a request"));
        total[k] = total[k].max(took);
        work[k] = work[k].max(took - init - test - wait);
        tests[k] = tests[k].max(row.tests.expect("of a request") as f64);
    }
    let middle = |values: &[f64]| median(&mut values.to_vec()).expect("repetitions");
    // Times are divided by a rounded frequency, and global ones have lost some digits.
    let near = |found: f64, expected: f64| assert!((found - expected).abs() <= 2.0, "{found}, not {expected}: {told}");
    near(number("work_ns"), middle(&work));
    let finished = mpitrace(&["benchmark", "work", path, "--json", "--operation", &started, "--work", "2000000"]);
    let by_work = companion::json(&finished);
    near(by_work[0]["overhead_by_work_ns"].as_f64().expect("a number"), middle(&total) - WORK_NS);
    assert_eq!(number("tests"), middle(&tests), "{told}");

    assert!(work.iter().skip(1).step_by(5).all(|&work| work >= WORK_NS), "{work:?}");
    assert!(number("overlap") >= 0.0, "the blocking operation is in the trace: {told}");
}

/// The refused start is no call: those that follow it are matched with rank 0's.
fn refused_start(case: &Case) {
    let sum = want("MPI_Allreduce_init", WORLD, 2).of(4, "MPI_INT").by("MPI_SUM").times(3);
    let info = case.traced(2, "refused_start.c").info();
    info.assert_is(&[sum]);
    assert_eq!(info.failed, 1, "refused starts");
}

fn complete_at_start(case: &Case) {
    let rows = case.traced(1, "complete_at_start.c").dump(&[]);
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|row| row.exit_ns.is_some() && row.wait_ns == Some(0.0)), "{rows:?}");
}

/// Blocks of 2 ints. On the ring each rank sends to two; in the star rank 0 to four, rank 1 to rank 0 twice.
fn neighbours(case: &Case) {
    let blocks = [("MPI_Neighbor_allgather", 1), ("MPI_Neighbor_allgatherv", 1), ("MPI_Neighbor_alltoall", 1)];
    let sums = ["MPI_Neighbor_alltoallv", "MPI_Neighbor_alltoallw"];
    let mut wants: Vec<Want> = Vec::new();
    for (communicator, most) in [("ring", 2), ("star", 4)] {
        for (function, blocks) in blocks.into_iter().chain(sums.map(|function| (function, most))) {
            let started: &'static str = Box::leak(function.replace("MPI_N", "MPI_In").into_boxed_str());
            wants.extend([function, started].map(|name| want(name, communicator, 4).of(8 * blocks, "any")));
        }
    }
    case.traced(4, "neighbours.c").info().assert_is_in_any_order(&wants);
}
