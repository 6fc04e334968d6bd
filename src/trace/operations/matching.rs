//! Matches the calls on each communicator by their positions.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use mpitrace_format::layout::{NO_ROOT, OperationEntry, UNKNOWN_BYTES};
use mpitrace_functions::types;
use mpitrace_statistics::parallel;

use super::calls;
use super::communicators::{self, Communicator};
use super::cursor::{ABSENT, Cursor};
use super::finish::finish;
use super::mismatch::{self, DESCRIBED, Groups, Mismatch};
use super::records::Calls;
use super::rows::{Numbers, Rows};
use super::stretch::Stretch;
use super::{CallSite, NO_RECORD, Operation, OperationKey, Operations, sampled};
use crate::reader::{Part, Trace};

pub(super) fn operations(trace: &Trace) -> Operations {
    let (mut communicators, numbers) = communicators::number(trace);
    let own: Vec<ByCommunicator> = trace.parts.iter().map(ByCommunicator::new).collect();
    let (mut operations, mut mismatches) = (Vec::new(), Vec::new());
    let lacks_calls = trace.lacks_calls();
    for together in calls::shares(trace, &numbers, communicators.len()) {
        let calls = calls::calls_by_communicator(trace, &numbers, &together);
        for (communicator, calls) in communicators[together].iter_mut().zip(calls) {
            let matched = Matching::new(trace, communicator).run(&calls, &own, lacks_calls);
            operations.extend(matched.operations);
            mismatches.extend(matched.mismatches);
            communicator.mismatches = matched.mismatched;
        }
    }
    operations.sort_by_key(|(first_call, _)| *first_call);
    let mut operations: Vec<Operation> = operations.into_iter().map(|(_, operation)| operation).collect();
    let unseen = sampled::weigh(trace, &mut operations);
    Operations { communicators, operations, mismatches, unseen }
}

/// Where an operation comes in the numbering: the lowest rank that takes part, then that rank's first call.
pub(super) type FirstCall = (usize, u32, u64);

pub(super) struct Matching<'a> {
    trace: &'a Trace,
    communicator: &'a Communicator,
    pub(super) found: Vec<Found>,
    by_key: HashMap<OperationKey, usize>,
    /// The members' calls at one sequence number -> index into `found`.
    by_tuple: HashMap<Box<[u32]>, usize>,
    /// For each member, for each of its operations: the operations of `found` that it is a share of.
    shares: Vec<HashMap<u32, BTreeSet<usize>>>,
    /// The members' calls at one sequence number -> the difference, and the members of each group of equal calls.
    groups: HashMap<Box<[u32]>, Option<Groups>>,
}

struct Matched {
    operations: Vec<(FirstCall, Operation)>,
    mismatches: Vec<Mismatch>,
    mismatched: u64,
}

pub(super) struct Found {
    pub(super) key: OperationKey,
    pub(super) first_call: FirstCall,
    /// The tuples that it consists of, and the position at which each was first seen.
    pub(super) tuples: Vec<(Box<[u32]>, u64)>,
    /// The repetitions that all members kept, by position; in pieces that follow each other.
    pub(super) whole: Vec<Whole>,
    /// The records of those that some lack, as many for each as there are members, with [`super::NO_RECORD`].
    pub(super) partial: Vec<u32>,
}

/// Repetitions of an operation that all members kept.
#[derive(Debug, Default)]
pub(super) struct Whole {
    pub(super) rows: Rows,
    /// Their numbers, as the first member has counted them.
    pub(super) numbers: Numbers,
    /// The rows of those from which a member did not return, ascending.
    pub(super) open: Vec<usize>,
}

impl Whole {
    pub(super) fn new(members: usize) -> Whole {
        Whole { rows: Rows::new(members), ..Whole::default() }
    }
}

/// The operations of a part by communicator.
struct ByCommunicator {
    /// Where those of each communicator begin, and the end.
    starts: Vec<usize>,
    operations: Vec<u32>,
}

impl ByCommunicator {
    fn new(part: &Part) -> ByCommunicator {
        let mut starts = vec![0; part.communicators().len() + 1];
        part.operations().iter().for_each(|entry| starts[entry.communicator as usize + 1] += 1);
        for communicator in 1..starts.len() {
            starts[communicator] += starts[communicator - 1];
        }
        let mut operations: Vec<u32> = (0..part.operations().len() as u32).collect();
        operations.sort_by_key(|&operation| part.operations()[operation as usize].communicator);
        ByCommunicator { starts, operations }
    }
}

