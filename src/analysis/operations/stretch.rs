//! A stretch of positions on a communicator: the calls of all members there, matched by one processor.

use mpitrace_format::layout::OPERATION_MASK;

use super::NO_RECORD;
use super::calls::{ABSENT, Cursor};
use super::matching::Matching;

/// Calls that are looked at together: their positions and operations stay in the processor's nearest cache.
const TOGETHER: usize = 1024;

/// In place of an operation: the calls of this tuple may not belong together.
const MISMATCHED: usize = usize::MAX;

/// What a stretch of positions holds.
pub(super) struct Stretch<'a> {
    pub matching: Matching<'a>,
    /// For each operation found: the records of the repetitions that all members kept.
    pub records: Vec<Vec<u32>>,
    /// Positions at which a member has no record, or the calls may not belong together; what the others called there, and their records.
    pub gaps: Vec<u64>,
    pub beside_gaps: Vec<u32>,
    /// For each operation of the first member the tuple that it last was in, with its operation: seldom another one.
    last: Vec<(Box<[u32]>, usize)>,
}

impl<'a> Stretch<'a> {
    pub fn of(matching: Matching<'a>, mut cursors: Vec<Cursor<'a>>) -> Self {
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

    /// Takes the calls that come next of all members, if they are at the same positions, one record after the other:
    /// most are.
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
            match self.operation(&tuple, position) {
                MISMATCHED => {
                    self.gaps.push(position);
                    self.beside_gaps.extend_from_slice(&tuple);
                    self.beside_gaps.extend(rows.iter().map(|(record, _)| record + row));
                }
                operation => self.records[operation].extend(rows.iter().map(|(record, _)| record + row)),
            }
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
            let operation = if tuple.contains(&ABSENT) { MISMATCHED } else { self.operation(&tuple, position) };
            if operation == MISMATCHED {
                self.gaps.push(position);
                self.beside_gaps.extend_from_slice(&tuple);
                self.beside_gaps.extend_from_slice(&records);
            } else {
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
        let operation = match self.matching.groups(tuple) {
            Some(_) => MISMATCHED,
            None => self.matching.of_tuple(tuple, position),
        };
        self.records.resize(self.matching.found.len(), Vec::new());
        if self.last.len() <= first {
            self.last.resize(first + 1, Default::default());
        }
        self.last[first] = (tuple.into(), operation);
        operation
    }
}
