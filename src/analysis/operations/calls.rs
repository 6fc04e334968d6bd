//! The calls that each rank made on each communicator, in the order of their positions.

use std::borrow::Cow;
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
    /// Runs of one record after the other, in their own order.
    Runs(Runs),
    /// Those with these indices.
    Some(Vec<u32>),
}

/// Runs of records that follow each other.
#[derive(Clone, Default)]
pub(super) struct Runs {
    /// For each run its first record, and how many records the runs before it have.
    starts: Vec<(u32, u32)>,
    count: u32,
}

/// Shorter runs, on average, are listed: what is kept of each run is as long as some records of a list.
const LEAST_IN_A_RUN: usize = 64;

impl Runs {
    fn one(first: u32, count: u32) -> Runs {
        Runs { starts: if count > 0 { vec![(first, 0)] } else { Vec::new() }, count }
    }

    /// Appends a record behind those that are there.
    fn push(&mut self, record: u32) {
        let follows = |&(first, before): &(u32, u32)| first + (self.count - before) == record;
        if !self.starts.last().is_some_and(follows) {
            self.starts.push((record, self.count));
        }
        self.count += 1;
    }

    /// The record with this number, and how many there are from it on to the end of its run.
    fn get(&self, number: u32) -> Option<(u32, u32)> {
        if number >= self.count {
            return None;
        }
        let behind = self.starts.partition_point(|&(_, before)| before <= number);
        let (first, before) = self.starts[behind - 1];
        let end = self.starts.get(behind).map_or(self.count, |&(_, before)| before);
        Some((first + (number - before), end - number))
    }

    fn iter(&self) -> impl Iterator<Item = u32> {
        let ends = self.starts.iter().skip(1).map(|&(_, before)| before).chain([self.count]);
        self.starts.iter().zip(ends).flat_map(|(&(first, before), end)| first..first + (end - before))
    }
}

impl Calls {
    fn of(runs: Runs) -> Calls {
        match runs.starts.len() * LEAST_IN_A_RUN <= runs.count as usize || runs.starts.len() < 2 {
            true => Calls::Runs(runs),
            false => Calls::Some(runs.iter().collect()),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Calls::Runs(runs) => runs.count as usize,
            Calls::Some(records) => records.len(),
        }
    }

    fn get(&self, number: usize) -> Option<u32> {
        match self {
            Calls::Runs(runs) => Some(runs.get(u32::try_from(number).ok()?)?.0),
            Calls::Some(records) => records.get(number).copied(),
        }
    }

    /// The position of the call with this number, of which there is one, on this part.
    pub(super) fn position(&self, part: &Part, number: usize) -> u64 {
        self.get(number).map_or(u64::MAX, |record| Looked::default().position(part, record))
    }

    /// How many calls this part made before this position.
    pub(super) fn before(&self, part: &Part, position: u64) -> usize {
        let mut looked = Looked::default();
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let here = self.get(middle).map_or(u64::MAX, |record| looked.position(part, record));
            if here < position { low = middle + 1 } else { high = middle }
        }
        low
    }
}

/// Positions of the piece that was looked at last.
#[derive(Default)]
struct Looked<'a> {
    piece: Range<usize>,
    positions: Cow<'a, [u64]>,
}

