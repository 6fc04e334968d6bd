//! Counters per repetition: the kernel's, and those of code inside the stack.

use crate::support::companion::{self, mpitrace};
use crate::support::trace::DumpRow;
use crate::support::{Case, On, Outcome, Test};

pub const TESTS: &[Test] = &[
    Test::new("inside_the_stack_belong_to_the_call_and_the_region_they_are_in", inside),
    Test::new("of_the_kernel_are_what_the_program_has_caused", kernel).on(On::Only(&["ompi4", "mpich4", "impi-abi"])),
    Test::new("before_calls_are_told_of_the_late_rank", before).on(On::Only(&["ompi4", "mpich4", "mpich5-abi"])),
    Test::new("of_four_threads_are_each_threads_own", threads).on(On::Only(&["ompi4", "mpich4"])),
    Test::new("of_roth_tracing_are_in_its_arrays_and_in_the_trace", roth).on(On::Only(&["ompi4", "mpich5-abi"])),
    Test::new("from_fortran_are_those_of_the_c_functions", fortran).on(On::Fortran),
    Test::new("that_cannot_be_had_are_named_with_the_reason_and_the_others_go_on", left_out).on(On::Any),
    Test::new("by_no_known_name_are_named_with_the_nearest_one", unknown).on(On::Any),
    Test::new("go_on_when_a_program_forks", forked).on(On::Any),
];

/// As tests/programs/inner.c has it.
const REPETITIONS: u64 = 20;
const PAGES: u64 = 64;

fn traced(case: &Case, program: &str, events: &str) -> Outcome {
    let outcome = case.launch(2, program).trace().set("MPITRACE_EVENTS", events).run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome
}

#[track_caller]
fn value(row: &DumpRow, name: &str) -> u64 {
    row.counters.get(name).copied().flatten().unwrap_or_else(|| panic!("no {name} in {row:?}"))
}

fn rows_of<'r>(rows: &'r [DumpRow], function: &str) -> Vec<&'r DumpRow> {
    rows.iter().filter(|row| row.function == function).collect()
}

fn inside(case: &Case) {
    let plain = case.launch(2, "inner.c").run();
    assert_eq!(plain.code, 0, "{}", plain.stderr);
    let outcome = case.launch(2, "inner.c").trace().run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let rows = outcome.trace.dump(&[]);
    let (regions, calls) = (rows_of(&rows, "iteration"), rows_of(&rows, "MPI_Allreduce"));
    assert_eq!((regions.len() as u64, calls.len() as u64), (2 * REPETITIONS, 2 * REPETITIONS));
    // In repetition k what the program adds there: k, and 1.
    for row in &regions {
        assert_eq!(value(row, "steps"), row.repetition + 1, "{row:?}");
    }
    for call in &calls {
        assert_eq!(value(call, "steps"), 0, "nothing was added within the call: {call:?}");
        let region = regions.iter().find(|region| (region.rank, region.repetition) == (call.rank, call.repetition));
        let region = region.unwrap_or_else(|| panic!("no region around {call:?}"));
        for name in ["combined", "in combine"] {
            assert_eq!(value(call, name), value(region, name), "all of it is in both: {call:?}");
        }
        assert!(value(call, "in combine") as f64 <= call.exit_ns.unwrap_or(0.0) - call.enter_ns + 1.0, "{call:?}");
    }
    // The region is charged nowhere: the time in collective calls is that of the calls.
    let summary = mpitrace(&["summary".as_ref(), outcome.trace.path.as_os_str(), "--json".as_ref()]);
    let summary = companion::json(&summary);
    let in_calls = |rows: &mut dyn Iterator<Item = &DumpRow>| -> f64 {
        rows.map(|row| 1e-9 * (row.exit_ns.unwrap_or(row.enter_ns) - row.enter_ns)).sum()
    };
    let expected = in_calls(&mut rows.iter().filter(|row| row.function.starts_with("MPI_")));
    let found = summary["collectives_s"].as_f64().expect("seconds");
    // Clocks of the ranks are divided by rounded frequencies.
    assert!((found / expected - 1.0).abs() < 0.001, "{found} s, of {expected} s in the calls: {summary:#}");
    let losses = summary["losses"].as_array().expect("losses");
    assert!(losses.iter().all(|loss| loss["function"] != "iteration"), "{losses:#?}");
    // Whichever ranks combine: somebody does, four elements at a time.
    for repetition in 0..REPETITIONS {
        let of_it = calls.iter().filter(|call| call.repetition == repetition);
        let combined: u64 = of_it.map(|call| value(call, "combined")).sum();
        assert!(combined >= 4 && combined.is_multiple_of(4), "{combined} in repetition {repetition}");
    }
}

