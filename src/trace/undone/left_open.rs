//! Requests of messages that a rank had neither completed nor freed.

use std::collections::{BTreeMap, BTreeSet};

use mpitrace_format::layout::PartnerEntry;
use mpitrace_functions::parameters;
use serde::Serialize;

use super::not_matched::{NotMatched, open_requests};
use crate::operations::{Operations, Unfinished};
use crate::partners::Partners;
use crate::reader::{Part, Trace};

/// The requests of messages that a rank had neither completed nor freed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOpen {
    /// World rank.
    pub rank: u32,
    /// How many; fewer where calls that are not wrapped made some.
    pub requests: u64,
    /// The functions by which the rank makes requests of messages: by some of these it made them.
    pub functions: BTreeSet<String>,
    /// The world ranks with which it exchanges messages, ascending; empty: not known, or messages of any rank.
    pub partners: BTreeSet<u32>,
    /// Some of them may be complete: the rank makes persistent requests, which are while they are not started, or calls
    /// of its have failed, which an exception may have left.
    pub may_be_complete: bool,
    /// They are not more than its receives that nothing matched, which are told as these.
    pub is_unmatched: bool,
}

/// The ranks that have left such requests, ascending. `unfinished`: the operations with requests that are open;
/// `not_matched`: the messages and receives without the other.
pub(super) fn left_open(
    trace: &Trace,
    operations: &Operations,
    unfinished: &[Unfinished],
    not_matched: &[NotMatched],
) -> Vec<LeftOpen> {
    let mut collective: BTreeMap<u32, u64> = BTreeMap::new();
    let inside = unfinished.iter().flat_map(|unfinished| &unfinished.inside);
    inside.for_each(|rank| *collective.entry(*rank).or_default() += 1);
    let partners = Partners::new(trace, operations);
    let of_part = |(index, part): (usize, &Part)| {
        let of_collectives = collective.get(&part.rank()).copied().unwrap_or_default();
        let requests = open_requests(part).saturating_sub(of_collectives);
        let receives = not_matched.iter().filter(|found| !found.is_of_sends() && found.to == part.rank());
        let is_unmatched = requests <= receives.map(|found| found.left).sum();
        (requests > 0).then(|| LeftOpen::new(index, part, &partners, requests, is_unmatched))
    };
    let mut found: Vec<LeftOpen> = trace.parts.iter().enumerate().filter_map(of_part).collect();
    found.sort_by_key(|open| open.rank);
    found
}

impl LeftOpen {
    fn new(index: usize, part: &Part, partners: &Partners, requests: u64, is_unmatched: bool) -> LeftOpen {
        let functions: BTreeSet<String> = part.texts().filter(|text| makes_a_request(text)).collect();
        let has_messages = |entry: &&PartnerEntry| entry.messages | entry.receives > 0;
        let others = part.partners().iter().filter(has_messages);
        LeftOpen {
            rank: part.rank(),
            requests,
            partners: others.filter_map(|entry| partners.world_rank(index, entry.partner)).collect(),
            may_be_complete: functions.is_empty()
                || functions.iter().any(|name| name.ends_with("_init"))
                || part.threads().iter().any(|thread| thread.failed > 0 || thread.failed_others > 0),
            functions,
            is_unmatched,
        }
    }
}

/// True of `MPI_Isend`, `MPI_Recv_init` and their kin: calls for a message that make a request.
fn makes_a_request(function: &str) -> bool {
    let has = |parameters: &[&str], name: &str| parameters.contains(&name);
    let of_message = |parameters: &&[&str]| ["dest", "source", "message"].iter().any(|name| has(parameters, name));
    parameters(function).filter(of_message).is_some_and(|parameters| has(parameters, "request"))
}
