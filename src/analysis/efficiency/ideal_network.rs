//! The two sides of the communication efficiency (Wagner et al. 2017): serialisation, the waiting of ranks for each
//! other that would be left on an ideal network, and transfer, the time that the network takes.

use crate::account::RankPart;
use crate::replay;
use crate::run::Run;

/// The transfer efficiency of a run: its time on a network on which nothing takes time over its time. The communication
/// efficiency over this is the serialisation efficiency. `None`: it is not known for which ranks the calls wait (clocks
/// that are not synchronised, messages that were not recorded), or not all calls are kept.
pub fn transfer(run: &Run) -> Option<f64> {
    let account = run.account();
    let running = account.ranks.iter().map(|rank| rank.parts.running() - rank.parts[RankPart::Hung]);
    let whole_ns = running.fold(0.0, f64::max);
    let gain_ns = replay::gain_without_transfer(&run.trace, &run.clock, &run.operations, account, run.messages())?;
    let share = 1.0 - gain_ns / whole_ns;
    (share > 0.0).then_some(share.min(1.0))
}

#[cfg(test)]
mod tests {
    use mpitrace_testing::synthetic::{self, SyntheticRank};
    use mpitrace_trace::reader::Trace;

    use super::*;
    use crate::efficiency::whole_run;
    use crate::run::Need;

    fn run(ranks: &[SyntheticRank]) -> Run {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mpitrace");
        synthetic::write(&path, ranks).unwrap();
        Run::new(Trace::open(&[path]).unwrap(), Need::Account, |_, _, _| Vec::new())
    }

    /// Rank 0 computes for 6 us, rank 1 for 2 us, in turns; each reduction takes 1 us behind the last entry.
    #[test]
    fn a_replay_by_hand_gives_the_transfer() {
        let ranks = [0u64, 1].map(|number| {
            let mut rank = SyntheticRank::new(number as u32, 2).stamped();
            let reduce = rank.operation("MPI_Allreduce", 0, 8);
            for k in 0..10 {
                let long = if k % 2 == number { 6000 } else { 2000 };
                rank.call(reduce, 7000 * k + long, 7000 * (k + 1));
            }
            rank
        });
        let found = run(&ranks);
        // Of 70 us the reductions take 10. Each rank is useful for 40.
        let transfer = transfer(&found).unwrap();
        assert!((transfer - 60.0 / 70.0).abs() < 1e-9, "{transfer}");
        let efficiency = whole_run(found.account()).unwrap();
        assert!((efficiency.communication / transfer - 40.0 / 60.0).abs() < 1e-9, "{efficiency:?}");
    }

    #[test]
    fn of_messages_that_were_not_recorded_it_is_not_known() {
        let ranks = [0, 1].map(|number| {
            let mut rank = SyntheticRank::new(number, 2).stamped();
            let barrier = rank.operation("MPI_Barrier", 0, 0);
            for k in 0..10 {
                rank.call(barrier, 10_000 * k + 8000, 10_000 * (k + 1));
                rank.exchanged(1 - number, 3000, 1);
            }
            rank
        });
        assert_eq!(transfer(&run(&ranks)), None);
    }
}
