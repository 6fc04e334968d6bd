//! A verdict for each kind of cause, and none where a rank moves.

use mpitrace_trace::operations::{Mismatch, MismatchKind, MismatchedCall};

use super::held_by;
use super::snapshot::{CommunicatorNow, MessageWait, Partner, RankNow, Snapshot, State, Wait};
use super::verdict::{StuckKind, verdict};

pub(super) const STUCK_S: f64 = 10.0;
pub(super) const WORLD: usize = 0;
const OTHER: usize = 1;

/// A rank that has not moved for 20 s.
pub(super) fn rank(rank: u32, state: State) -> RankNow {
    RankNow { since_s: Some(20.0), unmoved_s: 20.0, ..RankNow::new(rank, state) }
}

pub(super) fn inside(number: u32, communicator: usize, sequence: u64) -> RankNow {
    let wait = Wait { function: Some("MPI_Barrier"), communicator: Some(communicator), sequence: Some(sequence) };
    RankNow { waits: vec![wait], ..rank(number, State::InCall) }
}

fn in_receive(number: u32) -> RankNow {
    RankNow { in_point_to_point: true, ..rank(number, State::OtherMpi) }
}

pub(super) fn message(partner: Partner, tag: i32, receives: bool) -> MessageWait {
    MessageWait { partner, tag, communicator: Some(WORLD), receives, sends: !receives, sent: None }
}

/// In a call that waits for these messages.
pub(super) fn in_messages(number: u32, messages: &[MessageWait]) -> RankNow {
    RankNow { messages: messages.to_vec(), ..in_receive(number) }
}

pub(super) fn receives_from(number: u32, partner: u32, tag: i32) -> RankNow {
    in_messages(number, &[message(Partner::Rank(partner), tag, true)])
}

pub(super) fn in_finalize(number: u32) -> RankNow {
    let wait = Wait { function: Some("MPI_Finalize"), communicator: None, sequence: None };
    RankNow { waits: vec![wait], ..rank(number, State::Finalize) }
}

/// MPI_COMM_WORLD, of which the ranks have begun so many calls, and another communicator of the same ranks.
pub(super) fn job(ranks: Vec<RankNow>, begun: &[u64], on_other: &[u64]) -> Snapshot {
    let communicator = |name: &str, begun: &[u64]| CommunicatorNow {
        name: name.to_owned(),
        size: ranks.len() as u32,
        members: (0..).zip(begun.iter().copied()).collect(),
    };
    let communicators = vec![communicator("MPI_COMM_WORLD", begun), communicator("other", on_other)];
    let world_size = ranks.len() as u32;
    Snapshot { ranks, world_size, communicators, ..Snapshot::default() }
}

/// In the eighth call of MPI_COMM_WORLD.
pub(super) fn mismatch(groups: &[&[u32]]) -> Mismatch {
    let call = |ranks: &&[u32]| MismatchedCall {
        ranks: ranks.to_vec(),
        function: "MPI_Bcast".to_owned(),
        root: None,
        bytes: None,
        datatype: None,
        reduction: None,
        call_site: None,
    };
    Mismatch {
        communicator_id: WORLD,
        communicator: "MPI_COMM_WORLD".to_owned(),
        sequence: 7,
        kind: MismatchKind::Root,
        calls: groups.iter().map(call).collect(),
    }
}

/// Rank 3 has not come to the eighth call, in which the others are.
fn without_3(three: RankNow) -> Snapshot {
    job(vec![inside(0, WORLD, 7), inside(1, WORLD, 7), inside(2, WORLD, 7), three], &[8, 8, 8, 7], &[0; 4])
}

#[track_caller]
fn assert_found(snapshot: &Snapshot, kind: StuckKind, ranks: &[u32], place: Option<(usize, u64)>) {
    let found = verdict(snapshot, STUCK_S).expect("a verdict");
    assert_eq!((found.kind, &found.ranks[..]), (kind, ranks), "{found:?}");
    assert_eq!(found.communicator.zip(found.sequence), place, "{found:?}");
    assert!(found.seconds >= STUCK_S, "{found:?}");
}

