//! Matches the calls on each communicator by their positions.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use mpitrace_format::layout::{NO_ROOT, OPERATION_MASK, OperationEntry, UNKNOWN_BYTES};

use super::calls::{self, ABSENT, Calls, Cursor};
use super::communicators::{self, Communicator};
use super::{CallSite, NO_RECORD, Operation, OperationKey, Operations};
use crate::parallel;
use crate::reader::{Part, Trace};

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
    /// The tuples that it consists of, and the position at which each was first seen.
    tuples: Vec<(Box<[u32]>, u64)>,
    /// The records of the repetitions that all members kept, as many for each as there are members, by position; in pieces that
    /// follow each other.
    whole: Vec<Vec<u32>>,
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
        let stretches = parallel::map(self.stretches(calls), |numbers| {
            let parts = self.parts().zip(calls).zip(numbers);
            let cursors = parts.map(|((part, calls), numbers)| Cursor::new(part, calls, numbers)).collect();
            Stretch::of(Matching::new(self.trace, self.communicator), cursors)
        });
        let mut gaps = Vec::new();
        for stretch in stretches {
            for (found, records) in stretch.matching.found.into_iter().zip(stretch.records) {
                let operations = found.tuples.iter().map(|(tuple, position)| self.of_tuple(tuple, *position));
                // They make one operation, here as there.
                if let Some(operation) = operations.last() {
                    self.found[operation].whole.push(records);
                }
            }
            gaps.push((stretch.gaps, stretch.beside_gaps));
        }
        // What some ranks lack is sorted in last, when it is known what their calls can belong to.
        let members = self.communicator.members.len();
        for (gaps, beside_gaps) in gaps {
            for (gap, beside) in gaps.iter().zip(beside_gaps.chunks_exact(2 * members)) {
                let (tuple, records) = beside.split_at(members);
                let operation = self.of_partial_tuple(tuple, *gap);
                self.found[operation].partial.extend_from_slice(records);
            }
        }
        self.add_operations_without_records();
        let Matching { trace, communicator, found, shares, .. } = self;
        found.into_iter().map(|found| finish(trace, communicator, &shares, found)).collect()
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

/// Calls that are looked at together: their positions and operations stay in the processor's nearest cache.
const TOGETHER: usize = 1024;

/// What a stretch of positions holds.
struct Stretch<'a> {
    matching: Matching<'a>,
    /// For each operation found: the records of the repetitions that all members kept.
    records: Vec<Vec<u32>>,
    /// Positions at which a member has no record; what the others called there, and their records.
    gaps: Vec<u64>,
    beside_gaps: Vec<u32>,
    /// For each operation of the first member the tuple that it last was in, with its operation: seldom another one.
    last: Vec<(Box<[u32]>, usize)>,
}

impl<'a> Stretch<'a> {
    fn of(matching: Matching<'a>, mut cursors: Vec<Cursor<'a>>) -> Self {
        let (records, gaps, beside_gaps, last) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut stretch = Stretch { matching, records, gaps, beside_gaps, last };
        let mut rows = Vec::new();
        loop {
            while stretch.together(&mut cursors, &mut rows) {}
            if !stretch.one_by_one(&mut cursors) {
                return stretch;
            }
        }
    }

    /// Takes the calls that come next of all members, if they are at the same positions, one record after the other: most are.
    fn together(&mut self, cursors: &mut [Cursor<'a>], rows: &mut Vec<(u32, &'a [u32])>) -> bool {
        rows.clear();
        let Some((_, mut positions, _)) = cursors.first().and_then(|cursor| cursor.in_a_row(TOGETHER)) else {
            return false;
        };
        for cursor in &*cursors {
            let Some((record, own, operations)) = cursor.in_a_row(positions.len()) else { return false };
            positions = &positions[..own.len()];
            if own != positions {
                return false;
            }
            rows.push((record, operations));
        }
        let mut tuple = vec![ABSENT; rows.len()];
        for (row, &position) in (0u32..).zip(positions) {
            for (operation, (_, operations)) in tuple.iter_mut().zip(&*rows) {
                *operation = operations[row as usize] & OPERATION_MASK;
            }
            let operation = self.operation(&tuple, position);
            self.records[operation].extend(rows.iter().map(|(record, _)| record + row));
        }
        cursors.iter_mut().for_each(|cursor| cursor.skip(positions.len()));
        true
    }

