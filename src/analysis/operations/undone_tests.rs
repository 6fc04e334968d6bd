//! Calls that not all ranks made and requests that were never complete, and what is legal and looks alike.

use std::path::PathBuf;

use mpitrace_format::layout::{communicator_flags, state};

use super::{CalledAlone, NotCalled, NotCompleted, Operations, Undone};
use crate::reader::Trace;
use mpitrace_testing::synthetic::{self, SyntheticRank, SyntheticRequest};

fn undone(name: &str, ranks: &[SyntheticRank]) -> (Vec<NotCalled>, Vec<NotCompleted>) {
    let path: PathBuf = std::env::temp_dir().join(format!("mpitrace-undone-{}-{name}", std::process::id()));
    synthetic::write(&path, ranks).unwrap();
    let trace = Trace::open(&[&path]).unwrap();
    std::fs::remove_file(&path).unwrap();
    let Undone { not_called, not_completed } = Operations::new(&trace).undone(&trace);
    (not_called, not_completed)
}

/// Three ranks that make five Barriers; rank 0 then makes no call and the others a Reduce, the operation 1. `change` has
/// the last word on each rank, after its calls.
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
    assert_eq!(undone("ring", &without_the_last_of_rank_0(|rank, _| rank.wrap(2))).0, [expected]);
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