#[test]
fn a_rank_that_does_not_come_is_named_by_what_it_does() {
    let computing = |uses| RankNow { uses_processor: uses, ..rank(3, State::Computing) };
    let cases = [
        (rank(3, State::OffProcessor), StuckKind::MissingRank),
        (rank(3, State::OtherMpi), StuckKind::MissingRank),
        (rank(3, State::Abort), StuckKind::MissingRank),
        (rank(3, State::Ended), StuckKind::MissingRank),
        (in_finalize(3), StuckKind::MissingRank),
        (computing(None), StuckKind::MissingRank),
        (computing(Some(false)), StuckKind::MissingRank),
        (computing(Some(true)), StuckKind::EndlessLoop),
        (rank(3, State::Dead), StuckKind::DeadRank),
        (rank(3, State::Stopped), StuckKind::StoppedRank),
        (in_receive(3), StuckKind::PointToPoint),
    ];
    for (three, kind) in cases {
        assert_found(&without_3(three), kind, &[3], Some((WORLD, 7)));
    }
}

#[test]
fn a_rank_that_moves_may_come() {
    let moving = |three: RankNow| RankNow { unmoved_s: 1.0, ..three };
    let stands = [rank(3, State::Computing), rank(3, State::OffProcessor), in_receive(3), inside(3, OTHER, 0)];
    for three in stands {
        assert_eq!(verdict(&without_3(moving(three)), STUCK_S), None);
    }
    // What cannot move by itself, or never comes, need not have stood for long.
    assert_found(&without_3(moving(rank(3, State::Dead))), StuckKind::DeadRank, &[3], Some((WORLD, 7)));
}

#[test]
fn ranks_that_have_waited_shortly_are_no_cause() {
    let mut snapshot = without_3(rank(3, State::Dead));
    snapshot.ranks.iter_mut().for_each(|rank| rank.unmoved_s = 9.0);
    assert_eq!(verdict(&snapshot, STUCK_S), None);
}

#[test]
fn a_rank_in_a_receive_may_wait_for_one_that_moves() {
    let mut snapshot = without_3(in_receive(3));
    snapshot.ranks[2] = RankNow { unmoved_s: 0.5, ..rank(2, State::Computing) };
    snapshot.communicators[WORLD].members[2].1 = 7;
    assert_eq!(verdict(&snapshot, STUCK_S), None);
    snapshot.ranks[2] = RankNow { uses_processor: Some(true), ..rank(2, State::Computing) };
    assert_found(&snapshot, StuckKind::EndlessLoop, &[2], Some((WORLD, 7)));
}

/// Rank 2 waits on a communicator that another member has not left the making of.
#[test]
fn a_rank_that_waits_for_unknown_members_is_no_cause() {
    let ranks = vec![inside(0, WORLD, 7), inside(1, WORLD, 7), inside(2, OTHER, 3)];
    let mut snapshot = job(ranks, &[8, 8, 7], &[0; 3]);
    snapshot.communicators[OTHER].members = vec![(2, 4)];
    snapshot.communicators[OTHER].size = 2;
    assert_eq!(verdict(&snapshot, STUCK_S), None);
    snapshot.communicators[OTHER].size = 1;
    assert_found(&snapshot, StuckKind::MissingRank, &[2], Some((WORLD, 7)));
}

/// Rank 3 may wait for a rank of a node that was not looked at.
#[test]
fn a_rank_in_a_receive_is_no_cause_while_others_are_not_seen() {
    let mut snapshot = without_3(in_receive(3));
    assert_found(&snapshot, StuckKind::PointToPoint, &[3], Some((WORLD, 7)));
    snapshot.world_size = 5;
    assert_eq!(verdict(&snapshot, STUCK_S), None);
    snapshot.ranks[3] = rank(3, State::Dead);
    assert_found(&snapshot, StuckKind::DeadRank, &[3], Some((WORLD, 7)));
}

