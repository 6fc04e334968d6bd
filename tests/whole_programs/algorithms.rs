//! The algorithm of each collective: what Open MPI was told to take, what its decision functions take, and libraries
//! whose functions cannot be seen.

use crate::support::{Case, On, Test, binaries, build, companion};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

const OPEN_MPI: On = On::Only(&["ompi4", "ompi5", "ompi6", "ompi6-abi"]);

pub const TESTS: &[Test] = &[
    Test::new("that_an_operation_changes_are_a_finding_with_both_medians", switch).on(OPEN_MPI),
    Test::new("past_the_tracer_are_said_to_be_not_visible", past).on(On::Only(&["mpich4", "mpich5-abi"])),
    Test::new("forced_by_number_have_their_names_on_all_numbers_of_ranks", forced).on(OPEN_MPI).second_tier(),
    Test::new("change_at_the_sizes_of_the_decision_functions", sweep).on(OPEN_MPI).second_tier(),
    Test::new("that_a_variable_asks_for_are_named_as_requested", requested).on(On::Only(&["mpich4", "mpich5", "impi"])),
    Test::new("that_are_a_bad_default_are_undone_by_proven_rules", bad_default)
        .on(On::Only(&["ompi4", "ompi5"]))
        .second_tier(),
    Test::new("are_not_chosen_where_they_cannot_be", refused).on(On::Only(&["ompi4", "mpich4"])).second_tier(),
];

/// The algorithms of the tuned component by their numbers from 1 on, as `ompi_info --all` of version 5 lists them.
const TUNED: [(&str, &[&str]); 14] = [
    ("allgather", &["linear", "bruck", "recursive_doubling", "ring", "neighbor", "two_proc", "sparbit"]),
    ("allgatherv", &["default", "bruck", "ring", "neighbor", "two_proc", "sparbit"]),
    ("allreduce", &["basic_linear", "nonoverlapping", "recursive_doubling", "ring", "segmented_ring", "rabenseifner"]),
    ("alltoall", &["linear", "pairwise", "modified_bruck", "linear_sync", "two_proc"]),
    ("alltoallv", &["basic_linear", "pairwise"]),
    ("barrier", &["linear", "double_ring", "recursive_doubling", "bruck", "two_proc", "tree"]),
    (
        "bcast",
        &[
            "basic_linear",
            "chain",
            "pipeline",
            "split_binary_tree",
            "binary_tree",
            "binomial",
            "knomial",
            "scatter_allgather",
            "scatter_allgather_ring",
        ],
    ),
    ("exscan", &["linear", "recursive_doubling"]),
    ("gather", &["basic_linear", "binomial", "linear_sync"]),
    ("reduce", &["linear", "chain", "pipeline", "binary", "binomial", "in-order_binary", "rabenseifner"]),
    ("reduce_scatter", &["non-overlapping", "recursive_halving", "ring", "butterfly"]),
    ("reduce_scatter_block", &["basic_linear", "recursive_doubling", "recursive_halving", "butterfly"]),
    ("scan", &["linear", "recursive_doubling"]),
    ("scatter", &["basic_linear", "binomial", "linear_nb"]),
];

/// Collectives with the algorithms that a library has for them.
fn tuned(library: &str) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut all: Vec<_> = TUNED.iter().map(|(collective, names)| (*collective, names.to_vec())).collect();
    for (collective, names) in &mut all {
        match (library, *collective) {
            ("ompi4", "allgather" | "allgatherv") => names.truncate(names.len() - 1),
            ("ompi6" | "ompi6-abi", "allgather") => {
                names[1] = "k_bruck";
                names.push("direct_messaging");
            }
            ("ompi6" | "ompi6-abi", "allreduce") => names.push("allgather_reduce"),
            ("ompi6" | "ompi6-abi", "reduce") => names.push("knomial"),
            _ => {}
        }
    }
    all
}

fn operations(trace: &std::path::Path) -> Vec<Value> {
    let shown = companion::json(&companion::mpitrace(&["info".as_ref(), trace.as_os_str(), "--json".as_ref()]));
    shown["operations"].as_array().unwrap().clone()
}

/// The algorithm's name without what it calls.
fn first(name: &str) -> &str {
    name.split(" > ").next().unwrap()
}

