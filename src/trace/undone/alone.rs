//! Calls that not all ranks of a communicator made.

use std::collections::BTreeMap;

use mpitrace_format::layout::{OPERATION_MASK, OperationEntry};
use serde::Serialize;

use crate::operations::CallSite;
use crate::reader::Part;

/// A call that not all ranks made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CalledAlone {
    /// World ranks, ascending.
    pub ranks: Vec<u32>,
    /// The plain C name; `None`: the call was not kept.
    pub function: Option<String>,
    /// The place in the program that makes it, where the run has told places apart.
    pub call_site: Option<CallSite>,
}

impl CalledAlone {
    /// The calls of ranks by the texts of their functions and places; by their lowest rank.
    pub(super) fn of_groups(groups: BTreeMap<(Option<String>, Option<String>), Vec<u32>>) -> Vec<CalledAlone> {
        let call = |((function, site), mut ranks): ((Option<String>, Option<String>), Vec<u32>)| {
            ranks.sort_unstable();
            CalledAlone { ranks, function, call_site: site.as_deref().and_then(CallSite::parse) }
        };
        let mut calls: Vec<CalledAlone> = groups.into_iter().map(call).collect();
        calls.sort_by(|one, other| one.ranks.cmp(&other.ranks));
        calls
    }
}

/// A member of a communicator: its part, and the entry of the communicator there.
pub(super) type Member<'t> = (&'t Part, usize);

/// The operation of the call with this position, if it was kept.
pub(super) fn call_at(&(part, communicator): &Member, sequence: u64) -> Option<OperationEntry> {
    part.blocks().find_map(|block| {
        let (operations, positions) = block.calls();
        let mut calls = operations.iter().zip(&positions).filter(|(_, position)| **position == sequence);
        calls.find_map(|(operation, _)| {
            let entry = part.operations()[(operation & OPERATION_MASK) as usize];
            (entry.communicator as usize == communicator).then_some(entry)
        })
    })
}
