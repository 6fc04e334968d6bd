//! The parts of the time of ranks of which some did not come to the end of MPI_Finalize: whatever the end and the
//! settings are, they add up to the time of the rank, none of them is below 0, and all are cut at the end.

use mpitrace_format::layout::{
    Anchor, FinalizeTimes, LastStamp, ProcessorTime, activity, rank_times_flags, state, wait_class,
};
use mpitrace_format::metadata;
use mpitrace_testing::synthetic::{self, SyntheticRank};
use proptest::prelude::*;

use super::{Account, HowEnded, LossKind, RankAccount, RankPart};
use mpitrace_statistics::categories::Rule;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;

/// MPI_Init takes so long, ns.
const INIT: u64 = 1_000_000;
/// The processor time of a rank is read when it was read so long ago.
const READ_AFTER: u64 = 10_000_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    Barrier,
    /// One that can wait, of this class.
    Waits(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Finalized,
    /// In MPI_Finalize, and seen.
    InFinalize,
    Aborted,
    /// Seen so late, with looks this far apart.
    Seen {
        late: u64,
        looks: u64,
    },
    /// Not seen; found so much later.
    Found {
        later: u64,
    },
    /// Not seen; its job ended so much later.
    OfJob {
        later: u64,
    },
}

/// The time of a rank: calls, each with the time before it and its length, until it ends.
#[derive(Clone, Debug)]
struct Life {
    calls: Vec<(Call, u64, u64)>,
    end: End,
    /// It ends so long after its last call was left, or before if that is open.
    lives: u64,
    last_is_open: bool,
}

/// The settings of the run.
#[derive(Clone, Copy, Debug)]
struct Settings {
    stamped: bool,
    /// The trace has the last stamps.
    last_stamps: bool,
    collectives: bool,
}

/// The times that are to be found of a rank, ns.
struct Known {
    /// Its last movement that has a stamp, its end.
    moved: u64,
    end: u64,
    /// In calls that can wait and have returned.
    waits: u64,
    /// The entry of the call that it is in, and whether it is a barrier.
    open: Option<(u64, bool)>,
}

