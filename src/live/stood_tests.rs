//! Jobs that were ended while their ranks moved have no verdict; those whose ranks had stood for long have one.

use mpitrace_format::layout::{
    Anchor, AwaitedMessage, LastStamp, PartnerEntry, PollTimes, activity, awaited, partner, state,
};
use mpitrace_format::metadata;
use mpitrace_testing::synthetic::{self, SyntheticRank};
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;

use super::verdict::{Stuck, StuckKind};
use super::{at_the_end, held};

const MS: u64 = 1_000_000;
const BARRIER: u32 = 0;

/// The verdict, and the ranks that held each other.
fn verdict_of(ranks: &[SyntheticRank]) -> (Option<Stuck>, Vec<u32>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ended.mpitrace");
    synthetic::write(&path, ranks).unwrap();
    let trace = Trace::open(&[&path]).unwrap();
    let (operations, clock) = (Operations::new(&trace), Clock::new(&trace));
    (at_the_end(&trace, &operations, &clock).1, held(&trace, &operations, &clock))
}

fn kind_of(ranks: &[SyntheticRank]) -> Option<StuckKind> {
    verdict_of(ranks).0.map(|stuck| stuck.kind)
}

/// `mpitrace run` saw the rank end at 10 s. It had not moved for these times, ms, and once before for so long.
fn dated(rank: &mut SyntheticRank, still: [u64; 2], pause: u64) {
    rank.header.leader = 0;
    rank.header.state = state::RUNNING;
    rank.header.last_anchor = Anchor { tick: 10_000 * MS, raw_ns: 10_000 * MS, ..Anchor::default() };
    let [least, most] = still.map(|ms| ms * MS);
    let known = [
        (metadata::END_ERROR_NS, "2000000".to_owned()),
        (metadata::STILL_NS, format!("{least} {most}")),
        (metadata::LONGEST_PAUSE_NS, (pause * MS).to_string()),
        (metadata::ENDED, "signal 15 (SIGTERM)".to_owned()),
    ];
    rank.metadata.extend(known.map(|(name, value)| (name.to_owned(), value)));
}

/// Two ranks that receive from each other, and have sent each other so many messages.
fn receiving(sent: u64, still: [u64; 2], pause: u64) -> Vec<SyntheticRank> {
    let rank = |number: u32| {
        let mut rank = SyntheticRank::new(number, 2).stamped();
        dated(&mut rank, still, pause);
        assert_eq!(rank.operation("MPI_Barrier", 0, 0), BARRIER);
        rank.call(BARRIER, 100 * MS, 101 * MS);
        rank.enter_function(activity::POINT_TO_POINT, "MPI_Recv");
        let other = partner::known(0, 1 - number);
        rank.times.threads[0].awaits[0] = AwaitedMessage { partner: other, tag: 7, flags: awaited::RECEIVE };
        rank.partners = vec![PartnerEntry { partner: other, messages: sent, ..PartnerEntry::default() }];
        rank
    };
    (0..2).map(rank).collect()
}

#[test]
fn ranks_that_moved_until_the_end_do_not_hold_each_other() {
    assert_eq!(verdict_of(&receiving(40, [100, 1300], 0)), (None, vec![]));
    assert_eq!(verdict_of(&receiving(40, [2900, 4100], 0)), (None, vec![]));
}

#[test]
fn ranks_that_had_stood_for_long_hold_each_other() {
    let (stuck, held) = verdict_of(&receiving(40, [8500, 9800], 0));
    let stuck = stuck.unwrap();
    assert_eq!((stuck.kind, &stuck.ranks[..], held), (StuckKind::Cycle, &[0, 1][..], vec![0, 1]));
    assert!((stuck.seconds - 8.498).abs() < 1e-6, "{stuck:?}");
}

#[test]
fn a_job_that_had_stood_for_as_long_before_may_go_on() {
    assert_eq!(kind_of(&receiving(40, [8500, 9800], 2500)), Some(StuckKind::Cycle));
    assert_eq!(kind_of(&receiving(40, [8500, 9800], 3000)), None);
    // The other rank was in a call for as long, and left it.
    let mut ranks = receiving(40, [8500, 9800], 0);
    ranks[1].call(BARRIER, 200 * MS, 3200 * MS);
    ranks[0].call(BARRIER, 3199 * MS, 3200 * MS);
    assert_eq!(kind_of(&ranks), None);
}

#[test]
fn ranks_for_which_no_message_can_be_under_way_need_no_time() {
    assert_eq!(kind_of(&receiving(0, [100, 1300], 0)), Some(StuckKind::Cycle));
}

