//! For which calls a rank waits, out of the records that it left.

use std::path::PathBuf;

use mpitrace_format::layout::{
    Anchor, AwaitedMessage, LastStamp, PartnerEntry, PollTimes, WAITED_FOR, activity, awaited, partner, state,
    wait_class,
};
use mpitrace_format::metadata;
use mpitrace_testing::synthetic::{self, SyntheticRank, SyntheticRequest};
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;

use super::place::{Seen, snapshot};
use super::process::{Process, Task};
use super::snapshot::{MessageWait, Partner, Snapshot, State, Wait};
use super::verdict::{StuckKind, verdict};

fn snapshot_of_trace(name: &str, ranks: &[SyntheticRank]) -> Snapshot {
    let path: PathBuf = std::env::temp_dir().join(format!("mpitrace-place-{}-{name}", std::process::id()));
    synthetic::write(&path, ranks).unwrap();
    let trace = Trace::open(&[&path]).unwrap();
    std::fs::remove_file(&path).unwrap();
    snapshot(&trace, &Operations::new(&trace), &Clock::new(&trace), &[])
}

/// Rank 0 has started an Ibarrier on another communicator and is in `function`, with this mark at its request; rank 1
/// is in a Barrier of the world; rank 2 computes. None has come to the call of another.
fn with_one_outstanding(function: &str, mark: u64) -> Vec<SyntheticRank> {
    let mut ranks: Vec<SyntheticRank> = (0..3).map(|rank| SyntheticRank::new(rank, 3)).collect();
    for (number, rank) in (0u32..).zip(&mut ranks) {
        rank.header.state = state::RUNNING;
        let other = rank.communicator(9, 3, number, Some("other"));
        let ibarrier = rank.operation("MPI_Ibarrier", other, 0);
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        rank.call(barrier, 1, 5);
        match number {
            0 => {
                let request = SyntheticRequest { wait: 7 | mark, ..SyntheticRequest::default() };
                rank.call_with_request(ibarrier, 10, 0, request);
                rank.enter_function(activity::POINT_TO_POINT, function);
            }
            1 => rank.call(barrier, 20, 0),
            _ => {}
        }
    }
    ranks
}

#[test]
fn a_rank_waits_for_a_request_in_a_wait_for_it_and_nowhere_else() {
    let nowhere = [("MPI_Recv", 0), ("MPI_Send", 0), ("MPI_Probe", 0), ("MPI_Wait", 0), ("MPI_Waitany", 0)];
    // One that was left by longjmp keeps its mark.
    for (function, mark) in nowhere.into_iter().chain([("MPI_Recv", WAITED_FOR)]) {
        let found = snapshot_of_trace("nowhere", &with_one_outstanding(function, mark));
        assert_eq!((found.ranks[0].state, &found.ranks[0].waits[..]), (State::OtherMpi, &[][..]), "{function}");
        // The others are not said to wait for each other.
        let stuck = verdict(&found, 0.0).unwrap();
        assert_eq!((stuck.kind, &stuck.ranks[..]), (StuckKind::MissingRank, &[2][..]), "{function}");
    }
    for function in ["MPI_Wait", "MPI_Waitall", "MPI_Waitany"] {
        let found = snapshot_of_trace("waited", &with_one_outstanding(function, WAITED_FOR));
        let wait = Wait { function: Some("MPI_Ibarrier"), communicator: Some(1), sequence: Some(0) };
        assert_eq!(found.ranks[0].waits, [wait], "{function}");
        let stuck = verdict(&found, 0.0).unwrap();
        assert_eq!((stuck.kind, &stuck.ranks[..]), (StuckKind::Cycle, &[0, 1][..]), "{function}");
    }
}

#[test]
fn the_mark_is_no_part_of_the_time() {
    let path = std::env::temp_dir().join(format!("mpitrace-place-{}-mark", std::process::id()));
    synthetic::write(&path, &with_one_outstanding("MPI_Wait", WAITED_FOR)).unwrap();
    let trace = Trace::open(&[&path]).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(trace.parts[0].request_of(1).unwrap().wait, 7);
    assert!(trace.parts[0].is_waited_for(1) && !trace.parts[0].is_waited_for(0));
    assert!(!trace.parts[2].is_waited_for(0), "it has no column of requests");
}

