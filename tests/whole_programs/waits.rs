//! The sums of time of each rank, and the time in calls that can wait, against the program's own stamps.

use crate::support::trace::DumpRow;
use crate::support::{Case, Launch, Test, Trace as Traced};
use mpitrace_format::layout::*;
use mpitrace_trace::reader::{Part, Trace};

pub const TESTS: &[Test] = &[
    Test::new("have_the_time_that_the_program_measures", |case| waits(case, &["recv", "wait", "waitall", "probe"])),
    Test::new("need_no_collective", |case| waits(case, &["alone"])),
    Test::new("of_a_second_thread_are_its_own", |case| waits(case, &["thread"])),
    Test::new("for_a_collective_are_no_point_to_point_calls", |case| waits(case, &["collective"])),
    Test::new("off_the_processor_are_told_from_the_time_between", sleep),
    Test::new("have_no_stamps_where_that_is_said", switched_off),
    Test::new("each_rank_has_the_times_of_its_run", times),
    Test::new("a_killed_rank_has_its_times_up_to_its_end", killed),
];

fn traced(launch: Launch<'_>) -> Trace {
    let traced = launch.trace().run();
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    Trace::open(&[&traced.trace.path]).expect("a trace")
}

/// The conditions that hold for the sums of any rank that was recorded from MPI_Init to the entry of MPI_Finalize.
fn check(part: &Part) {
    let rank = part.rank_times();
    let (thread, sums) = part.init_thread().expect("the thread that called MPI_Init");
    assert_eq!(part.thread_times().len(), part.threads().len());
    assert!(rank.init_library > 0 && rank.init_library < rank.init, "{rank:?}");
    let running = part.info().first_anchor.tick + rank.init;
    let [first, last] = sums.processor;
    assert_eq!((first.tick, last.tick), (running, rank.finalize_enter));
    let hz = part.info().measured_hz.max(part.info().nominal_hz as f64);
    let ran = last.ns - first.ns;
    assert!(ran as f64 <= 1.01e9 * (last.tick - first.tick) as f64 / hz + 1e5, "{ran} ns of {sums:?}");
    for block in part.blocks() {
        let [enter, exit] = block.times();
        assert!(enter.iter().all(|&tick| tick >= running) && exit.iter().all(|&tick| tick <= rank.finalize_enter));
    }
    assert_eq!(part.threads()[thread as usize].unlisted, 0);
    let mut off = [[0; off_reason::COUNT]; off_place::COUNT];
    for entry in part.interruptions().iter().filter(|entry| entry.thread == thread) {
        let place = match entry.flags & (interruption_flags::BETWEEN | interruption_flags::WAITING) {
            0 => off_place::IN_COLLECTIVE,
            interruption_flags::BETWEEN => off_place::BETWEEN,
            _ => off_place::WAITING,
        };
        off[place].iter_mut().zip(entry.off_by_reason()).for_each(|(sum, ns)| *sum += ns);
    }
    assert_eq!(off, sums.off_ns, "an interruption with an entry is in the sums");
}

/// The knowledge that a rank of waits.c has of the calls that can wait.
#[derive(Debug)]
struct Witness {
    calls: f64,
    spent_ns: f64,
    of_collectives: f64,
    for_collectives_ns: f64,
    slept: u64,
    no_processor_ns: f64,
}

fn run(case: &Case, what: &str, stamps: &str) -> (Trace, Traced, Vec<Witness>) {
    let file = case.folder.join(format!("witness-{what}-{stamps}"));
    let traced = case.launch(2, "waits.c").arg(what).arg(&file).set("MPITRACE_P2P", stamps).trace().run();
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    let witness = |rank: u32| {
        let text = std::fs::read_to_string(format!("{}-{rank}", file.display())).expect("what the rank knows");
        let numbers: Vec<f64> = text.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        let [calls, spent_ns, of_collectives, for_collectives_ns, slept, no_processor_ns] = numbers[..] else {
            panic!("{text}")
        };
        Witness { calls, spent_ns, of_collectives, for_collectives_ns, slept: slept as u64, no_processor_ns }
    };
    let witnesses = (0..2).map(witness).collect();
    (Trace::open(&[&traced.trace.path]).expect("a trace"), traced.trace, witnesses)
}

/// The program's stamps lie outside of the tracer's, and between them is the look at an interruption: up to so much,
/// ns.
const AROUND: f64 = 100_000.0;
/// A virtual machine can lose its processor between two stamps, of which its kernel knows nothing: then another run
/// tells.
const TRIES: usize = 5;

/// These ticks are the time of so many calls. An error: they are less.
fn is_time_of(part: &Part, ticks: u64, calls: f64, theirs: f64, witness: &Witness) -> Result<(), String> {
    let (first, last) = (part.info().first_anchor, part.info().last_anchor);
    let ours = ticks as f64 * (last.raw_ns - first.raw_ns) as f64 / (last.tick - first.tick) as f64;
    // MPI_Wtime is a number of seconds with a resolution of some 100 ns, and may have another rate.
    assert!(ours <= 1.001 * theirs + 1000.0 * calls, "{ours} ns of {theirs} in {calls} calls");
    // A rank can be preempted between its stamp and the tracer's: the kernel tells for how long it had no processor.
    let least = 0.999 * theirs - AROUND * calls - witness.no_processor_ns;
    assert_eq!(ticks > 0, calls > 0.0);
    match ours >= least {
        true => Ok(()),
        false => Err(format!("{ours} ns of {theirs} in {calls} calls, {witness:?}")),
    }
}