impl<'a> Looked<'a> {
    fn position(&mut self, part: &'a Part, record: u32) -> u64 {
        if !self.piece.contains(&(record as usize)) {
            let piece = part.piece_with(record as usize);
            (self.piece, self.positions) = (piece.range.clone(), piece.position());
        }
        self.positions[record as usize - self.piece.start]
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
    let mut records: Vec<Runs> = vec![Runs::default(); part.communicators().len()];
    let only = entries.first().map(|entry| entry.communicator);
    let one_communicator = entries.iter().all(|entry| Some(entry.communicator) == only);
    if one_communicator && is_sorted(part) {
        // The most common program, and the largest list, are spared.
        let count = |index| if Some(index) == only { part.records() as u32 } else { 0 };
        return (0..records.len() as u32).map(|index| Calls::Runs(Runs::one(0, count(index)))).collect();
    }
    let mut last = vec![0; records.len()];
    let mut sorted = vec![true; records.len()];
    for piece in part.pieces() {
        let (operations, positions) = piece.calls();
        for ((record, operation), &position) in piece.range.clone().zip(&*operations).zip(&*positions) {
            let communicator = entries[(operation & OPERATION_MASK) as usize].communicator as usize;
            records[communicator].push(record as u32);
            sorted[communicator] &= last[communicator] <= position;
            last[communicator] = position;
        }
    }
    let calls = |(records, sorted): (Runs, bool)| {
        if sorted {
            return Calls::of(records);
        }
        // Out of order where several threads took turns on one communicator.
        let position = part.position();
        let mut records: Vec<u32> = records.iter().collect();
        records.sort_by_key(|&record| position[record as usize]);
        Calls::Some(records)
    };
    records.into_iter().zip(sorted).map(calls).collect()
}

fn is_sorted(part: &Part) -> bool {
    let ends = parallel::map(part.pieces().collect(), |piece| piece.sorted_positions());
    let Ok(ends) = ends.into_iter().collect::<Result<Vec<_>, ()>>() else { return false };
    ends.into_iter().flatten().flat_map(|(first, last)| [first, last]).is_sorted()
}

/// What is known of the records of a piece.
struct Piece<'a> {
    range: Range<usize>,
    position: Cow<'a, [u64]>,
    operation: Cow<'a, [u32]>,
    /// Not of all members.
    repetition: Option<Cow<'a, [u64]>>,
    /// Of the calls that did not return, ascending; counted from the piece's first record.
    open: Vec<usize>,
}

impl<'a> Piece<'a> {
    fn with(part: &'a Part, record: usize, counts: bool) -> Piece<'a> {
        let piece = part.piece_with(record);
        let (operation, position) = piece.calls();
        Piece {
            repetition: counts.then(|| piece.repetition_of(&operation)),
            position,
            operation,
            open: piece.open(),
            range: piece.range,
        }
    }

    fn whole(part: &'a Part) -> Piece<'a> {
        Piece {
            range: 0..part.records(),
            position: part.position().into(),
            operation: part.operation().into(),
            repetition: Some(part.repetition().into()),
            open: (0..part.records()).filter(|&record| part.exit()[record] == 0).collect(),
        }
    }
}

/// Goes through some of the calls of one member.
pub(super) struct Cursor<'a> {
    part: &'a Part,
    calls: &'a Calls,
    /// Whether the repetitions are looked at.
    counts: bool,
    piece: Option<Piece<'a>>,
    /// In place of `calls` and of their positions: records and positions by number.
    by_function: Option<Vec<(u64, u32)>>,
    /// The numbers of the calls that are left.
    left: Range<usize>,
    /// The record that comes next and its position.
    pub(super) next: Option<(u32, u64)>,
}

/// Calls of one member, one record after the other.
pub(super) struct InARow<'c> {
    /// The record of the first.
    pub first: u32,
    pub position: &'c [u64],
    /// With other bits beside [`OPERATION_MASK`].
    pub operation: &'c [u32],
    /// Where they are looked at.
    pub repetition: Option<&'c [u64]>,
    /// The indices of those that did not return, counted from `open_from` before the first.
    pub open: &'c [usize],
    pub open_from: usize,
}

impl<'a> Cursor<'a> {
    /// Through the calls with these numbers; `counts`: whether their repetitions are looked at.
    pub(super) fn new(part: &'a Part, calls: &'a Calls, numbers: Range<usize>, counts: bool) -> Self {
        let mut cursor = Cursor { part, calls, counts, piece: None, by_function: None, left: numbers, next: None };
        if let Calls::Some(records) = calls
            && !records[cursor.left.clone()].is_sorted()
        {
            // Two threads' records in turn: their pieces would be decoded again and again.
            cursor.piece = Some(Piece::whole(part));
        }
        cursor.load();
        cursor
    }

