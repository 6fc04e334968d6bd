//! The efficiencies by which centres compare programs: those of POP (Wagner et al. 2017), which TALP states of a
//! running job (López et al. 2021).
//!
//! A rank is useful outside of MPI. Of ranks that take T and are useful for u each: parallel efficiency = mean(u) / T =
//! load balance x communication efficiency, load balance = mean(u) / max(u), communication efficiency = max(u) / T. The
//! run is that from the exit of MPI_Init to the entry of MPI_Finalize, as TALP has it: to that of the last
//! rank, and without the tracer's own time.

mod ideal_network;

use std::collections::BTreeMap;

use mpitrace_format::layout::OPERATION_MASK;
use mpitrace_statistics::parallel;
use mpitrace_trace::clock::{Clock, RankClock};
use mpitrace_trace::reader::{Part, Trace};
use serde::Serialize;

use crate::account::{Account, RankPart};
pub use ideal_network::transfer;

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
    /// The efficiency of the ranks that enter it.
    #[serde(flatten)]
    pub efficiency: Efficiency,
}

/// A time of a rank, and how much of it lies outside of MPI, ns.
#[derive(Clone, Copy, Debug, Default)]
struct Time {
    whole: f64,
    useful: f64,
}

/// The efficiencies of the time between MPI_Init and MPI_Finalize. `None`: it has no length, or no rank is useful.
pub fn whole_run(account: &Account) -> Option<Efficiency> {
    let times = account.ranks.iter().map(|rank| {
        let whole = rank.parts.running() - rank.parts[RankPart::Hung];
        Time { whole, useful: rank.useful_ns() }
    });
    efficiency(times)
}