fn waits(case: &Case, all: &[&str]) {
    for what in all {
        let told: Vec<String> = (0..TRIES).map_while(|_| waits_once(case, what).err()).collect();
        assert!(told.len() < TRIES, "{what}: {told:#?}");
    }
}

/// An error: calls have less time than the program measured.
fn waits_once(case: &Case, what: &str) -> Result<(), String> {
    let (trace, traced, witnesses) = run(case, what, "1");
    let rows = traced.dump(&[]);
    for (part, witness) in trace.parts.iter().zip(&witnesses) {
        check(part);
        assert!(part.waits_are_stamped());
        let sum = |class: usize| part.thread_times().iter().map(|times| times.ticks[class]).sum::<u64>();
        is_time_of(part, sum(wait_class::POINT_TO_POINT), witness.calls, witness.spent_ns, witness)?;
        is_time_of(part, sum(wait_class::REQUESTS), witness.of_collectives, witness.for_collectives_ns, witness)?;
        let others = [wait_class::ONE_SIDED, wait_class::IO, wait_class::OTHER_MPI].map(sum);
        assert_eq!(others, [0; 3]);
        // The calls lie between collectives of their thread, but for those of a thread without any.
        let in_records: u64 = part.recorded(&recorded::P2P).map_or(0, |column| column.all().sum());
        let (_, init) = part.init_thread().expect("the thread that called MPI_Init");
        let between = if what == "alone" { 0 } else { init.ticks[wait_class::POINT_TO_POINT] };
        assert_eq!(in_records, between, "{what}");
        let mine: Vec<&DumpRow> = rows.iter().filter(|row| row.rank == u64::from(part.rank())).collect();
        for pair in mine.windows(2) {
            let between = pair[1].enter_ns - pair[0].enter_ns;
            assert!(pair[1].p2p_ns.expect("measured") <= 1.001 * between + 1000.0, "{pair:?}");
        }
    }
    Ok(())
}

fn sleep(case: &Case) {
    let (trace, _, witnesses) = run(case, "sleep", "1");
    for (part, witness) in trace.parts.iter().zip(&witnesses) {
        check(part);
        let is_watched =
            matches!(part.threads()[0].interruptions_by, interruptions_by::EVENT_PAGE | interruptions_by::RSEQ);
        let waiting = part.interruptions().iter().filter(|entry| entry.flags & interruption_flags::WAITING != 0);
        let off_ns: u64 = waiting.map(|entry| entry.off_ns + entry.error_ns).sum();
        assert!(!is_watched || off_ns >= 20_000_000 * witness.slept, "{off_ns} ns, {witness:?}");
    }
    assert!(witnesses[1].slept > 0, "{witnesses:?}");
}

fn switched_off(case: &Case) {
    for what in ["recv", "collective"] {
        let (trace, traced, _) = run(case, what, "0");
        for part in &trace.parts {
            check(part);
            assert!(!part.waits_are_stamped() && part.recorded(&recorded::P2P).is_none());
            assert_eq!(part.thread_times()[0].ticks[..wait_class::REQUESTS], [0; wait_class::REQUESTS]);
        }
        assert!(traced.dump(&[]).iter().all(|row| row.p2p_ns.is_none()));
    }
}

/// Ranks that meet by memory, by messages, and one alone: they write the trace behind the library's MPI_Finalize or
/// before it.
fn times(case: &Case) {
    for (ranks, joint) in [(2, "0"), (2, "1"), (1, "0")] {
        let trace = traced(case.launch(ranks, "repeat.c").arg("100").set("MPITRACE_JOINT", joint));
        for part in &trace.parts {
            check(part);
            let finalize = part.finalize_times().expect("added behind MPI_Finalize");
            assert!(finalize.library > 0 && finalize.library < finalize.whole, "{finalize:?}");
            assert!(part.info().last_anchor.tick <= part.rank_times().finalize_enter + finalize.whole);
        }
    }
}

fn killed(case: &Case) {
    let outcome = case.launch(2, "whereabouts.c").arg("recv").arg("1").trace().run();
    assert_ne!(outcome.code, 0);
    let recovered = case.recover_soon();
    for part in &Trace::open(&[&recovered.path]).expect("a trace").parts {
        let rank = part.rank_times();
        let (_, sums) = part.init_thread().expect("the thread that called MPI_Init");
        assert!(rank.init > 0 && rank.finalize_enter == 0 && part.finalize_times().is_none());
        assert!(sums.processor[0].tick == part.info().first_anchor.tick + rank.init);
        assert!(sums.processor[1].tick >= sums.processor[0].tick && sums.processor[1].ns >= sums.processor[0].ns);
    }
}
