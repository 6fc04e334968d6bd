//! Verdicts on ranks in MPI_Finalize or in calls whose other ranks are not known, and the ends of jobs that the library
//! ended.

use super::snapshot::{CommunicatorNow, Partner, RankNow, Snapshot, State, Wait};
use super::verdict::{StuckKind, verdict};
use super::verdict_tests::{
    STUCK_S, WORLD, in_finalize, in_messages, inside, job, message, mismatch, rank, receives_from,
};

/// A rank in a call that is to make a communicator, of ranks that are not known, and that communicator.
fn makes(number: u32, communicator: usize) -> RankNow {
    let function = Some("MPI_Comm_create_group");
    let wait = Wait { function, communicator: Some(communicator), sequence: Some(0) };
    RankNow { waits: vec![wait], ..rank(number, State::InCall) }
}

#[test]
fn ranks_that_make_a_communicator_of_a_group_wait_for_any_that_does_not() {
    let made = |number: u32| CommunicatorNow { name: format!("comm-{number}"), size: 0, members: vec![(number, 1)] };
    let mut stands = job(vec![makes(0, 2), makes(1, 3), inside(2, WORLD, 7)], &[7, 7, 8], &[0; 3]);
    stands.communicators.extend([made(0), made(1)]);
    let stuck = verdict(&stands, STUCK_S).unwrap();
    assert_eq!((stuck.kind, &stuck.ranks[..]), (StuckKind::Cycle, &[0, 1, 2][..]));
    // The one that is not there computes: it may come.
    stands.ranks[2] = RankNow { unmoved_s: 0.0, ..rank(2, State::Computing) };
    assert_eq!(verdict(&stands, STUCK_S), None);
}

#[test]
fn no_rank_that_waits_in_a_collective_call_is_missing_where_others_wait_for_messages() {
    // Both ends of a message stand, as of a partitioned one of which a part is not ready.
    let sends = |number, partner| in_messages(number, &[message(Partner::Rank(partner), 3, false)]);
    let stands = job(vec![sends(0, 1), receives_from(1, 0, 3), inside(2, WORLD, 7)], &[7, 7, 8], &[0; 3]);
    let stuck = verdict(&stands, STUCK_S).unwrap();
    assert_eq!((stuck.kind, &stuck.ranks[..]), (StuckKind::PointToPoint, &[0, 1][..]));
}

#[test]
fn a_rank_that_frees_a_communicator_in_finalize_does_not_come_to_it() {
    let over = |function: &str, two: RankNow| {
        let mut found = mismatch(&[&[0, 1], &[2]]);
        found.calls[1].function = function.to_owned();
        let ranks = vec![inside(0, WORLD, 7), inside(1, WORLD, 7), two];
        Snapshot { mismatches: vec![found], ..job(ranks, &[8; 3], &[0; 3]) }
    };
    // Some libraries let a rank go, whose trace is written then.
    for two in [in_finalize(2), rank(2, State::Ended)] {
        let stuck = verdict(&over("MPI_Comm_free", two.clone()), STUCK_S).unwrap();
        assert_eq!((stuck.kind, &stuck.ranks[..]), (StuckKind::MissingRank, &[2][..]));
        assert_eq!(verdict(&over("MPI_Barrier", two), STUCK_S).unwrap().kind, StuckKind::Mismatch);
    }
}

#[test]
fn where_the_library_ended_the_job_no_circle_is_told() {
    let ended = |end: &str, now: RankNow| RankNow { ended: Some(end.parse().unwrap()), ..now };
    let killed = |now| ended("signal 9 (SIGKILL)", now);
    let of = |ranks: Vec<RankNow>, exit_code| {
        let ranks = ranks.into_iter().map(|now| RankNow { function: Some("MPI_Send".to_owned()), ..now }).collect();
        let library = "MPICH Version: 4.0.2".to_owned();
        Snapshot { exit_code, library, ..job(ranks, &[0; 2], &[0; 2]) }
    };
    let both = || vec![killed(receives_from(0, 1, 3)), killed(receives_from(1, 0, 3))];
    assert_eq!(verdict(&of(both(), None), STUCK_S).unwrap().kind, StuckKind::Cycle);
    assert_eq!(verdict(&of(both(), Some(4)), STUCK_S), None, "MPI_ERR_TAG");
    let by_code = vec![ended("exit code 4", receives_from(0, 1, 3)), receives_from(1, 0, 3)];
    assert_eq!(verdict(&of(by_code, Some(4)), STUCK_S).unwrap().kind, StuckKind::DeadRank);
}

#[test]
fn the_ranks_of_an_error_are_those_whose_call_can_end_in_it() {
    let in_call = |number, function: &str| RankNow { function: Some(function.to_owned()), ..inside(number, WORLD, 7) };
    let killed = |now: RankNow, by: &str| RankNow { ended: Some(by.parse().unwrap()), ..now };
    let of = |library: &str, by: &str, code, calls: [&str; 2]| {
        let ranks = (0..).zip(calls).map(|(number, function)| killed(in_call(number, function), by)).collect();
        let of_library =
            Snapshot { exit_code: Some(code), library: library.to_owned(), ..job(ranks, &[8; 2], &[0; 2]) };
        of_library.ended_by_launcher()
    };
    let [kill, terminate] = ["signal 9 (SIGKILL)", "signal 15 (SIGTERM)"];
    let barriers = ["MPI_Barrier", "MPI_Bcast"];
    assert_eq!(of("MPICH 4", kill, 7, barriers), Some((7, vec![1])), "MPI_ERR_ROOT");
    assert_eq!(of("MPICH 4", kill, 5, barriers), Some((5, vec![])), "MPI_ERR_COMM: both are on one that is known");
    assert_eq!(of("MPICH 4", kill, 15, barriers), Some((15, vec![0, 1])), "MPI_ERR_OTHER");
    assert_eq!(of("MPICH 4", terminate, 7, barriers), None, "by a user");
    // How a rank ended that was in MPI need not be known, of another it may be by its own exit code.
    let unknown = |state| {
        let first = killed(in_call(0, "MPI_Barrier"), kill);
        let ranks = vec![first, RankNow { state, ..in_call(1, "MPI_Bcast") }];
        let library = "MPICH 4".to_owned();
        Snapshot { exit_code: Some(7), library, ..job(ranks, &[8; 2], &[0; 2]) }.ended_by_launcher()
    };
    assert_eq!((unknown(State::InCall), unknown(State::Computing)), (Some((7, vec![1])), None));
    // Open MPI's MPI_ERR_TRUNCATE is the number of the signal as well.
    assert_eq!(of("Open MPI v4.1", terminate, 15, ["MPI_Barrier"; 2]), Some((15, vec![0, 1])));
    assert_eq!(of("Open MPI v4.1", terminate, 15, barriers), Some((15, vec![1])), "a barrier gets no message");
    assert_eq!(of("Open MPI v4.1", terminate, 1, barriers), None, "of a launcher that was ended");
    assert_eq!(of("Open MPI v4.1", terminate, 143, barriers), None);
    // The number of SIGKILL, and MPICH's MPI_ERR_OP.
    assert_eq!(of("MPICH 4", kill, 9, ["MPI_Barrier", "MPI_Reduce"]), None);
    assert_eq!(of("MPICH 4", kill, 9, ["MPI_Barrier", "MPI_Op_free"]), Some((9, vec![1])));
}