fn forced(case: &Case) {
    let repetitions = 2u64;
    let mut refused_of_all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let tuned = tuned(case.mpi.name);
    for ranks in [2, 3, 4, 5, 8] {
        for number in 1..=9 {
            let chosen: Vec<&(&str, Vec<&str>)> = tuned.iter().filter(|(_, names)| number <= names.len()).collect();
            let launch = || {
                let launch = case.launch(ranks, "algorithms.c").arg("forced").arg(repetitions.to_string());
                let launch = launch.set("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
                let variable = |collective: &str| format!("OMPI_MCA_coll_tuned_{collective}_algorithm");
                chosen
                    .iter()
                    .fold(launch, |launch, (collective, _)| launch.set(&variable(collective), number.to_string()))
            };
            let plain = launch().run();
            let traced = launch().trace().run();
            traced.same_as(&plain);
            let refused: Vec<String> = plain
                .stdout
                .lines()
                .filter_map(|line| line.strip_prefix("refused MPI_"))
                .map(str::to_lowercase)
                .collect();
            let mut seen = 0;
            for operation in operations(&traced.trace.path) {
                let function = operation["function"].as_str().unwrap().trim_start_matches("MPI_").to_lowercase();
                let Some((_, names)) = chosen.iter().find(|(collective, _)| *collective == function) else { continue };
                let what = format!("{function} {number} on {ranks} ranks: {operation}");
                let algorithms = operation["algorithms"].as_object().unwrap_or_else(|| panic!("{what}"));
                if refused.contains(&function) {
                    let known = refused_of_all.entry(format!("{function} {}", names[number - 1])).or_default();
                    known.push(ranks.to_string());
                    known.dedup();
                }
                let calls: u64 = algorithms.values().filter_map(Value::as_u64).sum();
                for name in algorithms.keys() {
                    assert_eq!(first(name), names[number - 1], "{what}");
                }
                assert_eq!(calls, operation["repetitions"].as_u64().unwrap() * u64::from(ranks), "{what}");
                seen += 1;
            }
            // An operation of each size, all the calls of which are refused or none is.
            let expected: usize = chosen.iter().map(|(name, _)| if *name == "barrier" { 1 } else { 2 }).sum();
            let without = refused.iter().collect::<std::collections::BTreeSet<_>>().len();
            assert!(
                seen + 2 * without >= expected,
                "{seen} of {expected} operations, number {number} on {ranks} ranks"
            );
        }
    }
    println!("refused by the untraced library, on so many ranks: {refused_of_all:?}");
}

fn sweep(case: &Case) {
    /// From the first size on, the algorithm (`ompi_coll_tuned_X_intra_dec_fixed` of versions 4.1 and 5.0).
    type Switches = &'static [(u64, &'static str)];
    let tables: [(u32, Switches, Switches); 2] = [
        (
            2,
            &[
                (1, "ring"),
                (8, "recursive_doubling"),
                (4096, "ring"),
                (8192, "recursive_doubling"),
                (16384, "ring"),
                (65536, "segmented_ring"),
                (262_144, "rabenseifner"),
            ],
            &[],
        ),
        (
            4,
            &[(1, "ring"), (16, "recursive_doubling"), (8192, "rabenseifner")],
            &[
                (1, "binary_tree"),
                (64, "binomial"),
                (128, "binary_tree"),
                (2048, "binomial"),
                (8192, "basic_linear"),
                (1_048_576, "chain"),
            ],
        ),
    ];
    for (ranks, allreduce, bcast) in tables {
        let mut sizes: Vec<u64> =
            allreduce.iter().chain(bcast).flat_map(|&(size, _)| [size - 1, size]).filter(|size| *size > 0).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let launch = case.launch(ranks, "algorithms.c").arg("sweep");
        let launch = sizes.iter().fold(launch, |launch, size| launch.arg(size.to_string()));
        let outcome = launch.trace().run();
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let mut seen = 0;
        for operation in operations(&outcome.trace.path) {
            let switches = match operation["function"].as_str().unwrap() {
                "MPI_Allreduce" => allreduce,
                _ => bcast,
            };
            let bytes = operation["bytes"].as_u64().unwrap();
            let Some((_, expected)) = switches.iter().rfind(|(size, _)| *size <= bytes) else { continue };
            let names: Vec<&String> = operation["algorithms"].as_object().unwrap().keys().collect();
            assert!(names.iter().all(|name| first(name) == *expected) && !names.is_empty(), "{expected}: {operation}");
            seen += 1;
        }
        assert!(seen >= sizes.len(), "{seen} operations of {} sizes", sizes.len());
    }
}