    /// Through the calls on a folded communicator, whose positions are those on many: the k-th call of a function has a
    /// position that the k-th one has on every rank, so that they share a row. They need not be of one communicator.
    /// `functions` numbers the functions, for all ranks alike.
    pub(super) fn by_function(part: &'a Part, calls: &'a Calls, functions: &mut HashMap<String, u64>) -> Self {
        let mut cursor = Cursor::new(part, calls, 0..0, true);
        let piece = Piece::whole(part);
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
            let function = of_operation[(piece.operation[record as usize] & OPERATION_MASK) as usize];
            let before = made.entry(function).or_default();
            *before += 1;
            (function << 40 | (*before - 1), record)
        };
        let mut places: Vec<(u64, u32)> = (0..calls.len()).filter_map(|number| calls.get(number)).map(place).collect();
        places.sort_unstable();
        cursor.left = 0..places.len();
        cursor.by_function = Some(places);
        cursor.piece = Some(piece);
        cursor.load();
        cursor
    }

    fn load(&mut self) {
        let number = Some(self.left.start).filter(|_| !self.left.is_empty());
        if let Some(places) = &self.by_function {
            self.next = number.map(|number| (places[number].1, places[number].0));
            return;
        }
        let Some(record) = number.and_then(|number| self.calls.get(number)) else {
            self.next = None;
            return;
        };
        let index = record as usize;
        if !self.piece.as_ref().is_some_and(|piece| piece.range.contains(&index)) {
            self.piece = Some(Piece::with(self.part, index, self.counts));
        }
        self.next = self.piece.as_ref().map(|piece| (record, piece.position[index - piece.range.start]));
    }

    /// The operation and the record of the member's call at this position, if that is the next, and on to the one
    /// after; with the call's repetition, and whether it returned.
    pub(super) fn take(&mut self, position: u64) -> (u32, u32, u64, bool) {
        match (self.next, &self.piece) {
            (Some((record, here)), Some(piece)) if here == position => {
                let index = record as usize - piece.range.start;
                let operation = piece.operation[index] & OPERATION_MASK;
                let repetition = piece.repetition.as_ref().map_or(0, |all| all[index]);
                let found = (operation, record, repetition, piece.open.binary_search(&index).is_err());
                self.skip(1);
                found
            }
            _ => (ABSENT, NO_RECORD, 0, false),
        }
    }

    /// On by so many calls.
    pub(super) fn skip(&mut self, count: usize) {
        self.left.start += count;
        self.load();
    }

    /// At most this many of the next calls, if their records are consecutive.
    pub(super) fn in_a_row(&self, most: usize) -> Option<InARow<'_>> {
        let (Calls::Runs(runs), Some((first, _)), Some(piece), None) =
            (self.calls, self.next, &self.piece, &self.by_function)
        else {
            return None;
        };
        let (_, in_run) = runs.get(u32::try_from(self.left.start).ok()?)?;
        let from = first as usize - piece.range.start;
        let until = piece.position.len().min(from + most.min(self.left.len()).min(in_run as usize));
        let open = piece.open.partition_point(|&open| open < from)..piece.open.partition_point(|&open| open < until);
        Some(InARow {
            first,
            position: &piece.position[from..until],
            operation: &piece.operation[from..until],
            repetition: piece.repetition.as_ref().map(|all| &all[from..until]),
            open: &piece.open[open],
            open_from: from,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_give_what_was_pushed(gaps in proptest::collection::vec((1u32..3, 1u32..200), 0..20)) {
            let (mut runs, mut expected, mut next) = (Runs::default(), Vec::new(), 0);
            for (gap, length) in gaps {
                next += gap;
                for record in next..next + length {
                    runs.push(record);
                    expected.push(record);
                }
                next += length;
            }
            prop_assert_eq!(runs.iter().collect::<Vec<_>>(), expected.clone());
            for (number, &record) in expected.iter().enumerate() {
                let follow = expected[number..].iter().zip(record..).take_while(|(there, here)| **there == *here);
                prop_assert_eq!(runs.get(number as u32), Some((record, follow.count() as u32)));
            }
            prop_assert_eq!(runs.get(expected.len() as u32), None);
            let calls = Calls::of(runs);
            prop_assert_eq!((0..=expected.len()).map_while(|number| calls.get(number)).collect::<Vec<_>>(), expected);
        }
    }
}
