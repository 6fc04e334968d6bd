//! The calls that each rank made on each communicator, in the order of their positions.

use std::collections::HashMap;
use std::ops::Range;

use mpitrace_format::layout::OPERATION_MASK;

use super::NO_RECORD;
use crate::parallel;
use crate::reader::{Part, Trace};

/// The operation of a rank that made no call.
pub(super) const ABSENT: u32 = u32::MAX;

/// A member's records on one communicator, by position.
pub(super) enum Calls {
    /// All that the rank has, this many, in their own order.
    All(u32),
    /// Those with these indices.
    Some(Vec<u32>),
}

impl Calls {
    pub(super) fn len(&self) -> usize {
        match self {
            Calls::All(count) => *count as usize,
            Calls::Some(records) => records.len(),
        }
    }

    fn get(&self, number: usize) -> Option<u32> {
        match self {
            Calls::All(count) => u32::try_from(number).ok().filter(|number| number < count),
            Calls::Some(records) => records.get(number).copied(),
        }
    }

    /// The position of the call with this number, of which there is one, on this part.
    pub(super) fn position(&self, part: &Part, number: usize) -> u64 {
        self.get(number).map_or(u64::MAX, |record| part.position()[record as usize])
    }

    /// How many calls this part made before this position.
    pub(super) fn before(&self, part: &Part, position: u64) -> usize {
        let positions = part.position();
        match self {
            Calls::All(count) => positions[..*count as usize].partition_point(|&here| here < position),
            Calls::Some(records) => records.partition_point(|&record| positions[record as usize] < position),
        }
    }
}

/// For each communicator the calls of each of its members.
pub(super) fn by_communicator(trace: &Trace, numbers: &[Vec<usize>], communicators: usize) -> Vec<Vec<Calls>> {
    let mut calls: Vec<Vec<Calls>> = (0..communicators).map(|_| Vec::new()).collect();
    let of_parts = parallel::map(trace.parts.iter().collect(), of_part);
    for (part, of_part) in of_parts.into_iter().enumerate() {
        for (index, of_communicator) in of_part.into_iter().enumerate() {
            calls[numbers[part][index]].push(of_communicator);
        }
    }
    calls
}

/// The calls of one rank on each of its communicators.
fn of_part(part: &Part) -> Vec<Calls> {
    let entries = part.operations();
    let position = part.position();
    let mut records: Vec<Vec<u32>> = vec![Vec::new(); part.communicators().len()];
    let only = entries.first().map(|entry| entry.communicator);
    let one_communicator = entries.iter().all(|entry| Some(entry.communicator) == only);
    if one_communicator && is_sorted(position) {
        // The most common program, and the largest list, are spared.
        let count = |index| if Some(index) == only { part.records() as u32 } else { 0 };
        return (0..records.len() as u32).map(|index| Calls::All(count(index))).collect();
    }
    for (record, operation) in (0u32..).zip(part.operation()) {
        let entry = &entries[(operation & OPERATION_MASK) as usize];
        records[entry.communicator as usize].push(record);
    }
    for records in &mut records {
        // Out of order where several threads took turns on one communicator.
        if !records.is_sorted_by_key(|&record| position[record as usize]) {
            records.sort_by_key(|&record| position[record as usize]);
        }
    }
    records.into_iter().map(Calls::Some).collect()
}

fn is_sorted(column: &[u64]) -> bool {
    // With the first of the next piece.
    let sorted = |piece: Range<usize>| column[piece.start..column.len().min(piece.end + 1)].is_sorted();
    parallel::map(parallel::pieces(column.len()), sorted).into_iter().all(|sorted| sorted)
}

/// Goes through some of the calls of one member.
pub(super) struct Cursor<'a> {
    calls: &'a Calls,
    position: &'a [u64],
    operation: &'a [u32],
    /// In place of `calls` and of their positions: records and positions by number.
    by_function: Option<Vec<(u64, u32)>>,
    /// The numbers of the calls that are left.
    left: Range<usize>,
    /// The record that comes next and its position.
    pub(super) next: Option<(u32, u64)>,
}

impl<'a> Cursor<'a> {
    /// Through the calls with these numbers.
    pub(super) fn new(part: &'a Part, calls: &'a Calls, numbers: Range<usize>) -> Self {
        let (position, operation) = (part.position(), part.operation());
        let mut cursor = Cursor { calls, position, operation, by_function: None, left: numbers, next: None };
        cursor.load();
        cursor
    }

    /// Through the calls on a folded communicator, whose positions are those on many: the k-th call of a function has a
    /// position that the k-th one has on every rank, so that they share a row. They need not be of one communicator.
    /// `functions` numbers the functions, for all ranks alike.
    pub(super) fn by_function(part: &'a Part, calls: &'a Calls, functions: &mut HashMap<String, u64>) -> Self {
        let mut cursor = Cursor::new(part, calls, 0..0);
        let of_operation: Vec<u64> = part
            .operations()
            .iter()
            .map(|entry| {
                let next = functions.len() as u64;
                *functions.entry(part.text(entry.function).unwrap_or_default()).or_insert(next)
            })
            .collect();
        let mut made: HashMap<u64, u64> = HashMap::new();
        let place = |record: u32| {
            let function = of_operation[(cursor.operation[record as usize] & OPERATION_MASK) as usize];
            let before = made.entry(function).or_default();
            *before += 1;
            (function << 40 | (*before - 1), record)
        };
        let mut places: Vec<(u64, u32)> = (0..calls.len()).filter_map(|number| calls.get(number)).map(place).collect();
        places.sort_unstable();
        cursor.left = 0..places.len();
        cursor.by_function = Some(places);
        cursor.load();
        cursor
    }

    fn load(&mut self) {
        let number = Some(self.left.start).filter(|_| !self.left.is_empty());
        if let Some(places) = &self.by_function {
            self.next = number.map(|number| (places[number].1, places[number].0));
            return;
        }
        self.next =
            number.and_then(|number| self.calls.get(number)).map(|record| (record, self.position[record as usize]));
    }

    /// The operation and the record of the member's call at this position, if that is the next, and on to the one
    /// after.
    pub(super) fn take(&mut self, position: u64) -> (u32, u32) {
        match self.next {
            Some((record, here)) if here == position => {
                self.skip(1);
                (self.operation[record as usize] & OPERATION_MASK, record)
            }
            _ => (ABSENT, NO_RECORD),
        }
    }

    /// On by so many calls.
    pub(super) fn skip(&mut self, count: usize) {
        self.left.start += count;
        self.load();
    }

    /// Of the calls that come next, if they are one record after the other: the first one's record, and of up to so
    /// many the positions and the operations, with other bits beside [`OPERATION_MASK`].
    pub(super) fn in_a_row(&self, most: usize) -> Option<(u32, &'a [u64], &'a [u32])> {
        let (Calls::All(_), Some((first, _)), None) = (self.calls, self.next, &self.by_function) else { return None };
        let range = self.left.start..self.left.end.min(self.left.start + most);
        Some((first, &self.position[range.clone()], &self.operation[range]))
    }
}
