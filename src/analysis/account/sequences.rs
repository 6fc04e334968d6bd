//! The complete repetitions of all operations, in an order that is that of the calls on each rank.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::{CompleteRows, Operations};
use mpitrace_trace::reader::Trace;

use super::walk::Walk;

/// An operation whose repetitions are gone through.
pub(crate) struct Sequence<'a> {
    /// The operation's number.
    pub number: usize,
    pub walk: Walk<'a>,
    pub rows: CompleteRows,
    /// The place of the next one among the complete ones.
    pub place: usize,
    /// Members whose next call it is.
    arrived: usize,
}

/// Goes through them. Memory is for a call of each member of each operation.
pub(crate) struct Sequences<'a> {
    pub all: Vec<Sequence<'a>>,
    /// For each part the next record of each operation that it takes part in.
    next: Vec<BinaryHeap<Reverse<(u32, u32)>>>,
    /// Operations whose next repetition is the next call of each member.
    ready: Vec<u32>,
}

impl<'a> Sequence<'a> {
    /// The record of each member, with the member's part.
    fn records(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let row = (self.place < self.rows.len()).then(|| self.walk.records(self.rows.get(self.place)));
        row.into_iter()
            .flat_map(|row| self.walk.members.iter().map(move |member| (member.index, row.get(member.place))))
    }
}

impl<'a> Sequences<'a> {
    /// The sequences of the operations of a run that are wanted, by number; none of regions.
    pub fn of_run(
        trace: &'a Trace,
        clock: &'a Clock,
        operations: &'a Operations,
        wanted: impl Fn(usize) -> bool,
    ) -> Sequences<'a> {
        let all = operations.operations.iter().enumerate();
        let all = all.filter(|(number, operation)| !operation.key.is_region && wanted(*number));
        let sequence = |(number, operation)| {
            let walk = Walk::over(trace, clock, operation)?.read_by_part();
            Some(Sequence { number, walk, rows: operation.complete(), place: 0, arrived: 0 })
        };
        let all: Vec<Sequence> = all.filter_map(sequence).collect();
        let mut next = vec![BinaryHeap::new(); trace.parts.len()];
        for (slot, sequence) in (0..).zip(&all) {
            sequence.records().for_each(|(part, record)| next[part].push(Reverse((record, slot))));
        }
        let mut sequences = Sequences { all, next, ready: Vec::new() };
        (0..trace.parts.len()).for_each(|part| sequences.arrive(part));
        sequences
    }

    /// The index of the operation whose repetition at its place comes next. `None`: at the end, or the calls of two
    /// ranks have no common order.
    pub fn pop(&mut self) -> Option<usize> {
        self.ready.pop().map(|slot| slot as usize)
    }

    /// Goes on behind the repetition of this operation that came last.
    pub fn advance(&mut self, slot: usize) {
        let sequence = &mut self.all[slot];
        (sequence.place, sequence.arrived) = (sequence.place + 1, 0);
        let sequence = &self.all[slot];
        if sequence.place == sequence.rows.len() {
            for member in &sequence.walk.members {
                self.next[member.index].pop();
            }
        }
        for (part, record) in sequence.records() {
            if let Some(mut first) = self.next[part].peek_mut() {
                *first = Reverse((record, slot as u32));
            }
        }
        for at in 0..self.all[slot].walk.members.len() {
            self.arrive(self.all[slot].walk.members[at].index);
        }
    }

    /// True: all of them were gone through.
    pub fn is_at_end(&self) -> bool {
        self.next.iter().all(BinaryHeap::is_empty)
    }

    fn arrive(&mut self, part: usize) {
        let Some(&Reverse((_, slot))) = self.next[part].peek() else { return };
        let sequence = &mut self.all[slot as usize];
        sequence.arrived += 1;
        if sequence.arrived == sequence.walk.members.len() {
            self.ready.push(slot);
        }
    }
}
