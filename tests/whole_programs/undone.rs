//! Programs that end by themselves and are wrong all the same: `info` and `summary` state calls that not all ranks
//! made, requests that were never complete and data types that differ, and nothing of a program that is right.

use serde_json::{Value, json};

use crate::support::companion::mpitrace;
use crate::support::process::Finished;
use crate::support::{Case, On, Test};

pub const TESTS: &[Test] = &[
    Test::new("a_call_that_a_rank_leaves_out_is_stated", |case| {
        stated(case, "call", "rank 0 never came to call 3 of MPI_COMM_WORLD: rank 1 MPI_Reduce (main at ")
    })
    // In the others the next calls of a communicator wait for the Reduce.
    .on(On::Only(&["ompi4", "mpich4", "ompi5"])),
    Test::new("a_request_that_is_never_complete_is_stated", |case| {
        stated(case, "request", "never completed by ranks 0-1: MPI_Ibarrier on MPI_COMM_WORLD (main at ")
    }),
    Test::new("data_types_that_differ_are_stated", |case| {
        stated(
            case,
            "types",
            "MISMATCH (datatype) at call 3 of MPI_COMM_WORLD: rank 0 MPI_Reduce of 4 bytes as MPI_INT",
        )
    }),
    Test::new("a_call_left_out_in_the_middle_is_stated", |case| {
        stated(case, "middle", "rank 1 left out call 19 of MPI_COMM_WORLD: rank 0 MPI_Bcast (second at ")
    })
    .on(On::Only(&["ompi4", "mpich4", "ompi5"])),
    Test::new("derived_types_that_differ_are_stated", |case| {
        stated(
            case,
            "derived",
            "MISMATCH (datatype) at call 3 of MPI_COMM_WORLD: rank 0 MPI_Bcast of 12 bytes as derived to or from root 0",
        )
    }),
    Test::new("amounts_that_do_not_fit_are_stated", |case| {
        for name in ["Alltoallv", "Alltoallw", "Allgatherv", "Gatherv", "Scatterv"] {
            stated(
                case,
                name,
                &format!("MISMATCH (amounts) at call 3 of MPI_COMM_WORLD: ranks 0-1 MPI_{name} (amounts at "),
            );
        }
    }),
    Test::new("amounts_of_many_calls_that_do_not_fit_are_stated", |case| {
        let outcome = case.launch(2, "undone.c").arg("Alltoallv").arg("5").trace().run();
        let info = mpitrace(&["info".as_ref(), outcome.trace.path.as_os_str()]);
        let line = "MISMATCH (amounts) in several calls of MPI_COMM_WORLD, of these: ranks 0-1 MPI_Alltoallv";
        assert!(info.code == 1 && info.stdout.lines().any(|found| found == line), "{}", info.stdout);
    }),
    Test::new("types_of_exchanges_that_differ_are_stated", |case| {
        for name in ["Alltoallv", "Alltoallw", "Ialltoallv"] {
            let line = "MISMATCH (datatype) in some calls of MPI_COMM_WORLD, of these: ranks 0-1 MPI_";
            stated_of(case, &["kinds", name], &format!("{line}{name} (amounts at "));
        }
    }),
    Test::new("amounts_and_types_among_neighbours_are_compared", neighbours),
    Test::new("amounts_and_types_between_groups_are_compared", groups),
    Test::new("a_message_that_is_never_received_is_stated", |case| {
        let line =
            "never received by rank 1: 1 of 3 messages of rank 0 on MPI_COMM_WORLD (the first by MPI_Send, left at ";
        let [info, summary] = run(case, &["send"]);
        assert!(info.code == 0 && info.stdout.lines().any(|found| found.starts_with(line)), "{}", info.stdout);
        let said = summary.stdout.lines().any(|found| found == "Left behind: 1 message never received.");
        assert!(summary.code == 0 && said, "{}", summary.stdout);
    }),
    Test::new("a_receive_that_nothing_matches_is_stated", |case| {
        let line =
            "never matched by rank 0: 1 of 3 receives of rank 1 on MPI_COMM_WORLD (the first by MPI_Irecv, left at ";
        stated(case, "receive", line);
        stated(case, "any", &line.replace("by rank 0", "by any rank"))
    }),
    Test::new("records_name_the_calls_of_messages_without_the_other_end", |case| {
        let of_how = [
            ("send", "not received: 1 message of rank 0 sent to rank 1"),
            ("receive", "not sent: 1 message of rank 1 wanted from rank 0"),
        ];
        for ((how, what), function) in of_how.into_iter().zip(["Isend", "Irecv"]) {
            let launch = case.launch(2, "undone.c").arg(how).set("MPITRACE_P2P", "records");
            let outcome = launch.set("MPITRACE_CALLSITE", "1").trace().run();
            let info = mpitrace(&["info".as_ref(), outcome.trace.path.as_os_str()]);
            let line = format!("{what} on MPI_COMM_WORLD, by MPI_{function}, left at ");
            assert!(info.stdout.lines().any(|found| found.trim().starts_with(&line)), "{line} in\n{}", info.stdout);
        }
    }),
    Test::new("messages_that_are_received_as_another_type_are_stated", |case| {
        let ways = [("Recv", "Send", "Recv"), ("Irecv", "Isend", "Irecv"), ("Recv_init", "Start", "Start")];
        for (how, send, receive) in ways.into_iter().chain([("Sendrecv", "Sendrecv", "Sendrecv")]) {
            let ranks = format!(
                "rank 0 (the first by MPI_{send}, other_type at *) to rank 1 (the first by MPI_{receive}, other_type at *)"
            );
            let types = "sent as MPI_INT, received as MPI_FLOAT";
            stated(case, how, &format!("MISMATCH (datatype) of messages of {ranks} on MPI_COMM_WORLD: {types}"));
        }
    }),
    Test::new("what_is_never_freed_is_counted", never_freed),
    Test::new("requests_that_delete_callbacks_complete_are_not_left", closed_in_callbacks),
    Test::new("what_is_legal_and_looks_alike_is_not_stated", legal),
    Test::new("calls_are_compared_before_they_are_entered", compared),
    Test::new("calls_that_belong_together_are_entered_without_a_word", |case| {
        let outcome = case.launch(4, "all_collectives.c").set("MPITRACE_CHECK", "1").trace().run();
        assert!(outcome.code == 0 && !outcome.stderr.contains("MISMATCH"), "{}", outcome.stderr);
    }),
];