#[test]
fn two_communicators_in_another_order_make_a_cycle() {
    let two = job(vec![inside(0, WORLD, 7), inside(1, OTHER, 3)], &[8, 7], &[3, 4]);
    assert_found(&two, StuckKind::Cycle, &[0, 1], Some((WORLD, 7)));
    // Rank 2 waits for the cycle and is not of it. While rank 3 moves, it may be what rank 0 alone waits for, as the
    // root of a broadcast.
    let four = |three| {
        job(vec![inside(0, WORLD, 7), inside(1, OTHER, 3), inside(2, WORLD, 7), three], &[8, 7, 8, 7], &[3, 4, 4, 4])
    };
    assert_found(&four(rank(3, State::Computing)), StuckKind::Cycle, &[0, 1], Some((WORLD, 7)));
    let moving = RankNow { unmoved_s: 0.1, ..rank(3, State::Computing) };
    let mut snapshot = four(moving);
    assert_found(&snapshot, StuckKind::Cycle, &[0, 1], Some((WORLD, 7)));
    snapshot.ranks[0].waits[0].function = Some("MPI_Bcast");
    assert_eq!(verdict(&snapshot, STUCK_S), None);
}

#[test]
fn the_way_through_other_ranks_leads_to_the_cause() {
    // Rank 0 waits for 1 on one communicator, 1 for 2 on the other, and 2 is stopped.
    let snapshot = job(vec![inside(0, WORLD, 7), inside(1, OTHER, 3), rank(2, State::Stopped)], &[8, 7, 8], &[4, 4, 3]);
    assert_found(&snapshot, StuckKind::StoppedRank, &[2], Some((OTHER, 3)));
}

#[test]
fn calls_that_do_not_belong_together_come_first() {
    let mut snapshot = job((0..4).map(|rank| inside(rank, WORLD, 7)).collect(), &[8; 4], &[0; 4]);
    assert_eq!(verdict(&snapshot, STUCK_S), None, "all are inside: the call may be slow");
    snapshot.mismatches = vec![mismatch(&[&[0, 1, 3], &[2]])];
    assert_found(&snapshot, StuckKind::Mismatch, &[2], Some((WORLD, 7)));
    snapshot.mismatches = vec![mismatch(&[&[0, 3], &[1, 2]])];
    assert_found(&snapshot, StuckKind::Mismatch, &[0, 1, 2, 3], Some((WORLD, 7)));
    // One that was passed before does not hold them.
    snapshot.mismatches[0].sequence = 5;
    assert_eq!(verdict(&snapshot, STUCK_S), None);
}

#[test]
fn a_call_that_all_have_entered_waits_for_a_rank_that_died_in_it() {
    let mut snapshot = job((0..4).map(|rank| inside(rank, WORLD, 7)).collect(), &[8; 4], &[0; 4]);
    snapshot.ranks[1] = RankNow { waits: Vec::new(), ..rank(1, State::Dead) };
    assert_found(&snapshot, StuckKind::DeadRank, &[1], Some((WORLD, 7)));
    snapshot.ranks[1].state = State::Stopped;
    assert_found(&snapshot, StuckKind::StoppedRank, &[1], Some((WORLD, 7)));
}

#[test]
fn ranks_in_finalize_wait_for_those_that_are_not() {
    let looping = RankNow { uses_processor: Some(true), ..rank(2, State::Computing) };
    let snapshot = job(vec![in_finalize(0), in_finalize(1), looping], &[8; 3], &[0; 3]);
    assert_found(&snapshot, StuckKind::EndlessLoop, &[2], None);
    // A rank in a call that the others will not come to: they are in Finalize.
    let snapshot = job(vec![in_finalize(0), in_finalize(1), inside(2, WORLD, 8)], &[8, 8, 9], &[0; 3]);
    assert_found(&snapshot, StuckKind::MissingRank, &[0, 1], Some((WORLD, 8)));
    let ended = job(vec![in_finalize(0), rank(1, State::Ended)], &[8; 2], &[0; 2]);
    assert_eq!(verdict(&ended, STUCK_S), None, "it has written its trace");
}

