//! The sums of time of each rank, and the time in calls that can wait, against the program's own stamps.

use crate::support::{Case, Launch, Test};
use mpitrace::reader::{Part, Trace};
use mpitrace_format::layout::*;

pub const TESTS: &[Test] = &[
    Test::new("each_rank_has_the_times_of_its_run", times),
    Test::new("a_killed_rank_has_its_times_up_to_its_end", killed),
];

fn traced(launch: Launch<'_>) -> Trace {
    let traced = launch.trace().run();
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    Trace::open(&[&traced.trace.path]).expect("a trace")
}

/// What is true of the sums of any rank that was recorded from MPI_Init to the entry of MPI_Finalize.
fn check(part: &Part) {
    let rank = part.rank_times().expect("times");
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

/// Ranks that meet by memory, by messages, and one alone: they write the trace behind the library's MPI_Finalize or
/// before it.
fn times(case: &Case) {
    for (ranks, joint) in [(2, "0"), (2, "1"), (1, "0")] {
        let trace = traced(case.launch(ranks, "repeat.c").arg("100").set("MPITRACE_JOINT", joint));
        for part in &trace.parts {
            check(part);
            let finalize = part.finalize_times().expect("added behind MPI_Finalize");
            assert!(finalize.library > 0 && finalize.library < finalize.whole, "{finalize:?}");
            assert!(part.info().last_anchor.tick <= part.rank_times().unwrap().finalize_enter + finalize.whole);
        }
    }
}

fn killed(case: &Case) {
    let outcome = case.launch(2, "whereabouts.c").arg("recv").arg("1").trace().run();
    assert_ne!(outcome.code, 0);
    let recovered = case.recover_soon();
    for part in &Trace::open(&[&recovered.path]).expect("a trace").parts {
        let rank = part.rank_times().expect("times");
        let (_, sums) = part.init_thread().expect("the thread that called MPI_Init");
        assert!(rank.init > 0 && rank.finalize_enter == 0 && part.finalize_times().is_none());
        assert!(sums.processor[0].tick == part.info().first_anchor.tick + rank.init);
        assert!(sums.processor[1].tick >= sums.processor[0].tick && sums.processor[1].ns >= sums.processor[0].ns);
    }
}
