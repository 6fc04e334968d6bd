//! Counters of the processor on programs that execute a known number of instructions. They run where the machine has a
//! PMU: here if it has one, and in the emulated machine of tests/machine/.

use crate::support::trace::DumpRow;
use crate::support::{Case, Launch, On, Outcome, Test, build};
use mpitrace_platform::perf::{self, Attributes, flag};
use std::ffi::OsString;

pub const TESTS: &[Test] = &[
    Test::new("are_exact_on_a_library_that_runs_a_loop", exact).on(MOCK).first_on(ONE).where_permitted(has_pmu),
    Test::new("are_exact_on_a_thread_that_migrates", migrates).on(MOCK).first_on(ONE).where_permitted(has_pmu),
    Test::new("agree_to_one_percent_on_a_library_that_polls", one_percent).where_permitted(has_pmu),
];

/// The library whose interface tests/programs/mock_ranks.c has.
pub const MOCK: On = On::Only(&["mpich5-abi"]);
const ONE: &[&str] = &["mpich5-abi"];

/// Turns of the loop for each element, on the mock.
pub const TURNS: u64 = 1_000;
/// The instructions that may be counted beside the loop.
pub const SLACK: u64 = 100;
/// Instructions of a turn, in tests/programs/turns.c.
const OF_A_TURN: u64 = 2;
/// Bytes of the two kinds of calls: 1 element and 11.
const FEW: u64 = 8;
const MANY: u64 = 88;

/// True if this machine counts instructions.
pub fn has_pmu() -> Result<(), String> {
    let (kind, number) = perf::generic("instructions").expect("the commonest event");
    let flags = flag::DISABLED | flag::EXCLUDE_KERNEL | flag::EXCLUDE_HYPERVISOR;
    match perf::open(&Attributes { flags, ..Attributes::new(kind, number) }, None, perf::CLOSE_ON_EXEC) {
        Ok(event) => {
            // SAFETY: the descriptor is ours.
            unsafe { libc::close(event) };
            Ok(())
        }
        Err(error) => Err(format!("this machine counts no instructions (error {error} of perf_event_open)")),
    }
}

/// One rank of tests/programs/turns.c on the mock library, which calls the operator once in each call.
pub fn on_mock<'c>(case: &'c Case, events: &str, turns: u64) -> Launch<'c> {
    let mock = build::shared_library(case.mpi, "mock_ranks.c");
    let launch = case.launch(1, "turns.c").arg(turns.to_string()).preload(mock).trace();
    // The mock is taken as a library that has the calls by itself: no messages of the tracer's in between.
    launch.set("MPITRACE_EVENTS", events).set("MPITRACE_RESYNC", "0")
}

#[track_caller]
pub fn run(launch: Launch) -> Outcome {
    let outcome = launch.run_by(&[]);
    assert_eq!(outcome.code, 0, "{}{}", outcome.stdout, outcome.stderr);
    outcome
}

/// The least value of a counter among the calls of this size on a rank, and how many elements its operator had in each.
#[track_caller]
fn least(rows: &[DumpRow], rank: u64, bytes: u64, name: &str) -> (u64, u64) {
    let calls = rows.iter().filter(|row| (row.rank, row.bytes) == (rank, bytes) && row.function == "MPI_Allreduce");
    let values = calls.map(|row| {
        let value = |name: &str| row.counters.get(name).copied().flatten();
        (value(name).unwrap_or_else(|| panic!("no {name} in {row:?}")), value("combined").unwrap_or(0))
    });
    values.min().unwrap_or_else(|| panic!("no calls of {bytes} bytes on rank {rank}"))
}

/// By how much the larger calls exceed the smaller ones on a rank, each by its least value, and by how many
/// instructions the loop does.
#[track_caller]
pub fn excess(rows: &[DumpRow], rank: u64, name: &str, turns: u64) -> (u64, u64) {
    let ((few, of_few), (many, of_many)) = (least(rows, rank, FEW, name), least(rows, rank, MANY, name));
    (many.wrapping_sub(few), (of_many - of_few) * turns * OF_A_TURN)
}

#[track_caller]
pub fn assert_exact(outcome: &Outcome, name: &str) -> u64 {
    let (counted, expected) = excess(&outcome.trace.dump(&[]), 0, name, TURNS);
    assert_eq!(expected, 10 * TURNS * OF_A_TURN, "the operator is called once in each call");
    assert!(counted.abs_diff(expected) <= SLACK, "{name}: {counted} for a loop of {expected}");
    counted
}

fn exact(case: &Case) {
    // More events beside it, as far as this processor has them, change nothing.
    for events in ["instructions", "instructions:u", "instructions,cycles", "task-clock,instructions,PAPI_BR_MSP"] {
        let outcome = run(on_mock(case, events, TURNS));
        assert_exact(&outcome, events.split(',').find(|name| name.starts_with("instr")).expect("instructions"));
    }
}

fn migrates(case: &Case) {
    let launch = on_mock(case, "instructions:u", TURNS).arg("20").arg("migrate");
    assert_exact(&run(launch), "instructions:u");
}

/// The work of a call beside the operator varies with the moment at which the other rank comes: by the least of a
/// thousand it is the same for either size.
fn one_percent(case: &Case) {
    const TURNS: u64 = 10_000;
    const REPETITIONS: u64 = 1000;
    let arguments: [OsString; 2] = [TURNS, REPETITIONS].map(|number| number.to_string().into());
    let launch = arguments.into_iter().fold(case.launch(2, "turns.c"), |launch, argument| launch.arg(argument));
    let outcome = launch.trace().set("MPITRACE_EVENTS", "instructions:u").run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let rows = outcome.trace.dump(&[]);
    // A library may leave the operator to one rank.
    let of_ranks = [0, 1].map(|rank| excess(&rows, rank, "instructions:u", TURNS));
    assert!(of_ranks.iter().any(|(_, expected)| *expected > 0), "{of_ranks:?}");
    for (counted, expected) in of_ranks.into_iter().filter(|(_, expected)| *expected > 0) {
        assert!(counted.abs_diff(expected) <= expected / 100, "{counted} for a loop of {expected}");
    }
}
