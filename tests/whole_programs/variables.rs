//! Performance variables of the MPI library per repetition, of a provider of the tests' own and of what libraries have.

use crate::support::trace::DumpRow;
use crate::support::{Case, On, Outcome, Test, build};

pub const TESTS: &[Test] = &[
    Test::new("of_each_class_and_type_have_the_value_that_the_class_asks_for", each_class),
    Test::new("of_communicators_are_those_of_the_world", of_communicators),
    Test::new("that_cannot_be_had_are_named_with_the_reason_and_the_others_go_on", left_out),
    Test::new("beyond_the_columns_are_left_out_and_said", too_many).on(On::Only(&["ompi4", "mpich5-abi"])),
    Test::new("of_the_monitoring_component_are_the_messages_to_each_peer", monitoring)
        .on(On::Only(&["ompi4", "ompi5"])),
    Test::new("of_intel_are_the_timer_and_the_counter_of_its_polling", idle).on(On::Only(&["impi", "impi-abi"])),
    Test::new("are_said_to_be_none_where_a_library_has_none", none).on(On::Only(&["mpich4", "mpich5", "mpich5-abi"])),
    Test::new("read_or_not_make_no_difference_to_any_program", no_difference).on(On::Only(&[
        "ompi4",
        "ompi5",
        "mpich5-abi",
        "impi-abi",
    ])),
    Test::new("leave_the_programs_own_use_of_the_tools_interface_as_it_is", own_use)
        // MPICH 5's library of the standard ABI fails in MPI_Finalize behind nested uses.
        .on(On::Only(&["ompi4", "ompi5", "mpich5", "impi"]))
        .first_on(&["ompi4", "mpich5"]),
    Test::new("that_choose_algorithms_are_in_the_header", algorithms).on(On::Only(&["ompi5", "mpich4", "mpich5-abi"])),
];

/// tests/programs/variables.c under the provider of tests/programs/mock_mpi_t.c.
fn with_provider(case: &Case, patterns: &str) -> Outcome {
    let provider = build::shared_library(case.mpi, "mock_mpi_t.c");
    let launch = case.launch(2, "variables.c").preload(provider).trace();
    let outcome = launch.set("MPITRACE_PVARS", patterns).run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let said = outcome.lines_with("mock_mpi_t:");
    let expected = "mock_mpi_t: 0 mistakes, 0 handles left on other communicators";
    assert_eq!(said, [expected; 2], "what MPI_T was used for wrongly, of each rank");
    outcome
}

fn values(row: &DumpRow, names: &[&str]) -> Vec<Option<u64>> {
    let value = |name: &&str| *row.counters.get(*name).unwrap_or_else(|| panic!("no {name} in {row:?}"));
    names.iter().map(value).collect()
}

/// The calls of a rank's function, in order.
fn calls<'r>(rows: &'r [DumpRow], rank: u64, function: &str) -> Vec<&'r DumpRow> {
    let mut calls: Vec<_> = rows.iter().filter(|row| row.rank == rank && row.function == function).collect();
    calls.sort_by(|a, b| a.enter_ns.total_cmp(&b.enter_ns));
    calls
}

