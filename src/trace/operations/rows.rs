//! Where the repetitions of an operation are recorded, without a list of all records where they follow a rule.
//!
//! A loop makes its calls at equal distances on all ranks: first records and a stride are enough. Other calls that all
//! ranks made one after the other have the same distance from a first one on each rank: one number of 2 bytes a
//! repetition, which is kept once where a loop of several operations repeats it. What fits neither is listed.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// The records of one repetition.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// # mpitrace_testing::synthetic::write_example(&path)?;
/// use mpitrace_trace::{operations::Operations, reader::Trace};
///
/// let trace = Trace::open(&[path])?;
/// let operations = Operations::new(&trace);
/// let row = operations.operations[0].records(7);
/// assert_eq!((row.get(1), row.iter().len()), (7, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RepetitionRow<'o> {
    records: &'o [u32],
    /// Records after `records`.
    offset: u32,
}

impl<'o> RepetitionRow<'o> {
    /// The index of the record of a member in its part, or [`super::NO_RECORD`].
    #[inline]
    pub fn get(self, member: usize) -> u32 {
        // Only listed records can be NO_RECORD, and they have the offset 0.
        self.records[member] + self.offset
    }

    /// The records of all members.
    pub fn iter(self) -> impl ExactSizeIterator<Item = u32> + 'o {
        self.records.iter().map(move |record| record + self.offset)
    }
}

#[derive(Debug, Default)]
pub(super) struct Rows {
    members: usize,
    chunks: Vec<Chunk>,
    /// The distances that were kept last.
    recent: VecDeque<Arc<[u16]>>,
}

/// So many are looked at: a loop of n operations has n different ones at most.
const RECENT: usize = 16;

#[derive(Debug)]
struct Chunk {
    start: usize,
    count: usize,
    records: Records,
}

#[derive(Debug)]
enum Records {
    /// The records of the first row; each later row is so many records behind the one before.
    Strided(Box<[u32]>, u32),
    /// Some records, and how far behind them each row is.
    Offset(Box<[u32]>, Arc<[u16]>),
    Listed(Vec<u32>),
}

impl Rows {
    pub(super) fn new(members: usize) -> Self {
        Rows { members, chunks: Vec::new(), recent: VecDeque::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.chunks.last().map_or(0, |chunk| chunk.start + chunk.count)
    }

    #[inline]
    pub(super) fn row(&self, row: usize) -> RepetitionRow<'_> {
        let chunk = match &self.chunks[..] {
            [one] => one,
            many => &many[self.chunk_with(row)],
        };
        let row = row - chunk.start;
        match &chunk.records {
            Records::Strided(first, stride) => RepetitionRow { records: first, offset: row as u32 * stride },
            Records::Offset(first, offsets) => RepetitionRow { records: first, offset: offsets[row].into() },
            Records::Listed(all) => {
                RepetitionRow { records: &all[row * self.members..(row + 1) * self.members], offset: 0 }
            }
        }
    }

    /// The index of the chunk with this row, of which there is one.
    fn chunk_with(&self, row: usize) -> usize {
        // In a loop all chunks have as many rows: it is where it would be then, or beside that. A search instead takes
        // a quarter of the time of `summary`.
        let guess = row * self.chunks.len() / self.len();
        let start = |index: usize| self.chunks.get(index).map_or(usize::MAX, |chunk| chunk.start);
        for index in guess.saturating_sub(1)..=guess + 1 {
            if start(index) <= row && row < start(index + 1) {
                return index;
            }
        }
        self.chunks.partition_point(|chunk| chunk.start <= row) - 1
    }

    /// Appends the records of a member in these rows to a list.
    pub(super) fn records_of(&self, member: usize, rows: Range<usize>, records: &mut Vec<u32>) {
        let mut from = rows.start;
        let mut number = if rows.is_empty() { 0 } else { self.chunk_with(from) };
        while from < rows.end {
            let chunk = &self.chunks[number];
            let within = from - chunk.start..rows.end.min(chunk.start + chunk.count) - chunk.start;
            match &chunk.records {
                Records::Strided(first, stride) => {
                    records.extend(within.clone().map(|row| first[member] + row as u32 * stride));
                }
                Records::Offset(first, offsets) => {
                    records.extend(offsets[within.clone()].iter().map(|&offset| first[member] + u32::from(offset)));
                }
                Records::Listed(all) => {
                    records.extend(within.clone().map(|row| all[row * self.members + member]));
                }
            }
            from = chunk.start + within.end;
            number += 1;
        }
    }

