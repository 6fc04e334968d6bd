//! Threads that call collectives at the same time, each on a communicator of its own.

use crate::support::want::WORLD;
use crate::support::{Case, On, Test, Trace, Want, build, companion, want};
use std::collections::{BTreeMap, BTreeSet};

/// Open MPI 4.1 has no persistent collectives.
const PERSISTENT: On = On::Only(&["mpich4", "mpich5", "mpich5-abi", "ompi5", "impi", "impi-abi", "ompi6", "ompi6-abi"]);

pub const TESTS: &[Test] = &[
    Test::new("that_call_at_the_same_time_are_recorded_apart", at_the_same_time),
    Test::new("a_thousand_of_them_lose_no_call", a_thousand).second_tier(),
    Test::new("with_16_kib_of_stack_make_calls_of_each_kind", small_stacks).first_on(&["mpich5"]),
    Test::new("that_complete_requests_at_the_same_time_are_recorded_apart", requests),
    Test::new("do_not_take_a_request_for_the_one_that_another_completes", request_completed),
    Test::new("do_not_take_a_message_for_the_one_that_another_completes", message_completed),
    Test::new("do_not_take_a_request_for_the_one_that_another_frees", request_freed).on(PERSISTENT),
    Test::new("do_not_take_a_communicator_for_the_one_that_another_frees", communicator_freed),
    Test::new("do_not_take_a_data_type_for_the_one_that_another_frees", datatype_freed),
    Test::new("for_which_the_first_one_waits_have_their_time_in_the_account", joined),
];

/// Each has arrays of its own from its first call on.
fn a_thousand(case: &Case) {
    let plain = case.launch(2, "many_threads.c").arg("1000").run();
    let traced = case.launch(2, "many_threads.c").arg("1000").trace().run();
    traced.same_as(&plain);
    let info = traced.trace.info();
    assert_eq!((info.records, info.dropped, info.complete), (2000, 0, true), "{}", traced.stderr);
}

/// The least that a thread may have. MPI_Comm_dup of MPICH 4 takes 133 KiB by itself.
fn small_stacks(case: &Case) {
    let kinds = if case.mpi.name == "mpich4" { "calls" } else { "communicators" };
    let launch = || case.launch(2, "small_stacks.c").arg("16384").arg(kinds);
    let plain = launch().run();
    if plain.code != 0 {
        return println!("exit code {} without the tracer", plain.code);
    }
    let traced = launch().trace().run();
    traced.same_as(&plain);
    assert!(traced.trace.info().complete);
    // Full chunks are packed and written out, and counters are opened.
    let spilling = launch().trace().set("MPITRACE_CAPACITY", "256");
    let spilling = spilling.set("MPITRACE_EVENTS", "messages,p2p-time,task-clock").set("MPITRACE_CALLSITE", "1").run();
    spilling.same_as(&plain);
    assert!(spilling.trace.info().complete);
}

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

/// Three threads complete requests in every way; then one completes what another one started.
fn requests(case: &Case) {
    let trace = case.traced(2, "thread_requests.c");
    let reduce = |communicator| want("MPI_Iallreduce", communicator, 2).of(8, "MPI_DOUBLE").by("MPI_SUM");
    let mut wants = vec![reduce("handed over").times(60)];
    let threads = [("thread 0", 60), ("thread 1", 65), ("thread 2", 70)];
    for (communicator, rounds) in threads {
        wants.push(reduce(communicator).times(3 * rounds));
        wants.push(want("MPI_Ibarrier", communicator, 2).times(rounds));
    }
    trace.info().assert_is_in_any_order(&wants);
    let rows = trace.dump(&[]);
    for row in &rows {
        row.assert_followed();
    }
    for (communicator, _) in threads {
        for rank in 0..2 {
            let of = || rows.iter().filter(|row| row.rank == rank && row.communicator == communicator);
            assert_eq!(of().map(|row| row.thread).collect::<BTreeSet<_>>().len(), 1, "threads on {communicator}");
            assert!(of().any(|row| row.tests > Some(0)) && of().any(|row| row.wait_ns > Some(0.0)), "{communicator}");
        }
    }
    for row in rows.iter().filter(|row| row.communicator == "handed over") {
        // In turn by MPI_Test and MPI_Wait.
        let tested = row.repetition % 2 == 0;
        assert_eq!((row.tests > Some(0), row.wait_ns > Some(0.0)), (tested, !tested), "{row:?}");
    }
}

