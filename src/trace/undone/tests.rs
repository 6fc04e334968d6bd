//! Calls that not all ranks made and requests that were never complete, and what is legal and looks alike.

use std::path::PathBuf;

use mpitrace_format::amounts;
use mpitrace_format::layout::{communicator_flags, state};

use super::{Amounts, CalledAlone, NeverFreed, NotCalled, NotCompleted, Undone};
use crate::operations::Operations;
use crate::reader::Trace;
use mpitrace_testing::synthetic::{self, SyntheticRank, SyntheticRequest};

fn undone(name: &str, ranks: &[SyntheticRank]) -> (Vec<NotCalled>, Vec<NotCompleted>) {
    let path: PathBuf = std::env::temp_dir().join(format!("mpitrace-undone-{}-{name}", std::process::id()));
    synthetic::write(&path, ranks).unwrap();
    let trace = Trace::open(&[&path]).unwrap();
    std::fs::remove_file(&path).unwrap();
    let Undone { not_called, not_completed, .. } = Operations::new(&trace).undone(&trace);
    (not_called, not_completed)
}

/// Three ranks that make five Barriers; rank 0 then makes no call and the others a Reduce, the operation 1. `change`
/// has the last word on each rank, after its calls.
fn without_the_last_of_rank_0(change: impl Fn(&mut SyntheticRank, u32)) -> Vec<SyntheticRank> {
    let mut ranks: Vec<SyntheticRank> = (0..3).map(|rank| SyntheticRank::new(rank, 3)).collect();
    for (number, rank) in (0u32..).zip(&mut ranks) {
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        let reduce = rank.operation("MPI_Reduce", 0, 4);
        (0..5).for_each(|k| rank.call(barrier, 10 * k + 1, 10 * k + 5));
        if number > 0 {
            rank.call(reduce, 60, 65);
        }
        change(rank, number);
    }
    ranks
}

fn not_called(ranks: Vec<u32>, sequence: u64, others: Vec<u32>, function: Option<&str>) -> NotCalled {
    let calls = vec![CalledAlone { ranks: others, function: function.map(str::to_owned), call_site: None }];
    NotCalled { communicator: "MPI_COMM_WORLD".to_owned(), sequence, ranks, calls }
}

#[test]
fn a_call_that_a_rank_never_came_to_is_found() {
    let expected = not_called(vec![0], 5, vec![1, 2], Some("MPI_Reduce"));
    assert_eq!(undone("reduce", &without_the_last_of_rank_0(|_, _| {})), (vec![expected.clone()], vec![]));
    // What a ring keeps of it, and what a rank makes while recording is paused.
    assert_eq!(undone("ring", &without_the_last_of_rank_0(|rank, _| rank.leave_last(2))).0, [expected]);
    let paused =
        without_the_last_of_rank_0(|rank, number| (0..=u32::from(number == 0)).for_each(|_| rank.paused_call(1)));
    assert_eq!(undone("paused", &paused).0, [], "each has made 7");
    let full = without_the_last_of_rank_0(|rank, number| match number {
        0 => rank.call(1, 70, 75),
        _ => (0..number).for_each(|_| rank.dropped_call(1)),
    });
    assert_eq!(undone("full", &full).0, [not_called(vec![0], 6, vec![1, 2], None)]);
}

#[test]
fn counts_that_may_differ_are_no_finding() {
    type Change = fn(&mut SyntheticRank, u32);
    let cases: [(&str, Change); 7] = [
        ("failed", |rank, _| rank.last_thread().unwrap().failed = 1),
        ("untracked", |rank, number| rank.last_thread().unwrap().untracked = u64::from(number == 1)),
        ("killed", |rank, number| {
            if number == 2 {
                rank.header.state = state::RUNNING;
            }
        }),
        ("session", |rank, _| {
            rank.operation("MPI_Comm_create_from_group", 0, 0);
        }),
        ("intercommunicator", |rank, _| rank.flag_communicator(0, communicator_flags::INTER)),
        ("folded", |rank, _| rank.flag_communicator(0, communicator_flags::FOLDED)),
        ("not identified", |rank, number| {
            if number == 0 {
                rank.unidentify(0);
            }
        }),
    ];
    for (name, change) in cases {
        assert_eq!(undone(name, &without_the_last_of_rank_0(change)), (vec![], vec![]), "{name}");
    }
    let mut part = without_the_last_of_rank_0(|_, _| {});
    part.remove(2);
    assert_eq!(undone("part", &part), (vec![], vec![]), "a rank left no trace");
}

#[test]
fn a_communicator_that_not_all_ranks_free_is_no_finding() {
    let ranks = |more: u32| {
        let mut ranks: Vec<SyntheticRank> = (0..2).map(|rank| SyntheticRank::new(rank, 2)).collect();
        for (number, rank) in (0u32..).zip(&mut ranks) {
            let dup = rank.communicator(5, 2, number, None);
            let barrier = rank.operation("MPI_Barrier", dup, 0);
            let free = rank.operation("MPI_Comm_free", dup, 0);
            rank.call(barrier, 10, 15);
            if number == 0 {
                (0..more).for_each(|k| rank.call(barrier, 20 + 10 * u64::from(k), 25 + 10 * u64::from(k)));
                rank.call(free, 90, 95);
            }
        }
        ranks
    };
    assert_eq!(undone("freed", &ranks(0)).0, []);
    let found = undone("called", &ranks(1)).0;
    assert_eq!((&found[0].communicator[..], found[0].sequence, &found[0].ranks[..]), ("comm-1", 1, &[1][..]));
}

