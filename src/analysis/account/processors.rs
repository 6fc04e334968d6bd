//! The processors that ranks may run on: ranks that share some, and ranks that have their own.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use mpitrace_format::metadata;
use mpitrace_trace::reader::Trace;
use serde::Serialize;

/// More ranks than processors that they may run on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sharing {
    /// The ranks that may run on these processors alone.
    pub ranks: u32,
    /// The processors.
    pub processors: u32,
    /// The node that they are on; `null`: the job has one node.
    pub host: Option<String>,
    /// The world ranks.
    #[serde(skip)]
    pub members: Vec<u32>,
}

impl Sharing {
    /// For how long ranks that take turns are without a processor in all, while they have one for so long, ns.
    pub(super) fn lacking_ns(&self, ran_ns: f64) -> f64 {
        ran_ns * (f64::from(self.ranks) / f64::from(self.processors) - 1.0)
    }
}

/// The world ranks by the processors that they may run on.
type Sets = BTreeMap<BTreeSet<u32>, Vec<u32>>;

/// The processors that each rank may run on, as far as they are known.
#[derive(Clone, Debug, Default)]
pub struct Processors {
    by_host: BTreeMap<String, Sets>,
    /// The ranks of which it is not known.
    unknown: usize,
    /// For each rank that shares its processors how long it lacks one for each time that it has one, at its turns.
    lacking: HashMap<u32, f64>,
}

/// Linux can be built for so many: a list with others is of no machine.
const MOST: u32 = 8192;

impl Processors {
    /// The processors of the ranks of a trace.
    pub(super) fn new(trace: &Trace) -> Processors {
        let mut by_host: BTreeMap<String, Sets> = BTreeMap::new();
        let mut unknown = 0;
        for part in &trace.parts {
            let known = part.metadata();
            let Some(set) = metadata::get(&known, "affinity").and_then(numbers) else {
                unknown += 1;
                continue;
            };
            let host = metadata::get(&known, "host").unwrap_or_default().to_owned();
            by_host.entry(host).or_default().entry(set).or_default().push(part.rank());
        }
        Processors::of(by_host, unknown)
    }

    fn of(by_host: BTreeMap<String, Sets>, unknown: usize) -> Processors {
        let mut processors = Processors { by_host, unknown, lacking: HashMap::new() };
        let shared = processors.all().filter_map(|(host, sets, set)| {
            let lacking = processors.sharing(host, sets, set)?.lacking_ns(1.0);
            Some(sets[set].iter().map(move |&rank| (rank, lacking)))
        });
        processors.lacking = shared.flatten().collect();
        processors
    }

    /// Each set of processors, with all of its node.
    fn all(&self) -> impl Iterator<Item = (&str, &Sets, &BTreeSet<u32>)> {
        self.by_host.iter().flat_map(|(host, sets)| sets.keys().map(move |set| (host.as_str(), sets, set)))
    }

    /// The ranks with the least of a processor each; `None`: there are no such ranks, or it is not known.
    pub fn most_shared(&self) -> Option<Sharing> {
        let each = |sharing: &Sharing| f64::from(sharing.ranks) / f64::from(sharing.processors);
        let shared = self.all().filter_map(|(host, sets, set)| self.sharing(host, sets, set));
        shared.max_by(|one, other| each(one).total_cmp(&each(other)).then(one.ranks.cmp(&other.ranks)))
    }

    /// The part of the time for which a rank was preempted, and others waited for it, that is only due to these: while
    /// they wait, they take their turns on its processors. It computed for so long of that time, ns.
    pub fn preempted_by_waiting(&self, rank: u32, preempted_ns: f64, computing_ns: f64) -> f64 {
        self.lacking.get(&rank).map_or(0.0, |lacking| preempted_ns.min(lacking * computing_ns))
    }

    fn sharing(&self, host: &str, sets: &Sets, set: &BTreeSet<u32>) -> Option<Sharing> {
        let inside = sets.iter().filter(|(other, _)| other.is_subset(set));
        let mut members: Vec<u32> = inside.flat_map(|(_, ranks)| ranks).copied().collect();
        members.sort_unstable();
        let host = Some(host.to_owned()).filter(|_| self.by_host.len() > 1);
        let sharing = Sharing { ranks: members.len() as u32, processors: set.len() as u32, host, members };
        Some(sharing).filter(|sharing| sharing.processors > 0 && sharing.ranks > sharing.processors)
    }

    /// True if each rank may run on processors only that no other rank may run on.
    pub fn are_own(&self) -> bool {
        let is_own = |sets: &Sets| {
            let processors: usize = sets.keys().map(BTreeSet::len).sum();
            let distinct: BTreeSet<u32> = sets.keys().flatten().copied().collect();
            processors == distinct.len() && sets.values().all(|ranks| ranks.len() == 1)
        };
        self.unknown == 0 && !self.by_host.is_empty() && self.by_host.values().all(is_own)
    }
}

/// The numbers in `0-2,5`; `None`: it is no such list.
fn numbers(list: &str) -> Option<BTreeSet<u32>> {
    let mut set = BTreeSet::new();
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let last: u32 = last.trim().parse().ok().filter(|last| *last < MOST)?;
        set.extend(first.trim().parse().ok()?..=last);
    }
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_read() {
        assert_eq!(numbers("0-2,5"), Some(BTreeSet::from([0, 1, 2, 5])));
        assert_eq!(numbers("3"), Some(BTreeSet::from([3])));
        assert_eq!(numbers("none"), None);
        assert_eq!(numbers("0-4294967295"), None, "of no machine");
        assert_eq!(numbers("8191").map(|set| set.len()), Some(1));
    }

    /// On one node, by their lists.
    fn processors(lists: &[&str]) -> Processors {
        let mut sets = Sets::new();
        (0..).zip(lists).for_each(|(rank, list)| sets.entry(numbers(list).unwrap()).or_default().push(rank));
        Processors::of(BTreeMap::from([(String::new(), sets)]), 0)
    }

    #[test]
    fn ranks_that_share_are_those_with_the_least_of_a_processor() {
        let shared = |lists: &[&str]| processors(lists).most_shared().map(|one| (one.members, one.processors));
        assert_eq!(shared(&["0-1", "0-1", "0-1", "0-1"]), Some((vec![0, 1, 2, 3], 2)));
        assert_eq!(shared(&["0-1", "0-1"]), None);
        assert_eq!(shared(&["0-3", "1", "1"]), Some((vec![1, 2], 1)));
        assert!(processors(&["0", "1"]).are_own());
        assert!(!processors(&["0", "0-1"]).are_own() && !processors(&["0", "0"]).are_own());
        assert!(!Processors::default().are_own(), "not known");
    }

    #[test]
    fn ranks_that_wait_take_their_turns() {
        let three = processors(&["0-1"; 3]);
        // Of three ranks on two processors each has two thirds of one.
        assert_eq!(three.preempted_by_waiting(1, 300.0, 600.0), 300.0);
        assert_eq!(three.preempted_by_waiting(1, 700.0, 600.0), 300.0, "the rest took something else");
        assert_eq!(three.preempted_by_waiting(1, 300.0, 0.0), 0.0, "it did nothing meanwhile");
        assert_eq!(processors(&["0", "1", "2"]).preempted_by_waiting(1, 300.0, 600.0), 0.0);
    }
}