fn switch(case: &Case) {
    let outcome = case.launch(4, "algorithms.c").arg("switch").arg("30").trace().run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let path = &outcome.trace.path;
    let of =
        |command: &str| companion::json(&companion::mpitrace(&[command.as_ref(), path.as_os_str(), "--json".as_ref()]));
    let diagnosed = of("diagnose");
    let allreduce = diagnosed.as_array().unwrap().iter().find(|row| row["function"] == "MPI_Allreduce").unwrap();
    let found = &allreduce["algorithm_switch"];
    assert_eq!(found["kind"], "algorithm-switch", "{allreduce}");
    let algorithms = found["algorithms"].as_array().unwrap();
    let names: Vec<&str> = algorithms.iter().map(|one| first(one["algorithm"].as_str().unwrap())).collect();
    // 32768 bytes on 4 ranks; one that does not commute must not be split.
    assert_eq!(names, ["recursive_doubling", "rabenseifner"], "{found}");
    let repetitions: Vec<u64> = algorithms.iter().map(|one| one["repetitions"].as_u64().unwrap()).collect();
    assert_eq!(repetitions, [30, 29], "without the first repetition: {found}");
    assert!(algorithms.iter().all(|one| one["median_ns"].as_f64().unwrap() > 0.0), "{found}");
    // Each call has its own in the other commands.
    let rows = of("dump");
    let rows = rows.as_array().unwrap();
    for row in rows.iter().filter(|row| row["function"] == "MPI_Allreduce") {
        let expected = if row["repetition"].as_u64() < Some(30) { names[1] } else { names[0] };
        assert_eq!(first(row["algorithm"].as_str().unwrap()), expected, "{row}");
    }
    let others = rows.iter().filter(|row| row["function"] == "MPI_Comm_dup");
    assert!(others.clone().count() == 8 && others.into_iter().all(|row| row["algorithm"].is_null()));
    // On the page they have colours of their own.
    let page = case.folder.join("page.html");
    let words = ["report".as_ref(), path.as_os_str(), "-o".as_ref(), page.as_os_str()];
    let made = companion::mpitrace(&words);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(names.iter().all(|name| page.contains(name)) && page.contains("fill=\"#2eba92\""), "one colour");
    let categorized = of("categorize");
    let of_one = categorized.as_array().unwrap().iter().find(|row| row["function"] == "MPI_Allreduce").unwrap();
    assert_eq!(of_one["algorithm"].as_array().unwrap().len(), 60);
}

fn past(case: &Case) {
    let mocks = [
        ("mock_algorithms.c", Some("ring > recursive_doubling")),
        ("mock_algorithms_symbolic.c", None),
        ("mock_algorithms_hidden.c", None),
    ];
    for (mock, expected) in mocks {
        let library = build::shared_library(case.mpi, mock);
        let outcome = case.launch(2, "repeat.c").arg("100").preload(library).trace().run();
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let operations = operations(&outcome.trace.path);
        let allreduce = operations.iter().find(|one| one["function"] == "MPI_Allreduce").unwrap();
        match expected {
            Some(name) => assert_eq!(allreduce["algorithms"][name], 200, "{mock}: {allreduce}"),
            None => assert_eq!(allreduce.get("algorithms"), Some(&Value::Null), "{mock}: {allreduce}"),
        }
        let rows = companion::json(&companion::mpitrace(&[
            "dump".as_ref(),
            outcome.trace.path.as_os_str(),
            "--json".as_ref(),
        ]));
        let shown = rows.as_array().unwrap().iter().filter(|row| row["function"] == "MPI_Allreduce");
        assert!(shown.clone().count() == 200 && shown.into_iter().all(|row| row["algorithm"].as_str() == expected));
    }
}

/// The words of `mpitrace benchmark algorithms` up to the launcher.
fn benchmark(case: &Case, trace: &Path, options: &[&str]) -> Vec<OsString> {
    let folder = case.folder.join("algorithms");
    let mut words: Vec<OsString> = vec![binaries::companion().into(), "benchmark".into(), "algorithms".into()];
    words.extend([trace.into(), "--json".into(), "-o".into(), folder.into()]);
    words.extend(options.iter().map(OsString::from));
    words.push("--".into());
    words
}

