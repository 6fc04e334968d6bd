//! Findings in traces whose truth is known, and in those of programs that do nothing of the kind.

use mpitrace_format::layout::{InterruptionEntry, interruption_flags, interruptions_by};
use mpitrace_testing::synthetic::{self, SyntheticRank};
use mpitrace_trace::reader::Trace;

use super::{Finding, Found, Serial, Stretches};
use crate::account::{Loss, LossKind};
use crate::run::{Need, Run};

const US: u64 = 1000;
const MS: u64 = 1000 * US;

/// Ranks with one clock, known exactly, whose calls that can wait and interruptions are known.
fn world(size: u32) -> Vec<SyntheticRank> {
    let rank = |rank| {
        let mut rank = SyntheticRank::new(rank, size).stamped();
        rank.header.leader = 0;
        rank.last_thread().unwrap().interruptions_by = interruptions_by::EVENT_PAGE;
        rank
    };
    (0..size).map(rank).collect()
}

fn run(ranks: &[SyntheticRank]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mpitrace");
    synthetic::write(&path, ranks).unwrap();
    Run::new(Trace::open(&[path]).unwrap(), Need::Account, |_, _, _| Vec::new())
}

fn findings(ranks: &[SyntheticRank]) -> Vec<Finding> {
    run(ranks).findings().to_vec()
}

fn is_near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 0.02 * expected, "{found} and not {expected}");
}

/// Groups of so many reductions of 8 bytes, each of 20 us, on four ranks, of which rank 0 comes `late` behind the
/// others; with `between` before each, in messages where `messages` is, and 2 ms before each group. With `larger` the
/// last ones are of that size and take 25 us.
fn reductions(
    groups: u64,
    calls: u64,
    [between, late]: [u64; 2],
    messages: bool,
    larger: Option<u64>,
) -> Vec<SyntheticRank> {
    let mut ranks = world(4);
    for (number, rank) in (0..).zip(&mut ranks) {
        let small = rank.operation("MPI_Allreduce", 0, 8);
        let mut at = MS;
        for _ in 0..groups {
            at += 2 * MS;
            for _ in 0..calls {
                let enter = at + between;
                let exit = enter + late + 20 * US;
                rank.call(small, if number == 0 { enter + late } else { enter }, exit);
                if messages {
                    rank.exchanged((number + 1) % 4, between / 2, 1);
                }
                at = exit;
            }
        }
        let larger = larger.map(|bytes| rank.operation("MPI_Allreduce", 0, bytes));
        for _ in 0..10 {
            at += 2 * MS;
            larger.iter().for_each(|&larger| rank.call(larger, at, at + 25 * US));
        }
    }
    ranks
}

#[test]
fn many_short_collectives_in_a_row_are_one() {
    let found = findings(&reductions(10, 40, [US, 0], false, Some(320)));
    let [Finding { loss, gain, found: Found::ManySmall(small), .. }] = &found[..] else { panic!("{found:?}") };
    assert_eq!((loss.kind, loss.operation, loss.repetitions), (LossKind::ManySmall, Some(0), 400));
    assert_eq!((small.calls, small.groups, small.calls_per_group), (400, 10, 40));
    assert_eq!((small.joined_bytes, small.joined_is_known), (320, true));
    is_near(small.calls_s, 8e-3);
    is_near(small.joined_s, 250e-6);
    is_near(gain.seconds.unwrap(), 7.75e-3);
    is_near(loss.ns, 4.0 * 8e6);
}

#[test]
fn without_a_call_of_the_joined_size_only_the_most_is_known() {
    let of = |larger| match &findings(&reductions(10, 40, [US, 0], false, larger))[..] {
        [Finding { gain, found: Found::ManySmall(small), .. }] => (gain.clone(), *small),
        found => panic!("{found:?}"),
    };
    let (gain, small) = of(None);
    assert_eq!((gain.seconds, gain.least, small.joined_is_known), (None, Some(0.0), false));
    is_near(small.joined_s, 200e-6);
    is_near(gain.most.unwrap(), 7.8e-3);
    // A call of 4000 bytes bounds the time of one of 320.
    let (gain, small) = of(Some(4000));
    assert!(gain.seconds.is_none() && !small.joined_is_known);
    is_near(gain.least.unwrap(), 7.75e-3);
    is_near(gain.most.unwrap(), 7.8e-3);
}

