//! The processes that took the processors of ranks, where `mpitrace run` looked at them.

use std::collections::BTreeMap;

use mpitrace_format::samples::{Preempted, Taker};
use mpitrace_show::text;
use mpitrace_trace::calls::samples::RunSamples;
use serde::Serialize;

use super::units::seconds;

const NS: f64 = 1e9;
/// A process that took less from a rank, s, or less than half of what was taken, is not named.
const NAMED_S: f64 = 0.5;

/// The time for which a rank was ready without a processor.
#[derive(Clone, Debug, Serialize)]
pub struct OfRank {
    rank: u32,
    preempted_s: f64,
    processes: Vec<Process>,
}

#[derive(Clone, Debug, Serialize)]
struct Process {
    name: String,
    user: String,
    rank: Option<u32>,
    seconds: f64,
}

/// Who took processors of ranks for most of the time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Taken {
    /// The name of the process; `null`: other ranks of the job.
    pub name: Option<String>,
    /// Its user.
    pub user: Option<String>,
    /// For so long, s.
    pub seconds: f64,
}

impl Taken {
    /// `` `backup` (user www) ``, `other ranks`.
    pub(super) fn who(&self) -> String {
        match (&self.name, &self.user) {
            (Some(name), Some(user)) => format!("`{}` (user {})", text::printable(name), text::printable(user)),
            _ => "other ranks".to_owned(),
        }
    }

    pub(super) fn by_ranks(&self) -> bool {
        self.name.is_none()
    }
}

/// Who has taken more than this share is named.
const MOST: f64 = 0.5;

/// Who took processors of ranks for more than half of the time for which these had none, s; `None`: nobody alone.
pub(super) fn most(of_ranks: &[OfRank], lost_s: f64) -> Option<Taken> {
    let mut all: BTreeMap<Option<(&str, &str)>, f64> = BTreeMap::new();
    for process in of_ranks.iter().flat_map(|of_rank| &of_rank.processes) {
        let who = process.rank.is_none().then_some((process.name.as_str(), process.user.as_str()));
        *all.entry(who).or_default() += process.seconds;
    }
    let (who, seconds) = all.into_iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    let owned = |text: &str| text.to_owned();
    let taken = Taken { name: who.map(|(name, _)| owned(name)), user: who.map(|(_, user)| owned(user)), seconds };
    (seconds > MOST * lost_s && seconds <= lost_s).then_some(taken)
}

/// The processes that were seen on the nodes of a run; `None`: not looked at.
pub fn taken(observed: RunSamples) -> Option<Vec<OfRank>> {
    let process = |Taker { rank, name, user, ns }| Process { name, user, rank, seconds: ns as f64 / NS };
    let of_rank = |Preempted { rank, ns, takers }| OfRank {
        rank,
        preempted_s: ns as f64 / NS,
        processes: takers.into_iter().map(process).collect(),
    };
    let preempted = Some(observed.samples.preempted).filter(|preempted| !preempted.is_empty());
    preempted.map(|preempted| preempted.into_iter().map(of_rank).collect())
}

/// The process that took most from a rank, as a sentence.
pub fn taker(processes: &[OfRank]) -> Option<String> {
    let named = processes.iter().filter_map(|of_rank| Some((of_rank, of_rank.named()?)));
    let (of_rank, process) = named.max_by(|(_, one), (_, other)| one.seconds.total_cmp(&other.seconds))?;
    let (rank, lost) = (of_rank.rank, seconds(of_rank.preempted_s));
    Some(match process.rank {
        Some(other) => format!(
            "Ranks {} and {} share a processor ({lost} lost): bind each to its own (mpirun --bind-to core).",
            rank.min(other),
            rank.max(other)
        ),
        None => {
            let (name, user) = (text::printable(&process.name), text::printable(&process.user));
            format!("Rank {rank} was preempted for {lost}, mostly by `{name}` (user {user}).")
        }
    })
}

impl OfRank {
    fn named(&self) -> Option<&Process> {
        let mut named = self.processes.iter().filter(|process| process.seconds >= NAMED_S);
        named.find(|process| process.rank.is_some() || process.seconds > 0.5 * self.preempted_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_named_only_where_it_took_most_of_the_time() {
        let of_rank = |seconds: [f64; 2]| OfRank {
            rank: 1,
            preempted_s: 3.0,
            processes: seconds
                .map(|seconds| Process { name: "backup".into(), user: "www".into(), rank: None, seconds })
                .to_vec(),
        };
        assert_eq!(of_rank([2.0, 0.5]).named().map(|most| most.seconds), Some(2.0));
        assert!(of_rank([1.2, 1.1]).named().is_none(), "two that took as much");
        let short = OfRank { preempted_s: 0.5, ..of_rank([0.4, 0.1]) };
        assert!(short.named().is_none());
    }
}
