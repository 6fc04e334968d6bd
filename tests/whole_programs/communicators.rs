//! Communicators of every origin are told apart, and have the same number on all their ranks.

use crate::support::want::{NUMBERED, WORLD};
use crate::support::{Case, On, Outcome, Test, Trace, Want, binaries, companion, tracer, want};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Debian's MPICH cannot spawn, nor can Intel MPI without its own launcher's set-up.
const SPAWNING: On = On::Only(&["ompi4", "mpich5", "mpich5-abi", "ompi5", "ompi6", "ompi6-abi"]);

pub const TESTS: &[Test] = &[
    Test::new("of_every_origin_are_told_apart", every_origin),
    Test::new("of_further_origins_keep_their_names", further_origins),
    Test::new("of_idup_are_told_apart_in_any_order_of_use", |case| any_order(case, "kept")),
    Test::new("of_idup_are_told_apart_when_its_variable_is_gone", |case| any_order(case, "gone")),
    Test::new("of_idup_keep_a_name_from_before_their_first_use", named_idup),
    Test::new("made_of_one_of_idup_are_the_same_on_all_ranks", made_of_idup),
    Test::new("with_a_spawned_world_are_traced_on_both_sides", |case| spawned(case, false)).on(SPAWNING),
    Test::new("with_a_spawned_world_are_traced_on_both_sides_under_run", |case| spawned(case, true))
        .on(SPAWNING)
        .first_on(&["ompi5"]),
    Test::new("with_a_spawned_world_that_is_late_are_no_communication", late_world).on(SPAWNING).first_on(&["ompi4"]),
];

/// Runs two ranks that spawn others; the traces of both worlds.
fn both_worlds(case: &Case, program: &str, under_run: bool) -> (Outcome, [PathBuf; 2]) {
    let variable = |name: &str, value: &Path| OsString::from(format!("{name}={}", value.display()));
    let launch = |number: u32| {
        let path = case.folder.join(format!("spawned{number}.mpitrace"));
        let mut before = vec![OsString::from("env"), variable("MPITRACE_SEGMENT_DIR", &case.segments.0)];
        if under_run {
            before.push(binaries::companion().into());
            before.extend(["run", "-o"].map(OsString::from));
            before.extend([path.clone().into(), "--".into()]);
        } else {
            before.extend([variable("LD_PRELOAD", &tracer()), variable("MPITRACE_OUTPUT", &path)]);
        }
        (case.launch(2, program).run_under(&before), [path.clone(), path.with_extension("2.mpitrace")])
    };
    let (mut outcome, mut paths) = launch(0);
    for number in 1..3 {
        // Open MPI 5's ranks and launcher lose each other on a busy machine at times, when the worlds part.
        if !outcome.stderr.contains("error occurred in Socket closed") {
            break;
        }
        println!("once more: {}", outcome.stderr);
        case.segments.empty();
        (outcome, paths) = launch(number);
    }
    (outcome, paths)
}

/// The spawned rank computes before each of 20 calls, 2 s in all: how long the two ranks of the other world wait for it
/// cannot be seen in their trace.
fn late_world(case: &Case) {
    let (outcome, paths) = both_worlds(case, "spawned_late.c", false);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, "3 ranks\n"), "{}", outcome.stderr);
    let summary =
        |path: &Path| companion::json(&companion::mpitrace(&["summary", "--json", &path.display().to_string()]));
    let worlds = paths.each_ref().map(|path| summary(path));
    let world = worlds.iter().find(|world| world["ranks"] == 2).expect("the world that spawned");
    let seconds = world["with_other_worlds_s"].as_f64().expect("a time");
    assert!(seconds >= 3.0, "{seconds} s of {}", world["parts"]);
    let verdict = world["verdict"].as_str().expect("a verdict");
    assert!(!verdict.contains("communication"), "{verdict}");
    assert!(worlds.iter().any(|world| world["ranks"] == 1), "the world of the spawned rank");
}

fn every_origin(case: &Case) {
    let info = case.traced(4, "communicators.c").info();
    let on = |communicator, ranks| want("MPI_Allreduce", communicator, ranks).of(4, "MPI_INT").by("MPI_SUM");
    let alone = || on("MPI_COMM_SELF", 1);
    let wants: Vec<Want> = [
        // Rank 0's, in the order of its calls: three duplicates, a half, a split with an order of its own, the node,
        // a group, a grid, a row of it, two graphs,
        vec![on(NUMBERED, 4), on(NUMBERED, 4), on(NUMBERED, 4), on(NUMBERED, 2), on(NUMBERED, 3), on(NUMBERED, 4)],
        vec![on(NUMBERED, 3), on(NUMBERED, 4), on(NUMBERED, 2), on(NUMBERED, 4), on(NUMBERED, 4)],
        // the two halves as an intercommunicator, and merged again, one with a name.
        vec![want("MPI_Barrier", NUMBERED, 4), on(NUMBERED, 4), on("pressure solver", 4), alone()],
        // Those that rank 0 is not in: rank 1's group, the other half and the other row from rank 2 on.
        vec![on(NUMBERED, 3), alone()],
        vec![on(NUMBERED, 2), on(NUMBERED, 2), alone()],
        vec![alone()],
    ]
    .concat();
    info.assert_is(&wants);
    let ids: BTreeSet<u64> = info.operations.iter().map(|operation| operation.communicator_id).collect();
    assert_eq!(ids.len(), wants.len(), "a number for each communicator: {ids:?}");
    assert!(info.operations.iter().all(|operation| operation.communicator != WORLD));
}

