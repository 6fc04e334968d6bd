use std::path::PathBuf;

use mpitrace_testing::synthetic::{self, SyntheticRank};
use mpitrace_trace::reader::Trace;

use super::{Need, Run};
use crate::account::Loss;
use crate::replay;

/// Two ranks that are late in turns in an operation, of which the first is alone late in another one.
fn written(folder: &tempfile::TempDir) -> PathBuf {
    let ranks = [0u64, 1].map(|number| {
        let mut rank = SyntheticRank::new(number as u32, 2);
        let [reduce, barrier] =
            [("MPI_Allreduce", 8), ("MPI_Barrier", 0)].map(|(name, bytes)| rank.operation(name, 0, bytes));
        for k in 1..=60u64 {
            let late = if k % 2 == number { 300_000 } else { 0 };
            rank.call(reduce, 2_000_000 * k + late, 2_000_000 * k + 301_000);
            let late = if number == 0 { 200_000 } else { 0 };
            rank.call(barrier, 2_000_000 * k + 1_000_000 + late, 2_000_000 * k + 1_201_000);
        }
        rank
    });
    let path = folder.path().join("a.mpitrace");
    synthetic::write(&path, &ranks).unwrap();
    path
}

fn run(need: Need) -> Run {
    let folder = tempfile::tempdir().unwrap();
    Run::new(Trace::open(&[written(&folder)]).unwrap(), need, |_, _, _| Vec::new())
}

#[test]
fn a_loss_that_is_in_both_lists_is_one_with_one_gain() {
    let run = run(Need::Losses);
    let losses = run.losses();
    let of = |list: &[usize]| list.iter().map(|&index| losses.all[index].clone()).collect::<Vec<Loss>>();
    assert_eq!(of(&losses.single), run.account().losses(false));
    assert_eq!(of(&losses.in_turns), run.account().losses(true));
    // The barrier's loss is in both, the reduction's are single ones or one of both ranks.
    let shared: Vec<&usize> = losses.single.iter().filter(|index| losses.in_turns.contains(index)).collect();
    assert_eq!(shared.len(), 1, "{losses:?}");
    assert_eq!((losses.all[*shared[0]].operation, losses.all[*shared[0]].rank), (Some(1), Some(0)));
    assert_eq!(losses.all.len(), losses.single.len() + losses.in_turns.len() - shared.len());
    let (trace, clock) = (&run.trace, &run.clock);
    assert_eq!(losses.gains, replay::gains(trace, clock, &run.operations, run.account(), &losses.all));
}

#[test]
fn what_is_named_later_is_the_same() {
    let (named, asked) = (run(Need::Losses), run(Need::Operations));
    assert_eq!(named.losses().all, asked.losses().all);
    assert_eq!(named.account().sum(), asked.account().sum());
}

#[test]
fn a_limited_run_has_the_account_of_what_is_left() {
    let all = run(Need::Account);
    let (before, calls) = (all.account().sum().run_time, all.operations.operations[0].repetitions());
    let half = all.limited_to(&(0..30));
    assert_eq!((calls, half.operations.operations[0].repetitions()), (60, 30));
    assert!((half.account().sum().run_time - before / 2.0).abs() < 1.0, "{before}");
}
