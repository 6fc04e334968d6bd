//! Global time: which ranks share a clock, and how wrong the time of the others is where the truth is known.
//!
//! How exact a method is, benches/clock_methods.rs measures, and the tests of the solver prove in simulated time. Here
//! the simulated clocks are a thousand seconds apart, so that a wrong sign, a lost map or a wrong scale shows and no
//! load of the machine does; beyond that an error may be as large as the run itself says.

use crate::support::trace::{DumpRow, Synchronised};
use crate::support::{Case, On, Outcome, Test, build, companion};
use serde_json::Value;
use std::ffi::OsStr;

/// One library of each family, and the one whose ranks wait without spinning.
const FAMILIES: On = On::Only(&["ompi4", "mpich4", "mpich5-abi"]);

pub const TESTS: &[Test] = &[
    Test::new("of_one_machine_are_one_that_is_tested", one_machine),
    Test::new("are_tested_on_two_processors_and_the_ranks_may_run_where_they_might", affinity).first_on(&["mpich4"]),
    Test::new("that_are_simulated_are_found_by_every_method", every_method).on(FAMILIES).first_on(&["mpich4"]),
    Test::new("by_a_method_that_does_not_end_in_its_time_are_joint_and_one_line_says_so", not_in_time)
        .on(FAMILIES)
        .second_tier(),
    Test::new("are_estimated_again_by_other_methods_out_of_the_same_probes", again).on(FAMILIES),
    Test::new("of_four_ranks_in_three_domains_are_found", three_domains),
    Test::new("of_eight_ranks_are_found_by_every_tree", eight_ranks).on(On::Only(&["ompi4", "ompi5"])).second_tier(),
    Test::new("are_synchronised_while_the_program_runs", resync).on(FAMILIES),
    Test::new("are_synchronised_also_where_a_call_has_failed_on_one_rank_alone", failed_on_one).on(FAMILIES),
    Test::new("end_the_program_well_where_a_rank_was_late_to_a_meeting", late_to_a_meeting).first_on(&["mpich5"]),
    Test::new("are_synchronised_also_by_a_rank_that_is_paused", paused).on(FAMILIES),
    Test::new("that_step_are_caught", step).on(FAMILIES).second_tier(),
    Test::new("of_a_killed_run_stand_by_what_init_found", killed).on(On::Only(&["ompi4", "mpich4"])),
    Test::new("are_not_synchronised_where_none_is_asked_for", none).on(On::Any),
    Test::new("of_one_rank_need_nothing", one_rank),
    Test::new("are_exported_with_those_of_the_system", exported).on(FAMILIES).first_on(&["mpich4"]),
    Test::new("by_a_method_that_does_not_exist_are_joint_and_one_line_says_so", no_such_method).on(On::Any),
];

const TWO: &str = "1:offset_ns=1e12,ppm=37";
/// A tenth of what the simulated clocks are apart; nothing here runs for so long.
const WRONG_NS: f64 = 1e11;

fn ticking(case: &Case, ranks: u32, calls: u32, clock: &str, settings: &[(&str, &str)], what: &str) -> Outcome {
    let launch = case.launch(ranks, "ticking.c").arg(calls.to_string()).arg(what).trace();
    let launch = settings.iter().fold(launch, |launch, (name, value)| launch.set(name, value));
    launch.set("MPITRACE_TEST_CLOCK", clock).run()
}

#[track_caller]
fn found(outcome: &Outcome) -> Synchronised {
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.trace.clock().1
}

/// The truth is known, and the global time is as near to it as the run says.
#[track_caller]
fn assert_right(clock: &Synchronised) {
    let truth = clock.truth.as_ref().unwrap_or_else(|| panic!("no truth in {clock:?}"));
    assert!(truth.rms_ns < WRONG_NS, "{clock:?}");
    // The joint method alone proves bounds.
    let proven = (clock.method == "joint").then_some(true);
    assert_eq!((truth.hard_bounds_held, clock.error_ns.max.is_some()), (proven, proven.is_some()), "{clock:?}");
    // Who states no error is wrong by more than nothing at times.
    assert!(proven.is_none() || clock.causality.violated == 0, "{clock:?}");
}

fn one_machine(case: &Case) {
    let trace = case.traced(2, "counts.c");
    let (code, clock) = trace.clock();
    assert_eq!((code, clock.domains.as_slice()), (0, &[vec![0, 1]][..]), "{clock:?}");
    let error = clock.error_ns.max.unwrap_or_else(|| panic!("the test of the clocks states an error: {clock:?}"));
    assert!(error > 0.0, "{clock:?}");
    assert!(clock.causality.checked > 0 && clock.causality.violated == 0, "{clock:?}");
    assert!(clock.truth.is_none());
    assert!(trace.dump(&[]).iter().all(|row| row.error_ns.is_some_and(|error| error > 0.0)));
}