/// On four ranks, each communicator under a name of its own; rank 0's in the order of its calls.
fn further_origins(case: &Case) {
    let on = |communicator, ranks| want("MPI_Allreduce", communicator, ranks).of(4, "MPI_INT").by("MPI_SUM");
    // Without a name those of MPI_Comm_idup. Open MPI 4 has no MPI_Comm_idup_with_info.
    let mut wants = vec![on(NUMBERED, 4); if case.mpi.name == "ompi4" { 3 } else { 4 }];
    wants.push(on("dup of an idup", 4));
    for pair in [["lower pair", "lower group 0", "lower group 1", "lower group 2"], UPPER] {
        wants.extend(pair.map(|name| on(name, 2)));
    }
    wants.extend(["rank 0 alone", "rank 1 alone", "rank 2 alone", "rank 3 alone"].map(|name| on(name, 1)));
    wants.push(on("node without rank 2", 3));
    wants.extend(["colour 0", "colour 1", "colour 2", "colour 3"].map(|name| on(name, 1)));
    wants.extend([on("grid of three", 3), on("graph of two", 2), on("first column", 2), on("second column", 2)]);
    wants.extend(["whole grid", "grid", "distributed graph", "two sides again", "two sides"].map(|name| on(name, 4)));
    wants.extend(["merged, lower half last", "merged, upper half last"].map(|name| on(name, 4)));
    wants.push(on("dup of two sides", 4));
    wants.extend(["even ranks of two sides", "odd ranks of two sides", "first ranks of two sides"].map(|n| on(n, 2)));
    wants.push(on("after mistakes", 4));
    case.traced(4, "descent.c").info().assert_is_in_any_order(&wants);
}

const UPPER: [&str; 4] = ["upper pair", "upper group 0", "upper group 1", "upper group 2"];

/// Runs orders.c, whose ranks use communicators for the first time in different orders.
fn orders(case: &Case, what: &str, wants: &[Want]) {
    let launch = || case.launch(3, "orders.c").arg(what);
    let traced = launch().trace().run();
    traced.same_as(&launch().run());
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    traced.trace.info().assert_is_in_any_order(wants);
}

fn any_order(case: &Case, what: &str) {
    let wants = [
        want("MPI_Ibarrier", NUMBERED, 3),
        want("MPI_Iallreduce", NUMBERED, 3).of(4, "MPI_INT").by("MPI_SUM"),
        want("MPI_Ibcast", NUMBERED, 3).of(4, "MPI_INT").root(0),
    ];
    orders(case, what, &wants);
}

fn named_idup(case: &Case) {
    orders(case, "named", &[want("MPI_Barrier", "named before its use", 3)]);
}

fn made_of_idup(case: &Case) {
    let wants = [want("MPI_Ibarrier", NUMBERED, 3), want("MPI_Allreduce", NUMBERED, 3).of(4, "MPI_INT").by("MPI_SUM")];
    orders(case, "parent", &wants);
}

/// The spawned ranks get their environment from the launcher, and write a trace of their own.
fn spawned(case: &Case, under_run: bool) {
    let (outcome, paths) = both_worlds(case, "spawned.c", under_run);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, "4 ranks\n"), "{}", outcome.stderr);
    // Read together they are two worlds of one run, whatever their order.
    let mut both = vec![OsString::from("summary"), "--json".into()];
    both.extend(paths.iter().rev().map(OsString::from));
    let read = companion::mpitrace(&both);
    let worlds = companion::json(&read);
    // As a whole they have the time of both.
    let whole = &serde_json::from_str::<serde_json::Value>(&read.stdout).expect("JSON")["whole"];
    let seconds = |of: &serde_json::Value| of["rank_seconds"].as_f64().expect("a time");
    let of_each: f64 = worlds.as_array().into_iter().flatten().map(seconds).sum();
    assert_eq!((whole["ranks"].as_u64(), whole["periods"].as_array().map(Vec::len)), (Some(4), Some(2)), "{whole}");
    assert!((seconds(whole) - of_each).abs() < 1e-6, "{whole}");
    let ranks: Vec<u64> = worlds.as_array().into_iter().flatten().filter_map(|world| world["ranks"].as_u64()).collect();
    assert_eq!(ranks, [2, 2], "{worlds}");
    both.remove(1);
    both[0] = "info".into();
    let said = companion::mpitrace(&both).stdout;
    // The one that ends first has the name.
    let titles = said.lines().filter_map(|line| line.strip_prefix("World ")?.split_once(" of 2: 2 ranks, "));
    let (numbers, mut names): (Vec<&str>, Vec<&str>) = titles.unzip();
    names.sort_unstable();
    let expected = paths.each_ref().map(|path| path.to_str().expect("a plain path"));
    let [first, second] = expected;
    assert_eq!((numbers, names), (vec!["1", "2"], vec![second, first]), "{said}");
    for path in paths {
        // What each trace holds are its own world's ranks.
        Trace::new(path).info().assert_is(&[
            want("MPI_Barrier", NUMBERED, 2),
            want("MPI_Allreduce", NUMBERED, 2).of(4, "MPI_INT").by("MPI_SUM").times(3),
        ]);
    }
}
