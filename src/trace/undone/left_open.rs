//! Requests of messages that a rank had neither completed nor freed.

use std::collections::{BTreeMap, BTreeSet};

use mpitrace_format::layout::PartnerEntry;
use serde::Serialize;

use super::not_matched::open_requests;
use crate::operations::{CallSite, Operations, Unfinished};
use crate::partners::Partners;
use crate::reader::{Part, Trace};

/// The requests of messages that a rank had neither completed nor freed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOpen {
    /// World rank.
    pub rank: u32,
    /// How many; fewer where calls that are not wrapped made some.
    pub requests: u64,
    /// Functions by which the rank makes requests of messages: by one of these it made them.
    pub functions: BTreeSet<String>,
    /// The places of these calls, where these are recorded.
    pub call_sites: Vec<CallSite>,
    /// The world ranks with which these calls have messages, ascending; empty: not known, or a message of any rank.
    pub partners: BTreeSet<u32>,
    /// Some of them may be persistent requests, which are complete while they are not started: the rank has started such
    /// ones, or no function is known.
    pub may_be_persistent: bool,
}

/// The ranks that have left such requests, ascending. `unfinished`: the operations with requests that are open.
pub(super) fn left_open(trace: &Trace, operations: &Operations, unfinished: &[Unfinished]) -> Vec<LeftOpen> {
    let mut collective: BTreeMap<u32, u64> = BTreeMap::new();
    let inside = unfinished.iter().flat_map(|unfinished| &unfinished.inside);
    inside.for_each(|rank| *collective.entry(*rank).or_default() += 1);
    let partners = Partners::new(trace, operations);
    let of_part = |(index, part): (usize, &Part)| {
        let of_collectives = collective.get(&part.rank()).copied().unwrap_or_default();
        let requests = open_requests(part).saturating_sub(of_collectives);
        (requests > 0).then(|| LeftOpen::new(index, part, &partners, requests))
    };
    let mut found: Vec<LeftOpen> = trace.parts.iter().enumerate().filter_map(of_part).collect();
    found.sort_by_key(|open| open.rank);
    found
}

impl LeftOpen {
    fn new(index: usize, part: &Part, partners: &Partners, requests: u64) -> LeftOpen {
        let mut open = LeftOpen {
            rank: part.rank(),
            requests,
            functions: BTreeSet::new(),
            call_sites: Vec::new(),
            partners: BTreeSet::new(),
            may_be_persistent: false,
        };
        for entry in part.partners() {
            open.add(index, part, partners, entry);
        }
        open.may_be_persistent = open.functions.is_empty() || open.functions.iter().any(|name| is_persistent(name));
        open
    }

    fn add(&mut self, index: usize, part: &Part, partners: &Partners, entry: &PartnerEntry) {
        for call in [entry.sent_by, entry.received_by].into_iter().filter_map(|call| part.text(call)) {
            // A function, and with a blank the place.
            let (function, site) =
                call.split_once(' ').map_or((&*call, None), |(function, site)| (function, Some(site)));
            if makes_a_request(function) {
                self.functions.insert(function.to_owned());
                let site = site.and_then(CallSite::parse).filter(|site| !self.call_sites.contains(site));
                self.call_sites.extend(site);
                self.partners.extend(partners.world_rank(index, entry.partner));
            }
        }
    }
}

/// The name of a persistent request's function is that of its start.
fn is_persistent(function: &str) -> bool {
    function.starts_with("MPI_Start")
}

/// True of `MPI_Isend`, `MPI_Irecv` and their kin, and of those that start persistent requests.
fn makes_a_request(function: &str) -> bool {
    function.starts_with("MPI_I") && !function.starts_with("MPI_Iprobe") && !function.starts_with("MPI_Improbe")
        || is_persistent(function)
}