    /// Takes some calls in the order of their positions; `false` at the end.
    fn one_by_one(&mut self, cursors: &mut [Cursor<'a>]) -> bool {
        let mut tuple = vec![ABSENT; cursors.len()];
        let mut records = vec![NO_RECORD; cursors.len()];
        for _ in 0..TOGETHER {
            let Some(position) = cursors.iter().filter_map(|cursor| Some(cursor.next?.1)).min() else {
                return false;
            };
            for (cursor, (operation, record)) in cursors.iter_mut().zip(tuple.iter_mut().zip(&mut records)) {
                (*operation, *record) = cursor.take(position);
            }
            if tuple.contains(&ABSENT) {
                self.gaps.push(position);
                self.beside_gaps.extend_from_slice(&tuple);
                self.beside_gaps.extend_from_slice(&records);
            } else {
                let operation = self.operation(&tuple, position);
                self.records[operation].extend_from_slice(&records);
            }
        }
        true
    }

    #[inline]
    fn operation(&mut self, tuple: &[u32], position: u64) -> usize {
        // Compared one by one: shorter than a call of memcmp for most numbers of ranks.
        match self.last.get(tuple[0] as usize) {
            Some((known, operation)) if known.iter().eq(tuple) => *operation,
            _ => self.other_operation(tuple, position),
        }
    }

    #[cold]
    fn other_operation(&mut self, tuple: &[u32], position: u64) -> usize {
        let first = tuple[0] as usize;
        let operation = self.matching.of_tuple(tuple, position);
        self.records.resize(self.matching.found.len(), Vec::new());
        if self.last.len() <= first {
            self.last.resize(first + 1, Default::default());
        }
        self.last[first] = (tuple.into(), operation);
        operation
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
            let mut ways = found.tuples.iter().map(|(tuple, _)| tuple[member]).filter(|&local| local != ABSENT);
            let way = ways.next()?;
            let alone = ways.all(|other| other == way) && shares[member].get(&way).is_some_and(|all| all.len() == 1);
            alone.then_some((member, way))
        })
        .collect();
    let calls = counting.iter().map(|&(member, way)| parts[member].operations()[way as usize].calls);
    let total = calls.max().unwrap_or(0);
    let counts: Vec<(usize, &[u64])> =
        counting.iter().map(|&(member, _)| (member, parts[member].repetition())).collect();

    let exits: Vec<&[u64]> = parts.iter().map(|part| part.exit()).collect();
    let all_here = parts.len() == communicator.size as usize;
    let finished = |(&record, exit): (&u32, &&[u64])| record != NO_RECORD && exit[record as usize] != 0;
    let is_complete = |row: &[u32]| all_here && row.iter().zip(&exits).all(finished);

    let mut records = by_position(&parts, found.whole, &found.partial);
    let rows = records.len() / parts.len();
    let (mut repetition, mut complete) = (vec![0; rows], vec![false; rows]);
    // The number of a row that nobody has counted follows from the one before.
    let counted_all = found.partial.is_empty() && !counts.is_empty();
    let at_once = if counted_all { parallel::share(rows) } else { rows.max(1) };
    let of_pieces = records.chunks(at_once * parts.len());
    let places = of_pieces.zip(repetition.chunks_mut(at_once)).zip(complete.chunks_mut(at_once));
    parallel::map(places.collect(), |((records, numbers), complete)| {
        let mut next = 0;
        for ((row, number), complete) in records.chunks_exact(parts.len()).zip(numbers).zip(complete) {
            let counted = counts.iter().find(|(member, _)| row[*member] != NO_RECORD);
            *number = counted.map_or(next, |(member, counts)| counts[row[*member] as usize]);
            next = number.saturating_add(1);
            *complete = is_complete(row);
        }
    });
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
fn by_position(parts: &[&Part], whole: Vec<Vec<u32>>, partial: &[u32]) -> Vec<u32> {
    let length = whole.iter().map(Vec::len).sum::<usize>() + partial.len();
    if partial.is_empty() {
        // The first piece grows: half of the copies where there are two.
        let mut pieces = whole.into_iter();
        let mut all = pieces.next().unwrap_or_default();
        all.reserve_exact(length - all.len());
        pieces.for_each(|piece| all.extend_from_slice(&piece));
        return all;
    }
    let position = |row: &[u32]| {
        let mut kept = parts.iter().zip(row).filter(|(_, record)| **record != NO_RECORD);
        kept.next().map(|(part, &record)| part.position()[record as usize])
    };
    let mut all = Vec::with_capacity(length);
    let mut partial = partial.chunks_exact(parts.len()).peekable();
    for row in whole.iter().flat_map(|piece| piece.chunks_exact(parts.len())) {
        let here = position(row);
        while let Some(before) = partial.next_if(|row| position(row) < here) {
            all.extend_from_slice(before);
        }
        all.extend_from_slice(row);
    }
    partial.for_each(|row| all.extend_from_slice(row));
    all
}
