//! Causes of traces in which it is known what happened.

use mpitrace_format::layout::{InterruptionEntry, interruption_flags, interruptions_by};
use mpitrace_statistics::categories::Rule;
use mpitrace_testing::synthetic::{self, SyntheticRank};
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;
use mpitrace_trace::run_time::RunTime;

use super::{Cause, CauseKind, Causes, Counted};
use crate::account::Because;
use crate::diagnosis::{self, Examination, GroupKind};

const REPETITIONS: u64 = 500;

fn world(size: u32) -> Vec<SyntheticRank> {
    let rank = |rank| {
        let mut rank = SyntheticRank::new(rank, size);
        // One clock, known exactly: the ranks have one leader.
        rank.header.leader = 0;
        rank.last_thread().unwrap().interruptions_by = interruptions_by::EVENT_PAGE;
        rank
    };
    (0..size).map(rank).collect()
}

/// The events of a rank in a repetition, ns.
#[derive(Clone, Copy, Default)]
struct Event {
    /// It enters that much later than the others.
    late: u64,
    /// It is off its processor for so long before it enters.
    off_before: u64,
    /// It is off its processor for so long in the call.
    off: u64,
    /// All calls take that much longer.
    longer: u64,
    /// It leaves that much later.
    leaves_later: u64,
    perturbed: bool,
    moved: bool,
    /// Time off the processor is sleep.
    asleep: bool,
}

/// Allreduces of ranks to which that happens. A call ends 2 us after the last rank has entered, and some ns of noise.
fn run(size: u32, happens: impl Fn(u32, u64) -> Event) -> Vec<SyntheticRank> {
    let mut ranks = world(size);
    let operations: Vec<u32> = ranks.iter_mut().map(|rank| rank.operation("MPI_Allreduce", 0, 8)).collect();
    for k in 0..REPETITIONS {
        let events: Vec<Event> = (0..size).map(|rank| happens(rank, k)).collect();
        let begin = 20_000_000 * (k + 1);
        let last = events.iter().map(|event| event.late).max().unwrap();
        let longer = events.iter().map(|event| event.longer.max(event.off)).max().unwrap();
        for (number, (rank, event)) in (0u64..).zip(ranks.iter_mut().zip(&events)) {
            // Noise that favours no rank.
            let noise = (k * 7919 + number * 31) % 197;
            let enter = begin + event.late + (k + number) % u64::from(size);
            rank.call(operations[number as usize], enter, begin + last + 2000 + longer + noise + event.leaves_later);
            if event.perturbed {
                rank.disturb();
            }
            let flags = interruption_flags::TIMED | interruption_flags::REASON;
            let processor_after = if event.moved { 3 } else { 2 };
            let voluntary = u32::from(event.asleep);
            let entry = InterruptionEntry {
                switches: 1,
                voluntary,
                processor_before: 2,
                processor_after,
                ..Default::default()
            };
            if event.off_before > 0 {
                let flags = flags | interruption_flags::BETWEEN;
                rank.interrupt(InterruptionEntry { off_ns: event.off_before, flags, ..entry });
            }
            if event.off > 0 {
                rank.interrupt(InterruptionEntry { off_ns: event.off, flags, ..entry });
            }
        }
    }
    ranks
}

/// The causes of the first operation, with counters that differ in the group with this index.
fn causes_with(name: &str, ranks: &[SyntheticRank], counted: &[Counted]) -> Causes {
    let path = std::env::temp_dir().join(format!("mpitrace-causes-{}-{name}", std::process::id()));
    synthetic::write(&path, ranks).unwrap();
    let trace = Trace::open(&[&path]).unwrap();
    std::fs::remove_file(&path).unwrap();
    let (operations, clock) = (Operations::new(&trace), Clock::new(&trace));
    let operation = &operations.operations[0];
    let (number, run_time_ns) = operation.run_times(&trace, &clock, RunTime::Local);
    let found = Rule::default().apply(&number, &run_time_ns).unwrap().categories;
    let category = &found.category;
    let repetitions = diagnosis::Repetitions { run_time_ns: &run_time_ns, category };
    let examination = Examination::new(repetitions);
    Causes::new(&trace, &clock, operation, &operation.complete(), examination.groups(), category, counted)
}