fn each_class(case: &Case) {
    let names = "mock_calls,mock_bytes,mock_t*,mock_state,mock_level,mock_depth,mock_size,mock_share,mock_high,\
                 mock_low,mock_wraps,mock_hundred,runtime_spc_*";
    let outcome = with_provider(case, names);
    let rows = outcome.trace.dump(&[]);
    let steps = ["mock_calls", "mock_bytes", "mock_time", "mock_ticks", "mock_wraps", "mock_hundred"];
    let three = ["mock_three[0]", "mock_three[1]", "mock_three[2]"];
    let two = ["mock_two_classes (counter)", "mock_two_classes (timer)"];
    let levels = ["mock_state", "mock_level", "mock_depth", "mock_size", "mock_share", "mock_high", "mock_low"];
    for rank in 0..2 {
        let calls_of_rank = calls(&rows, rank, "MPI_Allreduce");
        assert_eq!(calls_of_rank.len(), 19);
        for (row, n) in calls_of_rank.into_iter().zip(1u64..) {
            // 2^-9 s a call.
            assert_eq!(values(row, &steps), [2, 1000, 1_953_125, 11, 3, 200].map(Some), "{row:?}");
            assert_eq!(values(row, &three), [1, 2, 3].map(Some), "{row:?}");
            assert_eq!(values(row, &two), [2, 1_953_125].map(Some), "{row:?}");
            let counter = ["runtime_spc_OMPI_SPC_ALLREDUCE", "runtime_spc_OMPI_SPC_UNEXPECTED_IN_QUEUE"];
            assert_eq!(values(row, &counter), [1, 50 + n].map(Some), "{row:?}");
            let depth = if n % 2 == 1 { None } else { Some(7) };
            let share = if n % 2 == 1 { 250_000 } else { 1_000_000 };
            let mut expected = [n % 3, 100 - n, 0, (1 << 40) + n, share, 10 + n, 1000 - n].map(Some);
            expected[2] = depth;
            assert_eq!(values(row, &levels), expected, "after call {n}: {row:?}");
        }
        for row in calls(&rows, rank, "MPI_Barrier") {
            assert_eq!(values(row, &steps), [Some(0); 6], "nothing moves in a barrier: {row:?}");
            assert_eq!(values(row, &["mock_level"]), [Some(91)], "9 calls came before it: {row:?}");
        }
    }
    assert_eq!(outcome.lines_with("mock_hundred").len(), 1, "the sum is said: {}", outcome.stderr);
}

/// A variable that is bound to communicators is read for MPI_COMM_WORLD.
fn of_communicators(case: &Case) {
    let outcome = with_provider(case, "mock_on_comm*,mock_calls");
    let rows = outcome.trace.dump(&[]);
    for rank in 0..2 {
        let calls = calls(&rows, rank, "MPI_Allreduce");
        assert_eq!(calls.len(), 19);
        let mut on_world = 0;
        for row in calls {
            let is_world = row.communicator == "MPI_COMM_WORLD";
            on_world += u64::from(is_world);
            let expected = [if is_world { 5 } else { 0 }, on_world, 2].map(Some);
            assert_eq!(values(row, &["mock_on_comm", "mock_on_comm_always", "mock_calls"]), expected, "{row:?}");
        }
        assert_eq!(on_world, 6, "rank {rank}");
    }
}

fn left_out(case: &Case) {
    let outcome = with_provider(
        case,
        "mock_of_type,mock_unreadable,mock_calls,mock_unstartable,mock_generic,mock_text,mock_cals,mock_x*,mock_gone",
    );
    let info = outcome.trace.info();
    assert_eq!(info.counters, ["mock_calls"]);
    let reasons = [
        ("mock_of_type", "no communicator"),
        ("mock_unreadable", "cannot be read"),
        ("mock_unstartable", "cannot be started"),
        ("mock_generic", "class"),
        ("mock_text", "not numbers"),
        ("mock_cals", "the nearest of 25 is mock_calls"),
        ("mock_x*", "matches none of the 25"),
        ("mock_gone", "nearest"),
    ];
    assert_eq!(info.counters_limited.len(), reasons.len(), "{info:?}");
    for (name, reason) in reasons {
        let told = &info.counters_limited[name];
        assert!(told.starts_with(name) && told.contains(reason), "{name}: {told}");
        assert_eq!(outcome.lines_with(&format!("MPITRACE_PVARS: {told}")).len(), 1, "{name}: {}", outcome.stderr);
    }
    let rows = outcome.trace.dump(&[]);
    assert!(calls(&rows, 1, "MPI_Allreduce").iter().all(|row| values(row, &["mock_calls"]) == [Some(2)]));
}

