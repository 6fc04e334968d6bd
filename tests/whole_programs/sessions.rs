//! Programs that reach MPI by sessions, with MPI_COMM_WORLD and without it.

use crate::support::want::{NUMBERED, WORLD};
use crate::support::{Case, On, Outcome, Test, Want, companion, want};

/// Open MPI 4 has no sessions.
const WITH_SESSIONS: On =
    On::Only(&["mpich4", "mpich5", "mpich5-abi", "ompi5", "impi", "impi-abi", "ompi6", "ompi6-abi"]);
/// Intel MPI refuses MPI_Init within a session.
const BEFORE_INIT: On = On::Only(&["mpich4", "mpich5", "mpich5-abi", "ompi5", "ompi6", "ompi6-abi"]);
/// The others crash in the second of two sessions that do not overlap.
const OPENED_AGAIN: On = On::Only(&["mpich5", "mpich5-abi"]);
/// Open MPI's launcher takes a session that is never closed for a death.
const UNCLOSED: On = On::Only(&["mpich4", "mpich5", "mpich5-abi"]);

pub const TESTS: &[Test] = &[
    Test::new("without_a_world_two_at_once_are_traced", two_at_once).on(WITH_SESSIONS),
    Test::new("within_init_and_finalize_are_traced", within).on(WITH_SESSIONS),
    Test::new("around_init_and_finalize_are_traced", around).on(BEFORE_INIT),
    Test::new("closed_after_finalize_are_traced", beyond).on(BEFORE_INIT),
    Test::new("opened_again_go_on_in_the_same_trace", again).on(OPENED_AGAIN),
    Test::new("never_closed_leave_records_to_recover", unclosed).on(UNCLOSED),
    Test::new("of_which_one_rank_is_traced_do_not_hang", one_rank).on(WITH_SESSIONS),
    Test::new("of_two_runs_do_not_share_a_file", two_runs).on(On::Only(&["mpich5"])),
];

/// Runs the program without and with the tracer. Its ranks print for themselves, so lines come in any order.
fn traced(case: &Case, order: &str) -> Outcome {
    // MPICH 5 by itself may abort where a session is opened again: UCX cannot read an address of the other rank.
    let ended = |run: &dyn Fn() -> Outcome| {
        let cleared = || {
            case.segments.empty();
            run()
        };
        (0..2).map(|_| cleared()).find(|outcome| outcome.code == 0).unwrap_or_else(cleared)
    };
    let plain = ended(&|| case.launch(2, "sessions.c").arg(order).run());
    let traced = ended(&|| case.launch(2, "sessions.c").arg(order).trace().run());
    assert_eq!((traced.code, sorted(&traced)), (plain.code, sorted(&plain)), "{}", traced.stderr);
    traced
}

fn sorted(outcome: &Outcome) -> Vec<&str> {
    let mut lines: Vec<_> = outcome.stdout.lines().collect();
    lines.sort_unstable();
    lines
}

fn calls(tag: &'static str, times: u64) -> [Want; 2] {
    let reduce = want("MPI_Allreduce", tag, 2).of(4, "MPI_INT").by("MPI_SUM");
    [reduce.times(times), want("MPI_Barrier", NUMBERED, 2)]
}

fn world() -> [Want; 1] {
    [want("MPI_Barrier", WORLD, 2).times(3)]
}

fn two_at_once(case: &Case) {
    let outcome = traced(case, "twice");
    let info = outcome.trace.info();
    assert!(info.complete, "{info:?}");
    info.assert_is(&[calls("first", 10), calls("second", 20), calls("third", 30)].concat());
    assert_eq!(outcome.lines_with("mpitrace: ").len(), 1, "one line, by the rank that ended last\n{}", outcome.stderr);
}

fn within(case: &Case) {
    let twice = [want("MPI_Barrier", WORLD, 2).times(6)];
    traced(case, "within").trace.info().assert_is(&[&twice[..], &calls("first", 10)].concat());
}

fn around(case: &Case) {
    let wants = [&calls("first", 10)[..], &world(), &calls("second", 20)].concat();
    traced(case, "around").trace.info().assert_is(&wants);
}

fn beyond(case: &Case) {
    let info = traced(case, "beyond").trace.info();
    assert!(info.complete, "{info:?}");
    info.assert_is(&[&world()[..], &calls("first", 10)].concat());
}

fn again(case: &Case) {
    let info = traced(case, "alone").trace.info();
    assert!(info.complete, "{info:?}");
    info.assert_is(&[calls("first", 10), calls("first", 2), calls("second", 20)].concat());
}

fn unclosed(case: &Case) {
    let run = || case.launch(2, "sessions.c").arg("unclosed");
    let plain = run().run();
    let outcome = run().trace().run();
    // The launcher takes the first rank to end for a death, and may end the other one before it has read what that
    // says: a line can be missing, with the tracer and without. That both ranks have come through is in the records.
    assert_eq!(outcome.code, plain.code, "{}", outcome.stderr);
    let expected = ["first: rank 0 of 2: 100", "first: rank 1 of 2: 100"];
    for told in [&plain, &outcome] {
        assert!(sorted(told).iter().all(|line| expected.contains(line)), "{}", told.stdout);
    }
    assert!(!outcome.trace.path.exists(), "who ends in the middle of MPI writes nothing");
    let info = case.recover().info();
    assert!(!info.complete);
    let reduce = info.only("MPI_Allreduce");
    assert_eq!((reduce.repetitions, reduce.ranks, reduce.incomplete), (10, 2, 0), "{info:?}");
}

fn one_rank(case: &Case) {
    let plain = case.launch(2, "sessions.c").arg("twice").run();
    let mixed = case.launch(2, "sessions.c").arg("twice").only_rank(1).trace().run();
    assert_eq!((mixed.code, sorted(&mixed)), (plain.code, sorted(&plain)), "{}", mixed.stderr);
    let finished = companion::mpitrace(&["info".as_ref(), mixed.trace.path.as_os_str()]);
    assert_eq!(finished.code, 1, "incomplete\n{}", finished.stdout);
    assert!(finished.stdout.contains("rank 0 of 2 left nothing in this trace"), "{}", finished.stdout);
}

fn two_runs(case: &Case) {
    let path = case.folder.join("same.mpitrace");
    for run in ["same.mpitrace", "same.2.mpitrace"] {
        case.launch(2, "sessions.c").arg("twice").trace().set("MPITRACE_OUTPUT", &path).run();
        let info = crate::support::Trace::new(case.folder.join(run)).info();
        assert!(info.complete, "{run}: {info:?}");
    }
}
