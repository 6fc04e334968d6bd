//! The matching of calls in traces that programs leave.

use std::path::PathBuf;

use mpitrace_format::layout::{BESIDE_ROOT, NO_ROOT, THIS_IS_ROOT, communicator_flags, state};

use super::mismatch::MismatchKind;
use super::{NO_RECORD, Operation, Operations, Unfinished};
use crate::reader::Trace;
use mpitrace_testing::synthetic::{self, SyntheticRank};

fn operations(name: &str, ranks: &[SyntheticRank]) -> Operations {
    opened(name, ranks).1
}

fn opened(name: &str, ranks: &[SyntheticRank]) -> (Trace, Operations) {
    let path: PathBuf = std::env::temp_dir().join(format!("mpitrace-matching-{}-{name}", std::process::id()));
    synthetic::write(&path, ranks).unwrap();
    let trace = Trace::open(&[&path]).unwrap();
    std::fs::remove_file(&path).unwrap();
    let operations = Operations::new(&trace);
    (trace, operations)
}

fn world(size: u32) -> Vec<SyntheticRank> {
    (0..size).map(|rank| SyntheticRank::new(rank, size)).collect()
}

fn names(operations: &Operations) -> Vec<(&str, &str, Option<u64>, usize, u64)> {
    let row = |operation: &Operation| (operation.repetitions(), operation.incomplete);
    operations
        .operations
        .iter()
        .map(|operation| {
            let (repetitions, incomplete) = row(operation);
            (
                operation.key.function.as_str(),
                operations.communicators[operation.key.communicator].name.as_str(),
                operation.key.bytes,
                repetitions,
                incomplete,
            )
        })
        .collect()
}

fn all_records(operation: &Operation) -> Vec<Vec<u32>> {
    (0..operation.repetition.len()).map(|row| records(operation, row)).collect()
}

fn records(operation: &Operation, row: usize) -> Vec<u32> {
    operation.records(row).iter().collect()
}

fn numbers(operation: &Operation) -> Vec<u64> {
    operation.repetition.iter().collect()
}

#[test]
fn calls_of_a_regular_program() {
    let mut ranks = world(3);
    for rank in &mut ranks {
        let allreduce = rank.operation("MPI_Allreduce", 0, 8);
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        rank.describe(allreduce, None, "MPI_DOUBLE", Some("MPI_SUM"));
        for i in 0..20 {
            rank.call(allreduce, 100 * i + 1, 100 * i + 11);
            rank.call(barrier, 100 * i + 50, 100 * i + 60);
        }
    }
    let found = operations("regular", &ranks);
    let expected =
        [("MPI_Allreduce", "MPI_COMM_WORLD", Some(8), 20, 0), ("MPI_Barrier", "MPI_COMM_WORLD", Some(0), 20, 0)];
    assert_eq!(names(&found), expected);
    let key = &found.operations[0].key;
    assert_eq!((key.datatype.as_deref(), key.reduction.as_deref()), (Some("MPI_DOUBLE"), Some("MPI_SUM")));
    assert_eq!(found.operations[1].key.datatype, None);
    assert_eq!(numbers(&found.operations[1]), (0..20).collect::<Vec<u64>>());
    assert_eq!(records(&found.operations[1], 7), [15, 15, 15]);
}

#[test]
fn ranks_that_pass_different_sizes_are_in_one_operation_of_the_largest() {
    let mut ranks = world(3);
    for (rank, bytes) in ranks.iter_mut().zip([100, 300, 200]) {
        let gatherv = rank.operation("MPI_Gatherv", 0, bytes);
        rank.describe(gatherv, Some(1), "MPI_BYTE", None);
        (0..5).for_each(|i| rank.call(gatherv, 10 * i + 1, 10 * i + 5));
    }
    let found = operations("gatherv", &ranks);
    assert_eq!(names(&found), [("MPI_Gatherv", "MPI_COMM_WORLD", Some(300), 5, 0)]);
    assert_eq!(found.operations[0].key.root, Some(1));
}

