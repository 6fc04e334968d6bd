//! Goes through the calls of one member of a communicator.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use mpitrace_format::layout::OPERATION_MASK;

use super::NO_RECORD;
use super::records::Calls;
use crate::reader::Part;

/// The operation of a rank that made no call.
pub(super) const ABSENT: u32 = u32::MAX;

/// The records of a block, or of all.
struct Piece {
    range: Range<usize>,
    position: Vec<u64>,
    operation: Vec<u32>,
    /// Not of all members.
    repetition: Option<Vec<u64>>,
    /// The calls that did not return, ascending; counted from the piece's first record.
    open: Vec<usize>,
}

impl Piece {
    fn with(part: &Part, record: usize, counts: bool) -> Piece {
        let block = part.block_with(record);
        let (operation, position) = block.calls();
        let repetition = counts.then(|| block.repetition(&operation));
        Piece { repetition, position, operation, open: block.open(), range: block.range }
    }

    fn whole(part: &Part) -> Piece {
        let mut whole = Piece {
            range: 0..part.records(),
            position: Vec::with_capacity(part.records()),
            operation: Vec::with_capacity(part.records()),
            repetition: None,
            open: Vec::new(),
        };
        let mut repetition = Vec::with_capacity(part.records());
        for block in part.blocks() {
            let (operations, positions) = block.calls();
            repetition.extend(block.repetition(&operations));
            whole.position.extend(positions);
            whole.operation.extend(operations);
            whole.open.extend(block.open().into_iter().map(|index| block.range.start + index));
        }
        Piece { repetition: Some(repetition), ..whole }
    }
}

pub(super) struct Cursor<'a> {
    part: &'a Part,
    calls: &'a Calls,
    /// True if the repetitions are looked at.
    counts: bool,
    piece: Option<Piece>,
    /// In place of `calls` and of their positions: records and positions by number.
    by_function: Option<Vec<(u64, u32)>>,
    /// The numbers of the calls that are left.
    left: Range<usize>,
    /// The record that comes next and its position.
    pub(super) next: Option<(u32, u64)>,
}

/// Calls of one member that come next, all of one piece.
pub(super) struct NextCalls<'c> {
    /// The record of the first.
    pub first: u32,
    /// How many records behind the first each is, ascending; `None`: one record after the other.
    behind: Option<Vec<u16>>,
    pub position: Cow<'c, [u64]>,
    /// With other bits beside [`OPERATION_MASK`].
    pub operation: Cow<'c, [u32]>,
    /// Where they are looked at.
    pub repetition: Option<Cow<'c, [u64]>>,
    /// The places among these calls of those that did not return, ascending.
    pub open: Vec<usize>,
}

impl NextCalls<'_> {
    pub(super) fn len(&self) -> usize {
        self.position.len()
    }

    /// How many records behind the first a call is.
    pub(super) fn behind(&self, index: usize) -> u16 {
        self.behind.as_ref().map_or(index as u16, |behind| behind[index])
    }

    /// How far several calls are behind.
    pub(super) fn all_behind<'b>(&self, indices: &'b [u16]) -> Cow<'b, [u16]> {
        match &self.behind {
            None => indices.into(),
            Some(behind) => indices.iter().map(|&index| behind[usize::from(index)]).collect(),
        }
    }

    /// How many of the calls of two members are at the same positions, their records equally far behind the first.
    pub(super) fn as_far_as(&self, other: &NextCalls) -> usize {
        let count = self.len().min(other.len());
        let (position, behind) = (&self.position[..count], self.behind.as_ref().map(|behind| &behind[..count]));
        let of_other = other.behind.as_ref().map(|behind| &behind[..count]);
        if position == &other.position[..count] && behind == of_other {
            return count;
        }
        let same =
            |&index: &usize| self.position[index] == other.position[index] && self.behind(index) == other.behind(index);
        (0..count).take_while(same).count()
    }
}

impl<'a> Cursor<'a> {
    /// Through the calls with these numbers; `counts`: whether their repetitions are looked at.
    pub(super) fn new(part: &'a Part, calls: &'a Calls, numbers: Range<usize>, counts: bool) -> Self {
        let mut cursor = Cursor { part, calls, counts, piece: None, by_function: None, left: numbers, next: None };
        if let Calls::Listed(records) = calls
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

    pub(super) fn skip(&mut self, count: usize) {
        self.left.start += count;
        self.load();
    }

    /// The next calls, at most this many; `None` at the end, and where calls are taken by function.
    pub(super) fn next_calls(&self, most: usize) -> Option<NextCalls<'_>> {
        let ((first, _), piece) = (self.next?, self.piece.as_ref().filter(|_| self.by_function.is_none())?);
        let most = most.min(self.left.len());
        match self.calls {
            Calls::Runs(runs) => {
                let (_, in_run) = runs.get(u32::try_from(self.left.start).ok()?)?;
                let from = first as usize - piece.range.start;
                let until = piece.position.len().min(from + most.min(in_run as usize));
                let open =
                    piece.open.partition_point(|&open| open < from)..piece.open.partition_point(|&open| open < until);
                Some(NextCalls {
                    first,
                    behind: None,
                    position: Cow::from(&piece.position[from..until]),
                    operation: Cow::from(&piece.operation[from..until]),
                    repetition: piece.repetition.as_ref().map(|all| Cow::from(&all[from..until])),
                    open: piece.open[open].iter().map(|open| open - from).collect(),
                })
            }
            calls => {
                let end = piece.range.end.min(first as usize + usize::from(u16::MAX));
                let mut records = Vec::with_capacity(most);
                records.push(first);
                let mut last = first;
                let later = self.left.start + 1..self.left.start + most;
                let ascending =
                    |&record: &u32| (std::mem::replace(&mut last, record) < record) && (record as usize) < end;
                records.extend(later.filter_map(|number| calls.get(number)).take_while(ascending));
                let index = |&record: &u32| record as usize - piece.range.start;
                let is_open = |(_, record): &(usize, &u32)| piece.open.binary_search(&index(record)).is_ok();
                let open = match piece.open.is_empty() {
                    true => Vec::new(),
                    false => records.iter().enumerate().filter(is_open).map(|(place, _)| place).collect(),
                };
                let counted = |all: &Vec<u64>| records.iter().map(|record| all[index(record)]).collect();
                Some(NextCalls {
                    first,
                    behind: Some(records.iter().map(|record| (record - first) as u16).collect()),
                    position: records.iter().map(|record| piece.position[index(record)]).collect(),
                    operation: records.iter().map(|record| piece.operation[index(record)]).collect(),
                    repetition: piece.repetition.as_ref().map(counted),
                    open,
                })
            }
        }
    }
}