#[test]
fn how_a_rank_ended_is_known_of_a_trace() {
    let mut ranks = with_one_outstanding("MPI_Bsend", 0);
    ranks[0].metadata.push((metadata::ENDED.to_owned(), "exit code 15".to_owned()));
    ranks[0].metadata.push((metadata::EXIT_CODE.to_owned(), "2".to_owned()));
    ranks[1].metadata.push((metadata::ENDED.to_owned(), "signal 9 (SIGKILL)".to_owned()));
    let found = snapshot_of_trace("ended", &ranks);
    let died: Vec<bool> = found.ranks.iter().map(|rank| found.was_ended_by_library(rank)).collect();
    assert_eq!(died, [true, false, false]);
    assert_eq!(found.exit_code, Some(2));
    let stuck = verdict(&found, 0.0).unwrap();
    assert_eq!((stuck.kind, &stuck.ranks[..]), (StuckKind::DeadRank, &[0][..]));
    // The end of rank 0 was not seen: another rank has the launcher's.
    ranks[0].metadata.clear();
    ranks[1].metadata.push((metadata::EXIT_CODE.to_owned(), "5".to_owned()));
    assert_eq!(snapshot_of_trace("unseen", &ranks).exit_code, Some(5));
}

/// Where call sites are recorded the word of a thread has that of the call behind the function's name.
#[test]
fn the_place_of_a_call_outside_of_the_records_is_known() {
    let mut ranks: Vec<SyntheticRank> = (0..2).map(|rank| SyntheticRank::new(rank, 2).stamped()).collect();
    ranks.iter_mut().for_each(|rank| rank.header.state = state::RUNNING);
    ranks[0].enter_function(activity::POINT_TO_POINT, "MPI_Send /nonexistent/solver  1a2b");
    ranks[1].enter_function(activity::POINT_TO_POINT, "MPI_Recv");
    let found = snapshot_of_trace("site", &ranks).ranks;
    let of = |rank: usize| (found[rank].function.as_deref(), found[rank].call_site.as_deref());
    assert_eq!(of(1), (Some("MPI_Recv"), None));
    assert_eq!(of(0), (Some("MPI_Send"), Some("solver+0x1a2b")));
}

/// Rank 0 waits for a message of rank 1 on a communicator where that is rank 0, which has sent it two there.
#[test]
fn the_message_that_a_rank_waits_for_is_known() {
    let mut ranks: Vec<SyntheticRank> = (0..2).map(|rank| SyntheticRank::new(rank, 2).stamped()).collect();
    for (number, rank) in (0u32..).zip(&mut ranks) {
        rank.header.state = state::RUNNING;
        let other = rank.communicator(9, 2, 1 - number, Some("other"));
        assert_eq!(other, 1);
    }
    ranks[0].enter_function(activity::POINT_TO_POINT, "MPI_Waitall");
    let message = |partner, tag, flags| AwaitedMessage { partner, tag, flags };
    let listed = [
        message(partner::known(1, 0), 7, awaited::RECEIVE | awaited::MORE),
        message(partner::any(0), -1, awaited::RECEIVE | awaited::CUT),
    ];
    ranks[0].times.threads[0].awaits[..2].copy_from_slice(&listed);
    let sent = |partner, messages| PartnerEntry { partner, messages, ..PartnerEntry::default() };
    ranks[1].partners = vec![sent(partner::known(1, 1), 2), sent(partner::known(0, 0), 40)];
    let found = snapshot_of_trace("messages", &ranks);
    let (partner, communicator) = (Partner::Rank(1), Some(1));
    let first = MessageWait { partner, tag: 7, communicator, receives: true, sends: false, sent: Some(2) };
    let any = MessageWait { partner: Partner::Any, tag: -1, communicator: Some(0), sent: None, ..first };
    assert_eq!((&found.ranks[0].messages[..], found.ranks[0].has_more_messages), (&[first, any][..], true));
    assert!(found.ranks[1].messages.is_empty());
    let window = MessageWait { communicator: Some(1), tag: 1, receives: false, sent: None, ..first };
    ranks[0].times.threads[0].awaits[0] = message(partner::known(0, 1), 1, awaited::WINDOW);
    assert_eq!(snapshot_of_trace("windows", &ranks).ranks[0].messages, [window]);
    // On which of two threads it waits is not concluded.
    ranks[0].thread();
    assert!(snapshot_of_trace("threads", &ranks).ranks[0].messages.is_empty());
}