/// The last rank that comes to a call says what differs.
fn compared(case: &Case) {
    for (how, expected) in [("types", true), ("legal", false)] {
        let outcome = case.launch(2, "undone.c").arg(how).set("MPITRACE_CHECK", "1").trace().run();
        let said = outcome.stderr.contains("MISMATCH (datatype) at call 3 of MPI_COMM_WORLD: rank ");
        assert_eq!((outcome.code, said), (0, expected), "{}", outcome.stderr);
        assert_eq!(outcome.stderr.matches("MISMATCH").count(), usize::from(expected), "{}", outcome.stderr);
        let halves = outcome.stderr.lines().find_map(|line| line.split_once(", which it is about to enter; rank "));
        let differ = halves.map(|(own, other)| !own.ends_with(&other[2..]));
        assert_eq!(differ, Some(true).filter(|_| expected), "both sides of the difference: {}", outcome.stderr);
    }
}

/// Topologies of all kinds, with borders, several edges between two ranks, edges to itself and ranks without any.
fn neighbours(case: &Case) {
    let topologies = ["ring", "line", "wide", "torus", "border", "star", "adjacent", "distributed", "copy", "part"];
    let functions = ["allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"];
    let all = |kind: &str, sequence: Option<u64>| {
        let names = functions.iter().flat_map(|name| [format!("Neighbor_{name}"), format!("Ineighbor_{name}")]);
        let one = |topology: &str, name: &str| {
            let ranks: &[u32] = if topology == "part" { &[0, 1] } else { &[0, 1, 2, 3] };
            format!("{kind} {topology}-{name} {} {ranks:?} MPI_{name}", json!(sequence))
        };
        names.flat_map(|name| topologies.map(|topology| one(topology, &name))).collect::<Vec<_>>()
    };
    mismatches(case, ["edges.c", "right"], &[]);
    let mut amounts = all("amounts", Some(1));
    // Open MPI compares both sides of a rank.
    amounts.retain(|line| case.mpi.library != "Open MPI" || !line.ends_with("alltoall"));
    mismatches(case, ["edges.c", "amounts"], &amounts);
    mismatches(case, ["edges.c", "kinds"], &all("datatype", None));
}

/// Groups of different sizes.
fn groups(case: &Case) {
    let exchanges = ["Alltoallv", "Alltoallw", "Ialltoallv"];
    let variants = ["Gatherv", "Igatherv", "Scatterv", "Iscatterv"];
    let others = ["Reduce_scatter", "Bcast", "Reduce", "Gather", "Scatter", "Allreduce", "Allgather", "Alltoall"];
    let of_all = |kind: &str, name: &str, sequence: &str| format!("{kind} {name} {sequence} [0, 1, 2, 3] MPI_{name}");
    let amounts = exchanges.iter().chain(&variants).map(|name| of_all("amounts", name, "1"));
    mismatches(case, ["groups.c", "right"], &[]);
    mismatches(case, ["groups.c", "amounts"], &amounts.collect::<Vec<_>>());
    let in_some = exchanges.iter().map(|name| of_all("datatype", name, "null"));
    let at_call = variants.iter().chain(&others).map(|name| of_all("datatype", name, "1"));
    mismatches(case, ["groups.c", "kinds"], &in_some.chain(at_call).collect::<Vec<_>>());
}