fn too_many(case: &Case) {
    let provider = build::shared_library(case.mpi, "mock_mpi_t.c");
    let launch = case.launch(2, "variables.c").preload(provider).trace();
    let outcome = launch.set("MPITRACE_PVARS", "*").set("MPITRACE_EVENTS", "messages,page-faults").run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let info = outcome.trace.info();
    // The live records have 64 columns, 44 of them for what any record may have beside counters.
    assert_eq!(info.counters.len(), 64 - 44, "{info:?}");
    let no_column: Vec<_> = info.counters_limited.iter().filter(|(_, why)| why.contains("no column is left")).collect();
    assert!(no_column.len() >= 5, "{info:?}");
    assert_eq!(outcome.lines_with("no column is left").len(), 1, "one line for all: {}", outcome.stderr);
    let rows = outcome.trace.dump(&[]);
    for row in calls(&rows, 0, "MPI_Allreduce") {
        assert_eq!(values(row, &["mock_calls", "mock_bytes", "messages-sent"]), [2, 1000, 0].map(Some), "{row:?}");
        assert!(row.counters["page-faults"].is_some());
    }
}

/// MPI_T gives the program the same without the tracer, with it, and while it reads variables itself.
fn own_use(case: &Case) {
    for first in [&[][..], &["first"]] {
        let launch = || first.iter().fold(case.launch(1, "own_tools_interface.c"), |launch, &word| launch.arg(word));
        let plain = launch().run();
        assert!(plain.code == 0 && plain.stdout.lines().count() > 20, "{}{}", plain.stdout, plain.stderr);
        launch().trace().run().same_as(&plain);
        let reading = launch().trace().set("MPITRACE_PVARS", "*").run();
        reading.same_as(&plain);
        assert!(reading.trace.info().records >= 13, "{}", reading.stderr);
    }
}

fn monitored<'c>(case: &'c Case, program: &str) -> crate::support::case::Launch<'c> {
    case.launch(4, program).set("OMPI_MCA_pml", "ob1,monitoring").set("OMPI_MCA_pml_monitoring_enable", "1")
}

