//! A stretch of positions on a communicator: the calls of all members there, matched by one processor.

use mpitrace_format::layout::OPERATION_MASK;

use super::NO_RECORD;
use super::cursor::{ABSENT, Cursor, NextCalls};
use super::found::Whole;
use super::matching::Matching;

/// Calls that are looked at together: their positions and operations stay in the processor's nearer caches, and their
/// distance from the first fits into 16 bits.
const TOGETHER: usize = 4096;

/// Fewer are taken one by one, unless no more are at hand.
const LEAST_TOGETHER: usize = 32;

/// In place of an operation: the calls of this tuple may not belong together.
const MISMATCHED: usize = usize::MAX;

/// The content of a range of sequence numbers.
pub(super) struct Stretch<'a> {
    pub matching: Matching<'a>,
    /// For each operation found: the repetitions that all members kept.
    pub whole: Vec<Whole>,
    /// Positions at which a member has no record, or the calls may not belong together; what the others called there,
    /// and their records.
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
    pub(super) fn new(matching: Matching<'a>, mut cursors: Vec<Cursor<'a>>) -> Self {
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

    /// Looks at the calls that come next of all members, if they are at the same positions, their records equally far
    /// from each other: most are. How many these were.
    fn together(&mut self, cursors: &[Cursor<'a>]) -> Option<usize> {
        let (first, others) = cursors.split_first()?;
        let first = first.next_calls(TOGETHER)?;
        let mut count = first.len();
        let mut rows = Vec::with_capacity(cursors.len());
        for cursor in others {
            let of_member = cursor.next_calls(count)?;
            let same = first.as_far_as(&of_member);
            // Members that take other turns: each time that it is tried costs more than some calls.
            if same < of_member.len() && same < LEAST_TOGETHER {
                return None;
            }
            count = same;
            rows.push(of_member);
        }
        rows.insert(0, first);
        let first = &rows[0];
        let repetition = first.repetition.as_deref()?;
        let mut tuple = vec![ABSENT; rows.len()];
        let mut met: Vec<usize> = Vec::new();
        let all_alike = rows.iter().all(|of_member| are_alike(&of_member.operation, &first.operation[..count]));
        for (index, &position) in first.position.iter().take(count).enumerate() {
            let of_first = (first.operation[index] & OPERATION_MASK) as usize;
            let operation = match self.alike.get(of_first) {
                Some(Some(operation)) if all_alike => *operation,
                _ => {
                    for (operation, of_member) in tuple.iter_mut().zip(&rows) {
                        *operation = of_member.operation[index] & OPERATION_MASK;
                    }
                    let operation = self.operation(&tuple, position);
                    if all_alike && operation != MISMATCHED {
                        self.alike.resize(self.alike.len().max(of_first + 1), None);
                        self.alike[of_first] = Some(operation);
                    }
                    operation
                }
            };
            if operation == MISMATCHED {
                self.gaps.push(position);
                self.beside_gaps.extend_from_slice(&tuple);
                self.beside_gaps
                    .extend(rows.iter().map(|of_member| of_member.first + u32::from(of_member.behind(index))));
                continue;
            }
            let offsets = &mut self.offsets[operation];
            if offsets.is_empty() {
                met.push(operation);
            }
            offsets.push(index as u16);
        }
        self.note_open(&rows, count);
        let firsts: Vec<u32> = rows.iter().map(|of_member| of_member.first).collect();
        for operation in met {
            let (whole, offsets) = (&mut self.whole[operation], &mut self.offsets[operation]);
            whole.numbers.push_all(offsets.iter().map(|&offset| repetition[usize::from(offset)]));
            whole.rows.push_together(&firsts, &first.all_behind(offsets));
            offsets.clear();
        }
        Some(count)
    }

    /// Notes which of the calls looked at together did not return on some rank: hardly any.
    fn note_open(&mut self, rows: &[NextCalls], count: usize) {
        let mut open: Vec<usize> = rows.iter().flat_map(|of_member| of_member.open.iter().copied()).collect();
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
        self.whole.resize_with(self.matching.found.len(), || Whole::new(members));
        self.offsets.resize(self.matching.found.len(), Vec::new());
        if self.last.len() <= first {
            self.last.resize(first + 1, Default::default());
        }
        self.last[first] = (tuple.into(), operation);
        operation
    }
}

/// True if two lists of operations, with other bits beside [`OPERATION_MASK`], begin with the same ones.
fn are_alike(one: &[u32], other: &[u32]) -> bool {
    // Without an end before the last: so it takes several at a time.
    one.iter().zip(other).fold(0, |differ, (one, other)| differ | ((one ^ other) & OPERATION_MASK)) == 0
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::Operations;
    use crate::reader::Trace;
    use mpitrace_testing::synthetic::{SyntheticRank, write};

    const RANKS: u32 = 4;
    const CALLS: usize = 90_000;

    /// The records of an operation's repetitions, and of each whether all ranks returned from it.
    type Repetitions = Vec<(Vec<u32>, bool)>;

    /// A program that all ranks run: calls on the world, on halves of it and, seldom, on a copy of it, in any turns.
    /// Between them each rank makes calls on its own communicator, so often in a thousand. With the repetitions by
    /// communicator and bytes.
    fn program(own_in_thousand: u32) -> (Vec<SyntheticRank>, BTreeMap<(u64, u64), Repetitions>) {
        let mut expected: BTreeMap<(u64, u64), Repetitions> = BTreeMap::new();
        let mut ranks = Vec::new();
        for number in 0..RANKS {
            let (mut same, mut of_rank) =
                (fastrand::Rng::with_seed(5), fastrand::Rng::with_seed(100 + u64::from(number)));
            let mut rank = SyntheticRank::new(number, RANKS);
            let keys = [0, 10 + u64::from(number / 2), 20 + u64::from(number % 2), 30];
            let halves = [(number / 2, number % 2), (number % 2, number / 2)];
            let [row, column] = [(keys[1], halves[0].1), (keys[2], halves[1].1)]
                .map(|(key, rank_in_it)| rank.communicator(key, 2, rank_in_it, None));
            let copy = rank.communicator(30, RANKS, number, None);
            let on_self = rank.communicator(40 + u64::from(number), 1, 0, None);
            let operations =
                [0, row, column, copy].map(|on| [8, 16].map(|bytes| rank.operation("MPI_Allreduce", on, bytes)));
            let alone = rank.operation("MPI_Barrier", on_self, 0);
            let (mut record, mut made) = (0, BTreeMap::new());
            for call in 0..CALLS {
                while of_rank.u32(0..1000) < own_in_thousand {
                    rank.call(alone, 1, 2);
                    record += 1;
                }
                // Long runs, then short ones.
                let turn = if call < CALLS / 3 { call / 1000 % 3 } else { same.usize(0..3) };
                let on = if call % 2000 == 1999 { 3 } else { turn };
                let which = same.usize(0..2);
                let returned = number != 1 || call % 997 != 0;
                rank.call(operations[on][which], 1, if returned { 2 } else { 0 });
                let operation = (keys[on], [8, 16][which]);
                let nth: &mut usize = made.entry(operation).or_default();
                let repetitions = expected.entry(operation).or_default();
                if repetitions.len() == *nth {
                    repetitions.push((Vec::new(), true));
                }
                repetitions[*nth].0.push(record);
                repetitions[*nth].1 &= returned;
                *nth += 1;
                record += 1;
            }
            ranks.push(rank);
        }
        (ranks, expected)
    }

    #[test]
    fn calls_on_several_communicators_in_any_turns_are_matched_by_their_positions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        for own_in_thousand in [0, 1, 20, 300] {
            let (ranks, expected) = program(own_in_thousand);
            write(&path, &ranks).unwrap();
            let trace = Trace::open(&[&path]).unwrap();
            let found = Operations::new(&trace);
            assert!(found.mismatches.is_empty());
            let shared = found.operations.iter().filter(|operation| operation.key.function == "MPI_Allreduce");
            let found: BTreeMap<(u64, u64), Repetitions> = shared
                .map(|operation| {
                    let first = operation.records(0).get(0) as usize;
                    let part = &trace.parts[operation.parts[0]];
                    let entry = part.operations()[part.operation_of(first) as usize];
                    let key = part.communicators()[entry.communicator as usize].key[0];
                    let repetitions = (0..operation.repetition.len())
                        .map(|row| (operation.records(row).iter().collect(), operation.is_complete(row)));
                    ((key, entry.bytes), repetitions.collect())
                })
                .collect();
            assert!(found == expected, "{own_in_thousand} in 1000");
        }
    }
}
