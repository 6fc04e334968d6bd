//! Matches the calls on each communicator by their positions.

use std::collections::{BTreeSet, HashMap};

use super::calls::{self, ABSENT, Calls, Cursor};
use super::communicators::{self, Communicator};
use super::{CallSite, NO_RECORD, Operation, OperationKey, Operations};
use crate::trace::layout::{NO_ROOT, OperationEntry, UNKNOWN_BYTES};
use crate::trace::{Part, Trace};

pub(super) fn operations(trace: &Trace) -> Operations {
    let (communicators, numbers) = communicators::number(trace);
    let mut calls = calls::by_communicator(trace, &numbers, communicators.len());
    let mut operations = Vec::new();
    for communicator in &communicators {
        let calls = std::mem::take(&mut calls[communicator.id]);
        operations.extend(Matching::new(trace, communicator).run(&calls));
    }
    operations.sort_by_key(|(first_call, _)| *first_call);
    Operations { communicators, operations: operations.into_iter().map(|(_, operation)| operation).collect() }
}

/// Where an operation comes in the numbering: the lowest rank that takes part, then that rank's first call.
type FirstCall = (usize, u32, u64);

struct Matching<'a> {
    trace: &'a Trace,
    communicator: &'a Communicator,
    found: Vec<Found>,
    by_key: HashMap<OperationKey, usize>,
    /// What the members called at one position -> index into `found`.
    by_tuple: HashMap<Box<[u32]>, usize>,
    /// For each member, for each of its operations: the operations of `found` that it is a share of.
    shares: Vec<HashMap<u32, BTreeSet<usize>>>,
}