/// What a rank counts before a call is beside what it counts in it, and `summary` says it of the rank that is late.
fn before(case: &Case) {
    let outcome = traced(case, "first_touch.c", "page-faults,messages-sent");
    let rows = outcome.trace.dump(&[]);
    for row in &rows {
        let before = row.counters["page-faults-before"];
        if row.repetition == 0 {
            assert_eq!(before, None, "nothing was read before: {row:?}");
            continue;
        }
        let (faults, least) = (before.expect("a value"), if row.rank == 1 { 2000 } else { 20 });
        assert!((least..least + 1000).contains(&faults), "{row:?}");
        assert!(value(row, "page-faults") < 20, "{row:?}");
    }
    let summary = mpitrace(&["summary".as_ref(), outcome.trace.path.as_os_str(), "--json".as_ref()]);
    let summary = companion::json(&summary);
    let losses = summary["losses"].as_array().expect("losses");
    let is_late = |loss: &&serde_json::Value| loss["kind"] == "late-rank" && loss["rank"] == 1;
    let counted = losses.iter().filter(is_late).filter_map(|loss| loss["counted"].get(0));
    let counted: Vec<_> = counted.collect();
    assert!(!counted.is_empty() && counted.iter().all(|one| one["counter"] == "page-faults"), "{losses:#?}");
    assert!(counted[0]["late"].as_f64() >= Some(2000.0), "{counted:?}");
    let said = format!("{summary:#}");
    assert!(said.contains("Before each MPI_Allreduce") && said.contains(" rank 1 counts 2"), "{said}");
}

fn kernel(case: &Case) {
    let outcome = traced(case, "inner.c", "task-clock,context-switches,page-faults,minor-faults");
    let rows = outcome.trace.dump(&[]);
    let regions = rows_of(&rows, "iteration");
    assert_eq!(regions.len() as u64, 2 * REPETITIONS);
    for row in regions {
        let took = row.exit_ns.unwrap_or(0.0) - row.enter_ns;
        let (clock, switches, faults) =
            (value(row, "task-clock") as f64, value(row, "context-switches"), value(row, "page-faults"));
        match row.repetition % 4 {
            // Slept for 5 ms: off the processor once or more, and for about as long.
            1 => assert!(switches >= 1 && took - clock > 4e6, "{row:?}"),
            2 => assert!(faults >= PAGES && value(row, "minor-faults") >= PAGES, "{row:?}"),
            // 5 ms of the processor's time.
            3 => assert!(clock >= 5e6, "{row:?}"),
            _ => {}
        }
        // What the repetition did not do is not there: a few pages are the library's.
        assert!(row.repetition % 4 == 2 || row.repetition < 4 || faults < PAGES, "{row:?}");
    }
    for rank in 0..2 {
        let mut of_rank: Vec<&DumpRow> =
            rows_of(&rows, "iteration").into_iter().filter(|row| row.rank == rank).collect();
        of_rank.sort_by_key(|row| row.repetition);
        for three in of_rank.windows(3) {
            // The readings of the clock lie outside of the row's time stamps, and between those of its neighbours. A
            // host may take the processor away between any two of them, and the clock runs on.
            let most = three[2].enter_ns - three[0].exit_ns.unwrap_or(0.0);
            assert!((value(three[1], "task-clock") as f64) < most, "{three:?}");
        }
    }
}