#[test]
fn two_operations_of_one_rank_can_be_one_of_all() {
    let mut ranks = world(2);
    for (rank, sizes) in ranks.iter_mut().zip([[100, 100], [50, 60]]) {
        let first = rank.operation("MPI_Gatherv", 0, sizes[0]);
        let second = if sizes[0] == sizes[1] { first } else { rank.operation("MPI_Gatherv", 0, sizes[1]) };
        for i in 0..6 {
            rank.call([first, second][i % 2], 10 * i as u64 + 1, 10 * i as u64 + 5);
        }
    }
    let found = operations("two-in-one", &ranks);
    assert_eq!(names(&found), [("MPI_Gatherv", "MPI_COMM_WORLD", Some(100), 6, 0)]);
    // Rank 0 makes the operation in one way only: its count is the operation's.
    assert_eq!(numbers(&found.operations[0]), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn one_operation_of_one_rank_can_be_two_of_all() {
    let mut ranks = world(2);
    for (rank, sizes) in ranks.iter_mut().zip([[50, 50], [100, 200]]) {
        let first = rank.operation("MPI_Gatherv", 0, sizes[0]);
        let second = if sizes[0] == sizes[1] { first } else { rank.operation("MPI_Gatherv", 0, sizes[1]) };
        for i in 0..6 {
            rank.call([first, second][i % 2], 10 * i as u64 + 1, 10 * i as u64 + 5);
        }
    }
    let found = operations("one-in-two", &ranks);
    let expected =
        [("MPI_Gatherv", "MPI_COMM_WORLD", Some(100), 3, 0), ("MPI_Gatherv", "MPI_COMM_WORLD", Some(200), 3, 0)];
    assert_eq!(names(&found), expected);
    // Rank 0's own count goes through both; rank 1 counts each.
    assert_eq!(numbers(&found.operations[1]), [0, 1, 2]);
    assert_eq!(all_records(&found.operations[1]), [[1, 1], [3, 3], [5, 5]]);
}

#[test]
fn a_pause_leaves_a_gap_in_the_numbers() {
    let mut ranks = world(2);
    for rank in &mut ranks {
        let bcast = rank.operation("MPI_Bcast", 0, 4);
        for i in 0..10 {
            match i {
                3..6 => rank.paused_call(bcast),
                _ => rank.call(bcast, 10 * i + 1, 10 * i + 5),
            }
        }
    }
    // One rank resumes a call later than the other.
    let bcast = 0;
    ranks[0].call(bcast, 200, 205);
    ranks[1].paused_call(bcast);
    ranks[0].call(bcast, 210, 215);
    ranks[1].call(bcast, 210, 215);
    let found = operations("paused", &ranks);
    assert_eq!(names(&found), [("MPI_Bcast", "MPI_COMM_WORLD", Some(4), 8, 4)]);
    let operation = &found.operations[0];
    assert_eq!(numbers(operation), [0, 1, 2, 6, 7, 8, 9, 10, 11]);
    assert_eq!(records(operation, 7), [7, NO_RECORD]);
    assert_eq!(operation.complete_rows().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 8]);
}

#[test]
fn a_ring_holds_the_last_calls_under_their_own_numbers() {
    let mut ranks = world(2);
    for (rank, capacity) in ranks.iter_mut().zip([10, 8]) {
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        (0..100).for_each(|i| rank.call(barrier, 10 * i + 1, 10 * i + 5));
        rank.leave_last(capacity);
    }
    let found = operations("ring", &ranks);
    assert_eq!(names(&found), [("MPI_Barrier", "MPI_COMM_WORLD", Some(0), 8, 92)]);
    let operation = &found.operations[0];
    assert_eq!(numbers(operation), (90..100).collect::<Vec<u64>>());
    assert_eq!(records(operation, 0), [0, NO_RECORD]);
    assert_eq!(records(operation, 2), [2, 0]);
}

#[test]
fn full_arrays_that_stop_keep_the_first_calls() {
    let mut ranks = world(2);
    for (rank, kept) in ranks.iter_mut().zip([5, 7]) {
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        for i in 0..20 {
            match i < kept {
                true => rank.call(barrier, 10 * i + 1, 10 * i + 5),
                false => rank.dropped_call(barrier),
            }
        }
    }
    let found = operations("stop", &ranks);
    assert_eq!(names(&found), [("MPI_Barrier", "MPI_COMM_WORLD", Some(0), 5, 15)]);
    assert_eq!(numbers(&found.operations[0]), [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_killed_rank_leaves_rows_that_are_incomplete() {
    let mut ranks = world(3);
    for (number, rank) in ranks.iter_mut().enumerate() {
        let allreduce = rank.operation("MPI_Allreduce", 0, 8);
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        rank.header.state = state::RUNNING;
        for i in 0..4 {
            rank.call(allreduce, 100 * i + 1, 100 * i + 11);
            rank.call(barrier, 100 * i + 50, 100 * i + 60);
        }
        // Rank 1 dies before the fifth Allreduce: rank 0 waits in it, rank 2 has already left it.
        match number {
            0 => rank.call(allreduce, 500, 0),
            2 => rank.call(allreduce, 500, 510),
            _ => {}
        }
    }
    ranks[2].call(1, 550, 0);
    let found = operations("killed", &ranks);
    let expected =
        [("MPI_Allreduce", "MPI_COMM_WORLD", Some(8), 4, 1), ("MPI_Barrier", "MPI_COMM_WORLD", Some(0), 4, 1)];
    assert_eq!(names(&found), expected);
    assert_eq!(records(&found.operations[0], 4), [8, NO_RECORD, 8]);
    assert_eq!(records(&found.operations[1], 4), [NO_RECORD, NO_RECORD, 9]);
    assert_eq!(numbers(&found.operations[1]), [0, 1, 2, 3, 4]);
}

#[test]
fn a_missing_part_leaves_no_repetition_complete() {
    let mut ranks = world(3);
    for rank in &mut ranks {
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        (0..3).for_each(|i| rank.call(barrier, 10 * i + 1, 10 * i + 5));
    }
    ranks.remove(1);
    let found = operations("missing", &ranks);
    assert_eq!(names(&found), [("MPI_Barrier", "MPI_COMM_WORLD", Some(0), 0, 3)]);
    assert_eq!((found.operations[0].size, &found.operations[0].parts[..]), (3, &[0, 1][..]));
}

#[test]
fn each_communicator_has_its_own_positions() {
    let mut ranks = world(4);
    for (number, rank) in (0u32..).zip(&mut ranks) {
        let half = rank.communicator(10 + u64::from(number % 2), 2, number / 2, (number % 2 == 1).then_some("odd"));
        let on_half = rank.operation("MPI_Bcast", half, 16);
        let on_world = rank.operation("MPI_Bcast", 0, 16);
        for i in 0..6 {
            // The odd ranks call on their half first.
            let [first, second] = if number % 2 == 1 { [on_half, on_world] } else { [on_world, on_half] };
            rank.call(first, 100 * i + 1, 100 * i + 5);
            rank.call(second, 100 * i + 20, 100 * i + 25);
        }
        rank.call(on_half, 1000, 1005);
    }
    let found = operations("communicators", &ranks);
    let expected = [
        ("MPI_Bcast", "comm-1", Some(16), 7, 0),
        ("MPI_Bcast", "MPI_COMM_WORLD", Some(16), 6, 0),
        ("MPI_Bcast", "odd", Some(16), 7, 0),
    ];
    assert_eq!(names(&found), expected);
    assert_eq!(found.operations[2].parts, [1, 3]);
    assert_eq!(records(&found.operations[1], 2), [4, 5, 4, 5]);
}

#[test]
fn threads_that_take_turns_are_sorted_by_position() {
    let mut ranks = world(2);
    for (number, rank) in ranks.iter_mut().enumerate() {
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        (0..3).for_each(|i| rank.call(barrier, 10 * i + 1, 10 * i + 5));
        rank.thread();
        (3..6).for_each(|i| rank.call(barrier, 10 * i + 1, 10 * i + 5));
        if number == 1 {
            rank.swap_runs();
        }
    }
    let found = operations("threads", &ranks);
    assert_eq!(names(&found), [("MPI_Barrier", "MPI_COMM_WORLD", Some(0), 6, 0)]);
    assert_eq!(numbers(&found.operations[0]), [0, 1, 2, 3, 4, 5]);
    assert_eq!(records(&found.operations[0], 1), [1, 4]);
}

#[test]
fn operations_that_were_never_kept_are_still_counted() {
    let mut ranks = world(2);
    for rank in &mut ranks {
        let bcast = rank.operation("MPI_Bcast", 0, 4);
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        rank.operation("MPI_Scan", 0, 4);
        rank.call(barrier, 1, 5);
        (0..3).for_each(|_| rank.paused_call(bcast));
    }
    let found = operations("never-kept", &ranks);
    let mut names = names(&found);
    names.sort_unstable();
    let expected = [("MPI_Barrier", "MPI_COMM_WORLD", Some(0), 1, 0), ("MPI_Bcast", "MPI_COMM_WORLD", Some(4), 0, 3)];
    assert_eq!(names, expected);
}

#[test]
fn an_unfinished_call_tells_who_is_in_it_and_who_never_came() {
    let mut ranks = world(5);
    for (number, rank) in ranks.iter_mut().enumerate() {
        let allreduce = rank.operation("MPI_Allreduce", 0, 8);
        rank.header.state = state::RUNNING;
        rank.call(allreduce, 1, 11);
        match number {
            0 | 1 => rank.call(allreduce, 20, 0),
            2 => rank.paused_call(allreduce),
            3 => rank.call(allreduce, 20, 30),
            _ => {}
        }
    }
    let (trace, operations) = opened("unfinished", &ranks);
    let expected = Unfinished {
        operation: 0,
        repetition: 1,
        function: "MPI_Allreduce".to_owned(),
        communicator: "MPI_COMM_WORLD".to_owned(),
        inside: vec![0, 1],
        returned: vec![3],
        never_entered: vec![4],
        not_kept: vec![2],
        missing: 0,
    };
    assert_eq!(operations.unfinished(&trace), std::slice::from_ref(&expected));

    ranks.pop();
    let (trace, operations) = opened("unfinished-missing", &ranks);
    let expected = Unfinished { never_entered: Vec::new(), missing: 1, ..expected };
    assert_eq!(operations.unfinished(&trace), [expected]);
}

/// Long enough to be shared out among processors.
const LONG: u64 = 300_000;

#[test]
fn a_long_run_is_matched_alike_by_however_many_processors() {
    let mut ranks = world(3);
    for (rank, kept) in ranks.iter_mut().zip([300_000, 299_990, 200_000]) {
        let allreduce = rank.operation("MPI_Allreduce", 0, 8);
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        let late = rank.operation("MPI_Bcast", 0, 4);
        for i in 0..LONG {
            let operation = if i == LONG - 3 { late } else { [allreduce, barrier, allreduce][i as usize % 3] };
            rank.call(operation, 10 * i + 1, 10 * i + 5);
        }
        rank.leave_last(kept);
    }
    let (trace, found) = opened("long", &ranks);
    let counted: Vec<_> =
        names(&found).into_iter().map(|(function, _, _, whole, lost)| (function, whole, lost)).collect();
    let expected = [("MPI_Allreduce", 133_332, 66_667), ("MPI_Barrier", 66_667, 33_333), ("MPI_Bcast", 1, 0)];
    assert_eq!(counted, expected);
    for operation in &found.operations {
        assert!(operation.repetition.iter().eq(0..operation.repetition.len() as u64));
        for (row, number) in numbers(operation).iter().enumerate() {
            let present = operation.records(row).iter().zip(&trace.parts).filter(|(record, _)| *record != NO_RECORD);
            let mut calls =
                present.map(|(record, part)| (part.position_of(record as usize), part.repetition_of(record as usize)));
            let (position, repetition) = calls.next().unwrap();
            assert_eq!(repetition, *number);
            assert!(calls.all(|call| call == (position, repetition)));
        }
    }
}

#[test]
fn run_times_of_many_repetitions_are_those_of_their_calls() {
    use crate::clock::Clock;
    use crate::run_time::RunTime;
    let mut ranks = world(2);
    for (number, rank) in (0..).zip(&mut ranks) {
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        for i in 0..LONG {
            // One in seven does not return on rank 1.
            let exit = if number == 1 && i % 7 == 3 { 0 } else { 1000 * i + 100 + i % 50 };
            rank.call(barrier, 1000 * i + 10 * number + 1, exit);
        }
    }
    let (trace, found) = opened("many", &ranks);
    let clock = Clock::new(&trace);
    let expected = |time: RunTime| -> (Vec<u64>, Vec<f64>) {
        let early = if time == RunTime::Last { 10 } else { 0 };
        (0..LONG).filter(|i| i % 7 != 3).map(|i| (i, (99 - early + i % 50) as f64)).unzip()
    };
    for time in [RunTime::Local, RunTime::Global, RunTime::Last] {
        let (repetition, run_time_ns) = expected(time);
        let expected = (repetition, run_time_ns);
        assert_eq!(found.operations[0].run_times(&trace, &clock, time), expected, "{}", time.name());
    }
}

#[test]
fn calls_on_folded_communicators_are_never_complete() {
    let mut ranks = world(2);
    for (number, rank) in (0..).zip(&mut ranks) {
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        let folded = rank.folded_communicator();
        let once = rank.operation("MPI_Barrier", folded, mpitrace_format::layout::UNKNOWN_BYTES);
        let other = rank.operation("MPI_Bcast", folded, mpitrace_format::layout::UNKNOWN_BYTES);
        rank.call(barrier, 1, 5);
        if number == 1 {
            rank.call(other, 6, 8);
        }
        for i in 0..3 {
            // The last one of rank 1 does not return.
            rank.call(once, 10 * i + 10, if number == 1 && i == 2 { 0 } else { 10 * i + 15 });
        }
    }
    let (trace, found) = opened("folded", &ranks);
    let expected = [
        ("MPI_Barrier", "MPI_COMM_WORLD", Some(0), 1, 0),
        ("MPI_Barrier", "folded", None, 0, 3),
        ("MPI_Bcast", "folded", None, 0, 1),
    ];
    assert_eq!(names(&found), expected);
    assert_eq!(all_records(&found.operations[2]), [[NO_RECORD, 1]]);
    let unfinished = found.unfinished(&trace);
    assert_eq!(unfinished.len(), 1, "{unfinished:?}");
    let Unfinished { inside, returned, never_entered, not_kept, missing, .. } = &unfinished[0];
    assert_eq!((inside, returned, never_entered, not_kept, *missing), (&vec![1], &vec![], &vec![], &vec![], 0));
}

/// Two ranks that make three calls on MPI_COMM_WORLD, the second of each as told.
fn one_call_apart(describe: impl Fn(&mut SyntheticRank, u32) -> u32) -> Vec<SyntheticRank> {
    let mut ranks = world(3);
    for (number, rank) in (0u32..).zip(&mut ranks) {
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        let other = describe(rank, number);
        for (operation, at) in [barrier, other, barrier].into_iter().zip([10, 20, 30]) {
            rank.call(operation, at, at + 5);
        }
    }
    ranks
}

/// The kind of a mismatch, its position, and the ranks of each call.
type Mismatched = (&'static str, u64, Vec<Vec<u32>>);

fn mismatch_of(name: &str, ranks: &[SyntheticRank]) -> Option<Mismatched> {
    let found = operations(name, ranks);
    let mut all = found.mismatches.iter();
    let only = all.next().map(|one| {
        (one.kind.name(), one.sequence, one.calls.iter().map(|call| call.ranks.clone()).collect::<Vec<_>>())
    });
    assert_eq!(all.next(), None);
    only
}

#[test]
fn calls_of_different_functions_are_never_one_operation() {
    let ranks = one_call_apart(|rank, number| match number {
        0 => rank.operation("MPI_Bcast", 0, 8),
        _ => rank.operation("MPI_Allreduce", 0, 8),
    });
    assert_eq!(mismatch_of("functions", &ranks), Some(("function", 1, vec![vec![0], vec![1, 2]])));
    let found = operations("functions", &ranks);
    let expected = [
        ("MPI_Barrier", "MPI_COMM_WORLD", Some(0), 2, 0),
        ("MPI_Bcast", "MPI_COMM_WORLD", Some(8), 0, 1),
        ("MPI_Allreduce", "MPI_COMM_WORLD", Some(8), 0, 1),
    ];
    assert_eq!(names(&found), expected);
    assert_eq!(all_records(&found.operations[1]), [[1, NO_RECORD, NO_RECORD]]);
    assert_eq!(all_records(&found.operations[2]), [[NO_RECORD, 1, 1]]);
    assert_eq!(found.communicators[0].mismatches, 1);
    // The barrier behind it may be another one on each rank.
    assert_eq!(found.operations.iter().map(|operation| operation.doubtful).collect::<Vec<_>>(), [1, 0, 0]);
}

#[test]
fn roots_operators_and_amounts_have_to_agree() {
    // Bytes, root and reduction of a rank's call.
    type Called = fn(u32) -> (u64, Option<i32>, Option<&'static str>);
    let described = |function: &'static str, of: Called| {
        one_call_apart(move |rank, number| {
            let (bytes, root, reduction) = of(number);
            let operation = rank.operation(function, 0, bytes);
            rank.describe(operation, root, "MPI_INT", reduction);
            operation
        })
    };
    let roots = described("MPI_Bcast", |rank| (8, Some(i32::from(rank == 2)), None));
    assert_eq!(mismatch_of("roots", &roots), Some(("root", 1, vec![vec![0, 1], vec![2]])));
    let operators = described("MPI_Allreduce", |rank| (8, None, Some(["MPI_SUM", "MPI_MAX"][rank as usize % 2])));
    assert_eq!(mismatch_of("operators", &operators), Some(("operator", 1, vec![vec![0, 2], vec![1]])));
    let amounts = described("MPI_Allreduce", |rank| (8 << rank, None, Some("MPI_SUM")));
    assert_eq!(mismatch_of("amounts", &amounts), Some(("size", 1, vec![vec![0], vec![1], vec![2]])));
}

/// Bytes, root and data type of each rank's call, of which rank 0 is alone in one group of an intercommunicator.
fn between_groups(function: &'static str, of: [(u64, i32, &'static str); 3]) -> Option<Mismatched> {
    let mut ranks = one_call_apart(move |rank, number| {
        let (bytes, root, datatype) = of[number as usize];
        let operation = rank.operation(function, 0, bytes);
        rank.describe(operation, Some(root), datatype, None);
        operation
    });
    for rank in &mut ranks {
        let first = if rank.header.rank == 0 { communicator_flags::FIRST } else { 0 };
        rank.flag_communicator(0, communicator_flags::INTER | first);
    }
    mismatch_of("between-groups", &ranks)
}

#[test]
fn calls_of_both_groups_of_an_intercommunicator_have_to_agree_where_data_go_one_way() {
    const INT: &str = "MPI_INT";
    let to_first = [(8, THIS_IS_ROOT, INT), (8, 0, INT), (8, 0, INT)];
    let to_other = [(8, 1, INT), (8, THIS_IS_ROOT, INT), (100, BESIDE_ROOT, "MPI_FLOAT")];
    let each_way = |other| [(8, NO_ROOT, INT), (16, NO_ROOT, "MPI_DOUBLE"), (other, NO_ROOT, "MPI_DOUBLE")];
    for function in ["MPI_Bcast", "MPI_Gather", "MPI_Reduce", "MPI_Scatterv"] {
        for right in [to_first, to_other] {
            assert_eq!(between_groups(function, right), None, "{function}");
        }
        let mut wrong = to_first;
        wrong[2].2 = "MPI_FLOAT";
        assert_eq!(between_groups(function, wrong), Some(("datatype", 1, vec![vec![0, 1], vec![2]])), "{function}");
    }
    let mut longer = to_first;
    longer[2].0 = 16;
    assert_eq!(between_groups("MPI_Bcast", longer), Some(("size", 1, vec![vec![0, 1], vec![2]])));
    assert_eq!(between_groups("MPI_Gatherv", longer), None);
    let split = Some(("root", 1, vec![vec![0], vec![1], vec![2]]));
    for root in [2, THIS_IS_ROOT, BESIDE_ROOT] {
        let mut wrong = to_other;
        wrong[0].1 = root;
        assert_eq!(between_groups("MPI_Bcast", wrong), split, "{root}");
    }
    for function in ["MPI_Allgather", "MPI_Alltoall", "MPI_Reduce_scatter_block"] {
        assert_eq!(between_groups(function, each_way(16)), None, "{function}");
        let size = Some(("size", 1, vec![vec![0], vec![1], vec![2]]));
        assert_eq!(between_groups(function, each_way(32)), size, "{function}");
    }
    for function in ["MPI_Allreduce", "MPI_Iallreduce"] {
        let size = Some(("size", 1, vec![vec![0], vec![1, 2]]));
        assert_eq!(between_groups(function, each_way(16)), size, "{function}");
    }
}

#[test]
fn sums_of_counts_are_compared_where_ranks_have_to_pass_the_same() {
    let summed = one_call_apart(|rank, number| {
        let operation = rank.operation("MPI_Reduce_scatter", 0, if number == 1 { 24 } else { 16 });
        rank.describe(operation, None, "MPI_INT", Some("MPI_SUM"));
        operation
    });
    assert_eq!(mismatch_of("summed", &summed), Some(("size", 1, vec![vec![0, 2], vec![1]])));
    // The root of a Scatterv sends all; what it keeps is not known.
    let scattered = |sent: u64| {
        one_call_apart(move |rank, number| {
            let operation = rank.operation("MPI_Scatterv", 0, if number == 0 { sent } else { 8 * u64::from(number) });
            rank.describe(operation, Some(0), "MPI_DOUBLE", None);
            operation
        })
    };
    assert_eq!(mismatch_of("scattered", &scattered(16)), Some(("size", 1, vec![vec![0], vec![1, 2]])));
    for sent in [24, 32] {
        assert_eq!(mismatch_of("scattered", &scattered(sent)), None, "{sent}");
    }
}

#[test]
fn amounts_that_may_differ_are_no_mismatch() {
    for function in ["MPI_Gatherv", "MPI_Alltoallv", "MPI_Allgatherv", "MPI_Neighbor_alltoall"] {
        let ranks = one_call_apart(|rank, number| rank.operation(function, 0, 8 << number));
        assert_eq!(mismatch_of("may-differ", &ranks), None, "{function}");
    }
    // Other data types may make the same type signature.
    let ranks = one_call_apart(|rank, number| {
        let operation = rank.operation("MPI_Bcast", 0, 8);
        rank.describe(operation, Some(0), ["MPI_DOUBLE", "derived", "MPI_BYTE"][number as usize], None);
        operation
    });
    assert_eq!(mismatch_of("types", &ranks), None);
}

#[test]
fn ranks_that_hang_in_different_calls_are_in_no_operation_together() {
    let mut ranks = world(3);
    for (number, rank) in (0u32..).zip(&mut ranks) {
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        rank.call(barrier, 10, 15);
        let bcast = rank.operation("MPI_Bcast", 0, 8);
        match number {
            0 => rank.call(bcast, 20, 0),
            1 => rank.call(barrier, 20, 0),
            _ => {}
        }
        rank.header.state = state::RUNNING;
    }
    let (trace, found) = opened("hang", &ranks);
    assert_eq!(found.mismatches.len(), 1);
    let unfinished = found.unfinished(&trace);
    let inside: Vec<(usize, &[u32])> = unfinished.iter().map(|one| (one.operation, &one.inside[..])).collect();
    assert_eq!(inside, [(0, &[1][..]), (1, &[0][..])]);
}

/// Calls on windows and files have positions of their own; ranks may pass other amounts of data.
#[test]
fn windows_and_files_are_named_after_what_they_were_made_of() {
    let mut ranks = world(2);
    for (number, rank) in (0u64..).zip(&mut ranks) {
        let dup = rank.communicator(5, 2, number as u32, Some("solver"));
        let window = rank.communicator(6, 2, number as u32, None);
        rank.is_of(window, communicator_flags::WINDOW, dup);
        let file = rank.communicator(7, 2, number as u32, Some("results.nc"));
        rank.is_of(file, communicator_flags::FILE, dup);
        let fence = rank.operation("MPI_Win_fence", window, 0);
        let write = rank.operation("MPI_File_write_all", file, 100 + number);
        let barrier = rank.operation("MPI_Barrier", dup, 0);
        let size = rank.operation("MPI_File_set_size", file, 4096 + number);
        // Fences and barriers in another order on each rank: no order holds between handles.
        let order = if number == 0 { [fence, barrier, write, size] } else { [barrier, write, fence, size] };
        (1u64..).zip(order).for_each(|(at, operation)| rank.call(operation, 100 * at, 100 * at + 50));
    }
    let operations = operations("windows", &ranks);
    let mut found = names(&operations);
    found.sort_unstable();
    assert_eq!(
        found,
        [
            ("MPI_Barrier", "solver", Some(0), 1, 0),
            ("MPI_File_set_size", "results.nc", Some(4096), 0, 1),
            ("MPI_File_set_size", "results.nc", Some(4097), 0, 1),
            ("MPI_File_write_all", "results.nc", Some(101), 1, 0),
            ("MPI_Win_fence", "window of solver", Some(0), 1, 0),
        ]
    );
    // All ranks have to want the same size of the file.
    let kinds: Vec<MismatchKind> = operations.mismatches.iter().map(|mismatch| mismatch.kind).collect();
    assert_eq!(kinds, [MismatchKind::Size]);
}

/// Ranks whose calls of one function have these data types and amounts.
fn with_types(function: &'static str, of: &[(&'static str, u64)], reduction: Option<&str>) -> Vec<SyntheticRank> {
    one_call_apart(|rank, number| {
        let (datatype, bytes) = of[number as usize];
        let operation = rank.operation(function, 0, bytes);
        rank.describe(operation, None, datatype, reduction);
        operation
    })
}

#[test]
fn predefined_types_that_differ_are_a_mismatch() {
    let ranks = with_types("MPI_Reduce", &[("MPI_INT", 4), ("MPI_FLOAT", 4), ("MPI_INT", 4)], Some("MPI_SUM"));
    assert_eq!(mismatch_of("int-float", &ranks), Some(("datatype", 1, vec![vec![0, 2], vec![1]])));
    let found = operations("int-float", &ranks);
    let types: Vec<Option<&str>> = found.mismatches[0].calls.iter().map(|call| call.datatype.as_deref()).collect();
    assert_eq!(types, [Some("MPI_INT"), Some("MPI_FLOAT")]);
    let own = found.operations.iter().filter_map(|operation| operation.key.datatype.as_deref());
    assert_eq!(own.collect::<Vec<_>>(), ["MPI_INT", "MPI_FLOAT"], "they are in no operation together");
    for function in ["MPI_Gatherv", "MPI_Scatterv", "MPI_Allgatherv", "MPI_Allgather", "MPI_Igather"] {
        let ranks = with_types(function, &[("MPI_DOUBLE", 8), ("MPI_LONG", 8), ("MPI_DOUBLE", 8)], None);
        assert_eq!(mismatch_of("other", &ranks), Some(("datatype", 1, vec![vec![0, 2], vec![1]])), "{function}");
    }
    let ranks = with_types("MPI_Reduce_scatter", &[("MPI_INT", 8), ("MPI_INT", 8), ("MPI_DOUBLE", 8)], Some("MPI_SUM"));
    assert_eq!(mismatch_of("scattered", &ranks), Some(("datatype", 1, vec![vec![0, 1], vec![2]])));
}

#[test]
fn types_that_may_differ_are_shown_together() {
    // Names of one type, bytes, and what a rank without data passes.
    let allowed = [
        ("MPI_Bcast", [("MPI_INT", 8), ("MPI_INT32_T", 8), ("MPI_INTEGER", 8)]),
        ("MPI_Bcast", [("MPI_DOUBLE", 8), ("MPI_BYTE", 8), ("MPI_PACKED", 8)]),
        ("MPI_Bcast", [("MPI_2INT", 8), ("MPI_INT", 8), ("derived", 8)]),
        ("MPI_Gatherv", [("MPI_DOUBLE", 8), ("MPI_INT", 0), ("MPI_DOUBLE", 16)]),
        ("MPI_Alltoallv", [("MPI_DOUBLE", 8), ("MPI_INT", 8), ("MPI_DOUBLE", 8)]),
        ("MPI_Neighbor_allgather", [("MPI_DOUBLE", 8), ("MPI_INT", 8), ("MPI_DOUBLE", 8)]),
    ];
    for (function, of) in allowed {
        assert_eq!(mismatch_of("allowed", &with_types(function, &of, None)), None, "{function} {of:?}");
    }
    let found = operations("together", &with_types(allowed[0].0, &allowed[0].1, None));
    assert_eq!(found.operations[1].key.datatype.as_deref(), Some("MPI_INT, MPI_INT32_T, MPI_INTEGER"));
    // Each rank has data of its own for a file.
    let mut ranks = world(2);
    for (rank, datatype) in ranks.iter_mut().zip(["MPI_INT", "MPI_DOUBLE"]) {
        let file = rank.communicator(7, 2, rank.header.rank, Some("results.nc"));
        rank.is_of(file, communicator_flags::FILE, 0);
        let write = rank.operation("MPI_File_write_all", file, 8);
        rank.describe(write, None, datatype, None);
        rank.call(write, 10, 20);
    }
    assert_eq!(mismatch_of("file", &ranks), None);
}

#[test]
fn the_entries_of_an_operation_are_known_where_calls_were_not_kept() {
    for lacks_calls in [false, true] {
        let mut ranks = world(2);
        for (number, rank) in ranks.iter_mut().enumerate() {
            let sizes = [8, 16].map(|bytes| rank.operation("MPI_Alltoallv", 0, bytes));
            (0..20).for_each(|k| rank.call(sizes[(k + number) % 2], 100 * k as u64, 100 * k as u64 + 50));
            if lacks_calls {
                rank.timed_call(sizes[number], 50);
            }
        }
        let operations = operations("entries", &ranks).operations;
        assert_eq!(operations.len(), 1);
        let expected = if lacks_calls { vec![(0, 0), (0, 1), (1, 0), (1, 1)] } else { Vec::new() };
        assert_eq!(operations[0].entries, expected);
    }
}
