//! The state of a process beside its results: its standard error, errno, signals, and the stack that exceptions
//! and long jumps unwind. A traced call leaves all of it as the library does.

use crate::support::want::WORLD;
use crate::support::{Case, Test, want};

pub const TESTS: &[Test] = &[
    Test::new("with_a_closed_pipe_for_standard_error_is_not_ended_by_it", closed_pipe).second_tier(),
    Test::new("of_errno_and_signals_is_kept", kept),
    Test::new("behind_an_exception_is_that_of_the_program", exceptions),
    Test::new("behind_a_long_jump_is_that_of_the_program", long_jumps),
];

/// The tracer has something to say: of a variable that it does not know, that there is no room for the records, and
/// where the trace is.
fn closed_pipe(case: &Case) {
    for how in ["default", "handled", "pending", "raised"] {
        let plain = case.launch(2, "closed_pipe.c").arg(how).run();
        assert_eq!(plain.code, 0, "{how}: {}", plain.stderr);
        let traced = case.launch(2, "closed_pipe.c").arg(how).set("MPITRACE_UNKNOWN", "1").trace().run();
        traced.same_as(&plain);
        assert_eq!(traced.trace.info().records, 2 * 40000, "{how}");
    }
}

fn kept(case: &Case) {
    let plain = case.launch(1, "process_state.c").run();
    assert_eq!(plain.code, 0, "{}", plain.stderr);
    for events in ["", "messages,task-clock,page-faults,context-switches,no-such-event"] {
        let traced = case.launch(1, "process_state.c").trace().set("MPITRACE_EVENTS", events).run();
        traced.same_as(&plain);
        assert!(traced.trace.info().complete, "{}", traced.stderr);
    }
}

/// Seven calls end by an error handler that throws, one by a callback that does; a reduction follows each.
fn exceptions(case: &Case) {
    let plain = case.launch(2, "exceptions.cpp").run();
    assert_eq!(plain.code, 0, "{}", plain.stderr);
    assert!(plain.stdout.contains("good 8"), "{}", plain.stdout);
    for events in ["", "messages"] {
        let traced = case.launch(2, "exceptions.cpp").trace().set("MPITRACE_EVENTS", events).run();
        traced.same_as(&plain);
        let info = traced.trace.info();
        // Of the calls that were left by an exception five are collectives, and one frees a communicator.
        assert_eq!(info.failed, 2 * 6, "{info:?}");
        info.assert_is(&[
            want("MPI_Allreduce", WORLD, 2).of(8, "MPI_DOUBLE").by("MPI_SUM").times(8),
            want("MPI_Ibarrier", "MPI_COMM_SELF", 1),
            want("MPI_Ibarrier", "MPI_COMM_SELF", 1),
        ]);
    }
}

fn long_jumps(case: &Case) {
    let plain = case.launch(2, "long_jumps.c").run();
    let traced = case.launch(2, "long_jumps.c").trace().run();
    traced.same_as(&plain);
    assert_eq!((traced.code, plain.stdout.contains("left 5, good 5")), (0, true), "{}", plain.stdout);
    let info = traced.trace.info();
    let sum = info.only("MPI_Allreduce");
    assert_eq!((sum.repetitions, sum.incomplete), (5, 0), "{info:?}");
}