fn causes(name: &str, ranks: &[SyntheticRank]) -> Causes {
    causes_with(name, ranks, &[])
}

/// Kind, rank and group of all causes.
fn names(causes: &Causes) -> Vec<(CauseKind, Option<u32>, &'static str)> {
    causes.causes.iter().map(|cause| (cause.kind, cause.rank, cause.repetitions.name())).collect()
}

#[track_caller]
fn has(cause: &Cause, ns: f64, count: usize) {
    assert!((cause.ns / ns - 1.0).abs() < 0.02 && cause.count == count, "{ns} ns, {count} times: {cause:?}");
}

#[test]
fn a_late_rank_is_named_however_often_it_is_late() {
    for (name, every, group) in [("rare", 50, "outlier"), ("always", 1, "steady")] {
        let late = |rank, k: u64| Event {
            late: if rank == 1 && k % every == every - 1 { 500_000 } else { 0 },
            ..Event::default()
        };
        let found = causes(name, &run(3, late));
        assert_eq!(names(&found), [(CauseKind::LateRank, Some(1), group)], "{found:?}");
        let times = REPETITIONS / every;
        has(&found.causes[0], 2.0 * 500_000.0 * times as f64, times as usize);
        assert_eq!(found.causes[0].because(), Some(Because::OnProcessor));
        assert!(found.causes[0].share > 0.95);
    }
}

#[test]
fn the_slower_mode_is_explained_also_where_it_is_the_usual_one() {
    let late = |rank, k: u64| Event {
        late: if rank == 1 && k % 5 < 3 { 500_000 + k * 7919 % 5000 } else { 0 },
        ..Event::default()
    };
    let found = causes("usual", &run(3, late));
    // Whatever the rule of the categories calls the slow repetitions, rank 1 has all of their time.
    assert!(!found.causes.is_empty());
    assert!(found.causes.iter().all(|cause| (cause.kind, cause.rank) == (CauseKind::LateRank, Some(1))), "{found:?}");
    let all: f64 = found.causes.iter().map(|cause| cause.ns).sum();
    assert!((all / (2.0 * 500_000.0 * 300.0) - 1.0).abs() < 0.02, "{found:?}");
    assert!(found.causes.iter().any(|cause| matches!(cause.repetitions, GroupKind::Mode(_))), "{found:?}");
}

#[test]
fn time_off_the_processor_is_named_inside_and_before_the_call() {
    let happens = |rank, k: u64| match (rank, k % 100) {
        (1, 60) => Event { off: 4_000_000, ..Event::default() },
        (1, 80) => Event { late: 3_000_000, off_before: 3_000_000, ..Event::default() },
        _ => Event::default(),
    };
    let found = causes("off", &run(2, happens));
    assert_eq!(names(&found), [(CauseKind::Interrupted, Some(1), "outlier")], "{found:?}");
    // In the call it holds up the other rank for as long as itself.
    has(&found.causes[0], 5.0 * (2.0 * 4_000_000.0 + 3_000_000.0), 10);
    assert_eq!(found.causes[0].because(), Some(Because::Preempted));
    // What rank 0 was held up for.
    assert!((found.causes[0].communication_ns / (5.0 * 4_000_000.0) - 1.0).abs() < 0.01, "{found:?}");
    let moved = |rank, k: u64| Event { moved: true, ..happens(rank, k) };
    assert_eq!(names(&causes("moved", &run(2, moved))), [(CauseKind::Migration, Some(1), "outlier")]);
    // It slept, wherever it woke up.
    let asleep = |rank, k: u64| Event { asleep: true, ..moved(rank, k) };
    let found = causes("asleep", &run(2, asleep));
    assert_eq!(names(&found), [(CauseKind::Interrupted, Some(1), "outlier")], "{found:?}");
    assert_eq!(found.causes[0].because(), Some(Because::Asleep));
}

