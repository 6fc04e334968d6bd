//! Waiting for the last rank in MPI_Init and in MPI_Finalize, in traces whose ranks enter these at known times.

use mpitrace_format::layout::{
    FinalizeTimes, InterruptionEntry, ProcessorTime, interruption_flags, interruptions_by, wait_class,
};
use mpitrace_statistics::categories::Rule;
use mpitrace_testing::synthetic::{self, SyntheticRank};
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;

use super::{Account, Because, Loss, LossKind, RankPart};
use crate::efficiency;
use crate::messages::tests as messages;
use crate::replay;

const MS: u64 = 1_000_000;
/// The ranks are in MPI_Init until then.
const INIT: u64 = MS;
/// When the ranks leave their last collective call.
const LEFT: u64 = 10 * MS;

/// Ranks that leave their last call together, and enter MPI_Finalize at these times, which takes 300 us in the library
/// and 100 us in the tracer behind the entry of the last one.
fn ranks(entries: &[u64]) -> Vec<SyntheticRank> {
    let last = *entries.iter().max().unwrap();
    let rank = |(number, &enter): (u32, &u64)| {
        let mut rank = SyntheticRank::new(number, entries.len() as u32).stamped();
        rank.header.leader = 0;
        rank.last_thread().unwrap().interruptions_by = interruptions_by::EVENT_PAGE;
        rank.times.rank.thread = 1;
        (rank.times.rank.init, rank.times.rank.init_library) = (INIT, INIT);
        rank.times.threads[0].processor =
            [ProcessorTime { ns: 0, tick: INIT }, ProcessorTime { ns: enter - INIT, tick: enter }];
        let reduce = rank.operation("MPI_Allreduce", 0, 8);
        (1..10).for_each(|k| rank.call(reduce, k * MS + MS / 2, (k + 1) * MS));
        rank.times.rank.finalize_enter = enter;
        let library = last - enter + 3 * MS / 10;
        rank.times.finalize = FinalizeTimes { whole: library + MS / 10, library };
        rank
    };
    (0..).zip(entries).map(rank).collect()
}

struct Found {
    account: Account,
    /// The losses in MPI_Finalize: the reason, the time over all ranks, and the gain, ms.
    losses: Vec<(Option<Because>, f64, f64)>,
}

fn found(ranks: &[SyntheticRank]) -> Found {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mpitrace");
    synthetic::write(&path, ranks).unwrap();
    let trace = Trace::open(&[&path]).unwrap();
    let (clock, operations) = (Clock::new(&trace), Operations::new(&trace));
    let account = Account::new(&trace, &clock, &operations, Rule::default());
    for rank in &account.ranks {
        assert!((rank.parts.sum() - rank.wall_ns).abs() < 1.0, "{rank:?}");
    }
    let losses: Vec<Loss> = account.losses(false).into_iter().filter(|loss| loss.at_finalize).collect();
    assert!(losses.iter().all(|loss| loss.kind == LossKind::LateRank && loss.operation.is_none()), "{losses:?}");
    assert!(losses.iter().all(|loss| loss.rank == Some(0)), "{losses:?}");
    let gains = replay::gains(&trace, &clock, &operations, &account, &losses);
    let row = |(loss, gain): (&Loss, &replay::Gain)| {
        (loss.because, loss.ns / 1e6, (1e9 * gain.seconds.unwrap()).round() / 1e6)
    };
    let losses = losses.iter().zip(&gains).map(row).collect();
    Found { account, losses }
}

#[test]
fn work_before_mpi_finalize_is_lost_to_the_rank_that_does_it() {
    let Found { account, losses } = found(&ranks(&[30 * MS, LEFT, 14 * MS]));
    let parts = |part: RankPart| account.ranks.iter().map(|rank| rank.parts[part] / 1e6).collect::<Vec<f64>>();
    assert_eq!(parts(RankPart::WaitingFinalize), [0.0, 20.0, 16.0]);
    assert_eq!(parts(RankPart::Finalize), [0.3; 3]);
    assert_eq!(parts(RankPart::Tracer), [0.1; 3]);
    assert_eq!(account.sum().waiting, 0.0, "no collective call waits");
    // Without half of the 36 ms the last one comes with the second one, or 18 ms earlier.
    assert_eq!(losses, [(Some(Because::Computing), 36.0, 16.0)]);
    // The job runs until the last rank has come: for 29 ms, of which that computes for all but 4.5 ms in calls.
    let efficiency = efficiency::whole_run(&account).unwrap();
    assert!((efficiency.communication - 24.5 / 29.0).abs() < 1e-9, "{efficiency:?}");
    assert_eq!(account.running_ns(), 3.0 * 29e6);
}