/// How the ranks were seen: they live, or `mpitrace run` saw rank 0 do nothing but poll for so many ms before it was
/// killed.
#[derive(Clone, Copy)]
enum How {
    Live,
    Killed(u64),
}

/// Rank 0 has polled for a message of rank 1, the last time so many ms before the look, in a call of this function; it
/// did nothing else since a tick.
fn polled(ms: u64, inside: u32, since: u64, function: &str, threads: u32, how: How) -> Snapshot {
    const MS: u64 = 1_000_000;
    let mut ranks: Vec<SyntheticRank> = (0..2).map(|rank| SyntheticRank::new(rank, 2).stamped()).collect();
    for rank in &mut ranks {
        rank.header.state = state::RUNNING;
        rank.header.last_anchor = Anchor { tick: 100_000 * MS, raw_ns: 100_000 * MS, ..Anchor::default() };
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        rank.call(barrier, MS, 2 * MS);
    }
    ranks[1].call(0, 3 * MS, 0);
    ranks[0].times.last = vec![LastStamp { tick: (100_000 - ms) * MS, inside, padding: 0 }];
    ranks[0].times.polls = vec![PollTimes { polls: 40, since, ..PollTimes::default() }];
    let awaited = AwaitedMessage { partner: partner::known(0, 1), tag: 7, flags: awaited::RECEIVE };
    ranks[0].times.threads[0].awaits[0] = awaited;
    ranks[0].enter_function(activity::POINT_TO_POINT, function);
    (1..threads).for_each(|_| {
        ranks[0].thread();
        let first = ranks[0].times.threads[0];
        ranks[0].times.threads.push(first);
        ranks[0].times.last.push(LastStamp::default());
        ranks[0].times.polls.push(PollTimes::default());
    });
    if let How::Killed(ms) = how {
        ranks[0].metadata.push((metadata::POLLED_NS.to_owned(), (ms * MS).to_string()));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("polled.mpitrace");
    synthetic::write(&path, &ranks).unwrap();
    let trace = Trace::open(&[&path]).unwrap();
    let task = Task { tid: 1, state: 'R', waits_in: None };
    let process = Seen::Lives(Process { pid: u32::MAX, threads: vec![task] });
    let seen = if matches!(how, How::Live) { vec![process.clone(), process] } else { Vec::new() };
    snapshot(&trace, &Operations::new(&trace), &Clock::new(&trace), &seen)
}

#[test]
fn a_rank_that_does_nothing_but_poll_waits_for_what_it_polls() {
    for how in [How::Live, How::Killed(5000)] {
        let found = polled(500, LastStamp::POLLING, 1, "MPI_Test", 1, how);
        assert_eq!((found.ranks[0].state, found.ranks[0].messages.len()), (State::OtherMpi, 1));
        let stuck = verdict(&found, 0.0).unwrap();
        assert_eq!((stuck.kind, &stuck.ranks[..]), (StuckKind::Cycle, &[0, 1][..]));
    }
    // It computes since then, or between its polls, has another thread, or was killed and polled for a short time.
    let others = [
        polled(9_000, LastStamp::POLLING, 1, "MPI_Test", 1, How::Live),
        polled(500, LastStamp::POLLING, 0, "MPI_Test", 1, How::Live),
        polled(500, LastStamp::POLLING, 1, "MPI_Test", 2, How::Live),
        polled(500, LastStamp::POLLING, 1, "MPI_Test", 1, How::Killed(500)),
    ];
    for found in others {
        assert_eq!((found.ranks[0].state, found.ranks[0].messages.len()), (State::Computing, 0));
    }
    let in_receive = polled(9_000, 1 + wait_class::POINT_TO_POINT as u32, 0, "MPI_Recv", 1, How::Live);
    assert_eq!(in_receive.ranks[0].state, State::OtherMpi);
}