#[test]
fn receives_alone_are_a_cause_when_nothing_moves() {
    let mut snapshot = job(vec![in_receive(0), in_receive(1), rank(2, State::Ended)], &[8; 3], &[0; 3]);
    assert_found(&snapshot, StuckKind::PointToPoint, &[0, 1], None);
    snapshot.ranks[2] = rank(2, State::Dead);
    assert_found(&snapshot, StuckKind::DeadRank, &[2], None);
    snapshot.ranks[2] = RankNow { unmoved_s: 0.1, ..rank(2, State::Computing) };
    assert_eq!(verdict(&snapshot, STUCK_S), None);
    let computing = job(vec![rank(0, State::Computing), rank(1, State::Computing)], &[8; 2], &[0; 2]);
    assert_eq!(verdict(&computing, STUCK_S), None, "they wait for nothing");
}

#[test]
fn of_a_trace_there_is_no_time() {
    let mut snapshot = without_3(rank(3, State::Computing));
    snapshot.ranks.iter_mut().for_each(|rank| rank.unmoved_s = f64::INFINITY);
    let found = verdict(&snapshot, 0.0).unwrap();
    assert_eq!((found.kind, found.ranks, found.seconds), (StuckKind::MissingRank, vec![3], f64::INFINITY));
}

#[test]
fn a_rank_that_died_is_the_cause_and_not_one_that_was_killed_after_it() {
    let ended = |how: &str, rank: RankNow| RankNow { ended: Some(how.parse().unwrap()), ..rank };
    let with = |one: RankNow, three: RankNow| {
        let mut snapshot = without_3(three);
        snapshot.ranks[1] = one;
        verdict(&snapshot, STUCK_S).map(|found| (found.kind, found.ranks))
    };
    let killed = |rank| ended("signal 9 (SIGKILL)", rank);
    let deaths = ["exit code 15", "signal 11 (SIGSEGV)", "signal 6 (SIGABRT)", "exit code 0", "signal 64"];
    for how in deaths {
        for (two, three) in [(inside(1, WORLD, 7), in_receive(3)), (in_receive(1), rank(3, State::Computing))] {
            let found = with(killed(two), ended(how, three));
            assert_eq!(found, Some((StuckKind::DeadRank, vec![3])), "{how}");
        }
    }
    // Nothing is concluded from the signals that end jobs.
    for how in ["signal 9 (SIGKILL)", "signal 15 (SIGTERM)", "signal 2 (SIGINT)"] {
        let found = with(killed(inside(1, WORLD, 7)), ended(how, in_receive(3)));
        assert_eq!(found, Some((StuckKind::PointToPoint, vec![3])), "{how}");
    }
    // In a receive that the library refuses, no other rank waits.
    let alone = job(vec![ended("exit code 15", in_receive(0)), killed(rank(1, State::Computing))], &[8; 2], &[0; 2]);
    assert_found(&alone, StuckKind::DeadRank, &[0], None);
    assert!(alone.was_ended_by_library(&alone.ranks[0]) && !alone.was_ended_by_library(&alone.ranks[1]));
    // Calls that do not belong together may be what it died of.
    let mut snapshot = without_3(ended("exit code 15", inside(3, WORLD, 7)));
    snapshot.communicators[WORLD].members[3].1 = 8;
    snapshot.mismatches = vec![mismatch(&[&[0, 1, 2], &[3]])];
    assert_found(&snapshot, StuckKind::Mismatch, &[3], Some((WORLD, 7)));
    // One in MPI_Abort, or past MPI_Finalize, has not died.
    for state in [State::Abort, State::Ended] {
        assert!(!ended("exit code 3", rank(0, state)).has_died());
    }
}