#[test]
fn requests_that_were_never_complete_are_found() {
    let ranks = |exits: [u64; 2], function: &'static str, state: u32| {
        let mut ranks: Vec<SyntheticRank> = (0..2).map(|rank| SyntheticRank::new(rank, 2)).collect();
        for (rank, exit) in ranks.iter_mut().zip(exits) {
            let operation = rank.operation(function, 0, 0);
            rank.call_with_request(operation, 10, 20, SyntheticRequest::default());
            rank.call_with_request(operation, 30, exit, SyntheticRequest::default());
            rank.call_with_request(operation, 50, exit, SyntheticRequest::default());
            rank.header.state = state;
        }
        ranks
    };
    let found = |exits, function, state| undone("requests", &ranks(exits, function, state)).1;
    let both = NotCompleted {
        operation: 0,
        function: "MPI_Ibarrier".to_owned(),
        communicator: "MPI_COMM_WORLD".to_owned(),
        ranks: vec![0, 1],
        repetitions: 2,
        call_site: None,
    };
    assert_eq!(found([60, 0], "MPI_Ibarrier", state::FINALIZED), [NotCompleted { ranks: vec![1], ..both.clone() }]);
    assert_eq!(found([0, 0], "MPI_Ibarrier", state::FINALIZED), [both]);
    assert_eq!(found([60, 60], "MPI_Ibarrier", state::FINALIZED), []);
    // A call that was left by longjmp, and a job that did not end well.
    assert_eq!(found([0, 0], "MPI_Barrier", state::FINALIZED), []);
    assert_eq!(found([0, 0], "MPI_Ibarrier", state::RUNNING), []);
}

/// Three ranks that call the operations with these letters, one after the other: of another function each.
fn with_calls(of_rank: [&str; 3]) -> Vec<SyntheticRank> {
    let mut ranks: Vec<SyntheticRank> = (0..3).map(|rank| SyntheticRank::new(rank, 3)).collect();
    for (rank, calls) in ranks.iter_mut().zip(of_rank) {
        let functions = [("b", "MPI_Bcast"), ("r", "MPI_Reduce"), ("g", "MPI_Gather")];
        let known = functions.map(|(letter, function)| (letter, rank.operation(function, 0, 8)));
        for (at, call) in calls.chars().enumerate() {
            let operation = known.iter().find(|(letter, _)| letter.starts_with(call)).unwrap().1;
            rank.call(operation, 10 * at as u64 + 1, 10 * at as u64 + 5);
        }
    }
    ranks
}

fn left_out(name: &str, ranks: &[SyntheticRank]) -> Option<(u64, u64, Vec<u32>, bool, String)> {
    let path: PathBuf = std::env::temp_dir().join(format!("mpitrace-left-out-{}-{name}", std::process::id()));
    synthetic::write(&path, ranks).unwrap();
    let trace = Trace::open(&[&path]).unwrap();
    std::fs::remove_file(&path).unwrap();
    let found = Operations::new(&trace).undone(&trace).left_out.pop()?;
    Some((found.sequence, found.earliest, found.ranks, found.is_additional, found.call.function.unwrap()))
}

#[test]
fn the_call_that_was_left_out_is_found_by_the_later_ones() {
    let (whole, without) = ("brgbrgbrggbrg", "brgbrgbrgbrg");
    let bcast = |sequence, earliest, rank, more, function: &str| {
        Some((sequence, earliest, vec![rank], more, function.to_owned()))
    };
    // One of two equal calls.
    assert_eq!(left_out("one", &with_calls([whole, without, whole])), bcast(9, 8, 1, false, "MPI_Gather"));
    assert_eq!(left_out("more", &with_calls([without, whole, without])), bcast(9, 8, 1, true, "MPI_Gather"));
    let killed = |calls| {
        let mut ranks = with_calls(calls);
        ranks.iter_mut().for_each(|rank| rank.header.state = state::RUNNING);
        ranks
    };
    assert_eq!(left_out("killed", &killed(["brgbrgb", "rgbrgb", "brgbrgb"])), bcast(0, 0, 1, false, "MPI_Bcast"));
    // The last one, all the same, too few later ones, and calls in another order.
    for calls in [["brgbrg", "brgbr"], ["bbbbbbbb", "bbbbbbb"], ["brgbr", "brgr"], ["brbrbrgg", "brrbbrgg"]] {
        assert_eq!(left_out("none", &with_calls([calls[0], calls[1], calls[0]])), None, "{calls:?}");
    }
}