/// A launcher that does not bind ranks may have them on one processor, from which one of the two is moved.
fn affinity(case: &Case) {
    case.launch(2, "affinity.c").trace().run().same_as(&case.launch(2, "affinity.c").run());
}

/// More exchanges than there is time for.
fn not_in_time(case: &Case) {
    let settings = [("MPITRACE_CLOCKSYNC", "hca3,fit_points=100000000")];
    let outcome = ticking(case, 3, 100, "1:offset_ns=1e12,ppm=37;2:offset_ns=2e12", &settings, "");
    let line = "hca3 did not synchronise the clocks within 30 s: joint is used";
    assert_eq!(outcome.lines_with(line).len(), 1, "{}", outcome.stderr);
    let clock = found(&outcome);
    assert_eq!((clock.method.as_str(), clock.domains.len()), ("joint", 3));
    assert_right(&clock);
}

fn every_method(case: &Case) {
    let methods = ["skampi", "netgauge", "jk", "hca", "hca2", "hca3", "h2hca", "linear", "joint"];
    for method in methods {
        let drifts = matches!(method, "jk" | "hca" | "hca2" | "hca3" | "h2hca");
        // Few exchanges, which on a busy machine take a turn of the processor each: this is not about precision.
        let setting = if drifts { format!("{method},fit_points=20,exchanges=5") } else { method.to_owned() };
        let clock = found(&ticking(case, 2, 150, TWO, &[("MPITRACE_CLOCKSYNC", &setting)], ""));
        assert_eq!((clock.method.as_str(), clock.domains.len()), (method, 2));
        assert!(clock.sync_ns > 0.0, "{clock:?}");
        assert_right(&clock);
    }
}

fn again(case: &Case) {
    // Three clocks: the third is known to the first through a hypercube.
    let clocks = "0:offset_ns=1e12,ppm=-12;2:offset_ns=3e12,ppm=37";
    let trace = ticking(case, 3, 200, clocks, &[], "").trace;
    for method in ["joint", "linear", "skampi", "none"] {
        let (_, clock) = trace.clock_by(method);
        assert_eq!(clock.method, method);
        let truth = clock.truth.as_ref().unwrap_or_else(|| panic!("no truth in {clock:?}"));
        // CLOCK_REALTIME, too, is one on one machine.
        assert!(truth.rms_ns < WRONG_NS, "{clock:?}");
    }
    let told =
        companion::mpitrace::<&OsStr>(&["clock".as_ref(), trace.path.as_ref(), "--method".as_ref(), "hca3".as_ref()]);
    let line =
        "mpitrace: no hca3 out of a run that was synchronised by joint: it can be joint, linear, skampi or none\n";
    assert_eq!((told.code, told.stdout.as_str(), told.stderr.as_str()), (2, "", line));
}

fn three_domains(case: &Case) {
    let clocks = "0:offset_ns=1e12,ppm=-12;1:offset_ns=3e12,ppm=37";
    let clock = found(&ticking(case, 4, 100, clocks, &[], ""));
    assert_eq!(clock.domains, [vec![0], vec![1], vec![2, 3]]);
    assert_right(&clock);
}

fn eight_ranks(case: &Case) {
    let clocks =
        (1..7u64).map(|rank| format!("{rank}:offset_ns={},ppm={}", rank * 1_000_000_000_000u64, 10 * rank as i64 - 30));
    let clocks = clocks.collect::<Vec<_>>().join(";");
    for method in ["joint", "netgauge", "hca3,fit_points=5,exchanges=5"] {
        let clock = found(&ticking(case, 8, 50, &clocks, &[("MPITRACE_CLOCKSYNC", method)], ""));
        assert_eq!(clock.domains.len(), 7, "ranks 0 and 7 have the true clock: {clock:?}");
        assert_right(&clock);
    }
}

/// The repetitions that the tracer says it has delayed.
fn perturbed(rows: &[DumpRow], rank: u64) -> usize {
    rows.iter().filter(|row| row.rank == rank && row.perturbed).count()
}

