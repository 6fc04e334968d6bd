//! A program's mistakes come back to it as they would without the tracer.

use crate::support::want::WORLD;
use crate::support::{Case, Outcome, Test, want};

pub const TESTS: &[Test] = &[
    Test::new("that_mpi_returns_are_the_same", same_classes),
    Test::new("of_every_kind_are_the_same_and_leave_the_trace_whole", every_kind),
    Test::new("that_a_handler_returned_from_are_the_same", handled).first_on(&["mpich5"]),
    Test::new("are_counted_whatever_the_function", counted).first_on(&["mpich4", "ompi4"]),
    Test::new("of_a_message_do_not_hide_that_a_collective_is_complete", in_status),
];

fn same_classes(case: &Case) {
    let info = case.traced(2, "errors.c").info();
    let good = info.operations.iter().find(|operation| {
        let kind = (operation.function.as_str(), operation.communicator.as_str(), operation.bytes);
        kind == ("MPI_Allreduce", WORLD, 8) && operation.reduction.as_deref() == Some("MPI_SUM")
    });
    let good = good.unwrap_or_else(|| panic!("no Allreduce among {:#?}", info.operations));
    assert_eq!((good.repetitions, good.ranks), (5, 2), "{good:?}");
}

/// The errors that a library does not report but crashes or hangs over.
fn fatal(name: &str) -> Vec<&'static str> {
    let mut fatal = Vec::new();
    if name.starts_with("ompi") {
        fatal.extend(["bcast-buffer", "allgatherv-counts", "barrier-freed-communicator", "ibarrier-no-request"]);
        fatal.extend(["wait-completed-request", "free-nothing"]);
    } else {
        fatal.extend(["alltoallv-no-counts", "alltoallw-no-types", "commit-nothing", "type-free-nothing"]);
    }
    if name.starts_with("mpich") {
        fatal.extend(["reduce-scatter-block-count", "merge-of-one-side"]);
    }
    if name == "mpich4" {
        fatal.extend(["neighbours-without-topology", "wait-completed-request"]);
    }
    if name.starts_with("mpich5") {
        fatal.extend(["allreduce-type", "exscan-type"]);
    }
    if name.ends_with("-abi") {
        fatal.extend(["waitall-no-requests", "waitany-no-index", "testany-no-requests"]);
    }
    fatal
}

fn every_kind(case: &Case) {
    mistakes(case, &fatal(case.mpi.name));
}

/// MPICH 5 returns MPI_SUCCESS then, and has stored nothing in the output arguments.
fn handled(case: &Case) {
    mistakes(case, &[fatal(case.mpi.name), vec!["handled"]].concat());
}

fn mistakes(case: &Case, arguments: &[&str]) {
    let launch = || arguments.iter().fold(case.launch(2, "mistakes.c"), |launch, name| launch.arg(*name));
    let plain = launch().run();
    for events in ["messages", ""] {
        let traced = launch().trace().set("MPITRACE_EVENTS", events).run();
        traced.same_as(&plain);
        assert_eq!(traced.code, 0, "{}", traced.stderr);
        // Open MPI calls it an internal error: that does not say that the other rank's call was not matched with it.
        let unexplained = case.mpi.name.starts_with("ompi");
        assert_whole(&traced, !arguments.contains(&"wait-completed-request"), unexplained);
    }
}

/// The trace of mistakes.c has all good calls and no refused one.
fn assert_whole(traced: &Outcome, waits_for_completed: bool, unexplained: bool) {
    // "rank 0: good 77 refused 36 done 1"
    let last: Vec<u64> = traced.stdout.lines().last().map(numbers).unwrap_or_default();
    let [_, good, refused, done] = last[..] else { panic!("no numbers at the end of:\n{}", traced.stdout) };
    assert!(good > 70 && refused > 30, "so many mistakes can be made: {last:?}");
    let info = traced.trace.info();
    assert_eq!(info.failed, 2 * refused, "calls that returned an error, on both ranks");
    // Open MPI takes two equal buffers for none.
    let mut wants = vec![want("MPI_Allreduce", "good", 2).of(4, "MPI_INT").by("MPI_SUM").times(good)];
    if done > 0 {
        wants.push(want("MPI_Allreduce", "mistakes", 2).of(4, "MPI_INT").by("MPI_SUM").times(done));
    }
    if unexplained {
        let neighbours = want("MPI_Neighbor_allgather", "mistakes", 2).of(4, "MPI_INT");
        wants.push(neighbours.times(0).incomplete(1));
    }
    if waits_for_completed {
        wants.push(want("MPI_Ibarrier", "good", 2));
    }
    info.assert_is(&wants);
}

fn numbers(line: &str) -> Vec<u64> {
    line.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect()
}

/// The program prints how many of its calls have returned an error: of functions that are recorded, and of others.
fn counted(case: &Case) {
    let plain = case.launch(2, "failed.c").run();
    for events in ["messages", ""] {
        let traced = case.launch(2, "failed.c").trace().set("MPITRACE_EVENTS", events).run();
        traced.same_as(&plain);
        assert_eq!(traced.code, 0, "{}", traced.stderr);
        let printed: Vec<Vec<u64>> = traced.stdout.lines().map(numbers).collect();
        let sum = |at: usize| printed.iter().map(|line| line[at]).sum::<u64>();
        assert!(printed.len() == 2 && sum(1) >= 2 * 7 && sum(2) >= 2 * 20, "{}", traced.stdout);
        let info = traced.trace.info();
        assert_eq!((info.failed, info.failed_others), (sum(1), sum(2)), "{events}: {}", traced.stdout);
    }
}

/// Six ways to complete a message that fails and a barrier, a reduction after each.
fn in_status(case: &Case) {
    let plain = case.launch(2, "errors_in_status.c").run();
    let traced = case.launch(2, "errors_in_status.c").trace().set("MPITRACE_EVENTS", "messages").run();
    traced.same_as(&plain);
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    let trace = traced.trace;
    trace.info().assert_is(&[
        want("MPI_Ibarrier", "collectives", 2).times(6),
        want("MPI_Iallreduce", "collectives", 2).of(4, "MPI_INT").by("MPI_SUM").times(6),
    ]);
    for rank in 0..2 {
        let mut rows = trace.dump(&["--rank", &rank.to_string()]);
        rows.sort_by(|a, b| a.enter_ns.total_cmp(&b.enter_ns));
        for row in &rows {
            row.assert_followed();
            if row.function == "MPI_Iallreduce" {
                // What was sent before it, and could not be received.
                let counted = ["messages-sent", "messages-received"].map(|name| row.counters[name]);
                assert_eq!(counted, [Some(1), Some(0)], "{row:?}");
            }
        }
        for (one, next) in rows.iter().zip(rows.iter().skip(1)) {
            assert!(one.exit_ns <= Some(next.enter_ns), "found complete too late:\n{one:?}\n{next:?}");
        }
    }
}