/// MPICH's launcher kills all ranks when one of them aborts, and ends with the error's class; in its library's way out
/// a rank may crash.
#[test]
fn a_job_that_the_launcher_ended_did_not_wait() {
    let of = |exit_code: Option<u32>, ends: [&str; 2]| {
        let ended = |how: &str, rank: RankNow| RankNow { ended: how.parse().ok(), ..rank };
        let ranks = vec![ended(ends[0], in_receive(0)), ended(ends[1], in_receive(1))];
        Snapshot { exit_code, ..job(ranks, &[8; 2], &[0; 2]) }
    };
    let killed = ["signal 9 (SIGKILL)"; 2];
    let aborted = of(Some(2), killed);
    assert_eq!((aborted.ended_by_launcher(), verdict(&aborted, STUCK_S)), (Some((2, vec![0, 1])), None));
    let terminated = ["signal 15 (SIGTERM)"; 2];
    let others = [(None, killed), (Some(0), killed), (Some(9), killed), (Some(124), killed), (Some(137), killed)];
    for (code, ends) in others.into_iter().chain([(Some(2), terminated)]) {
        let waiting = of(code, ends);
        assert_eq!(waiting.ended_by_launcher(), None, "{code:?} {ends:?}");
        assert_found(&waiting, StuckKind::PointToPoint, &[0, 1], None);
    }
    let crashed = |code| {
        let snapshot = of(Some(code), ["signal 11 (SIGSEGV)", "signal 9 (SIGKILL)"]);
        assert_found(&snapshot, StuckKind::DeadRank, &[0], None);
        snapshot.was_ended_by_library(&snapshot.ranks[0])
    };
    assert!(crashed(2) && crashed(14), "the launcher knew of it before");
    assert!(!crashed(11) && !crashed(139), "the launcher has it from the signal");
}

#[test]
fn receives_that_wait_for_each_other_are_a_cycle_though_others_move() {
    let moving = |number| RankNow { unmoved_s: 0.1, ..rank(number, State::Computing) };
    let ring = |third: RankNow| job(vec![receives_from(0, 1, 7), receives_from(1, 0, 8), third], &[8; 3], &[0; 3]);
    assert_found(&ring(moving(2)), StuckKind::Cycle, &[0, 1], None);
    // The one that waits for them is not of the cycle.
    assert_found(&ring(receives_from(2, 1, 0)), StuckKind::Cycle, &[0, 1], None);
    // One of them moves.
    let mut snapshot = ring(moving(2));
    snapshot.ranks[1].unmoved_s = 0.1;
    assert_eq!(verdict(&snapshot, STUCK_S), None);
    // Through a collective call that no rank leaves before all have entered; through others only if all stand.
    let mixed = |function, third: RankNow| {
        let mut one = inside(1, WORLD, 7);
        one.waits[0].function = Some(function);
        job(vec![receives_from(0, 1, 7), one, third], &[7, 8, 8], &[0; 3])
    };
    assert_found(&mixed("MPI_Allreduce", moving(2)), StuckKind::Cycle, &[0, 1], Some((WORLD, 7)));
    let bcast = mixed("MPI_Bcast", rank(2, State::Ended));
    assert_found(&bcast, StuckKind::Cycle, &[0, 1], Some((WORLD, 7)));
    let mut bcast = mixed("MPI_Bcast", moving(2));
    bcast.communicators[WORLD].members[2].1 = 7;
    assert_eq!(verdict(&bcast, STUCK_S), None);
}

#[test]
fn a_message_under_way_is_no_cycle() {
    let sends = |to, tag| message(Partner::Rank(to), tag, false);
    let receives = |from: Option<u32>, tag| message(from.map_or(Partner::Any, Partner::Rank), tag, true);
    let pair = |zero: &[MessageWait], one: &[MessageWait]| {
        let snapshot = job(vec![in_messages(0, zero), in_messages(1, one)], &[8; 2], &[0; 2]);
        verdict(&snapshot, STUCK_S).map(|stuck| stuck.kind)
    };
    let under_way = [
        ([sends(1, 7)], [receives(Some(0), 7)]),
        ([sends(1, 7)], [receives(Some(0), -1)]),
        ([sends(1, 7)], [receives(None, 7)]),
    ];
    for (zero, one) in under_way {
        // That they stand at all may have a reason, but they do not wait for each other.
        assert_ne!(pair(&zero, &one), Some(StuckKind::Cycle), "{zero:?} {one:?}");
    }
    assert_eq!(pair(&[sends(1, 7)], &[receives(Some(0), 8)]), Some(StuckKind::Cycle));
    assert_eq!(pair(&[sends(1, 7)], &[sends(0, 7)]), Some(StuckKind::Cycle));
    // Of several messages some may be complete.
    assert_eq!(
        pair(&[sends(1, 1), receives(Some(1), 2)], &[receives(Some(0), 1), receives(Some(0), 3)]),
        Some(StuckKind::Cycle)
    );
}