    /// Appends rows that are so far behind the records `first`; they have all members.
    pub(super) fn push_together(&mut self, first: &[u32], offsets: &[u16]) {
        let Some(&begin) = offsets.first() else { return };
        let begins = || first.iter().map(|record| record + u32::from(begin));
        let stride = match offsets {
            [first, second, ..] => Some(u32::from(second - first)),
            _ => None,
        };
        let regular = offsets.windows(2).all(|pair| Some(u32::from(pair[1] - pair[0])) == stride);
        if let Some(Chunk { count, records: Records::Strided(before, known), .. }) = self.chunks.last_mut()
            && regular
            && stride.is_none_or(|stride| stride == *known)
            && before.iter().map(|record| record + *count as u32 * *known).eq(begins())
        {
            *count += offsets.len();
            return;
        }
        match stride {
            // A list is as short, and is not cut in two.
            _ if offsets.len() < 8 => {
                for offset in offsets {
                    self.push_listed(first.iter().map(|record| record + u32::from(*offset)));
                }
            }
            Some(stride) if regular => self.push(offsets.len(), Records::Strided(begins().collect(), stride)),
            _ => {
                let offsets = self.kept(offsets);
                self.push(offsets.len(), Records::Offset(first.into(), offsets));
            }
        }
    }

    /// These distances, kept once if they were kept lately.
    fn kept(&mut self, offsets: &[u16]) -> Arc<[u16]> {
        if let Some(known) = self.recent.iter().find(|known| known[..] == *offsets) {
            return known.clone();
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(offsets.into());
        self.recent[self.recent.len() - 1].clone()
    }

    /// Appends one row.
    pub(super) fn push_listed(&mut self, records: impl Iterator<Item = u32>) {
        if let Some(Chunk { count, records: Records::Listed(all), .. }) = self.chunks.last_mut() {
            all.extend(records);
            *count += 1;
        } else {
            self.push(1, Records::Listed(records.collect()));
        }
    }

    /// Appends all rows of another list.
    pub(super) fn append(&mut self, other: Rows) {
        for Chunk { count, records, .. } in other.chunks {
            match (self.chunks.last_mut().map(|chunk| (&mut chunk.records, &mut chunk.count)), records) {
                (Some((Records::Listed(all), length)), Records::Listed(more)) => {
                    all.extend_from_slice(&more);
                    *length += count;
                }
                (Some((Records::Strided(first, stride), length)), Records::Strided(next, same))
                    if *stride == same
                        && first.iter().map(|record| record + *length as u32 * same).eq(next.iter().copied()) =>
                {
                    *length += count;
                }
                (_, records) => self.push(count, records),
            }
        }
    }

    fn push(&mut self, count: usize, records: Records) {
        self.chunks.push(Chunk { start: self.len(), count, records });
    }
}

/// The numbers of the repetitions, ascending: runs in which each is one more than the one before.
///
/// ```
/// use mpitrace_trace::operations::Numbers;
///
/// let numbers: Numbers = [0, 1, 2, 9].into_iter().collect();
/// assert_eq!((numbers.len(), numbers.is_empty(), numbers.get(3), numbers.last()), (4, false, 9, Some(9)));
/// assert_eq!(numbers.iter().sum::<u64>(), 12);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// The first row of each run and its number.
    runs: Vec<(usize, u64)>,
    length: usize,
}

impl Numbers {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The number of a row that is there.
    pub fn get(&self, row: usize) -> u64 {
        let (start, number) = match &self.runs[..] {
            [one] => *one,
            many => many[many.partition_point(|(start, _)| *start <= row) - 1],
        };
        number + (row - start) as u64
    }

    /// The rows with these numbers, which are ascending.
    pub(super) fn rows_with(&self, numbers: &Range<u64>) -> Range<usize> {
        let place = |number: u64| partition_point(self.length, |row| self.get(row) < number);
        place(numbers.start)..place(numbers.end).max(place(numbers.start))
    }

    /// The last one.
    pub fn last(&self) -> Option<u64> {
        self.length.checked_sub(1).map(|row| self.get(row))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let ends = self.runs.iter().skip(1).map(|(start, _)| *start).chain([self.length]);
        // No number behind the last of a run: there is none behind u64::MAX, which a damaged trace may have.
        self.runs
            .iter()
            .zip(ends)
            .flat_map(|(&(start, number), end)| (0..end - start).map(move |row| number + row as u64))
    }

    pub(super) fn push(&mut self, number: u64) {
        let follows = |(start, first): &(usize, u64)| first.checked_add((self.length - start) as u64) == Some(number);
        if !self.runs.last().is_some_and(follows) {
            self.runs.push((self.length, number));
        }
        self.length += 1;
    }

    /// Appends some, of which most follow each other.
    pub(super) fn push_all(&mut self, numbers: impl ExactSizeIterator<Item = u64> + Clone) {
        let Some(first) = numbers.clone().next() else { return };
        // Without an end before the last: so it takes several at a time.
        let following = (0..).map(|behind| first.wrapping_add(behind));
        let differ = numbers.clone().zip(following).fold(0, |differ, (number, next)| differ | (number ^ next));
        if differ == 0 && first.checked_add(numbers.len() as u64).is_some() {
            self.push(first);
            self.length += numbers.len() - 1;
        } else {
            numbers.for_each(|number| self.push(number));
        }
    }

    pub(super) fn append(&mut self, other: &Numbers) {
        let ends = other.runs.iter().skip(1).map(|(start, _)| *start).chain([other.length]);
        for (&(start, number), end) in other.runs.iter().zip(ends) {
            self.push(number);
            self.length += end - start - 1;
        }
    }