fn threads(case: &Case) {
    let trace = case.traced(2, "inner_threads.c");
    let rows = trace.dump(&[]);
    for thread in 0..4 {
        let regions =
            rows_of(&rows, &format!("thread {thread}")).into_iter().map(|row| (row.rank, value(row, "added")));
        let regions: Vec<_> = regions.collect();
        let expected = 100 * (thread + 1);
        assert_eq!(regions.len(), 2 * 50);
        assert!(regions.iter().all(|(_, added)| *added == expected), "thread {thread}: {regions:?}");
    }
    assert_eq!(rows_of(&rows, "MPI_Barrier").len(), 2);
}

fn roth(case: &Case) {
    let plain = case.launch(2, "roth.c").run();
    assert_eq!(plain.stdout, "rank 0: 0 and 0 metrics\nrank 1: 0 and 0 metrics\n", "{}", plain.stderr);
    let outcome = case.launch(2, "roth.c").trace().run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let repetition = |k: u64, rank: u64| format!("rank {rank}: repetition {k}: 1 sends, {} retries\n", k % 3);
    let lines: String = (0..12).flat_map(|k| [repetition(k, 0), repetition(k, 1)]).collect();
    assert_eq!(outcome.stdout, format!("rank 0: 2 and 2 metrics\nrank 1: 2 and 2 metrics\n{lines}"));
    let rows = outcome.trace.dump(&[]);
    let regions = rows_of(&rows, "roth_tracing");
    assert_eq!(regions.len(), 2 * 12);
    for row in regions {
        assert_eq!((value(row, "SENDS"), value(row, "RETRIES")), (1, row.repetition % 3), "{row:?}");
        let (outer, inner) = (value(row, "OUTER_TIME"), value(row, "INNER_TIME"));
        assert!(inner >= row.repetition % 3 * 200_000 && outer >= inner, "{row:?}");
    }
}

fn fortran(case: &Case) {
    let trace = case.traced(2, "inner_fortran.f90");
    let rows = trace.dump(&[]);
    let regions = rows_of(&rows, "from Fortran");
    assert_eq!(regions.len(), 20);
    for row in regions {
        assert_eq!(value(row, "cells"), 100 * (row.repetition + 1), "{row:?}");
        assert!(value(row, "in the loop") > 0, "{row:?}");
    }
}

/// No machine has so many counters of its own.
fn left_out(case: &Case) {
    let raw: Vec<String> = (0..200).map(|code| format!("r{:x}", 0xff00 + code)).collect();
    let outcome = traced(case, "inner.c", &format!("page-faults,{}", raw.join(",")));
    let info = outcome.trace.info();
    assert!(info.counters.contains(&"page-faults".to_owned()), "{info:?}");
    assert!(!info.counters_limited.is_empty(), "{info:?}");
    for (name, reason) in &info.counters_limited {
        assert!(!info.counters.contains(name) && reason.contains(name.as_str()), "{name}: {reason}");
        assert_eq!(outcome.lines_with(&format!("{name} ")).len(), 1, "{name}: {}", outcome.stderr);
    }
    let rows = outcome.trace.dump(&[]);
    assert!(rows_of(&rows, "iteration").iter().any(|row| value(row, "page-faults") >= PAGES));
}

fn unknown(case: &Case) {
    let outcome = traced(case, "repeat.c", "page-fautls,task-clock,PAPI_L2_TCM");
    let lines = outcome.lines_with("page-fautls");
    assert!(matches!(lines[..], [line] if line.contains("page-faults")), "{}", outcome.stderr);
    let info = outcome.trace.info();
    assert_eq!(info.counters, ["task-clock"]);
    // Also where nothing was said.
    let reason = |name: &str| info.counters_limited.get(name).cloned().unwrap_or_default();
    assert!(reason("page-fautls").contains("the nearest is page-faults"), "{info:?}");
    assert!(reason("PAPI_L2_TCM").contains("r3f24 on Intel"), "{info:?}");
}

fn forked(case: &Case) {
    let plain = case.launch(2, "forked.c").run();
    let outcome = traced(case, "forked.c", "task-clock");
    outcome.same_as(&plain);
    let rows = outcome.trace.dump(&[]);
    let regions = rows_of(&rows, "before the fork and after");
    assert_eq!(regions.len(), 2 * 3, "what the child does is not the rank's");
    assert!(regions.iter().all(|row| row.exit_ns.is_some() && value(row, "counted") == 1), "{regions:?}");
}