#[test]
fn a_call_for_several_messages_is_held_by_all_of_its_partners_only() {
    let several = [message(Partner::Rank(1), 0, true), message(Partner::Rank(2), 0, true)];
    let any = [message(Partner::Any, 0, true)];
    for messages in [&several[..], &any] {
        let with = |two: RankNow| job(vec![in_messages(0, messages), receives_from(1, 0, 0), two], &[8; 3], &[0; 3]);
        assert_found(&with(receives_from(2, 0, 0)), StuckKind::Cycle, &[0, 1, 2], None);
        // The message of rank 1 may have come, and that of rank 2 not yet.
        let moving = RankNow { unmoved_s: 0.1, ..rank(2, State::Computing) };
        assert_eq!(verdict(&with(moving), STUCK_S), None);
        // A worker that has ended is not waited for while another one works.
        let mut ended = with(RankNow { unmoved_s: 0.1, ..rank(2, State::Computing) });
        ended.ranks[1] = rank(1, State::Ended);
        assert_eq!(verdict(&ended, STUCK_S), None);
    }
    // More than are listed: nothing is concluded from those.
    let mut cut = job(vec![in_messages(0, &several), receives_from(1, 0, 0), receives_from(2, 0, 0)], &[8; 3], &[0; 3]);
    cut.ranks[0].has_more_messages = true;
    assert_found(&cut, StuckKind::PointToPoint, &[0], None);
}

#[test]
fn the_rank_whose_message_does_not_come_is_the_cause() {
    let with = |zero: RankNow| job(vec![zero, receives_from(1, 0, 3)], &[8; 2], &[0; 2]);
    let looping = RankNow { uses_processor: Some(true), ..rank(0, State::Computing) };
    let cases = [
        (rank(0, State::Dead), StuckKind::DeadRank, 0),
        (rank(0, State::Stopped), StuckKind::StoppedRank, 0),
        (rank(0, State::OffProcessor), StuckKind::MissingRank, 0),
        (looping, StuckKind::EndlessLoop, 0),
        (in_finalize(0), StuckKind::PointToPoint, 1),
        (rank(0, State::Ended), StuckKind::PointToPoint, 1),
    ];
    for (zero, kind, named) in cases {
        let found = verdict(&with(zero), STUCK_S).expect("a verdict");
        assert_eq!((found.kind, &found.ranks[..]), (kind, &[named][..]), "{found:?}");
        // Rank 0 waits in MPI_Finalize for rank 1.
        assert_eq!(found.sequence, None, "{found:?}");
    }
    assert_eq!(verdict(&with(RankNow { unmoved_s: 1.0, ..rank(0, State::Computing) }), STUCK_S), None);
}

/// Ranks 0 and 2 receive from any rank, and the others send nothing any more.
#[test]
fn a_message_of_any_rank_does_not_come_from_one_in_finalize() {
    let any = |number| in_messages(number, &[message(Partner::Any, 666, true)]);
    let with = |two: RankNow| job(vec![any(0), in_finalize(1), two, in_finalize(3)], &[0; 4], &[0; 4]);
    assert_found(&with(any(2)), StuckKind::Cycle, &[0, 2], None);
    assert_found(&with(in_finalize(2)), StuckKind::PointToPoint, &[0], None);
    assert_eq!(verdict(&with(RankNow { unmoved_s: 0.1, ..rank(2, State::Computing) }), STUCK_S), None);
}

#[test]
fn calls_on_windows_that_do_not_end_are_found_when_nothing_moves() {
    let in_start = |number| RankNow { function: Some("MPI_Win_start".into()), ..rank(number, State::OtherMpi) };
    let mut snapshot = job(vec![in_start(0), in_start(1), rank(2, State::Ended)], &[8; 3], &[0; 3]);
    assert_found(&snapshot, StuckKind::MissingRank, &[0, 1], None);
    snapshot.ranks[2] = RankNow { unmoved_s: 0.1, ..rank(2, State::Computing) };
    assert_eq!(verdict(&snapshot, STUCK_S), None);
}

