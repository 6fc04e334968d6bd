//! A stretch of positions on a communicator: the calls of all members there, matched by one processor.

use mpitrace_format::layout::OPERATION_MASK;

use super::NO_RECORD;
use super::calls::{ABSENT, Cursor, InARow};
use super::matching::{Matching, Whole};

/// Calls that are looked at together: their positions and operations stay in the processor's nearer caches, and their
/// distance from the first fits into 16 bits.
const TOGETHER: usize = 4096;

/// In place of an operation: the calls of this tuple may not belong together.
const MISMATCHED: usize = usize::MAX;

/// What a stretch of positions holds.
pub(super) struct Stretch<'a> {
    pub matching: Matching<'a>,
    /// For each operation found: the repetitions that all members kept.
    pub whole: Vec<Whole>,
    /// Positions at which a member has no record, or the calls may not belong together; what the others called there, and their records.
    pub gaps: Vec<u64>,
    pub beside_gaps: Vec<u32>,
    /// For each operation of the first member the tuple that it last was in, with its operation: seldom another one.
    last: Vec<(Box<[u32]>, usize)>,
    /// For each operation of the first member the operation found where all members have this number for theirs, as
    /// ranks that run the same program do.
    alike: Vec<Option<usize>>,
    /// For each operation found: its calls among those that are looked at together.
    offsets: Vec<Vec<u16>>,
    members: usize,
}

impl<'a> Stretch<'a> {
    pub fn of(matching: Matching<'a>, mut cursors: Vec<Cursor<'a>>) -> Self {
        let mut stretch = Stretch {
            matching,
            whole: Vec::new(),
            gaps: Vec::new(),
            beside_gaps: Vec::new(),
            last: Vec::new(),
            alike: Vec::new(),
            offsets: Vec::new(),
            members: cursors.len(),
        };
        loop {
            while let Some(taken) = stretch.together(&cursors) {
                cursors.iter_mut().for_each(|cursor| cursor.skip(taken));
            }
            if !stretch.one_by_one(&mut cursors) {
                return stretch;
            }
        }
    }

    /// Looks at the calls that come next of all members, if they are at the same positions, one record after the
    /// other: most are. How many these were.
    fn together(&mut self, cursors: &[Cursor<'a>]) -> Option<usize> {
        let first = cursors.first()?.in_a_row(TOGETHER)?;
        let mut count = first.position.len();
        let mut rows = Vec::with_capacity(cursors.len());
        for cursor in cursors {
            let own = cursor.in_a_row(count)?;
            count = own.position.len();
            if own.position != &first.position[..count] {
                return None;
            }
            rows.push(own);
        }
        let repetition = first.repetition?;
        let mut tuple = vec![ABSENT; rows.len()];
        let mut met: Vec<usize> = Vec::new();
        let all_alike = rows.iter().all(|own| are_alike(own.operation, &first.operation[..count]));
        for (index, &position) in first.position.iter().take(count).enumerate() {
            let own = (first.operation[index] & OPERATION_MASK) as usize;
            let operation = match self.alike.get(own) {
                Some(Some(operation)) if all_alike => *operation,
                _ => {
                    for (operation, own) in tuple.iter_mut().zip(&rows) {
                        *operation = own.operation[index] & OPERATION_MASK;
                    }
                    let operation = self.operation(&tuple, position);
                    if all_alike && operation != MISMATCHED {
                        self.alike.resize(self.alike.len().max(own + 1), None);
                        self.alike[own] = Some(operation);
                    }
                    operation
                }
            };
            if operation == MISMATCHED {
                self.gaps.push(position);
                self.beside_gaps.extend_from_slice(&tuple);
                self.beside_gaps.extend(rows.iter().map(|own| own.first + index as u32));
                continue;
            }
            let offsets = &mut self.offsets[operation];
            if offsets.is_empty() {
                met.push(operation);
            }
            offsets.push(index as u16);
        }
        self.note_open(&rows, count);
        let firsts: Vec<u32> = rows.iter().map(|own| own.first).collect();
        for operation in met {
            let (whole, offsets) = (&mut self.whole[operation], &mut self.offsets[operation]);
            whole.numbers.push_all(offsets.iter().map(|&offset| repetition[usize::from(offset)]));
            whole.rows.push_together(&firsts, offsets);
            offsets.clear();
        }
        Some(count)
    }

    /// Notes which of the calls looked at together did not return on some rank: hardly any.
    fn note_open(&mut self, rows: &[InARow], count: usize) {
        let mut open: Vec<usize> = rows.iter().flat_map(|own| own.open.iter().map(|at| at - own.open_from)).collect();
        open.sort_unstable();
        open.dedup();
        for index in open.into_iter().filter(|&index| index < count) {
            for (whole, offsets) in self.whole.iter_mut().zip(&self.offsets) {
                if let Ok(place) = offsets.binary_search(&(index as u16)) {
                    whole.open.push(whole.rows.len() + place);
                }
            }
        }
    }

    /// Takes some calls in the order of their positions; `false` at the end.
    fn one_by_one(&mut self, cursors: &mut [Cursor<'a>]) -> bool {
        let mut tuple = vec![ABSENT; cursors.len()];
        let mut records = vec![NO_RECORD; cursors.len()];
        for _ in 0..TOGETHER {
            let Some(position) = cursors.iter().filter_map(|cursor| Some(cursor.next?.1)).min() else {
                return false;
            };
            let (mut number, mut returned) = (None, true);
            for (cursor, (operation, record)) in cursors.iter_mut().zip(tuple.iter_mut().zip(&mut records)) {
                let (own_number, own_returned);
                (*operation, *record, own_number, own_returned) = cursor.take(position);
                // Of whole repetitions that of the first member.
                number.get_or_insert(own_number);
                returned &= own_returned;
            }
            let operation = if tuple.contains(&ABSENT) { MISMATCHED } else { self.operation(&tuple, position) };
            if operation == MISMATCHED {
                self.gaps.push(position);
                self.beside_gaps.extend_from_slice(&tuple);
                self.beside_gaps.extend_from_slice(&records);
            } else {
                let whole = &mut self.whole[operation];
                if !returned {
                    whole.open.push(whole.rows.len());
                }
                whole.numbers.push(number.unwrap_or_default());
                whole.rows.push_listed(records.iter().copied());
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
        let members = self.members;
        self.whole.resize_with(self.matching.found.len(), || Whole::of(members));
        self.offsets.resize(self.matching.found.len(), Vec::new());
        if self.last.len() <= first {
            self.last.resize(first + 1, Default::default());
        }
        self.last[first] = (tuple.into(), operation);
        operation
    }
}

/// Whether two lists of operations, with other bits beside [`OPERATION_MASK`], begin with the same ones.
fn are_alike(one: &[u32], other: &[u32]) -> bool {
    // Without an end before the last: so it takes several at a time.
    one.iter().zip(other).fold(0, |differ, (one, other)| differ | ((one ^ other) & OPERATION_MASK)) == 0
}