#[test]
fn ranks_that_are_late_in_turns_are_one_cause_without_a_rank() {
    let late = |rank, k: u64| Event { late: if k % 2 == u64::from(rank) { 300_000 } else { 0 }, ..Event::default() };
    let found = causes("turns", &run(2, late));
    assert_eq!(names(&found), [(CauseKind::LateRank, None, "steady")], "{found:?}");
    has(&found.causes[0], 300_000.0 * REPETITIONS as f64, REPETITIONS as usize);
    assert!(found.causes[0].share > 0.95, "{found:?}");
    // The same where one of them is later by so little that it makes a mode of its own, which loses next to nothing.
    let late = |rank, k: u64| Event {
        late: if k % 2 == u64::from(rank) { 300_000 + 1000 * u64::from(rank) } else { 0 },
        ..Event::default()
    };
    assert_eq!(names(&causes("modes", &run(2, late))), [(CauseKind::LateRank, None, "steady")]);
    // Two thirds of it, and one rank is late.
    let late = |rank, k: u64| Event { late: if (k % 10 < 7) == (rank == 1) { 300_000 } else { 0 }, ..Event::default() };
    let found = causes("most", &run(2, late));
    assert_eq!(names(&found), [(CauseKind::LateRank, Some(1), "steady")], "{found:?}");
}

#[test]
fn many_ranks_that_are_late_in_turns_in_outliers_are_one_cause() {
    let late = |rank, k: u64| Event {
        late: if k % 10 == 9 && (k / 10) % 40 == u64::from(rank) { 900_000 } else { 0 },
        ..Event::default()
    };
    let found = causes("turns-40", &run(40, late));
    assert_eq!(names(&found), [(CauseKind::LateRank, None, "outlier")], "{found:?}");
    assert_eq!(found.causes[0].count, 50);
    assert!(found.causes[0].share > 0.95, "{found:?}");
}

/// Each waits for each in turn, so that the waiting for one is usual for none; what is usual of the run times is more.
#[test]
fn the_shares_of_a_group_are_no_more_than_all_of_it() {
    let late = |rank, k: u64| {
        let late = if k % 25 == 24 { 1_500_000 } else { 300_000 };
        Event { late: if k % 4 == u64::from(rank) { late } else { 0 }, ..Event::default() }
    };
    let found = causes("more-than-all", &run(4, late));
    let of_group = found.causes.iter().filter(|cause| cause.repetitions == GroupKind::Outlier);
    let (shares, ns): (Vec<f64>, Vec<f64>) = of_group.map(|cause| (cause.share, cause.ns)).unzip();
    let outliers = found.groups.iter().find(|group| group.repetitions == GroupKind::Outlier).unwrap();
    assert!(ns.iter().sum::<f64>() > 1.2 * outliers.extra_ns, "{found:?}");
    assert!((0.9..1.0 + 1e-9).contains(&shares.iter().sum::<f64>()), "{found:?}");
}

#[test]
fn causes_that_share_the_outliers_are_named_by_their_time() {
    let happens = |rank, k: u64| match (rank, k % 100) {
        (0, 30) => Event { late: 2_000_000, ..Event::default() },
        (2, 70) => Event { off: 3_000_000, ..Event::default() },
        (1, 90) => Event { perturbed: true, longer: 1_000_000, ..Event::default() },
        _ => Event::default(),
    };
    let found = causes("shared", &run(3, happens));
    let expected = [
        (CauseKind::Interrupted, Some(2), "outlier"),
        (CauseKind::LateRank, Some(0), "outlier"),
        (CauseKind::Perturbed, Some(1), "outlier"),
    ];
    assert_eq!(names(&found), expected, "{found:?}");
    has(&found.causes[0], 5.0 * 3.0 * 3_000_000.0, 5);
    has(&found.causes[1], 5.0 * 2.0 * 2_000_000.0, 5);
    has(&found.causes[2], 5.0 * 3.0 * 1_000_000.0, 5);
    let outliers = found.groups.iter().find(|group| group.repetitions == GroupKind::Outlier).unwrap();
    assert!(outliers.unexplained_ns < 0.01 * outliers.extra_ns, "{found:?}");
}

#[test]
fn the_first_call_has_what_no_other_cause_explains() {
    let happens = |rank, k: u64| match (rank, k) {
        (0, 0) => Event { late: 1_000_000, longer: 5_000_000, ..Event::default() },
        _ => Event::default(),
    };
    let found = causes("first", &run(2, happens));
    assert_eq!(
        names(&found),
        [(CauseKind::FirstCall, None, "first"), (CauseKind::LateRank, Some(0), "first")],
        "{found:?}"
    );
    has(&found.causes[0], 2.0 * 5_000_000.0, 1);
    has(&found.causes[1], 1_000_000.0, 1);
}