fn made(number: u32, size: u32, life: &Life, settings: Settings) -> (SyntheticRank, Known) {
    let mut rank = SyntheticRank::new(number, size).stamped();
    rank.header.leader = 0;
    let barrier = rank.operation("MPI_Barrier", 0, 0);
    rank.times.rank.thread = 1;
    rank.times.rank.flags = if settings.stamped { rank_times_flags::STAMPED } else { 0 };
    (rank.times.rank.init, rank.times.rank.init_library) = (INIT, INIT / 2);
    let mut processor = [ProcessorTime { ns: 0, tick: INIT }; 2];
    let (mut now, mut last) = (INIT, LastStamp { tick: INIT, ..LastStamp::default() });
    let mut known = Known { moved: INIT, end: 0, waits: 0, open: None };
    let mut read = |now: u64| {
        if now - processor[1].tick >= READ_AFTER {
            processor[1] = ProcessorTime { ns: now - INIT, tick: now };
        }
        processor
    };
    for (place, &(call, before, length)) in life.calls.iter().enumerate() {
        let is_open = life.last_is_open && place + 1 == life.calls.len();
        let enter = now + before;
        match call {
            Call::Barrier if !settings.collectives => continue,
            Call::Barrier => {
                rank.call(barrier, enter, if is_open { 0 } else { enter + length });
                known.open = is_open.then_some((enter, true));
            }
            Call::Waits(_) if !settings.stamped => {
                // It moves, and leaves no stamp.
                now = enter + length;
                continue;
            }
            Call::Waits(class) => {
                last = LastStamp { tick: enter, inside: 1 + class as u32, padding: 0 };
                if is_open {
                    rank.enter_function(activity::POINT_TO_POINT, "MPI_Recv");
                    known.open = Some((enter, false));
                } else {
                    last = LastStamp { tick: enter + length, inside: 0, padding: 0 };
                    rank.times.threads[0].ticks[class] += length;
                    known.waits += length;
                }
            }
        }
        known.moved = if is_open { enter } else { enter + length };
        if !is_open {
            rank.times.threads[0].processor = read(enter + length);
        }
        now = enter + length;
    }
    rank.times.threads[0].processor[0] = ProcessorTime { ns: 0, tick: INIT };
    rank.times.threads[0].processor[1].tick = rank.times.threads[0].processor[1].tick.max(INIT);
    if settings.last_stamps && settings.stamped {
        rank.times.last = vec![last];
    }
    known.end = if life.last_is_open { now.saturating_sub(life.lives).max(known.moved) } else { now + life.lives };
    let is_whole = matches!(life.end, End::Finalized);
    rank.header.state = match life.end {
        End::Finalized => state::FINALIZED,
        End::InFinalize => state::FINALIZING,
        End::Aborted => state::ABORTED,
        End::Seen { .. } | End::Found { .. } | End::OfJob { .. } => state::RUNNING,
    };
    let seen = |rank: &mut SyntheticRank, late: u64, still: String| {
        rank.metadata.push((metadata::END_ERROR_NS.to_owned(), late.to_string()));
        rank.metadata.push((metadata::STILL_NS.to_owned(), still));
    };
    match life.end {
        End::Finalized | End::InFinalize => {
            let enter = known.moved.max(now);
            (rank.times.rank.finalize_enter, known.moved) = (enter, enter);
            known.end = enter + life.lives;
            known.open = None;
            if is_whole {
                rank.times.finalize = FinalizeTimes { whole: life.lives.max(1), library: life.lives / 2 };
            } else {
                seen(&mut rank, 10, format!("{}", known.end - enter));
            }
        }
        End::Seen { late, looks } => {
            let least = (known.end - known.moved).saturating_sub(looks);
            seen(&mut rank, late, format!("{least} {}", least + looks));
        }
        End::Found { later } => {
            let by = known.end + later;
            rank.metadata.push((metadata::DEAD_BY_NS.to_owned(), by.to_string()));
        }
        End::OfJob { later } => {
            known.end += later;
            rank.metadata.push((metadata::JOB_END_NS.to_owned(), known.end.to_string()));
        }
        End::Aborted => {}
    }
    let tick = match life.end {
        End::Found { .. } | End::OfJob { .. } => known.moved.min(rank.header.last_anchor.tick.max(INIT)),
        End::Aborted => {
            known.moved = known.end;
            known.end
        }
        _ => known.end,
    };
    rank.header.last_anchor = Anchor { tick, raw_ns: tick, ..Anchor::default() };
    (rank, known)
}

fn account(ranks: &[SyntheticRank]) -> Account {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mpitrace");
    synthetic::write(&path, ranks).unwrap();
    let trace = Trace::open(&[&path]).unwrap();
    Account::new(&trace, &Clock::new(&trace), &Operations::new(&trace), Rule::default())
}

fn call() -> impl Strategy<Value = (Call, u64, u64)> {
    const CLASSES: [usize; 4] =
        [wait_class::POINT_TO_POINT, wait_class::ONE_SIDED, wait_class::IO, wait_class::OTHER_MPI];
    let call = prop_oneof![Just(Call::Barrier), prop::sample::select(&CLASSES[..]).prop_map(Call::Waits)];
    (call, 0..20_000_000u64, 1..20_000_000u64)
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        Just(End::Finalized),
        Just(End::InFinalize),
        Just(End::Aborted),
        (0..1_000_000u64, 1..2_000_000_000u64).prop_map(|(late, looks)| End::Seen { late, looks }),
        (0..100_000_000_000u64).prop_map(|later| End::Found { later }),
        (0..100_000_000_000u64).prop_map(|later| End::OfJob { later }),
    ]
}

