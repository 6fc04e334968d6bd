//! The efficiencies by which centres compare programs: those of POP (Wagner et al. 2017), which TALP states of a running
//! job (López et al. 2021).
//!
//! A rank is useful outside of MPI. Of ranks that take T and are useful for u each:
//! parallel efficiency = mean(u) / T = load balance x communication efficiency, load balance = mean(u) / max(u),
//! communication efficiency = max(u) / T. The run is that from the exit of MPI_Init to the entry of MPI_Finalize, as TALP
//! has it.

use serde::Serialize;

use crate::account::{self, Account, RankPart, RegionAccount};
use crate::clock::Clock;
use crate::operations::Operations;
use crate::reader::Trace;

/// The efficiencies of ranks, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Efficiency {
    /// The product of the other two.
    pub parallel: f64,
    /// How evenly useful time is shared out.
    pub load_balance: f64,
    /// How much of its time the most useful rank is useful.
    pub communication: f64,
}

/// The efficiencies of the ranks in a region of the program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegionEfficiency {
    /// Its name.
    pub region: String,
    /// Of the ranks that enter it.
    #[serde(flatten)]
    pub efficiency: Efficiency,
}

/// A time of a rank, and how much of it lies outside of MPI, ns.
#[derive(Clone, Copy, Debug, Default)]
struct Time {
    whole: f64,
    useful: f64,
}

/// Those of the time between MPI_Init and MPI_Finalize. `None`: it has no length, or no rank is useful.
pub fn whole_run(account: &Account) -> Option<Efficiency> {
    let times = account.ranks.iter().map(|rank| {
        let whole = rank.wall_ns - rank.parts.sum_of(&[RankPart::Init, RankPart::Finalize]);
        Time { whole, useful: rank.useful_ns() }
    });
    efficiency(times)
}

/// Those of each region, by name. None where ranks are in MPI for more than collective calls, since these have no times of
/// day: then it is not known in which region they are.
pub fn regions(trace: &Trace, clock: &Clock, operations: &Operations, account: &Account) -> Vec<RegionEfficiency> {
    let beside: f64 = account.ranks.iter().map(|rank| rank.parts.sum_of(&BESIDE)).sum();
    // Of a sample it is not known which calls that are not kept were in which region.
    if beside > NEGLIGIBLE * account.rank_ns() || trace.is_sample() {
        return Vec::new();
    }
    let of_region = |RegionAccount { name, ranks, .. }: RegionAccount| {
        let times = ranks.into_values().map(|[whole, in_calls]| Time { whole, useful: whole - in_calls });
        Some(RegionEfficiency { region: name, efficiency: efficiency(times)? })
    };
    account::regions(trace, clock, operations).into_iter().filter_map(of_region).collect()
}

/// Parts without times of day, and the share of the ranks' time that they may have.
const BESIDE: [RankPart; 4] = [RankPart::PointToPoint, RankPart::OneSided, RankPart::Io, RankPart::OtherMpi];
const NEGLIGIBLE: f64 = 0.01;

fn efficiency(times: impl Iterator<Item = Time>) -> Option<Efficiency> {
    let (mut ranks, mut sum, mut most, mut whole) = (0.0, 0.0, 0.0f64, 0.0f64);
    for time in times {
        let useful = time.useful.max(0.0);
        (ranks, sum) = (ranks + 1.0, sum + useful);
        (most, whole) = (most.max(useful), whole.max(time.whole));
    }
    let (load_balance, communication) = (sum / ranks / most, most / whole);
    let parallel = load_balance * communication;
    parallel.is_finite().then_some(Efficiency { parallel, load_balance, communication })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::categories::Rule;
    use mpitrace_testing::synthetic::{self, SyntheticRank};

    fn close(found: Efficiency, expected: [f64; 3]) {
        let found = [found.parallel, found.load_balance, found.communication];
        assert!(found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-6), "{found:?} {expected:?}");
    }

    /// Two ranks take 100 us: 10 times 4 and 8 us in a region, within which 1 us is a barrier, and a reduction until the
    /// 10 us are over.
    #[test]
    fn they_are_those_of_a_computation_by_hand() {
        let ranks = [0u64, 1].map(|number| {
            let mut rank = SyntheticRank::new(number as u32, 2);
            let solve = rank.region("solve");
            let [barrier, reduce] = ["MPI_Barrier", "MPI_Allreduce"].map(|function| rank.operation(function, 0, 8));
            for k in 0..10 {
                let (begin, long) = (10_000 * k, 4000 * (number + 1));
                rank.call(solve, begin, begin + long);
                rank.call(barrier, begin + 2000, begin + 3000);
                rank.call(reduce, begin + long, begin + 10_000);
            }
            rank
        });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mpitrace");
        synthetic::write(&path, &ranks).unwrap();
        let trace = Trace::open(&[path]).unwrap();
        let clock = Clock::new(&trace);
        let operations = Operations::new(&trace);
        let account = Account::new(&trace, &clock, &operations, Rule::default());
        // Useful: 30 and 70 of 100 us.
        close(whole_run(&account).unwrap(), [0.5, 50.0 / 70.0, 0.7]);
        let regions = regions(&trace, &clock, &operations, &account);
        assert_eq!(regions.iter().map(|one| one.region.as_str()).collect::<Vec<_>>(), ["solve"]);
        // In the region: 30 of 40 and 70 of 80 us.
        close(regions[0].efficiency, [50.0 / 80.0, 50.0 / 70.0, 70.0 / 80.0]);
    }

    #[test]
    fn a_run_without_useful_time_has_none() {
        assert_eq!(efficiency(std::iter::empty()), None);
        assert_eq!(efficiency([Time { whole: 5.0, useful: 0.0 }].into_iter()), None);
    }
}
