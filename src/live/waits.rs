//! The waiting in collective calls that the looks of a node have seen.

use std::collections::BTreeMap;

use mpitrace_analysis::account::waits_since;
use serde::{Deserialize, Serialize};

use super::look::Look;

/// The waiting that the looks of nodes have seen so far, in calls all of whose ranks are on one node. Repetitions that
/// came and went between two looks are not in it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Waits {
    /// Waiting for each rank, ns.
    pub(super) by_rank: BTreeMap<u32, f64>,
    /// When the last repetition that is counted already ended, ns.
    #[serde(skip)]
    counted_until_ns: Option<f64>,
    pub(super) has_gaps: bool,
}

/// Ranks that many nodes together list, those that others waited for longest.
const LISTED: usize = 1 << 10;

impl Waits {
    pub(super) fn count(&mut self, look: &Look) {
        let counted_until_ns = self.counted_until_ns.unwrap_or(f64::NEG_INFINITY);
        let new = waits_since(&look.trace, &look.clock, &look.operations, counted_until_ns);
        self.has_gaps |= look.is_partial && new.first_ns.is_some_and(|first| first > counted_until_ns);
        self.counted_until_ns = new.last_ns.or(self.counted_until_ns);
        new.by_rank.into_iter().for_each(|(rank, ns)| *self.by_rank.entry(rank).or_default() += ns);
        self.by_rank.retain(|_, ns| *ns > 0.0);
    }

    pub(super) fn add(&mut self, other: &Waits) {
        self.has_gaps |= other.has_gaps;
        self.by_rank.extend(&other.by_rank);
        if self.by_rank.len() > LISTED {
            let mut all: Vec<f64> = self.by_rank.values().copied().collect();
            let (_, least, _) = all.select_nth_unstable_by(LISTED, |one, other| other.total_cmp(one));
            let least = *least;
            self.by_rank.retain(|_, ns| *ns > least);
        }
    }
}