fn life() -> impl Strategy<Value = Life> {
    let calls = prop::collection::vec(call(), 0..20);
    (calls, end(), 0..10_000_000_000u64, any::<bool>()).prop_map(|(calls, end, lives, last_is_open)| {
        let last_is_open = last_is_open && !matches!(end, End::Finalized | End::InFinalize | End::Aborted);
        let mut life = Life { calls, end, lives, last_is_open };
        if let Some((_, _, length)) = life.calls.last_mut().filter(|_| last_is_open) {
            // It is in the call when it ends.
            *length += lives;
            life.lives /= 2;
        }
        life
    })
}

fn in_calls(rank: &RankAccount) -> f64 {
    rank.parts.sum_of(&[RankPart::PointToPoint, RankPart::OneSided, RankPart::Io, RankPart::OtherMpi])
}

proptest! {
    #[test]
    fn the_parts_add_up_at_every_end(
        lives in prop::collection::vec(life(), 1..5), stamped in any::<bool>(), last_stamps in any::<bool>(),
        collectives in any::<bool>()
    ) {
        let settings = Settings { stamped, last_stamps, collectives };
        let size = lives.len() as u32;
        let (ranks, known): (Vec<_>, Vec<_>) =
            (0..).zip(&lives).map(|(number, life)| made(number, size, life, settings)).unzip();
        let account = account(&ranks);
        for ((rank, known), life) in account.ranks.iter().zip(&known).zip(&lives) {
            let close = |found: f64, expected: f64| (found - expected).abs() <= 1e-3 * rank.wall_ns;
            prop_assert!(close(rank.parts.sum(), rank.wall_ns), "{:?}", rank);
            for &part in RankPart::ALL {
                prop_assert!(rank.parts[part] >= -1e-3 * rank.wall_ns, "{:?} of {:?}", part, rank);
            }
            prop_assert!(rank.parts.sum_of(&RankPart::MPI) <= 1.001 * rank.wall_ns);
            prop_assert_eq!(rank.parts[RankPart::Hung], rank.hung.ns);
            prop_assert!(rank.hung.least_ns <= rank.hung.ns);
            prop_assert!(rank.hung.most_ns.is_none_or(|most| rank.hung.ns <= most));
            let (how, at) = match life.end {
                End::Finalized => (HowEnded::Finalized, known.end.max(known.moved + 1)),
                End::InFinalize | End::Seen { .. } => (HowEnded::Observed, known.end),
                // The end of the job is that of all whose own is not known.
                End::Aborted if lives.iter().any(|life| matches!(life.end, End::OfJob { .. })) => continue,
                End::Aborted => (HowEnded::LastStamp, known.end),
                End::OfJob { .. } => (HowEnded::Job, known.end),
                End::Found { .. } => continue,
            };
            prop_assert_eq!(rank.end.how, how);
            prop_assert!(close(rank.wall_ns, at as f64), "{} and not {at}: {:?}", rank.wall_ns, rank);
        }
    }

    /// Where every movement has a stamp, ranks hang from the last one on, and are in their last calls until then.
    #[test]
    fn ranks_hang_since_the_last_movement_of_any_of_them(lives in prop::collection::vec(life(), 1..5)) {
        let seen = End::Seen { late: 1000, looks: 500_000_000 };
        let lives: Vec<Life> = lives.into_iter().map(|life| Life { end: seen, ..life }).collect();
        let settings = Settings { stamped: true, last_stamps: true, collectives: true };
        let size = lives.len() as u32;
        let (ranks, known): (Vec<_>, Vec<_>) =
            (0..).zip(&lives).map(|(number, life)| made(number, size, life, settings)).unzip();
        let account = account(&ranks);
        let last = known.iter().map(|known| known.moved).max().unwrap();
        let mut all = 0.0;
        for (rank, known) in account.ranks.iter().zip(&known) {
            let close = |found: f64, expected: u64| (found - expected as f64).abs() <= 1e-3 * rank.wall_ns;
            let from = last.max(known.moved).min(known.end);
            prop_assert!(close(rank.hung.ns, known.end - from), "{:?} from {from} to {}", rank, known.end);
            let (least, most) = (rank.hung.least_ns, rank.hung.most_ns.unwrap());
            prop_assert!(least <= (known.end - from) as f64 + 1.0 && (known.end - from) as f64 <= most + 1.0);
            let waits = known.waits + known.open.filter(|(_, barrier)| !barrier).map_or(0, |(enter, _)| from - enter);
            prop_assert!(close(in_calls(rank), waits), "{waits} in calls: {:?}", rank);
            all += rank.hung.ns;
        }
        let hung: Vec<f64> =
            account.losses(false).iter().filter(|loss| loss.kind == LossKind::Hung).map(|loss| loss.ns).collect();
        prop_assert!((hung.iter().sum::<f64>() - all).abs() < 1.0 && hung.len() <= 1, "{:?}", hung);
    }
}