#[test]
fn a_rank_that_may_have_been_slow_is_not_named() {
    // Rank 0 waits in a barrier from 5 s on; rank 1 computes.
    let ranks = |still: [u64; 2]| {
        let mut ranks = receiving(40, still, 0);
        ranks[0].call(BARRIER, 5000 * MS, 0);
        ranks.iter_mut().for_each(|rank| rank.enter_function(activity::COMPUTING, ""));
        ranks
    };
    assert_eq!(kind_of(&ranks([100, 1300])), None);
    assert_eq!(kind_of(&ranks([5000, 6300])), Some(StuckKind::MissingRank));
}

/// Rank 0 polls for a message of rank 1, which waits in a barrier; `mpitrace run` saw it do nothing else for so long.
#[test]
fn a_rank_that_polled_for_long_has_stood() {
    let polling = |ms: Option<u64>| {
        let mut ranks = receiving(0, [8500, 9800], 0);
        ranks[1].call(BARRIER, 1000 * MS, 0);
        ranks[1].enter_function(activity::COMPUTING, "");
        ranks[0].times.last = vec![LastStamp { tick: 9_990 * MS, inside: LastStamp::POLLING, padding: 0 }];
        ranks[0].times.polls = vec![PollTimes { polls: 40, since: 1, ..PollTimes::default() }];
        ranks[0].metadata.extend(ms.map(|ms| (metadata::POLLED_NS.to_owned(), (ms * MS).to_string())));
        kind_of(&ranks)
    };
    assert_eq!(polling(Some(8000)), Some(StuckKind::Cycle));
    assert_ne!(polling(Some(1000)), Some(StuckKind::Cycle));
    assert_ne!(polling(None), Some(StuckKind::Cycle));
}

#[test]
fn a_rank_that_calls_mpi_abort_leaves_no_verdict_on_the_others() {
    let mut ranks = receiving(40, [8500, 9800], 0);
    ranks.push(SyntheticRank::new(2, 3).stamped());
    ranks.iter_mut().for_each(|rank| rank.header.world_size = 3);
    dated(&mut ranks[2], [8500, 9800], 0);
    ranks[2].header.state = state::ABORTED;
    assert_eq!(kind_of(&ranks), None);
    // Nor where an end has no date.
    ranks[0].metadata.clear();
    assert_eq!(kind_of(&ranks), None);
}

/// Two ranks that receive from each other, of which MPICH ends one: its launcher kills both.
#[test]
fn a_rank_that_the_library_ends_leaves_no_verdict_on_the_others() {
    let ended = |exit_code: &str| {
        let mut ranks = receiving(0, [8500, 9800], 0);
        for rank in &mut ranks {
            rank.metadata.retain(|(name, _)| name != metadata::ENDED);
            let known = [("library", "MPICH Version: 4.0.2"), (metadata::ENDED, "signal 9 (SIGKILL)")];
            let known = known.into_iter().chain([(metadata::EXIT_CODE, exit_code)]);
            rank.metadata.extend(known.map(|(name, value)| (name.to_owned(), value.to_owned())));
        }
        kind_of(&ranks)
    };
    // A wrong tag, or one of the ranks' own ends.
    assert_eq!((ended("4"), ended("9")), (None, Some(StuckKind::Cycle)));
}

#[test]
fn an_end_that_nobody_saw_keeps_the_verdict_on_where_the_ranks_were() {
    let mut ranks = receiving(40, [100, 1300], 0);
    ranks.iter_mut().for_each(|rank| rank.metadata.clear());
    assert_eq!(kind_of(&ranks), Some(StuckKind::Cycle));
}

/// Open MPI ends its ranks with a code of its own where their launcher is killed.
#[test]
fn ranks_that_lost_their_launcher_did_not_die_of_themselves() {
    let lost = |still: [u64; 2], ends: [&str; 2]| {
        let mut ranks = receiving(40, still, 0);
        for (rank, how) in ranks.iter_mut().zip(ends) {
            rank.metadata.retain(|(name, _)| name != metadata::ENDED);
            rank.metadata.push((metadata::ENDED.to_owned(), how.to_owned()));
        }
        kind_of(&ranks)
    };
    let both = ["exit code 195"; 2];
    assert_eq!(lost([100, 1300], both), None);
    assert_eq!(lost([8500, 9800], both), Some(StuckKind::Cycle));
    assert_eq!(lost([100, 1300], ["exit code 195", "signal 15 (SIGTERM)"]), None);
    // Beside a rank that ended by itself it may be the program's own code.
    assert_eq!(lost([100, 1300], ["exit code 195", "exit code 3"]), Some(StuckKind::DeadRank));
}
