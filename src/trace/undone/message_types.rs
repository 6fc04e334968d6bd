//! Messages that were sent as one data type and received as another one, by the sets of types of both.
//!
//! Each rank keeps the types of its messages to each rank of a communicator, and of its receives of each and of any.
//! Where each message has a receive, a type of messages that no receive is of is an error, and so is a type of receives
//! of a rank that no message of it is of. Which message met which receive is not known: two errors that are each
//! other's reverse are not seen.

use std::collections::BTreeSet;

use mpitrace_functions::types::{names, not_received, not_sent};
use serde::Serialize;

use super::count::Count;
use crate::operations::CallSite;

/// Messages to one rank whose types do not go together with those of their receives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DifferentTypes {
    /// The world ranks that sent; of several it is not known which one.
    pub from: Vec<u32>,
    /// The world rank that received.
    pub to: u32,
    /// The communicator's name.
    pub communicator: String,
    /// The types of messages, of several that mean the same one: those that no receive is of, if there are any.
    pub sent: Vec<&'static str>,
    /// The types of receives: those that no message is of, where all messages are of the type of a receive.
    pub received: Vec<&'static str>,
    /// The functions of the first messages.
    pub sent_by: BTreeSet<String>,
    /// Where these were called, where the run has told places apart.
    pub sent_at: Vec<CallSite>,
    /// The functions of the first receives.
    pub received_by: BTreeSet<String>,
    /// Where these were called.
    pub received_at: Vec<CallSite>,
}

/// Compares the messages of ranks to another one with receives that are of messages of these ranks, and with other ones
/// that may be.
pub(super) fn different_types(
    (from, to): (Vec<u32>, u32),
    communicator: &str,
    sent: &Count,
    received: &Count,
    others: &Count,
) -> Option<DifferentTypes> {
    let all_received = received.types | others.types;
    let (types_sent, types_received) = match not_received(sent.types, all_received) {
        0 => (sent.types, Some(not_sent(received.types, sent.types)).filter(|types| *types != 0)?),
        some => (some, all_received),
    };
    let mut receives = received.clone();
    receives.join(others);
    Some(DifferentTypes {
        from,
        to,
        communicator: communicator.to_owned(),
        sent: names(types_sent).collect(),
        received: names(types_received).collect(),
        sent_by: sent.functions(),
        sent_at: sent.call_sites(),
        received_by: receives.functions(),
        received_at: receives.call_sites(),
    })
}