fn monitoring(case: &Case) {
    // Version 4 has the variables of the messages themselves too, and says that they are invalid.
    let layer = if case.mpi.name == "ompi4" { "coll" } else { "pml" };
    let patterns = format!("{layer}_monitoring_messages_*,coll_monitoring_a2a_count");
    let plain = monitored(case, "variables.c").run();
    let launch = monitored(case, "variables.c").set("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
    // Recursive doubling.
    let launch = launch.set("OMPI_MCA_coll_tuned_allreduce_algorithm", "3").set("OMPI_MCA_coll", "^han,sm,hcoll,ucc");
    let outcome = launch.trace().set("MPITRACE_PVARS", &patterns).run();
    outcome.same_as(&plain);
    let rows = outcome.trace.dump(&[]);
    for rank in 0..4u64 {
        let on_world: Vec<_> = calls(&rows, rank, "MPI_Allreduce")
            .into_iter()
            .filter(|row| row.communicator == "MPI_COMM_WORLD")
            .collect();
        assert_eq!(on_world.len(), 6);
        let mut sums = [[0; 4]; 2];
        for row in on_world {
            assert_eq!(values(row, &["coll_monitoring_a2a_count"]), [Some(1)], "one from all to all: {row:?}");
            for peer in 0..4u64 {
                for (kind, sum) in ["count", "size"].into_iter().zip(&mut sums) {
                    let name = format!("{layer}_monitoring_messages_{kind}[{peer}]");
                    sum[peer as usize] += values(row, &[&name])[0].unwrap_or_else(|| panic!("no {name} in {row:?}"));
                }
            }
        }
        // The messages: in the first step with the neighbour, in the second with the one two away; 2 doubles each time.
        // The layer of collectives takes an Allreduce for a message to every other rank, whatever the algorithm.
        let pattern = |peer: u64| peer == rank ^ 1 || peer == rank ^ 2 || layer == "coll" && peer != rank;
        let messages = |peer: u64| if pattern(peer) { 6 } else { 0 };
        let messages = [0, 1, 2, 3].map(messages);
        assert_eq!(sums, [messages, messages.map(|count| 16 * count)], "rank {rank}");
    }
}

fn idle(case: &Case) {
    let plain = case.launch(2, "repeat.c").run();
    let outcome = case.launch(2, "repeat.c").trace().set("MPITRACE_PVARS", "idle").run();
    outcome.same_as(&plain);
    let info = outcome.trace.info();
    let had: Vec<&String> = info.counters.iter().chain(info.counters_limited.keys()).collect();
    assert_eq!(had, ["idle (timer)", "idle (counter)"], "{info:?}");
    for row in outcome.trace.dump(&[]) {
        let took = row.exit_ns.unwrap_or(0.0) - row.enter_ns;
        let idle = values(&row, &["idle (timer)"])[0].unwrap_or_else(|| panic!("no time in {row:?}"));
        assert!((idle as f64) < took + 1e5, "it polled for longer than the call took: {row:?}");
    }
}

fn none(case: &Case) {
    let plain = case.launch(2, "repeat.c").run();
    let outcome = case.launch(2, "repeat.c").trace().set("MPITRACE_PVARS", "a,b*").run();
    outcome.same_as(&plain);
    let said = outcome.lines_with("has no MPI_T pvars");
    assert!(matches!(said[..], [line] if line.contains("a, b*")), "{}", outcome.stderr);
    let info = outcome.trace.info();
    assert_eq!((info.counters.len(), info.counters_limited.len()), (0, 2), "{info:?}");
}

fn no_difference(case: &Case) {
    let programs: &[(u32, &str, &str)] = match case.mpi.name {
        // It has no sessions.
        "ompi4" => &[],
        // Those that are opened one after the other crash without the tracer too.
        "ompi5" => &[(2, "sessions.c", "within"), (2, "sessions.c", "beyond")],
        "impi-abi" => &[(2, "sessions.c", "within")],
        _ => &[(2, "sessions.c", "within"), (2, "sessions.c", "alone")],
    };
    for &(ranks, program, argument) in
        [(4, "communicators.c", ""), (2, "meanwhile.c", "communicator")].iter().chain(programs)
    {
        let launch = || {
            let launch = case.launch(ranks, program);
            if argument.is_empty() { launch } else { launch.arg(argument) }
        };
        // MPICH 5 by itself may abort so where a session is opened again: in 1 of 150 runs without the tracer, once in
        // 16 on a busy machine.
        let aborts = |outcome: &Outcome| {
            let errors = ["truncated; 8 bytes received", "MPI_Comm_rank(MPI_COMM_NULL"];
            argument == "alone" && errors.iter().any(|error| outcome.stderr.contains(error))
        };
        let settled = |run: &dyn Fn() -> Outcome| {
            let mut outcome = run();
            for _ in 0..3 {
                if aborts(&outcome) {
                    case.segments.empty();
                    outcome = run();
                }
            }
            outcome
        };
        let plain = settled(&|| launch().run());
        let outcome = settled(&|| launch().trace().set("MPITRACE_PVARS", "*").run());
        // With sessions each rank prints for itself.
        let lines = |outcome: &Outcome| {
            let mut lines: Vec<String> = outcome.stdout.lines().map(str::to_owned).collect();
            lines.sort_unstable();
            lines
        };
        assert_eq!(
            (outcome.code, lines(&outcome)),
            (plain.code, lines(&plain)),
            "{program} {argument}: {}",
            outcome.stderr
        );
        assert!(outcome.trace.info().complete, "{program} {argument}");
    }
}

fn algorithms(case: &Case) {
    // MPICH tells the numbers of its names: 3 is this one's in versions 4 and 5.
    let (variable, value, told) = match case.mpi.abi {
        "openmpi" => ("OMPI_MCA_coll_tuned_allreduce_algorithm", "3", "recursive_doubling"),
        _ => ("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", "recursive_doubling", "3"),
    };
    let chosen = |outcome: &Outcome| outcome.trace.info().factors["collective_algorithms"].clone();
    let left = case.launch(2, "repeat.c").trace().run();
    let truth = ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
    let set = case.launch(2, "repeat.c").trace().set(variable, value).set(truth.0, truth.1).run();
    let name = variable.trim_start_matches("OMPI_MCA_");
    assert!(!chosen(&left).contains(name), "{}", chosen(&left));
    assert!(chosen(&set).contains(&format!("{name}={told}")), "{}", chosen(&set));
    if case.mpi.abi == "openmpi" {
        assert!(chosen(&set).contains("coll_tuned_use_dynamic_rules=true"), "{}", chosen(&set));
    }
}