#[test]
fn collectives_that_may_need_the_one_before_are_not_joined() {
    let none = |ranks: &[SyntheticRank]| assert_eq!(findings(ranks), []);
    // Conjugate gradients: work on the result of each.
    none(&reductions(10, 40, [15 * US, 0], false, None));
    // An exchange with neighbours before each.
    none(&reductions(10, 40, [US, 0], true, None));
    // A benchmark of the call: nothing but one group.
    none(&reductions(1, 400, [US, 0], false, None));
    // Two or three follow each other.
    none(&reductions(100, 3, [US, 0], false, None));
    // What takes the time is waiting for rank 0.
    let late = findings(&reductions(10, 40, [US, 50 * US], false, None));
    assert!(late.iter().all(|finding| finding.loss.kind != LossKind::ManySmall), "{late:?}");
}

/// 20 exchanges of 1 ms, in which the ranks send so many bytes, with 1 ms between.
fn exchanges(function: &str, bytes: impl Fn(u64, usize) -> u64) -> Vec<SyntheticRank> {
    let mut ranks = world(4);
    for (number, rank) in ranks.iter_mut().enumerate() {
        for k in 1..=20 {
            let operation = rank.operation(function, 0, bytes(k, number));
            rank.call(operation, 2 * MS * k, 2 * MS * k + MS);
        }
    }
    ranks
}

#[test]
fn amounts_that_are_far_from_equal_are_found_with_their_rank() {
    let found = findings(&exchanges("MPI_Alltoallv", |_, rank| if rank == 3 { 8000 } else { 100 }));
    let [Finding { loss, gain, found: Found::UnequalAmounts(amounts), .. }] = &found[..] else { panic!("{found:?}") };
    assert_eq!((loss.kind, loss.rank, amounts.calls), (LossKind::UnequalAmounts, Some(3), 20));
    is_near(amounts.times_the_mean, 8000.0 / 2075.0);
    is_near(amounts.calls_s, 20e-3);
    assert_eq!((gain.seconds, gain.least), (None, Some(0.0)));
    is_near(gain.most.unwrap(), 20e-3 * (1.0 - 2075.0 / 8000.0));
    // Another rank each time.
    let found = findings(&exchanges("MPI_Allgatherv", |k, rank| if k as usize % 4 == rank { 8000 } else { 100 }));
    let [Finding { loss, found: Found::UnequalAmounts(_), .. }] = &found[..] else { panic!("{found:?}") };
    assert_eq!(loss.rank, None);
}

#[test]
fn equal_amounts_and_functions_without_some_are_not_told() {
    assert_eq!(findings(&exchanges("MPI_Alltoallv", |_, _| 4000)), []);
    // A little more on one of them.
    assert_eq!(findings(&exchanges("MPI_Alltoallv", |_, rank| if rank == 1 { 6000 } else { 4000 })), []);
    // The root has the sum of all.
    assert_eq!(findings(&exchanges("MPI_Gatherv", |_, rank| if rank == 3 { 8000 } else { 100 })), []);
}

/// 50 steps of 1 ms and a barrier of 10 us; in every tenth step rank 0 takes 20 ms more, of which it sleeps for
/// `asleep`, and the others take `others`.
fn steps(others: u64, asleep: u64) -> Vec<SyntheticRank> {
    let mut ranks = world(4);
    for (number, rank) in ranks.iter_mut().enumerate() {
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        let mut at = MS;
        for k in 1..=50 {
            let is_long = k % 10 == 0;
            let last = at + if is_long { 21 * MS } else { MS };
            let enter = if number > 0 { at + if is_long { others } else { MS } } else { last };
            rank.call(barrier, enter, last + 10 * US);
            if is_long && number == 0 && asleep > 0 {
                let flags = interruption_flags::BETWEEN | interruption_flags::TIMED | interruption_flags::REASON;
                let entry =
                    InterruptionEntry { flags, off_ns: asleep, switches: 1, voluntary: 1, ..Default::default() };
                rank.interrupt(entry);
            }
            at = last + 10 * US;
        }
    }
    ranks
}

#[test]
fn a_rank_that_works_alone_is_found() {
    let found = findings(&steps(MS, 0));
    let [Finding { loss, gain, found: Found::Serial(serial), at, .. }] = &found[..] else { panic!("{found:?}") };
    assert_eq!((loss.kind, loss.rank, loss.operation), (LossKind::Serial, Some(0), Some(0)));
    let Serial { phases, alone_s, shared_s } = *serial;
    assert_eq!((phases, at.len()), (5, 5));
    is_near(alone_s, 0.1);
    is_near(shared_s, 0.025);
    is_near(gain.seconds.unwrap(), 0.075);
    is_near(loss.ns, 3e8);
    assert!(at.iter().all(|before| before.part == 0 && before.until - before.from == 21 * MS));
}

