//! The ranks that others wait for, in a job that moves.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde::Serialize;

use super::summary::Summary;

/// Seconds that count as the last ones.
const RECENT_S: f64 = 10.0;

/// A rank that others wait for in collective calls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Straggler {
    /// The world rank.
    pub rank: u32,
    /// By how much all other ranks together waited for it, s.
    pub waiting_s: f64,
    /// By how much all other ranks together waited for it in the last seconds ([`Waiting::recent_s`]).
    pub recent_waiting_s: f64,
}

/// The waiting in the collective calls that were seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Waiting {
    /// Since the start of the job; else since the first look, as far back as its records went.
    pub since_start: bool,
    /// How many seconds the last ones are; 0: there was one look.
    pub recent_s: f64,
    /// The one that others waited for longest first.
    pub stragglers: Vec<Straggler>,
}

/// The waiting so far: that which nodes have counted, and that in the calls between them.
#[derive(Debug, Default)]
pub struct Stragglers {
    /// Waiting for each rank in calls between nodes, ns.
    between: BTreeMap<u32, f64>,
    /// By communicator: positions before this one are in it.
    counted: HashMap<usize, u64>,
    /// When each of the last looks was, s, and the sums then.
    looks: VecDeque<(f64, BTreeMap<u32, f64>)>,
}

impl Stragglers {
    /// Adds a look at all nodes, taken at this time, s.
    pub fn add(&mut self, summary: &Summary, now: f64) -> Waiting {
        // Those of a communicator come in their order.
        let mut new: HashMap<usize, u64> = HashMap::new();
        for (communicator, sequence, rank, ns) in summary.late() {
            if self.counted.get(&communicator).is_none_or(|counted| sequence >= *counted) {
                *self.between.entry(rank).or_default() += ns as f64;
                new.insert(communicator, sequence + 1);
            }
        }
        self.counted.extend(new);
        let mut sums = summary.waits.by_rank.clone();
        self.between.iter().for_each(|(&rank, ns)| *sums.entry(rank).or_default() += ns);
        // Of the calls between nodes some are looked at.
        let has_gaps = summary.waits.has_gaps || !self.counted.is_empty();
        Waiting { since_start: !has_gaps, ..self.count(sums, now) }
    }

    fn count(&mut self, sums: BTreeMap<u32, f64>, now: f64) -> Waiting {
        while self.looks.get(1).is_some_and(|(at, _)| now - at >= RECENT_S) {
            self.looks.pop_front();
        }
        let before = self.looks.front();
        let straggler = |(&rank, &ns): (&u32, &f64)| {
            let earlier = before.and_then(|(_, sums)| sums.get(&rank)).copied().unwrap_or(0.0);
            let recent_waiting_s = if before.is_some() { (ns - earlier) / 1e9 } else { 0.0 };
            Straggler { rank, waiting_s: ns / 1e9, recent_waiting_s }
        };
        let mut stragglers: Vec<Straggler> = sums.iter().filter(|(_, ns)| **ns > 0.0).map(straggler).collect();
        stragglers.sort_by(|one, other| other.waiting_s.total_cmp(&one.waiting_s));
        let recent_s = before.map_or(0.0, |(at, _)| now - at);
        self.looks.push_back((now, sums));
        Waiting { since_start: true, recent_s, stragglers }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(seconds: &[(u32, f64)]) -> BTreeMap<u32, f64> {
        seconds.iter().map(|&(rank, seconds)| (rank, seconds * 1e9)).collect()
    }

    #[test]
    fn waiting_is_summed_since_the_start_and_over_the_last_seconds() {
        let mut stragglers = Stragglers::default();
        let rows = |waiting: &Waiting| -> Vec<(u32, f64, f64)> {
            waiting.stragglers.iter().map(|one| (one.rank, one.waiting_s, one.recent_waiting_s)).collect()
        };
        let first = stragglers.count(ns(&[(3, 5.25), (1, 1.0), (2, 0.0)]), 0.0);
        assert_eq!((first.recent_s, rows(&first)), (0.0, vec![(3, 5.25, 0.0), (1, 1.0, 0.0)]));
        for second in 1..=20 {
            let so_far = ns(&[(3, 5.25), (1, 1.0 + 0.5 * f64::from(second))]);
            let waiting = stragglers.count(so_far, f64::from(second));
            let recent = second.min(10);
            assert_eq!(waiting.recent_s, f64::from(recent));
            let sums = [(3, 5.25, 0.0), (1, 1.0 + 0.5 * f64::from(second), 0.5 * f64::from(recent))];
            let expected = if sums[1].1 > 5.25 { vec![sums[1], sums[0]] } else { sums.to_vec() };
            assert_eq!(rows(&waiting), expected);
        }
        assert!(stragglers.looks.len() <= 11, "{}", stragglers.looks.len());
    }
}