/// Rank 2 waits for rank 0, and that for any rank: rank 1, which sleeps, may be the one, with a message or a lock.
#[test]
fn one_of_several_that_does_not_wait_is_no_part_of_a_circle() {
    let window = MessageWait { sends: false, ..message(Partner::Any, 0, false) };
    for any in [message(Partner::Any, 7, true), window] {
        let with = |one, begun| job(vec![in_messages(0, &[any]), one, inside(2, WORLD, 7)], &[7, begun, 8], &[0; 3]);
        assert_found(&with(rank(1, State::OffProcessor), 7), StuckKind::MissingRank, &[1], Some((WORLD, 7)));
        assert_found(&with(inside(1, WORLD, 7), 8), StuckKind::Cycle, &[0, 1, 2], Some((WORLD, 7)));
    }
}

#[test]
fn a_rank_that_has_not_called_init_is_the_cause_where_others_wait_in_it() {
    let in_init = |number: u32| {
        let wait = Wait { function: Some("MPI_Init"), communicator: None, sequence: None };
        RankNow { waits: vec![wait], ..rank(number, State::Init) }
    };
    let before = |state, processor| RankNow { is_before_init: true, uses_processor: Some(processor), ..rank(1, state) };
    let with =
        |one: RankNow| Snapshot { communicators: Vec::new(), ..job(vec![in_init(0), one, in_init(2)], &[], &[]) };
    assert_found(&with(before(State::OffProcessor, false)), StuckKind::MissingRank, &[1], None);
    assert_found(&with(before(State::Computing, true)), StuckKind::EndlessLoop, &[1], None);
    assert_found(&with(before(State::Stopped, false)), StuckKind::StoppedRank, &[1], None);
    // All have called it, or one is on a node that is not seen.
    assert_eq!(verdict(&with(in_init(1)), STUCK_S), None);
    let mut unseen = with(in_init(1));
    unseen.ranks.remove(1);
    assert_eq!(verdict(&unseen, STUCK_S), None);
    let moved = RankNow { unmoved_s: 1.0, ..before(State::Computing, true) };
    assert_eq!(verdict(&with(moved), STUCK_S), None);
}

/// The ranks that a verdict on a trace holds for good.
fn held(snapshot: &Snapshot) -> Vec<u32> {
    held_by(snapshot, &verdict(snapshot, 0.0).expect("a verdict"))
}

#[test]
fn ranks_that_do_not_go_on_whatever_others_do_are_held() {
    // Ranks 0 and 1 wait for each other, rank 2 goes on.
    let pair = job(vec![receives_from(0, 1, 7), receives_from(1, 0, 8), rank(2, State::Computing)], &[0; 3], &[0; 3]);
    assert_eq!(held(&pair), [0, 1]);
    // Rank 2 has called something else than ranks 0 and 1; rank 3 computes.
    let inside = |number| inside(number, WORLD, 7);
    let ranks = vec![inside(0), inside(1), inside(2), rank(3, State::Computing)];
    let mismatched = Snapshot { mismatches: vec![mismatch(&[&[0, 1], &[2]])], ..job(ranks, &[8, 8, 8, 7], &[0; 4]) };
    assert_eq!(held(&mismatched), [0, 1, 2]);
    // The others wait for rank 3, which never comes.
    assert_eq!(held(&without_3(in_finalize(3))), [3]);
    // It waits for a message of a rank that has ended.
    let over = job(vec![receives_from(0, 1, 7), in_finalize(1), rank(2, State::Computing)], &[0; 3], &[0; 3]);
    assert_eq!(held(&over), [0, 1]);
}

#[test]
fn a_rank_that_may_come_and_one_that_has_died_hold_no_other() {
    for three in [rank(3, State::Computing), rank(3, State::OtherMpi), in_receive(3), rank(3, State::Dead)] {
        assert_eq!(held(&without_3(three.clone())), [0; 0], "{three:?}");
    }
}
