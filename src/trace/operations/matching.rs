//! The operations to which calls belong, by what the ranks passed in them.

use std::collections::{BTreeSet, HashMap};

use mpitrace_format::layout::{NO_ROOT, OperationEntry, UNKNOWN_BYTES};
use mpitrace_functions::types;

use super::communicators::Communicator;
use super::cursor::ABSENT;
use super::found::FoundOperation;
use super::mismatch::{self, Groups};
use super::{CallSite, OperationKey};
use crate::reader::{Part, Trace};

/// The operations of a communicator that were found so far.
pub(super) struct Matching<'a> {
    pub(super) trace: &'a Trace,
    pub(super) communicator: &'a Communicator,
    pub(super) found: Vec<FoundOperation>,
    by_key: HashMap<OperationKey, usize>,
    /// The members' calls at one sequence number -> index into `found`.
    by_tuple: HashMap<Box<[u32]>, usize>,
    /// For each member, for each of its operations: the operations of `found` that it is a share of.
    pub(super) shares: Vec<HashMap<u32, BTreeSet<usize>>>,
    /// The members' calls at one sequence number -> the difference, and the members of each group of equal calls.
    groups: HashMap<Box<[u32]>, Option<Groups>>,
}

impl<'a> Matching<'a> {
    pub(super) fn new(trace: &'a Trace, communicator: &'a Communicator) -> Self {
        Matching {
            trace,
            communicator,
            found: Vec::new(),
            by_key: HashMap::new(),
            by_tuple: HashMap::new(),
            shares: vec![HashMap::new(); communicator.members.len()],
            groups: HashMap::new(),
        }
    }

    /// The members of each group of equal calls, where the calls of a tuple may not belong together.
    pub(super) fn groups(&mut self, tuple: &[u32]) -> &Option<Groups> {
        if !self.groups.contains_key(tuple) {
            let groups = mismatch::groups(self.trace, self.communicator, tuple);
            self.groups.insert(tuple.into(), groups);
        }
        &self.groups[tuple]
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = &'a Part> + use<'a> {
        let trace = self.trace;
        self.communicator.members.iter().map(move |&(part, _)| &trace.parts[part])
    }

    pub(super) fn of_tuple(&mut self, tuple: &[u32], position: u64) -> usize {
        if let Some(&operation) = self.by_tuple.get(tuple) {
            return operation;
        }
        let key = self.key(tuple);
        let first = tuple.iter().position(|&operation| operation != ABSENT).unwrap_or(0);
        let first_call = (self.communicator.members[first].0, tuple[first], position);
        let operation = *self.by_key.entry(key.clone()).or_insert(self.found.len());
        if operation == self.found.len() {
            self.found.push(FoundOperation {
                key,
                first_call,
                tuples: Vec::new(),
                whole: Vec::new(),
                partial: Vec::new(),
            });
        }
        let found = &mut self.found[operation];
        found.first_call = found.first_call.min(first_call);
        found.tuples.push((tuple.into(), position));
        for (shares, &local) in self.shares.iter_mut().zip(tuple) {
            if local != ABSENT {
                shares.entry(local).or_default().insert(operation);
            }
        }
        self.by_tuple.insert(tuple.into(), operation);
        operation
    }

    /// The operation that all calls of an incomplete tuple are known to be shares of, if there is exactly one; else one
    /// made of what is there.
    pub(super) fn of_partial_tuple(&mut self, tuple: &[u32], position: u64) -> usize {
        if let Some(&operation) = self.by_tuple.get(tuple) {
            return operation;
        }
        let present = self.shares.iter().zip(tuple).filter(|(_, local)| **local != ABSENT);
        let mut candidates: Option<BTreeSet<usize>> = None;
        for (shares, local) in present {
            let of_member = shares.get(local).cloned().unwrap_or_default();
            candidates = Some(match candidates {
                None => of_member,
                Some(others) => others.intersection(&of_member).copied().collect(),
            });
        }
        match candidates {
            Some(candidates) if candidates.len() == 1 => {
                let operation = candidates.into_iter().next().unwrap_or(0);
                self.by_tuple.insert(tuple.into(), operation);
                operation
            }
            _ => self.of_tuple(tuple, position),
        }
    }

    fn key(&self, tuple: &[u32]) -> OperationKey {
        let present = || {
            let members = self.communicator.members.iter().zip(tuple).filter(|(_, local)| **local != ABSENT);
            members.map(|(&(part, _), &local)| {
                let content = &self.trace.parts[part];
                (content, content.operations()[local as usize])
            })
        };
        let text = |reference: fn(&OperationEntry) -> u32| {
            present().find_map(|(content, entry)| content.text(reference(&entry)))
        };
        OperationKey {
            function: text(|entry| entry.function).unwrap_or_else(|| "?".to_owned()),
            communicator: self.communicator.id,
            bytes: present().map(|(_, entry)| entry.bytes).filter(|&bytes| bytes != UNKNOWN_BYTES).max(),
            // On an intercommunicator only the group that does not hold the root passes its rank.
            root: present().map(|(_, entry)| entry.root).filter(|&root| root != NO_ROOT).max(),
            datatype: {
                let names = present().filter_map(|(content, entry)| content.text(entry.datatype));
                let names: BTreeSet<String> = names.map(|name| types::plain_name(&name).to_owned()).collect();
                (!names.is_empty()).then(|| names.into_iter().collect::<Vec<_>>().join(", "))
            },
            reduction: text(|entry| entry.reduction),
            call_site: text(|entry| entry.call_site).and_then(|text| CallSite::parse(&text)),
            is_region: present().any(|(_, entry)| entry.is_region()),
        }
    }
}