fn resync(case: &Case) {
    let outcome = ticking(case, 2, 500, TWO, &[("MPITRACE_RESYNC", "0.1")], "region");
    let clock = found(&outcome);
    assert_right(&clock);
    // Init, Finalize, and some in between. With a millisecond or more per call the ranks meet again after a hundred
    // calls at most, and by then a tenth of a second is over: however long the machine keeps them, one is certain.
    assert!(clock.synchronisations >= 3, "{clock:?}");
    let rows = outcome.trace.dump(&[]);
    for rank in 0..2 {
        let marked = perturbed(&rows, rank) as u64;
        assert!(marked >= clock.synchronisations - 2, "{marked} perturbed on rank {rank}: {clock:?}");
        let region = rows.iter().find(|row| row.rank == rank && row.function == "all");
        assert!(region.is_some_and(|region| region.perturbed), "the region was delayed as well: {region:?}");
    }
}

fn paused(case: &Case) {
    let outcome = ticking(case, 2, 500, TWO, &[("MPITRACE_RESYNC", "0.1")], "pause");
    let clock = found(&outcome);
    assert!(clock.synchronisations >= 3, "{clock:?}");
    assert!(outcome.trace.dump(&[]).iter().all(|row| row.rank == 0), "rank 1 keeps nothing");
}

/// The call has its place on both ranks: were it counted on one alone, the leaders would wait for each other at
/// different calls, and each repetition would be paired with the one before.
fn failed_on_one(case: &Case) {
    let plain = case.launch(2, "differing_errors.c").arg("0.1").run();
    assert!(plain.stdout.contains("MPI_Bcast failed"), "{}", plain.stdout);
    let launch = case.launch(2, "differing_errors.c").arg("1").trace().set("MPITRACE_RESYNC", "0.1");
    let outcome = launch.set("MPITRACE_TEST_CLOCK", TWO).run();
    outcome.same_as(&plain);
    let clock = found(&outcome);
    assert_right(&clock);
    assert!(clock.synchronisations >= 3, "{clock:?}");
    let info = outcome.trace.info();
    assert_eq!((info.complete, info.failed), (true, 1));
    let mut allreduce = info.operations.iter().filter(|operation| operation.function == "MPI_Allreduce");
    assert!(allreduce.all(|operation| operation.incomplete == 0), "{:#?}", info.operations);
}

/// No rank waits for the message that it sends then, which is received in the end: MPICH 5 ends a program that frees
/// the communicator of a message that is not, and UCX below it says so of each.
fn late_to_a_meeting(case: &Case) {
    let plain = case.launch(2, "counts.c").run();
    let late = build::shared_library(case.mpi, "late_return.c");
    let launch = case.launch(2, "counts.c").preload(late).trace();
    let launch = launch.set("MPIR_CVAR_NOLOCAL", "1").set("UCX_LOG_FILE", case.folder.join("ucx.%p.log"));
    let outcome = launch.set("MPITRACE_RESYNC", "0.1").set("MPITRACE_TEST_CLOCK", TWO).run();
    outcome.same_as(&plain);
    let logs = std::fs::read_dir(&case.folder).expect("the folder of the test").flatten();
    let logs = logs.filter(|file| file.file_name().to_string_lossy().starts_with("ucx."));
    for log in logs.map(|file| std::fs::read_to_string(file.path()).expect("a log of UCX")) {
        assert!(!log.contains("was not matched"), "{log}");
    }
    assert_eq!(outcome.lines_with("were abandoned").len(), 1, "{}", outcome.stderr);
    let info = outcome.trace.info();
    assert_eq!((info.complete, info.records), (true, 2 * 66));
}

fn step(case: &Case) {
    let clock = "1:offset_ns=1e12,ppm=20,step_ns=1e10@1.5";
    let (code, clock) = ticking(case, 2, 2000, clock, &[("MPITRACE_RESYNC", "0.1")], "").trace.clock();
    assert_eq!(code, 1, "a step is a finding: {clock:?}");
    // On a busy machine two messages may be less alike than those before, by some hundred ns, which looks like a step
    // too.
    let steps: Vec<_> = clock.steps.iter().filter(|step| step.size_ns.abs() > 1e9).collect();
    // One, or the two halves of it where the clock has stepped in the middle of a synchronisation; of Init's, which a
    // busy machine makes long, there is no half before.
    assert!((1..=2).contains(&steps.len()) && steps.iter().all(|step| step.domain == 1), "{clock:?}");
    let size: f64 = steps.iter().map(|step| step.size_ns).sum();
    let is = |expected: f64| (size.abs() - expected).abs() < 1e9;
    assert!(is(1e10) || steps.len() == 1 && steps[0].after_s < 0.0 && is(5e9), "{clock:?}");
    // It comes 1.5 s after the clocks began, in Init; times count from the first call, which a busy machine makes late.
    let (first, last) = (steps[0], steps[steps.len() - 1]);
    assert!(first.after_s < 1.65 && last.before_s > first.after_s, "{clock:?}");
    assert!(steps.windows(2).all(|pair| pair[0].before_s == pair[1].after_s), "{clock:?}");
}