#[test]
fn a_rank_with_more_work_than_others_is_not_alone_nor_is_one_that_sleeps() {
    assert_eq!(findings(&steps(8 * MS, 0)), []);
    assert_eq!(findings(&steps(MS, 15 * MS)), []);
}

/// 50 steps of four ranks, each of which works for 1 ms; where they are `chained` behind the one before, in messages
/// with it until then; else rank 3 works for 3 ms more.
fn sweeps(chained: bool) -> Vec<SyntheticRank> {
    let mut ranks = world(4);
    for (number, rank) in (0u64..).zip(&mut ranks) {
        let reduce = rank.operation("MPI_Allreduce", 0, 8);
        let mut at = MS;
        for _ in 0..50 {
            let last = at + 4 * MS;
            let waits = if chained { number * MS } else { 0 };
            let works = if !chained && number == 3 { 4 * MS } else { MS };
            rank.call(reduce, at + waits + works, last + 10 * US);
            if waits > 0 {
                rank.exchanged(number as u32 - 1, waits, 1);
            }
            at = last + 10 * US;
        }
    }
    ranks
}

#[test]
fn equal_work_one_after_the_other_is_found() {
    let found = findings(&sweeps(true));
    let [Finding { loss, gain, found: Found::Pipeline(pipeline), .. }] = &found[..] else { panic!("{found:?}") };
    assert_eq!((loss.kind, loss.rank, loss.operation), (LossKind::Pipeline, None, Some(0)));
    // When the first one began is not known: the ranks leave MPI_Init at tick 0.
    assert_eq!((pipeline.passes, pipeline.first_rank, pipeline.last_rank), (49, 0, 3));
    is_near(pipeline.pass_s, 3e-3);
    is_near(pipeline.step_s, 1e-3);
    assert_eq!((gain.seconds, gain.least), (None, Some(0.0)));
    is_near(gain.most.unwrap(), 0.147);
    // Each rank waits for 3 ms of each: before its work and behind it.
    is_near(loss.ns, 49.0 * 4.0 * 3e6);
}

#[test]
fn a_rank_with_more_work_is_no_pipeline() {
    let found = findings(&sweeps(false));
    assert!(found.iter().all(|finding| finding.loss.kind != LossKind::Pipeline), "{found:?}");
}

/// 320 barriers, each 1 ms behind the one before, to which one rank of four comes 300 us later.
fn late(rank_of: impl Fn(u64) -> u64) -> Option<Stretches> {
    let mut ranks = world(4);
    for (number, rank) in (0u64..).zip(&mut ranks) {
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        for k in 0..320 {
            let late = if rank_of(k) == number { 300 * US } else { 0 };
            rank.call(barrier, MS * (k + 1) + late, MS * (k + 1) + 310 * US);
        }
    }
    run(&ranks).stretches(0)
}

#[test]
fn a_late_rank_that_changes_after_a_while_is_found_with_its_stretches() {
    let found = late(|k| k / 40 % 4).unwrap();
    assert_eq!((found.stretches.len(), found.repetitions), (8, 40));
    assert_eq!(found.stretches.iter().map(|of| of.rank).collect::<Vec<_>>(), [0, 1, 2, 3, 0, 1, 2, 3]);
    assert!(found.stretches.iter().all(|of| of.repetitions == 40) && found.share > 0.99, "{found:?}");
    is_near(found.stretches[0].until_s, 40.3e-3);
    // One of ten is another rank's.
    let noisy = late(|k| if k % 10 == 7 { (k / 10) % 4 } else { k / 40 % 4 }).unwrap();
    assert_eq!((noisy.stretches.len(), noisy.repetitions), (8, 40));
}

#[test]
fn ranks_that_are_late_by_chance_and_one_that_always_is_have_no_stretches() {
    // Knuth's multiplicative hash: no rank stays for long.
    let by_chance: Vec<u64> = (1..=320u64).map(|k| (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 45) % 4).collect();
    assert_eq!(late(|k| by_chance[k as usize]), None);
    assert_eq!(late(|k| k % 4), None);
    assert_eq!(late(|_| 2), None);
}

#[test]
fn losses_of_the_account_are_none_of_these() {
    let kinds = |ranks: &[SyntheticRank]| {
        let losses: Vec<Loss> = run(ranks).account().losses(false);
        losses.iter().map(|loss| loss.kind).collect::<Vec<LossKind>>()
    };
    let kinds = [kinds(&steps(MS, 0)), kinds(&sweeps(true))].concat();
    let is_view = |kind: &LossKind| matches!(kind, LossKind::Serial | LossKind::Pipeline);
    assert!(!kinds.is_empty() && !kinds.iter().any(is_view), "{kinds:?}");
}