#[test]
fn what_was_never_freed_is_counted() {
    let mut ranks: Vec<SyntheticRank> = (0..2).map(|rank| SyntheticRank::new(rank, 2).stamped()).collect();
    for (number, rank) in (0u32..).zip(&mut ranks) {
        let made = [5, 6, 7, 8, 9, 10].map(|key| rank.communicator(key, 2, number, None));
        rank.is_of(made[2], communicator_flags::WINDOW, 0);
        rank.is_of(made[3], communicator_flags::FILE, 0);
        rank.flag_communicator(made[4], communicator_flags::INTER);
        // In a delete callback.
        rank.flag_communicator(made[5], communicator_flags::FREED);
        // The first one by both, the second one by one of them.
        let free = rank.operation("MPI_Comm_free", made[0], 0);
        rank.call(free, 10, 15);
        let more = rank.operation("MPI_Comm_free", made[1], 0);
        let barrier = rank.operation("MPI_Barrier", made[1], 0);
        rank.call(if number == 0 { more } else { barrier }, 20, 25);
        rank.times.rank.types_left = 2;
    }
    let path: PathBuf = std::env::temp_dir().join(format!("mpitrace-never-freed-{}", std::process::id()));
    let found = |ranks: &[SyntheticRank]| {
        synthetic::write(&path, ranks).unwrap();
        let trace = Trace::open(&[&path]).unwrap();
        std::fs::remove_file(&path).unwrap();
        Operations::new(&trace).undone(&trace).never_freed
    };
    assert_eq!(found(&ranks), NeverFreed { communicators: 1, windows: 1, files: 1, types: 4, requests: 0 });
    ranks[0].header.state = state::RUNNING;
    assert_eq!(found(&ranks), NeverFreed::default(), "it was killed");
}

/// Three ranks with five calls of MPI_Alltoallv, whose amounts do not fit at these positions.
fn with_amounts(positions: &[u64], change: impl Fn(&mut SyntheticRank, u32)) -> Vec<Amounts> {
    let mut ranks: Vec<SyntheticRank> = (0..3).map(|rank| SyntheticRank::new(rank, 3)).collect();
    for (number, rank) in (0u32..).zip(&mut ranks) {
        let [barrier, exchange] =
            [("MPI_Barrier", 0), ("MPI_Alltoallv", 4)].map(|(name, bytes)| rank.operation(name, 0, bytes));
        for k in 0..10 {
            rank.call(if k % 2 == 0 { barrier } else { exchange }, 10 * k + 1, 10 * k + 5);
        }
        for &position in positions {
            let share = if number == 1 { 8 } else { u32::MAX };
            let sums = amounts::factors(position).map(|factor| factor.wrapping_mul(share));
            rank.add_amounts(0, Some(sums));
        }
        change(rank, number);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("amounts.mpitrace");
    synthetic::write(&path, &ranks).unwrap();
    let trace = Trace::open(&[&path]).unwrap();
    Operations::new(&trace).undone(&trace).amounts
}

#[test]
fn amounts_that_do_not_fit_are_found_with_their_call() {
    assert_eq!(with_amounts(&[], |_, _| {}), []);
    let calls = vec![CalledAlone { ranks: vec![0, 1, 2], function: Some("MPI_Alltoallv".into()), call_site: None }];
    let found =
        |sequence| [Amounts { kind: "amounts", communicator: "MPI_COMM_WORLD".into(), sequence, calls: calls.clone() }];
    assert_eq!(with_amounts(&[7], |_, _| {}), found(Some(7)));
    assert_eq!(with_amounts(&[3, 7], |_, _| {}), found(None));
    assert_eq!(with_amounts(&[4], |_, _| {}), found(None), "a Barrier has none");
    // Of three ranks, which cancel out or not.
    let types = |last: u16| {
        let change =
            move |rank: &mut SyntheticRank, number: u32| rank.add_types(0, Some([7, 9, last][number as usize]));
        with_amounts(&[], change)
    };
    let of_types = Amounts { kind: "datatype", ..found(None)[0].clone() };
    assert_eq!((types(16u16.wrapping_neg()), types(0)), (vec![], vec![of_types]));
    assert_eq!(with_amounts(&[7], |rank, _| rank.add_types(0, Some(5))), found(Some(7)), "not received at all");
    let uncertain = |rank: &mut SyntheticRank, number| rank.add_types(0, (number != 1).then_some(5));
    assert_eq!((with_amounts(&[], uncertain), with_amounts(&[7], uncertain)), (vec![], found(Some(7)).into()));
    assert_eq!(with_amounts(&[7], |rank, _| rank.flag_communicator(0, communicator_flags::INTER)), found(Some(7)));
    let silent: [fn(&mut SyntheticRank, u32); 3] = [
        |rank, number| rank.last_thread().unwrap().failed = u32::from(number == 2),
        |rank, number| rank.add_amounts(0, (number > 0).then_some([0, 0])),
        |rank, number| {
            rank.flag_communicator(0, communicator_flags::INTER);
            let more = rank.operation("MPI_Barrier", 0, 0);
            (0..u64::from(number == 2)).for_each(|_| rank.call(more, 200, 205));
        },
    ];
    silent.into_iter().for_each(|change| assert_eq!(with_amounts(&[7], change), []));
}