/// An operation in the making.
struct Found {
    key: OperationKey,
    first_call: FirstCall,
    /// The tuples that it consists of.
    tuples: Vec<Box<[u32]>>,
    /// The records of the repetitions that all members kept, as many for each as there are members, by position.
    whole: Vec<u32>,
    /// The same of those that some lack, with [`NO_RECORD`].
    partial: Vec<u32>,
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
        }
    }

    fn run(mut self, calls: &[Calls]) -> Vec<(FirstCall, Operation)> {
        let parts = self.communicator.members.iter().map(|&(part, _)| &self.trace.parts[part]);
        let mut cursors: Vec<Cursor> = parts.zip(calls).map(|(part, calls)| Cursor::new(part, calls)).collect();
        // Positions at which a member has no record; what the others called there, and their records.
        let mut gaps: Vec<u64> = Vec::new();
        let mut beside_gaps: Vec<u32> = Vec::new();
        let mut tuple = vec![ABSENT; cursors.len()];
        let mut records = vec![NO_RECORD; cursors.len()];
        // For each operation of the first member the tuple that it last was in, with its operation: seldom another one.
        let mut last: Vec<(Box<[u32]>, usize)> = Vec::new();
        while let Some(position) = cursors.iter().filter_map(|cursor| Some(cursor.next?.1)).min() {
            for (cursor, (operation, record)) in cursors.iter_mut().zip(tuple.iter_mut().zip(&mut records)) {
                (*operation, *record) = cursor.take(position);
            }
            if tuple.contains(&ABSENT) {
                gaps.push(position);
                beside_gaps.extend_from_slice(&tuple);
                beside_gaps.extend_from_slice(&records);
                continue;
            }
            let first = tuple[0] as usize;
            // Compared one by one: shorter than a call of memcmp for most numbers of ranks.
            if last.get(first).is_none_or(|(known, _)| !known.iter().eq(&tuple)) {
                let operation = self.of_tuple(&tuple, position);
                if last.len() <= first {
                    last.resize(first + 1, Default::default());
                }
                last[first] = (tuple.as_slice().into(), operation);
            }
            self.found[last[first].1].whole.extend_from_slice(&records);
        }
        // What some ranks lack is sorted in last, when it is known what their calls can belong to.
        for (gap, beside) in gaps.iter().zip(beside_gaps.chunks_exact(2 * tuple.len())) {
            let (tuple, records) = beside.split_at(tuple.len());
            let operation = self.of_partial_tuple(tuple, *gap);
            self.found[operation].partial.extend_from_slice(records);
        }
        self.add_operations_without_records();
        let Matching { trace, communicator, found, shares, .. } = self;
        found.into_iter().map(|found| finish(trace, communicator, &shares, found)).collect()
    }

    fn of_tuple(&mut self, tuple: &[u32], position: u64) -> usize {
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
        found.tuples.push(tuple.into());
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
    fn add_operations_without_records(&mut self) {
        for member in 0..self.communicator.members.len() {
            let (part, local_communicator) = self.communicator.members[member];
            for (local, entry) in (0u32..).zip(self.trace.parts[part].operations()) {
                let here = entry.communicator as usize == local_communicator && entry.calls > 0;
                if here && !self.shares[member].contains_key(&local) {
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
            datatype: text(|entry| entry.datatype),
            reduction: text(|entry| entry.reduction),
            call_site: text(|entry| entry.call_site).and_then(|text| CallSite::parse(&text)),
        }
    }
}

/// Counts the repetitions of one operation.
fn finish(
    trace: &Trace,
    communicator: &Communicator,
    shares: &[HashMap<u32, BTreeSet<usize>>],
    found: Found,
) -> (FirstCall, Operation) {
    let parts: Vec<&Part> = communicator.members.iter().map(|&(part, _)| &trace.parts[part]).collect();
    // A member that calls this operation in one way only, and no other in that way, has itself counted the repetitions,
    // those that it did not keep included.
    let counting: Vec<(usize, u32)> = (0..parts.len())
        .filter_map(|member| {
            let mut ways = found.tuples.iter().map(|tuple| tuple[member]).filter(|&local| local != ABSENT);
            let way = ways.next()?;
            let alone = ways.all(|other| other == way) && shares[member].get(&way).is_some_and(|all| all.len() == 1);
            alone.then_some((member, way))
        })
        .collect();
    let calls = counting.iter().map(|&(member, way)| parts[member].operations()[way as usize].calls);
    let total = calls.max().unwrap_or(0);
    let counts: Vec<(usize, &[u64])> =
        counting.iter().map(|&(member, _)| (member, parts[member].repetition())).collect();

    let records = by_position(&parts, found.whole, &found.partial);
    let rows = records.len() / parts.len();
    let exits: Vec<&[u64]> = parts.iter().map(|part| part.exit()).collect();
    let all_here = parts.len() == communicator.size as usize;
    let mut repetition = Vec::with_capacity(rows);
    let mut complete = Vec::with_capacity(rows);
    let mut next = 0;
    for row in records.chunks_exact(parts.len()) {
        let counted = counts.iter().find(|(member, _)| row[*member] != NO_RECORD);
        let number = counted.map_or(next, |(member, counts)| counts[row[*member] as usize]);
        let finished = |(&record, exit): (&u32, &&[u64])| record != NO_RECORD && exit[record as usize] != 0;
        complete.push(all_here && row.iter().zip(&exits).all(finished));
        repetition.push(number);
        next = number.saturating_add(1);
    }
    let (mut repetition, mut records, mut complete) = (repetition, records, complete);
    if !repetition.is_sorted() {
        // Persistent collectives that were started in turn: their positions are apart.
        let mut order: Vec<usize> = (0..rows).collect();
        order.sort_by_key(|&row| repetition[row]);
        repetition = order.iter().map(|&row| repetition[row]).collect();
        complete = order.iter().map(|&row| complete[row]).collect();
        records = order.iter().flat_map(|&row| &records[row * parts.len()..(row + 1) * parts.len()]).copied().collect();
    }
    let whole = complete.iter().filter(|&&complete| complete).count() as u64;
    let operation = Operation {
        key: found.key,
        parts: communicator.members.iter().map(|&(part, _)| part).collect(),
        size: communicator.size,
        incomplete: total.max(rows as u64).saturating_sub(whole),
        repetition,
        records,
        complete,
    };
    (found.first_call, operation)
}

/// The whole and the partial rows, each by position, in one list by position.
fn by_position(parts: &[&Part], whole: Vec<u32>, partial: &[u32]) -> Vec<u32> {
    if partial.is_empty() {
        return whole;
    }
    let position = |row: &[u32]| {
        let mut kept = parts.iter().zip(row).filter(|(_, record)| **record != NO_RECORD);
        kept.next().map(|(part, &record)| part.position()[record as usize])
    };
    let mut all = Vec::with_capacity(whole.len() + partial.len());
    let mut partial = partial.chunks_exact(parts.len()).peekable();
    for row in whole.chunks_exact(parts.len()) {
        let here = position(row);
        while let Some(before) = partial.next_if(|row| position(row) < here) {
            all.extend_from_slice(before);
        }
        all.extend_from_slice(row);
    }
    partial.for_each(|row| all.extend_from_slice(row));
    all
}