#[test]
fn the_reason_is_what_that_rank_did_since_its_last_call() {
    let mut all = ranks(&[30 * MS, LEFT]);
    let late = &mut all[0];
    // 12 ms asleep, 5 ms in a file, 3 ms computing.
    let flags = interruption_flags::BETWEEN | interruption_flags::TIMED | interruption_flags::REASON;
    let entry = InterruptionEntry { off_ns: 12 * MS, switches: 1, voluntary: 1, flags, ..Default::default() };
    late.interrupt_behind(entry);
    late.times.threads[0].ticks[wait_class::IO] = 5 * MS;
    late.times.threads[0].processor[1].ns -= 12 * MS;
    let Found { losses, .. } = found(&all);
    let expected = [(Because::Asleep, 12.0), (Because::Io, 5.0), (Because::Computing, 3.0)];
    assert_eq!(losses, expected.map(|(because, ms)| (Some(because), ms, ms)));
}

/// Rank 0 comes last, since it receives from rank 2, which sleeps until then.
#[test]
fn a_rank_that_waits_for_a_message_passes_the_delay_on() {
    let mut all = ranks(&[30 * MS, LEFT, 29 * MS]);
    all[0].message("MPI_Recv", messages::entry(messages::RECEIVE, 2, 1), None, 8, [LEFT + MS, 28 * MS]);
    all[2].message("MPI_Send", messages::entry(messages::SEND, 0, 1), None, 8, [27 * MS, 28 * MS]);
    all[0].times.threads[0].ticks[wait_class::POINT_TO_POINT] = 17 * MS;
    let flags = interruption_flags::BETWEEN | interruption_flags::TIMED | interruption_flags::REASON;
    let (off_ns, elapsed_ns) = (16 * MS, 17 * MS);
    let sleep = InterruptionEntry { off_ns, elapsed_ns, switches: 1, voluntary: 1, flags, ..Default::default() };
    all[2].interrupt_behind(sleep);
    let (trace, clock, operations) = messages::opened(&all);
    let account = Account::new(&trace, &clock, &operations, Rule::default());
    let is_passed_on = |loss: &Loss| loss.at_finalize && loss.because == Some(Because::PointToPoint);
    let losses: Vec<Loss> = account.losses(false).into_iter().filter(is_passed_on).collect();
    let [gain] = &replay::gains(&trace, &clock, &operations, &account, &losses)[..] else { panic!("{losses:?}") };
    let chain: Vec<_> = gain.origin.iter().map(|origin| (origin.rank, origin.because)).collect();
    assert_eq!(chain, [(Some(0), Some(Because::PointToPoint)), (Some(2), Some(Because::Asleep))]);
}

#[test]
fn ranks_that_come_together_lose_nothing() {
    let Found { account, losses } = found(&ranks(&[LEFT, LEFT]));
    assert_eq!((losses.len(), account.rank_parts()[RankPart::WaitingFinalize]), (0, 0.0));
}

/// Rank 1 enters MPI_Init 400 us before rank 0, and leaves it with that one.
#[test]
fn a_rank_that_begins_earlier_waits_in_mpi_init() {
    let mut all = ranks(&[LEFT, LEFT]);
    let late = &mut all[0];
    (late.header.first_anchor.tick, late.header.first_anchor.raw_ns) = (4 * MS / 10, 4 * MS / 10);
    (late.times.rank.init, late.times.rank.init_library) = (6 * MS / 10, 6 * MS / 10);
    let Found { account, .. } = found(&all);
    let parts = |part: RankPart| account.ranks.iter().map(|rank| rank.parts[part] / 1e6).collect::<Vec<f64>>();
    assert_eq!((parts(RankPart::WaitingInit), parts(RankPart::Init)), (vec![0.0, 0.4], vec![0.6, 0.6]));
}