/// One thread is in a call that completes or frees a handle and returns late; another one uses a new handle, which may
/// have the same value.
fn meanwhile(case: &Case, what: &str, wants: &[Want]) -> Trace {
    let slow = build::shared_library(case.mpi, "slow_return.c");
    let launch = || case.launch(2, "meanwhile.c").arg(what).preload(slow.clone());
    let traced = launch().trace().set("MPITRACE_EVENTS", if what == "receive" { "messages" } else { "" }).run();
    traced.same_as(&launch().run());
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    traced.trace.info().assert_is(wants);
    traced.trace
}

fn request_completed(case: &Case) {
    let trace = meanwhile(
        case,
        "request",
        &[
            want("MPI_Ibarrier", "first", 2),
            want("MPI_Iallreduce", "second", 2).of(4, "MPI_INT").by("MPI_SUM").times(5),
        ],
    );
    for row in trace.dump(&[]) {
        row.assert_followed();
    }
}

/// Each rank has got six messages by the time of the barrier.
fn message_completed(case: &Case) {
    for row in meanwhile(case, "receive", &[want("MPI_Barrier", "second", 2)]).dump(&[]) {
        let got = ["messages-sent", "messages-received", "bytes-received"].map(|name| row.counters[name]);
        assert_eq!(got, [6, 6, 24].map(Some), "{row:?}");
    }
}

fn request_freed(case: &Case) {
    let reduce = want("MPI_Allreduce_init", "second", 2).of(4, "MPI_INT").by("MPI_SUM").times(5);
    for row in meanwhile(case, "persistent", &[reduce]).dump(&[]) {
        row.assert_followed();
    }
}

fn communicator_freed(case: &Case) {
    let reduce = want("MPI_Allreduce", "made meanwhile", 2).of(4, "MPI_INT").by("MPI_SUM").times(5);
    meanwhile(case, "communicator", &[reduce]);
}

fn datatype_freed(case: &Case) {
    let of = |bytes| want("MPI_Bcast", "second", 2).of(bytes, "derived").root(0);
    meanwhile(case, "datatype", &[of(16), of(32)]);
}

/// The thread that called MPI_Init waits in pthread_join: its rank waits in MPI, or computes, as the other thread does.
fn joined(case: &Case) {
    let traced = case.launch(2, "joined_threads.c").trace().run();
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    // By rank: in calls, and computed, s.
    let known: BTreeMap<u32, [f64; 2]> = traced
        .stderr
        .lines()
        .filter_map(|line| line.split_once("thread "))
        .map(|(_, line)| {
            let numbers: Vec<f64> = line.split_whitespace().map(|word| word.parse().expect("a number")).collect();
            (numbers[0] as u32, [numbers[1] / 1e9, numbers[2] / 1e9])
        })
        .collect();
    let path = traced.trace.path.display().to_string();
    let of = |more: &[&str]| companion::json(&companion::mpitrace(&[&["summary", "--json", &path], more].concat()));
    let summary = of(&[]);
    let number = |value: &serde_json::Value| value.as_f64().unwrap_or_else(|| panic!("a number in {summary:#}"));
    let threads = &summary["threads"];
    let in_calls = known[&0][0] + known[&1][0];
    // A rank without a processor may lose it between its own clock and the tracer's.
    assert!((number(&threads["other_mpi_s"]) - in_calls).abs() <= 0.1 * in_calls + 0.01, "{in_calls} s, {threads}");
    assert!(number(&threads["share"]) > 0.99, "{threads}");
    assert!(number(&summary["mpi_share"]["max"]) <= 1.0, "{summary:#}");
    let rows = of(&["--by", "rank"]);
    let part = |rank: u32, name: &str| {
        let rows = rows.as_array().expect("rows");
        let row = rows.iter().find(|row| row["name"] == format!("rank {rank}")).expect("the rank");
        row["parts"][name].as_f64().expect("a part")
    };
    // What it was blocked for, it was not asleep.
    let mpi = ["waiting", "communication", "interrupted", "perturbed"].map(|name| part(0, name)).iter().sum::<f64>();
    assert!((mpi - known[&0][0]).abs() <= 0.1 * known[&0][0] + 0.01, "{mpi} s of {:?}: {rows:#}", known[&0]);
    let computing = part(1, "computing");
    // A rank without a processor may lose it between the program's clock and the tracer's.
    assert!((computing - known[&1][1]).abs() <= 0.25 * known[&1][1], "{computing} s of {:?}: {rows:#}", known[&1]);
    let by_thread = of(&["--by", "thread"]);
    assert_eq!(by_thread.as_array().map(Vec::len), Some(4), "{by_thread:#}");
    let text = companion::mpitrace(&["summary", &path]).stdout;
    assert!(text.contains(" of the time in MPI is on other threads than that of MPI_Init"), "{text}");
    assert!(!text.contains("slept"), "{text}");
}