/// A megabyte goes through a chain of the ranks in pieces of 512 bytes: whatever else the library has is several times
/// as fast.
fn bad_default(case: &Case) {
    let broadcasts = |repetitions: &str| {
        let launch = case.launch(4, "broadcasts.c").arg(repetitions).arg("1048576");
        let launch = launch.set("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
        let launch = launch.set("OMPI_MCA_coll_tuned_bcast_algorithm", "3");
        launch.set("OMPI_MCA_coll_tuned_bcast_algorithm_segmentsize", "512").within(Duration::from_secs(600))
    };
    let traced = broadcasts("60").trace().run();
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    let before = benchmark(case, &traced.trace.path, &["--launches", "8", "--runs", "8"]);
    let outcome = broadcasts("60").run_under(&before);
    assert_eq!(outcome.code, 0, "{}{}", outcome.stdout, outcome.stderr);
    let found: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    println!("{}: {}", found["rows"][0], found["sentence"]);
    let row = &found["rows"][0];
    assert_eq!((&row["function"], &row["bytes"], &row["ranks"]), (&"MPI_Bcast".into(), &1_048_576.into(), &4.into()));
    assert_eq!(row["algorithms"][0]["name"], "pipeline", "{row}");
    assert!(row["better"]["difference"].as_f64() < Some(-0.3), "{row}");
    assert_eq!(found["program"]["verdict"], "faster", "{found}");
    assert_eq!(found["program"]["verified"], true, "{found}");
    // The variables that it names do it.
    let variables = found["variables"].as_array().expect("a list").iter().filter_map(Value::as_str);
    let variables = variables.filter_map(|one| one.split_once('='));
    let with = variables.fold(broadcasts("20"), |launch, (name, value)| launch.set(name, value)).trace().run();
    let operations = operations(&with.trace.path);
    let names: Vec<&String> = operations[0]["algorithms"].as_object().unwrap().keys().collect();
    assert_eq!(names, [row["better"]["name"].as_str().unwrap()]);
}

fn refused(case: &Case) {
    let traced = case.launch(2, "repeat.c").arg("20").trace().run();
    let path = &traced.trace.path;
    let says = |options: &[&str], program: &str| {
        let outcome = case.launch(2, program).arg("20").run_under(&benchmark(case, path, options));
        assert_eq!((outcome.code, outcome.stderr.lines().count()), (2, 1), "{}", outcome.stderr);
        assert!(outcome.stdout.is_empty());
        outcome.stderr
    };
    match case.mpi.abi {
        "openmpi" => {
            let line = says(&["--share", "0.99"], "repeat.c");
            assert!(line.contains("no collective that has a choice of algorithms takes 99 %"), "{line}");
            let line = says(&[], "broadcasts.c");
            assert!(line.contains("the command does not start repeat"), "{line}");
        }
        _ => {
            let line = says(&[], "repeat.c");
            assert!(line.contains("only Open MPI's algorithms can be chosen"), "{line}");
        }
    }
}

/// MPICH and Intel MPI do not tell what they take.
fn requested(case: &Case) {
    let asked = match case.mpi.name {
        "impi" => ("I_MPI_ADJUST_ALLREDUCE", "2:0-64;5:65-1048576", "2"),
        _ => ("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", "recursive_doubling", "recursive_doubling"),
    };
    let (variable, value, algorithm) = asked;
    let outcome = case.launch(2, "repeat.c").trace().set(variable, value).run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let info = |words: &[&str]| {
        let words: Vec<&std::ffi::OsStr> = std::iter::once("info".as_ref())
            .chain([outcome.trace.path.as_os_str()])
            .chain(words.iter().map(AsRef::as_ref))
            .collect();
        companion::mpitrace(&words)
    };
    let found = companion::json(&info(&["--json"]));
    let allreduce =
        found["operations"].as_array().expect("operations").iter().find(|one| one["function"] == "MPI_Allreduce");
    let allreduce = allreduce.unwrap_or_else(|| panic!("no MPI_Allreduce in {found:#}"));
    assert_eq!(allreduce["requested_algorithm"], serde_json::json!({"variable": variable, "algorithm": algorithm}));
    // It is never said to have run.
    assert!(allreduce["algorithms"].is_null(), "{allreduce:#}");
    let page = info(&["--wide"]).stdout;
    assert!(page.contains(&format!("{algorithm} requested by {variable}")), "{page}");
}