fn killed(case: &Case) {
    ticking(case, 2, 400, TWO, &[("MPITRACE_RESYNC", "0")], "kill");
    let trace = case.recover();
    let clock = trace.clock().1;
    assert_eq!((clock.method.as_str(), clock.domains.len(), clock.synchronisations), ("joint", 2, 1));
    let truth = clock.truth.as_ref().unwrap_or_else(|| panic!("no truth in {clock:?}"));
    assert_eq!(truth.hard_bounds_held, Some(true), "{clock:?}");
    let error = clock.error_ns.max.unwrap_or_default();
    assert!(error > 1000.0, "an unknown drift over a fifth of a second is in the error: {clock:?}");
}

fn none(case: &Case) {
    let clock = found(&ticking(case, 2, 50, TWO, &[("MPITRACE_CLOCKSYNC", "none")], ""));
    assert_eq!((clock.method.as_str(), clock.domains.len()), ("none", 2));
    assert_eq!((clock.sync_ns, clock.error_ns.max), (0.0, None));
}

fn one_rank(case: &Case) {
    let (code, clock) = case.traced(1, "repeat.c").clock();
    assert_eq!((code, clock.domains.as_slice(), clock.sync_ns), (0, &[vec![0]][..], 0.0));
}

fn no_such_method(case: &Case) {
    let outcome = ticking(case, 2, 50, TWO, &[("MPITRACE_CLOCKSYNC", "hca4")], "");
    assert_eq!(outcome.lines_with("MPITRACE_CLOCKSYNC=hca4").len(), 1, "{}", outcome.stderr);
    assert_eq!(found(&outcome).method, "joint");
}

/// A stamp of another tool before a call lies before its entry in global time, and one after it behind its exit.
fn exported(case: &Case) {
    // A reading of two clocks together is as exact as the rank is undisturbed.
    const INEXACT_NS: f64 = 1e6;
    let outcome = case.launch(2, "stamps.c").trace().set("MPITRACE_TEST_CLOCK", TWO).run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let words: [&OsStr; 4] = ["clock".as_ref(), outcome.trace.path.as_ref(), "--export".as_ref(), "-".as_ref()];
    let maps = companion::json(&companion::mpitrace(&words));
    let global = |rank: u64, clock: &str, stamp: i64| {
        let rows = maps.as_array().expect("rows");
        let of_rank = |row: &&Value| row["ranks"].as_array().is_some_and(|ranks| ranks.contains(&rank.into()));
        let points = rows.iter().find(of_rank).and_then(|row| row["points"].as_array()).expect("the rank's points");
        // From the first reading on: a float does not hold the time since 1970 to the ns.
        let read = |at: usize| (points[at][clock].as_i64().expect("ns") - stamp) as f64;
        let to = (1..points.len() - 1).find(|&at| read(at) > 0.0).unwrap_or(points.len() - 1);
        let [from_ns, to_ns] = [to - 1, to].map(|at| points[at]["global_ns"].as_f64().expect("ns"));
        from_ns - (to_ns - from_ns) * read(to - 1) / (read(to) - read(to - 1))
    };
    let rows: Vec<DumpRow> = outcome.trace.dump(&[]).into_iter().filter(|row| row.function == "MPI_Barrier").collect();
    assert_eq!((rows.len(), outcome.stdout.lines().count()), (40, 40));
    for rank in 0..2 {
        let stamps =
            outcome.stdout.lines().map(|line| line.split(' ').map(|word| word.parse::<i64>().expect("a number")));
        let stamps = stamps.map(Iterator::collect::<Vec<i64>>).filter(|stamps| stamps[0] == rank as i64);
        for (row, stamps) in rows.iter().filter(|row| row.rank == rank).zip(stamps) {
            for (column, clock) in ["realtime_ns", "monotonic_raw_ns"].into_iter().enumerate() {
                let [before, after] = [stamps[1 + column], stamps[3 + column]].map(|stamp| global(rank, clock, stamp));
                let (enter, exit) = (row.enter_ns, row.exit_ns.expect("it has returned"));
                assert!(
                    before - INEXACT_NS < enter && exit < after + INEXACT_NS && after - before < 1e10 + exit - enter,
                    "rank {rank} {clock}: {before} {enter} {exit} {after}"
                );
            }
        }
    }
}
