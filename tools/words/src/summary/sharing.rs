//! The processors that ranks may run on: ranks that share some, and ranks that have their own.

use std::collections::{BTreeMap, BTreeSet};

use mpitrace_format::metadata;
use mpitrace_show::text;
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
}

/// By node and the processors that they may run on, how many ranks.
type Sets = BTreeMap<(String, BTreeSet<u32>), u32>;

impl Sharing {
    /// The ranks with the least of a processor each; `None`: there are no such ranks, or it is not known.
    pub fn new(trace: &Trace) -> Option<Sharing> {
        let sets = sets(trace);
        let hosts: BTreeSet<&String> = sets.keys().map(|(host, _)| host).collect();
        let shared = sets.keys().map(|(host, set)| {
            let inside = |(of, other): &(String, BTreeSet<u32>)| of == host && other.is_subset(set);
            let ranks: u32 = sets.iter().filter(|(key, _)| inside(key)).map(|(_, ranks)| ranks).sum();
            Sharing { ranks, processors: set.len() as u32, host: Some(host.clone()).filter(|_| hosts.len() > 1) }
        });
        let each = |sharing: &Sharing| f64::from(sharing.ranks) / f64::from(sharing.processors);
        let shared = shared.filter(|sharing| sharing.processors > 0 && sharing.ranks > sharing.processors);
        shared.max_by(|one, other| each(one).total_cmp(&each(other)).then(one.ranks.cmp(&other.ranks)))
    }

    /// `4 ranks share 2 processors`.
    pub fn words(&self) -> String {
        let host = self.host.as_ref().map_or_else(String::new, |host| format!(" of {}", text::printable(host)));
        let processors = text::count(self.processors.into(), "processor");
        format!("{} share {processors}{host}", text::count(self.ranks.into(), "rank"))
    }
}

/// True if each rank may run on processors only that no other rank may run on.
pub fn are_bound(trace: &Trace) -> bool {
    let sets = sets(trace);
    let mut taken: BTreeSet<(&str, u32)> = BTreeSet::new();
    let mut are_own = sets.iter().map(|((host, set), &ranks)| {
        ranks == 1 && set.iter().all(|&processor| taken.insert((host.as_str(), processor)))
    });
    are_own.all(|is_own| is_own) && sets.len() == trace.parts.len()
}

fn sets(trace: &Trace) -> Sets {
    let mut sets = Sets::new();
    for part in &trace.parts {
        let known = part.metadata();
        if let Some(set) = metadata::get(&known, "affinity").and_then(processors) {
            let host = metadata::get(&known, "host").unwrap_or_default().to_owned();
            *sets.entry((host, set)).or_default() += 1;
        }
    }
    sets
}

/// The numbers in `0-2,5`.
fn processors(list: &str) -> Option<BTreeSet<u32>> {
    let mut set = BTreeSet::new();
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        set.extend(first.trim().parse::<u32>().ok()?..=last.trim().parse::<u32>().ok()?);
    }
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_read() {
        assert_eq!(processors("0-2,5"), Some(BTreeSet::from([0, 1, 2, 5])));
        assert_eq!(processors("3"), Some(BTreeSet::from([3])));
        assert_eq!(processors("none"), None);
    }

    #[test]
    fn ranks_that_share_are_counted() {
        let of = |host: Option<&str>| Sharing { ranks: 4, processors: 2, host: host.map(str::to_owned) };
        assert_eq!(of(None).words(), "4 ranks share 2 processors");
        assert_eq!(of(Some("n1")).words(), "4 ranks share 2 processors of n1");
    }
}
