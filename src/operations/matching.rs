//! Matches the calls on each communicator by their positions.

use std::collections::{BTreeSet, HashMap};

use super::communicators::{self, Communicator};
use super::{NO_RECORD, Operation, OperationKey, Operations};
use crate::trace::Trace;
use crate::trace::layout::{NO_ROOT, OPERATION_MASK, OperationEntry, UNKNOWN_BYTES};

/// The operation of a rank that is not in a tuple.
const ABSENT: u32 = u32::MAX;

pub(super) fn operations(trace: &Trace) -> Operations {
    let (communicators, numbers) = communicators::number(trace);
    let mut calls = calls_by_communicator(trace, &numbers, communicators.len());
    let mut operations = Vec::new();
    for communicator in &communicators {
        let calls = std::mem::take(&mut calls[communicator.id]);
        operations.extend(Matching::new(trace, communicator).run(&calls));
    }
    operations.sort_by_key(|(first_call, _)| *first_call);
    Operations {
        communicators,
        operations: operations.into_iter().map(|(_, operation)| operation).collect(),
    }
}

/// For each communicator, for each of its members: the indices of the member's records on it, by position.
fn calls_by_communicator(trace: &Trace, numbers: &[Vec<usize>], communicators: usize) -> Vec<Vec<Vec<u32>>> {
    let mut calls: Vec<Vec<Vec<u32>>> = vec![Vec::new(); communicators];
    for (part, content) in trace.parts.iter().enumerate() {
        let mut local: Vec<Vec<u32>> = vec![Vec::new(); content.communicators().len()];
        let entries = content.operations();
        for (record, operation) in (0u32..).zip(content.operation()) {
            let entry = &entries[(operation & OPERATION_MASK) as usize];
            local[entry.communicator as usize].push(record);
        }
        let position = content.position();
        for (index, mut records) in local.into_iter().enumerate() {
            // Out of order where several threads took turns on one communicator.
            if !records.is_sorted_by_key(|&record| position[record as usize]) {
                records.sort_by_key(|&record| position[record as usize]);
            }
            calls[numbers[part][index]].push(records);
        }
    }
    calls
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
    rows: Vec<Row>,
    first_call: FirstCall,
    /// The tuples that it consists of.
    tuples: Vec<Box<[u32]>>,
}

struct Row {
    position: u64,
    records: Box<[u32]>,
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

    fn run(mut self, calls: &[Vec<u32>]) -> Vec<(FirstCall, Operation)> {
        let members = self.communicator.members.len();
        let mut cursors = vec![0; members];
        let mut partial: Vec<(Box<[u32]>, Row)> = Vec::new();
        let mut tuple = vec![ABSENT; members];
        let mut records = vec![NO_RECORD; members];
        while let Some(position) = self.next_position(calls, &cursors) {
            for (member, &(part, _)) in self.communicator.members.iter().enumerate() {
                let content = &self.trace.parts[part];
                let record = calls[member].get(cursors[member]).copied();
                match record.filter(|&record| content.position()[record as usize] == position) {
                    Some(record) => {
                        tuple[member] = content.operation()[record as usize] & OPERATION_MASK;
                        records[member] = record;
                        cursors[member] += 1;
                    }
                    None => (tuple[member], records[member]) = (ABSENT, NO_RECORD),
                }
            }
            let row = Row {
                position,
                records: records.clone().into(),
            };
            if tuple.contains(&ABSENT) {
                partial.push((tuple.clone().into(), row));
            } else {
                let operation = self.of_tuple(&tuple, position);
                self.found[operation].rows.push(row);
            }
        }
        // What some ranks lack is sorted in last, when it is known what their calls can belong to.
        for (tuple, row) in partial {
            let operation = self.of_partial_tuple(&tuple, row.position);
            self.found[operation].rows.push(row);
        }
        self.add_operations_without_records();
        let Matching {
            trace,
            communicator,
            found,
            shares,
            ..
        } = self;
        found
            .into_iter()
            .map(|found| finish(trace, communicator, &shares, found))
            .collect()
    }

