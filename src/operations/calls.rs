//! The calls that each rank made on each communicator, in the order of their positions.

use super::NO_RECORD;
use crate::trace::layout::OPERATION_MASK;
use crate::trace::{Part, Trace};

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
    fn get(&self, number: usize) -> Option<u32> {
        match self {
            Calls::All(count) => u32::try_from(number).ok().filter(|number| number < count),
            Calls::Some(records) => records.get(number).copied(),
        }
    }
}

/// For each communicator the calls of each of its members.
pub(super) fn by_communicator(trace: &Trace, numbers: &[Vec<usize>], communicators: usize) -> Vec<Vec<Calls>> {
    let mut calls: Vec<Vec<Calls>> = (0..communicators).map(|_| Vec::new()).collect();
    for (part, content) in trace.parts.iter().enumerate() {
        for (index, of_communicator) in of_part(content).into_iter().enumerate() {
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
    if one_communicator && position.is_sorted() {
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

/// Goes through the calls of one member.
pub(super) struct Cursor<'a> {
    calls: &'a Calls,
    position: &'a [u64],
    operation: &'a [u32],
    at: usize,
    /// The record that comes next and its position.
    pub(super) next: Option<(u32, u64)>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(part: &'a Part, calls: &'a Calls) -> Self {
        let mut cursor = Cursor { calls, position: part.position(), operation: part.operation(), at: 0, next: None };
        cursor.load();
        cursor
    }

    fn load(&mut self) {
        self.next = self.calls.get(self.at).map(|record| (record, self.position[record as usize]));
    }

    /// The operation and the record of the member's call at this position, if that is the next, and on to the one after.
    pub(super) fn take(&mut self, position: u64) -> (u32, u32) {
        match self.next {
            Some((record, here)) if here == position => {
                self.at += 1;
                self.load();
                (self.operation[record as usize] & OPERATION_MASK, record)
            }
            _ => (ABSENT, NO_RECORD),
        }
    }
}