    pub(super) fn is_sorted(&self) -> bool {
        let ends = self.runs.iter().skip(1).map(|(start, _)| *start);
        let last = self.runs.iter().zip(ends).map(|((start, number), end)| number + (end - start - 1) as u64);
        last.zip(self.runs.iter().skip(1)).all(|(last, (_, number))| last <= *number)
    }
}

/// How many of so many places, ascending, come before the first for which this is not so.
pub(super) fn partition_point(count: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

impl FromIterator<u64> for Numbers {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Self {
        let mut all = Numbers::default();
        numbers.into_iter().for_each(|number| all.push(number));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::super::NO_RECORD;
    use super::*;
    use proptest::prelude::*;

    fn listed(rows: &Rows) -> Vec<Vec<u32>> {
        (0..rows.len()).map(|row| rows.row(row).iter().collect()).collect()
    }

    #[test]
    fn numbers_with_a_gap_are_kept_as_they_are() {
        for kept in [&[0, 2][..], &[0, 1, 4], &[5, 6, 7], &[u64::MAX, 0]] {
            let mut numbers = Numbers::default();
            numbers.push_all(kept.iter().copied());
            assert_eq!((0..kept.len()).map(|at| numbers.get(at)).collect::<Vec<_>>(), kept, "{kept:?}");
        }
    }

    proptest! {
        #[test]
        fn rows_are_those_that_were_pushed(
            batches in proptest::collection::vec((0u32..5, proptest::collection::vec(1u16..4, 0..30)), 0..20),
            cut in 0usize..20,
        ) {
            let mut expected = Vec::new();
            let mut halves = [Rows::new(2), Rows::new(2)];
            let mut first = [3, 8];
            for (index, (odds, gaps)) in batches.into_iter().enumerate() {
                let rows = &mut halves[usize::from(index >= cut)];
                let mut offset = 0;
                let regular = odds > 1;
                let offsets: Vec<u16> = gaps.iter().map(|gap| {
                    offset += if regular { 3 } else { *gap };
                    offset
                }).collect();
                rows.push_together(&first, &offsets);
                expected.extend(offsets.iter().map(|&offset| first.map(|record| record + u32::from(offset)).to_vec()));
                if odds == 0 {
                    rows.push_listed([NO_RECORD, 7].into_iter());
                    expected.push(vec![NO_RECORD, 7]);
                }
                first = first.map(|record| record + u32::from(offset));
            }
            let [mut all, rest] = halves;
            all.append(rest);
            prop_assert_eq!(listed(&all), expected.clone());
            for from in [0, all.len() / 3, all.len()] {
                let rows = from..all.len();
                let mut records = Vec::new();
                all.records_of(1, rows.clone(), &mut records);
                prop_assert_eq!(records, expected[rows].iter().map(|row| row[1]).collect::<Vec<_>>());
            }
        }

        #[test]
        fn numbers_are_those_that_were_pushed(gaps in proptest::collection::vec(0u64..3, 0..100), cut in 0usize..100) {
            let mut next = 5;
            let expected: Vec<u64> = gaps.iter().map(|gap| {
                next += gap.saturating_sub(1) + 1;
                next
            }).collect();
            let cut = cut.min(expected.len());
            let mut numbers: Numbers = expected[..cut].iter().copied().collect();
            numbers.append(&expected[cut..].iter().copied().collect());
            let (begin, end) = expected.split_at(cut);
            let mut together = Numbers::default();
            [begin, end].into_iter().for_each(|part| together.push_all(part.iter().copied()));
            prop_assert_eq!(&together, &numbers);
            prop_assert_eq!(numbers.iter().collect::<Vec<_>>(), expected.clone());
            prop_assert_eq!((0..numbers.len()).map(|row| numbers.get(row)).collect::<Vec<_>>(), expected.clone());
            prop_assert!(numbers.is_sorted());
            prop_assert_eq!(numbers.last(), expected.last().copied());
        }
    }

    #[test]
    fn the_greatest_numbers_are_numbers_too() {
        let expected = [u64::MAX - 2, u64::MAX - 1, u64::MAX];
        let mut together = Numbers::default();
        together.push_all(expected.into_iter());
        for numbers in [together, expected.into_iter().collect()] {
            assert_eq!(numbers.iter().collect::<Vec<_>>(), expected);
            assert_eq!((numbers.last(), numbers.is_sorted()), (Some(u64::MAX), true));
        }
    }

    #[test]
    fn a_loop_is_one_chunk() {
        let mut rows = Rows::new(2);
        for batch in 0..100 {
            let offsets: Vec<u16> = (0..4096).step_by(2).collect();
            rows.push_together(&[batch * 4096, 7 + batch * 4096], &offsets);
        }
        assert_eq!((rows.chunks.len(), rows.len()), (1, 204_800));
        assert_eq!(rows.row(5000).iter().collect::<Vec<_>>(), [10_000, 10_007]);
    }
}