/// Asserts which mismatches are stated of a program of four ranks: kind, communicator, position, ranks and function.
fn mismatches(case: &Case, program: [&'static str; 2], expected: &[String]) {
    let outcome = case.launch(4, program[0]).arg(program[1]).trace().run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let info = mpitrace(&["info".as_ref(), "--json".as_ref(), outcome.trace.path.as_os_str()]);
    assert_eq!(info.code, i32::from(!expected.is_empty()), "{program:?}: {}", info.stdout);
    let info: Value = serde_json::from_str(&info.stdout).unwrap();
    let text = |found: &Value| {
        let calls = found["calls"].as_array().unwrap();
        let mut ranks: Vec<u64> =
            calls.iter().flat_map(|call| call["ranks"].as_array().unwrap()).filter_map(Value::as_u64).collect();
        ranks.sort_unstable();
        let kind = found["kind"].as_str().unwrap();
        let [communicator, function] =
            [&found["communicator"], &calls[0]["function"]].map(|text| text.as_str().unwrap());
        format!("{kind} {communicator} {} {ranks:?} {function}", found["sequence"])
    };
    let mut found: Vec<String> =
        ["mismatches", "amounts"].iter().flat_map(|list| info[list].as_array().unwrap()).map(text).collect();
    let mut expected = expected.to_vec();
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "{program:?}");
}

fn never_freed(case: &Case) {
    // Of messages 5 of 7 requests, of which one is persistent.
    let all = [
        ("kept", "1 communicator never freed"),
        ("committed", "6 data types never freed"),
        ("callbacks", "1 communicator never freed"),
        ("requests", "5 requests never completed or freed"),
    ];
    for (how, what) in all {
        let [info, _] = run(case, &[how]);
        let line = format!("left by some rank: {what}");
        assert!(info.code == 0 && info.stdout.lines().any(|found| found == line), "{}", info.stdout);
    }
}

/// Also of requests that delete callbacks complete or free.
fn closed_in_callbacks(case: &Case) {
    let open = || Some("1 request never completed or freed");
    for (messages, what) in [("1", open()), ("records", open()), ("0", None)] {
        let outcome = case.launch(2, "request_callbacks.c").set("MPITRACE_P2P", messages).trace().run();
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let info = mpitrace(&["info".as_ref(), outcome.trace.path.as_os_str()]);
        let left: Vec<&str> = info.stdout.lines().filter(|line| line.contains("never")).collect();
        let expected: Vec<String> = what.iter().map(|what| format!("left by some rank: {what}")).collect();
        assert!(info.code == 0 && left == expected, "MPITRACE_P2P={messages}: {}", info.stdout);
    }
}

fn run(case: &Case, how: &[&str]) -> [Finished; 2] {
    let launch = how.iter().fold(case.launch(2, "undone.c"), |launch, &word| launch.arg(word));
    let outcome = launch.set("MPITRACE_CALLSITE", "1").trace().run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let trace = outcome.trace.path.as_os_str().to_owned();
    ["info", "summary"].map(|command| mpitrace(&[command.as_ref(), &*trace]))
}

fn stated(case: &Case, how: &str, line: &str) {
    stated_of(case, &[how], line);
}

fn stated_of(case: &Case, how: &[&str], line: &str) {
    for finished in run(case, how) {
        assert_eq!(finished.code, 1, "{}", finished.stdout);
        assert!(finished.stdout.lines().any(|found| begins_with(found, line)), "{line} in\n{}", finished.stdout);
    }
}

/// True if the line begins like this, where a star is any text.
fn begins_with(line: &str, pattern: &str) -> bool {
    let (first, others) = pattern.split_once('*').unwrap_or((pattern, ""));
    let mut ends = line.match_indices(others.split('*').next().unwrap_or_default()).map(|(place, _)| &line[place..]);
    line.starts_with(first) && (others.is_empty() || ends.any(|rest| begins_with(rest, others)))
}

fn legal(case: &Case) {
    for how in ["legal", "cancel", "truncate"] {
        for finished in run(case, &[how]) {
            assert_eq!(finished.code, 0, "{how}: {}", finished.stdout);
            let left = ["never completed", "data type"].map(|what| finished.stdout.contains(what));
            assert_eq!(left, [false; 2], "{how}: {}", finished.stdout);
        }
    }
}