impl<'a> Matching<'a> {
    fn new(trace: &'a Trace, communicator: &'a Communicator) -> Self {
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

    fn run(mut self, calls: &[Calls], own: &[ByCommunicator], lacks_calls: bool) -> Matched {
        let stretch = |cursors| Stretch::new(Matching::new(self.trace, self.communicator), cursors);
        let stretches = match self.communicator.folded {
            true => {
                let mut functions = HashMap::new();
                let parts = self.parts().zip(calls);
                vec![stretch(parts.map(|(part, calls)| Cursor::by_function(part, calls, &mut functions)).collect())]
            }
            false => parallel::map(self.stretches(calls), |numbers| {
                let members = self.parts().zip(calls).zip(numbers).enumerate();
                // The first member's repetitions are those that are looked at.
                let cursor = |(member, ((part, calls), numbers))| Cursor::new(part, calls, numbers, member == 0);
                stretch(members.map(cursor).collect())
            }),
        };
        let mut gaps = Vec::new();
        for stretch in stretches {
            for (found, whole) in stretch.matching.found.into_iter().zip(stretch.whole) {
                let operations = found.tuples.iter().map(|(tuple, position)| self.of_tuple(tuple, *position));
                // They make one operation, here as there.
                if let Some(operation) = operations.last() {
                    self.found[operation].whole.push(whole);
                }
            }
            gaps.push((stretch.gaps, stretch.beside_gaps));
        }
        // What some ranks lack is sorted in last, when it is known what their calls can belong to.
        let members = self.communicator.members.len();
        let mut mismatches = Vec::new();
        let (mut mismatched, mut first) = (0, None);
        for (gaps, beside_gaps) in gaps {
            for (&gap, beside) in gaps.iter().zip(beside_gaps.chunks_exact(2 * members)) {
                let (tuple, records) = beside.split_at(members);
                let Some((kind, groups)) = self.groups(tuple).clone() else {
                    let operation = self.of_partial_tuple(tuple, gap);
                    self.found[operation].partial.extend_from_slice(records);
                    continue;
                };
                mismatched += 1;
                first = first.or(Some(gap));
                if mismatches.len() < DESCRIBED {
                    mismatches.push(Mismatch::at_place(self.trace, self.communicator, gap, tuple, (kind, &groups)));
                }
                // Each group is a repetition that the others have not come to.
                for group in groups {
                    let only = |all: &[u32], none: u32| -> Vec<u32> {
                        (0..members).map(|member| if group.contains(&member) { all[member] } else { none }).collect()
                    };
                    let operation = self.of_partial_tuple(&only(tuple, ABSENT), gap);
                    self.found[operation].partial.extend(only(records, NO_RECORD));
                }
            }
        }
        self.add_operations_without_records(own);
        let Matching { trace, communicator, found, shares, .. } = self;
        let finish = |found| finish(trace, communicator, &shares, found, first, lacks_calls);
        Matched { operations: found.into_iter().map(finish).collect(), mismatches, mismatched }
    }

    /// The members of each group of equal calls, where the calls of a tuple may not belong together.
    pub(super) fn groups(&mut self, tuple: &[u32]) -> &Option<Groups> {
        if !self.groups.contains_key(tuple) {
            let groups = mismatch::groups(self.trace, self.communicator, tuple);
            self.groups.insert(tuple.into(), groups);
        }
        &self.groups[tuple]
    }

    fn parts(&self) -> impl Iterator<Item = &'a Part> + use<'a> {
        let trace = self.trace;
        self.communicator.members.iter().map(move |&(part, _)| &trace.parts[part])
    }

    /// Stretches of positions for the processors: for each the numbers of the calls of each member.
    fn stretches(&self, calls: &[Calls]) -> Vec<Vec<Range<usize>>> {
        let Some((part, longest)) = self.parts().zip(calls).max_by_key(|(_, calls)| calls.len()) else {
            return Vec::new();
        };
        let mut from = vec![0; calls.len()];
        let pieces = parallel::pieces(longest.len());
        let ends = pieces.iter().skip(1).map(|piece| Some(longest.position(part, piece.start))).chain([None]);
        let stretch = |end: Option<u64>| {
            let members = self.parts().zip(calls).zip(&mut from);
            let numbers = members.map(|((part, calls), from)| {
                let until = end.map_or(calls.len(), |end| calls.before(part, end));
                std::mem::replace(from, until)..until
            });
            numbers.collect()
        };
        ends.map(stretch).collect()
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
            self.found.push(Found { key, first_call, tuples: Vec::new(), whole: Vec::new(), partial: Vec::new() });
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
    fn of_partial_tuple(&mut self, tuple: &[u32], position: u64) -> usize {
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

    /// Operations of which no record was kept on any rank (paused, full) still were called.
    fn add_operations_without_records(&mut self, own: &[ByCommunicator]) {
        for member in 0..self.communicator.members.len() {
            let (part, local_communicator) = self.communicator.members[member];
            let ByCommunicator { starts, operations } = &own[part];
            for &local in &operations[starts[local_communicator]..starts[local_communicator + 1]] {
                let called = self.trace.parts[part].operations()[local as usize].calls > 0;
                if called && !self.shares[member].contains_key(&local) {
                    let mut tuple = vec![ABSENT; self.communicator.members.len()];
                    tuple[member] = local;
                    self.of_tuple(&tuple, u64::MAX);
                }
            }
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