/// Two ranks wait for each other from 10 ms on, two others send messages until they are ended at 1 s: the first two
/// hung.
#[test]
fn of_a_verdict_the_last_movement_of_its_ranks_counts() {
    let seen = End::Seen { late: 0, looks: 1_000_000 };
    let waits = Call::Waits(wait_class::POINT_TO_POINT);
    let held = |moved| Life { calls: vec![(waits, moved, 990_000_000)], end: seen, lives: moved, last_is_open: true };
    let moves = Life { calls: vec![(waits, 0, 9_000_000); 111], end: seen, lives: 0, last_is_open: false };
    let lives = [held(9_000_000), held(4_000_000), moves.clone(), moves];
    let settings = Settings { stamped: true, last_stamps: true, collectives: true };
    let ranks: Vec<_> = (0..).zip(&lives).map(|(number, life)| made(number, 4, life, settings).0).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mpitrace");
    synthetic::write(&path, &ranks).unwrap();
    let trace = Trace::open(&[&path]).unwrap();
    let (operations, clock) = (Operations::new(&trace), Clock::new(&trace));
    let hung = |knot: &[u32]| {
        let ranks = super::ranks(&trace, &clock, &operations, knot);
        ranks.iter().map(|rank| (rank.hung.ns / 1e6).round()).collect::<Vec<f64>>()
    };
    assert_eq!(hung(&[])[..2], [0.0, 0.0], "the others moved until the end");
    assert_eq!(hung(&[0, 1]), [981.0, 981.0, 0.0, 0.0]);
}

/// Two ranks of two clocks' ends: one on the node that knows when the job ended, one that was recovered on another node.
#[test]
fn the_end_of_the_job_is_that_of_ranks_whose_end_is_not_known() {
    let settings = Settings { stamped: true, last_stamps: true, collectives: true };
    let barrier = (Call::Barrier, 1_000_000, 1_000_000);
    let in_it = |end| Life { calls: vec![barrier, barrier], end, lives: 0, last_is_open: true };
    let lives = [in_it(End::OfJob { later: 70_000_000_000 }), in_it(End::Found { later: 9_000_000_000_000 })];
    let [(one, known), (other, _)] = [0, 1].map(|rank| made(rank, 2, &lives[rank as usize], settings));
    let account = account(&[one, other]);
    for rank in &account.ranks {
        assert_eq!((rank.end.how, rank.end.at_ns), (HowEnded::Job, known.end as f64), "{rank:?}");
        // Both are in a call since their last stamp, so it is known that neither moved.
        assert_eq!(rank.hung.least_ns, rank.hung.ns, "{rank:?}");
        assert!((rank.hung.ns - 70e9).abs() < 1e6 * 5.0, "{rank:?}");
    }
    // One that computes when the job is ended may have made calls without a stamp.
    let computes = Life { last_is_open: false, ..lives[0].clone() };
    let (one, _) = made(0, 2, &computes, settings);
    let account = self::account(&[one, made(1, 2, &lives[0], settings).0]);
    assert!(account.ranks.iter().all(|rank| rank.hung.ns > 60e9 && rank.hung.least_ns == 0.0), "{:?}", account.ranks);
}