#[test]
fn a_rank_is_late_because_it_was_interrupted_in_the_call_before() {
    // Its part of the call was done when it lost its processor: the others left, and wait in the next call.
    let happens = |rank, k: u64| match (rank, k % 100) {
        (1, 60) => Event { leaves_later: 30_000_000, off: 0, ..Event::default() },
        (1, 61) => Event { late: 11_000_000, ..Event::default() },
        _ => Event::default(),
    };
    let ranks = |off| {
        let mut ranks = run(2, happens);
        if off {
            let entry = |record| InterruptionEntry {
                record,
                off_ns: 30_000_000,
                switches: 1,
                flags: interruption_flags::TIMED,
                ..Default::default()
            };
            (0..5).for_each(|turn| ranks[1].interrupt_at(entry(60 + 100 * turn)));
        }
        ranks
    };
    let found = causes("earlier", &ranks(false));
    let late = found.causes.iter().find(|cause| cause.kind == CauseKind::LateRank).expect("a late rank");
    assert_eq!((late.rank, late.because()), (Some(1), Some(Because::EarlierCall)), "{found:?}");
    let found = causes("earlier-off", &ranks(true));
    assert_eq!(names(&found), [(CauseKind::Interrupted, Some(1), "outlier")], "{found:?}");
}

#[test]
fn what_has_no_evidence_has_no_name() {
    assert_eq!(names(&causes("none", &run(4, |_, _| Event::default()))), []);
    let longer = |_, k: u64| Event { longer: if k % 50 == 7 { 900_000 } else { 0 }, ..Event::default() };
    let found = causes("longer", &run(3, longer));
    assert_eq!(names(&found), [], "{found:?}");
    let outliers = |found: &Causes| *found.groups.iter().find(|group| group.repetitions == GroupKind::Outlier).unwrap();
    let group = outliers(&found);
    assert!(group.unexplained_ns > 0.99 * group.extra_ns && group.untimed_ns == 0.0, "{group:?}");
    // Where interruptions are not recorded, all of it may be such.
    let mut ranks = run(3, longer);
    ranks.iter_mut().for_each(|rank| rank.last_thread().unwrap().interruptions_by = interruptions_by::NONE);
    let group = outliers(&causes("unknown", &ranks));
    assert!(group.unexplained_ns > 0.99 * group.extra_ns, "{group:?}");
    assert_eq!(group.untimed_ns, group.unexplained_ns, "{group:?}");
}

#[test]
fn clocks_that_are_not_synchronised_make_no_rank_late() {
    let late = |rank, k: u64| Event { late: if rank == 1 && k % 50 == 7 { 500_000 } else { 0 }, ..Event::default() };
    let mut ranks = run(2, late);
    ranks[1].header.boot_id = [9; 16];
    ranks[1].header.leader = 1;
    let found = causes("apart", &ranks);
    assert_eq!(names(&found), [], "{found:?}");
    let group = found.groups.iter().find(|group| group.repetitions == GroupKind::Outlier).unwrap();
    assert!(group.unsplit_ns > 0.9 * group.extra_ns, "{group:?}");
}

#[test]
fn a_counter_has_its_share_of_what_nothing_else_explains() {
    let happens = |rank, k: u64| match (rank, k % 100) {
        (0, 30) => Event { late: 4_000_000, ..Event::default() },
        (_, 70) => Event { longer: 2_000_000, ..Event::default() },
        _ => Event::default(),
    };
    let counted = Counted {
        kind: CauseKind::PageFaults,
        name: "page-faults".into(),
        rank: Some(1),
        group: 0,
        share: 0.9,
        p: 0.01,
    };
    let found = causes_with("counter", &run(2, happens), &[counted]);
    assert_eq!(
        names(&found),
        [(CauseKind::LateRank, Some(0), "outlier"), (CauseKind::PageFaults, Some(1), "outlier")],
        "{found:?}"
    );
    assert!((found.causes[1].ns / (0.9 * 5.0 * 2.0 * 2_000_000.0) - 1.0).abs() < 0.02, "{found:?}");
    assert_eq!((found.causes[1].counter.as_deref(), found.causes[1].p), (Some("page-faults"), Some(0.01)));
}