/// The efficiencies of each region, by name. None where ranks are in MPI for more than collective calls, since these
/// have no times of day: then it is not known in which region they are.
pub fn regions(trace: &Trace, clock: &Clock, account: &Account) -> Vec<RegionEfficiency> {
    let beside: f64 = account.ranks.iter().map(|rank| rank.parts.sum_of(&BESIDE)).sum();
    // Of a sample it is not known which calls that are not kept were in which region.
    if beside > NEGLIGIBLE * account.rank_ns() || trace.is_sample() {
        return Vec::new();
    }
    let parts = trace.parts.iter().enumerate().map(|(index, part)| (part, clock.of_part(index)));
    let of_parts = parallel::map(parts.collect(), |(part, clock)| times_in_regions(part, clock));
    let mut times: BTreeMap<String, Vec<Time>> = BTreeMap::new();
    of_parts.into_iter().flatten().for_each(|(region, time)| times.entry(region).or_default().push(time));
    let of_region = |(region, times): (String, Vec<Time>)| {
        Some(RegionEfficiency { region, efficiency: efficiency(times.into_iter())? })
    };
    times.into_iter().filter_map(of_region).collect()
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

/// How long a rank was in each of its regions, and there outside of collective calls: of one with a request the start
/// counts where it was, and the tests and the wait before its completion. A region within itself counts once.
fn times_in_regions(part: &Part, clock: &RankClock) -> BTreeMap<String, Time> {
    let entries = part.operations();
    if !entries.iter().any(|entry| entry.is_region()) {
        return BTreeMap::new();
    }
    let requests = part.request_columns();
    // By number of the region: its ticks, and those of them in calls.
    let mut ticks: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    // The regions that are open: their numbers and ends.
    let mut open: Vec<(usize, u64)> = Vec::new();
    // Of calls with requests that are not complete yet: a region may begin before the wait.
    let mut waits: Vec<(u64, u64)> = Vec::new();
    for block in part.blocks() {
        let ([enter, exit], operations) = (block.times(), block.operation());
        for (((record, enter), exit), operation) in block.range.zip(enter).zip(exit).zip(operations) {
            let number = (operation & OPERATION_MASK) as usize;
            let took = exit.saturating_sub(enter);
            open.retain(|(_, end)| *end > enter);
            waits.retain(|(_, end)| *end > enter);
            if entries[number].is_region() && took > 0 {
                let is_within_itself = open.iter().any(|(region, _)| *region == number);
                let (whole, in_mpi) = ticks.entry(number).or_default();
                if !is_within_itself {
                    *whole += took;
                    *in_mpi += waits.iter().map(|wait| common(*wait, (enter, exit))).sum::<u64>();
                }
                open.push((number, exit));
            } else if took > 0 {
                let request = requests
                    .map(|[init, test, wait, _]| (init.get(record), test.get(record).saturating_add(wait.get(record))));
                let request = request.filter(|&(init, _)| init > 0);
                let (init, wait) = request.map_or((0, took), |(init, wait)| (init.min(took), wait.min(took)));
                let in_call = [(enter, enter + init), (exit - wait, exit)];
                for at in (0..open.len()).filter(|&at| !open[..at].iter().any(|(region, _)| *region == open[at].0)) {
                    let in_region = in_call.map(|piece| common(piece, (enter, open[at].1)));
                    ticks.entry(open[at].0).or_default().1 += in_region.iter().sum::<u64>();
                }
                waits.extend(request.map(|_| in_call[1]));
            }
        }
    }
    let mut times: BTreeMap<String, Time> = BTreeMap::new();
    for (number, (whole, in_mpi)) in ticks {
        let time = times.entry(part.text(entries[number].function).unwrap_or_default()).or_default();
        time.whole += clock.ticks_ns(whole);
        time.useful += clock.ticks_ns(whole.saturating_sub(in_mpi));
    }
    times
}

fn common(one: (u64, u64), other: (u64, u64)) -> u64 {
    one.1.min(other.1).saturating_sub(one.0.max(other.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_statistics::categories::Rule;
    use mpitrace_testing::synthetic::{self, SyntheticRank, SyntheticRequest};
    use mpitrace_trace::operations::Operations;

    fn close(found: Efficiency, expected: [f64; 3]) {
        let found = [found.parallel, found.load_balance, found.communication];
        assert!(found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-6), "{found:?} {expected:?}");
    }

    fn opened(ranks: &[SyntheticRank]) -> (tempfile::TempDir, Trace) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mpitrace");
        synthetic::write(&path, ranks).unwrap();
        let trace = Trace::open(&[path]).unwrap();
        (folder, trace)
    }

    /// Two ranks take 100 us: 10 times 4 and 8 us in a region, within which 1 us is a barrier, and a reduction until
    /// the 10 us are over.
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
        let (_folder, trace) = opened(&ranks);
        let clock = Clock::new(&trace);
        let operations = Operations::new(&trace);
        let account = Account::new(&trace, &clock, &operations, Rule::default());
        // Useful: 30 and 70 of 100 us.
        close(whole_run(&account).unwrap(), [0.5, 50.0 / 70.0, 0.7]);
        let regions = regions(&trace, &clock, &account);
        assert_eq!(regions.iter().map(|one| one.region.as_str()).collect::<Vec<_>>(), ["solve"]);
        // In the region: 30 of 40 and 70 of 80 us.
        close(regions[0].efficiency, [50.0 / 80.0, 50.0 / 70.0, 70.0 / 80.0]);
    }

    /// A region starts a reduction, which completes in the next one.
    #[test]
    fn a_call_with_a_request_counts_where_it_was_started_and_where_it_was_waited_for() {
        let ranks = [0, 1].map(|number| {
            let mut rank = SyntheticRank::new(number, 2);
            let [start, between, finish] = ["start", "between", "finish"].map(|name| rank.region(name));
            let reduce = rank.operation("MPI_Iallreduce", 0, 8);
            rank.call(start, 0, 5000);
            let request = SyntheticRequest { init: 500, wait: 2000, ..SyntheticRequest::default() };
            rank.call_with_request(reduce, 1000, 9000, request);
            rank.call(between, 5000, 6000);
            rank.call(finish, 6000, 10_000);
            rank
        });
        let (_folder, trace) = opened(&ranks);
        let clock = Clock::new(&trace);
        let account = Account::new(&trace, &clock, &Operations::new(&trace), Rule::default());
        let found = regions(&trace, &clock, &account);
        assert_eq!(found.iter().map(|one| one.region.as_str()).collect::<Vec<_>>(), ["between", "finish", "start"]);
        for (region, communication) in found.iter().zip([1.0, 0.5, 0.9]) {
            close(region.efficiency, [communication, 1.0, communication]);
        }
    }

    #[test]
    fn a_run_without_useful_time_has_none() {
        assert_eq!(efficiency(std::iter::empty()), None);
        assert_eq!(efficiency([Time { whole: 5.0, useful: 0.0 }].into_iter()), None);
    }
}