    /// The lowest position that any member's next record has.
    fn next_position(&self, calls: &[Vec<u32>], cursors: &[usize]) -> Option<u64> {
        let next = self.communicator.members.iter().zip(calls).zip(cursors);
        next.filter_map(|((&(part, _), calls), &cursor)| {
            calls
                .get(cursor)
                .map(|&record| self.trace.parts[part].position()[record as usize])
        })
        .min()
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
            self.found.push(Found {
                key,
                rows: Vec::new(),
                first_call,
                tuples: Vec::new(),
            });
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
            Some(candidates) if candidates.len() == 1 => candidates.into_iter().next().unwrap_or(0),
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
            let members = self
                .communicator
                .members
                .iter()
                .zip(tuple)
                .filter(|(_, local)| **local != ABSENT);
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
            bytes: present()
                .map(|(_, entry)| entry.bytes)
                .filter(|&bytes| bytes != UNKNOWN_BYTES)
                .max(),
            // On an intercommunicator only the group that does not hold the root passes its rank.
            root: present()
                .map(|(_, entry)| entry.root)
                .filter(|&root| root != NO_ROOT)
                .max(),
            datatype: text(|entry| entry.datatype),
            reduction: text(|entry| entry.reduction),
        }
    }
}

/// Counts the repetitions of one operation.
fn finish(
    trace: &Trace,
    communicator: &Communicator,
    shares: &[HashMap<u32, BTreeSet<usize>>],
    mut found: Found,
) -> (FirstCall, Operation) {
    found.rows.sort_by_key(|row| row.position);
    // A member that calls this operation in one way only, and no other in that way, has itself counted the repetitions,
    // those that it did not keep included.
    let counting: Vec<Option<u32>> = (0..communicator.members.len())
        .map(|member| {
            let mut ways = found
                .tuples
                .iter()
                .map(|tuple| tuple[member])
                .filter(|&local| local != ABSENT);
            let way = ways.next()?;
            let alone = ways.all(|other| other == way) && shares[member].get(&way).is_some_and(|all| all.len() == 1);
            alone.then_some(way)
        })
        .collect();
    let calls = communicator
        .members
        .iter()
        .zip(&counting)
        .filter_map(|(&(part, _), way)| way.map(|local| trace.parts[part].operations()[local as usize].calls));
    let total = calls.max().unwrap_or(0);

    let mut repetition = Vec::with_capacity(found.rows.len());
    let mut complete = Vec::with_capacity(found.rows.len());
    let mut records = Vec::with_capacity(found.rows.len() * communicator.members.len());
    let mut next = 0;
    let all_here = communicator.members.len() == communicator.size as usize;
    for row in &found.rows {
        let members = || {
            communicator
                .members
                .iter()
                .zip(&row.records)
                .filter(|(_, record)| **record != NO_RECORD)
        };
        let counted =
            communicator
                .members
                .iter()
                .zip(&row.records)
                .zip(&counting)
                .find_map(|((member, &record), way)| {
                    way.filter(|_| record != NO_RECORD)
                        .map(|_| trace.parts[member.0].repetition()[record as usize])
                });
        let number = counted.unwrap_or(next);
        let finished = members()
            .filter(|&(&(part, _), &record)| trace.parts[part].exit()[record as usize] != 0)
            .count();
        complete.push(all_here && finished == communicator.members.len());
        repetition.push(number);
        records.extend_from_slice(&row.records);
        next = number.saturating_add(1);
    }
    let whole = complete.iter().filter(|&&complete| complete).count() as u64;
    let operation = Operation {
        key: found.key,
        parts: communicator.members.iter().map(|&(part, _)| part).collect(),
        size: communicator.size,
        incomplete: total.max(found.rows.len() as u64).saturating_sub(whole),
        repetition,
        records,
        complete,
    };
    (found.first_call, operation)
}
