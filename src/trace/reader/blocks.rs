//! The records of a part, block by block: so that not all of them are in memory at once.
//!
//! A block that has its checksum and yet cannot be decoded was written by another program; its values are 0.

use std::ops::Range;

use mpitrace_format::packed::{Block, column};
use mpitrace_statistics::parallel;

use super::part::Part;

/// The records of a block.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// # mpitrace_testing::synthetic::write_example(&path)?;
/// use mpitrace_format::layout::DISTURBED;
/// use mpitrace_trace::reader::Trace;
///
/// let trace = Trace::open(&[path])?;
/// let part = &trace.parts[1];
/// assert_eq!((part.lowest_entry(), part.last_tick()), (Some(1_000_500), 1_303_000));
/// assert_eq!(part.all_times().next(), Some((1_000_500, 1_002_500)));
/// assert_eq!((part.delayed(), part.flagged([DISTURBED])), (0, [0]));
/// let records = part.blocks().next().expect("a block");
/// assert_eq!((records.range.clone(), records.open()), (0..11, vec![]));
/// let [enter, exit] = records.times();
/// assert_eq!((enter[10], exit[10]), (1_300_500, 1_303_000));
/// // Ten calls of operation 0, then one of operation 1: each the next on the communicator.
/// let operation = records.operation();
/// assert_eq!((operation[9], operation[10]), (0, 1));
/// assert_eq!((records.position()[10], records.repetition(&operation)[9..].to_vec()), (10, vec![9, 0]));
/// assert_eq!(records.calls(), (operation, records.position()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Records<'p> {
    /// Which records of the part these are.
    pub range: Range<usize>,
    block: Block<'p>,
}

impl Part {
    /// All records, block by block.
    pub fn blocks(&self) -> impl Iterator<Item = Records<'_>> {
        (0..self.places.len()).filter_map(|number| self.block(number))
    }

    /// The block with this record, which is there.
    pub(crate) fn block_with(&self, record: usize) -> Records<'_> {
        let number = self.block_number(record);
        self.block(number).unwrap_or_else(|| unreachable!("all blocks were parsed when the part was opened"))
    }

    /// The number of the block with this record. Most blocks of a rank have as many records as its first one.
    #[inline]
    pub(super) fn block_number(&self, record: usize) -> usize {
        let guess = record / self.places.get(1).map_or(usize::MAX, |second| second.first.max(1));
        if guess < self.places.len() && self.block_range(guess).contains(&record) {
            return guess;
        }
        self.places.partition_point(|place| place.first <= record).saturating_sub(1)
    }

    /// The records of the block of this number.
    #[inline]
    pub(super) fn block_range(&self, number: usize) -> Range<usize> {
        let end = self.places.get(number + 1).map_or(self.records(), |next| next.first);
        self.places.get(number).map_or(end, |place| place.first)..end
    }

    pub(super) fn block(&self, number: usize) -> Option<Records<'_>> {
        let place = self.places.get(number)?;
        let block = Block::parse(&self.map[place.start..self.blocks_end], &self.numbering)?;
        Some(Records { range: self.block_range(number), block })
    }

    /// Where the blocks lie in the file.
    #[cfg(test)]
    pub(super) fn block_bytes(&self) -> impl Iterator<Item = Range<usize>> {
        let ends = self.places.iter().skip(1).map(|place| place.start).chain([self.blocks_end]);
        self.places.iter().zip(ends).map(|(place, end)| place.start..end)
    }

    /// The entry and the exit of each call, in order.
    pub fn all_times(&self) -> impl Iterator<Item = (u64, u64)> {
        self.blocks().flat_map(|block| {
            let [enter, exit] = block.times();
            enter.into_iter().zip(exit)
        })
    }

    /// How many of the calls the tracer may have delayed.
    pub fn delayed(&self) -> u64 {
        self.of_shares(|blocks| blocks.map(|one| one.block.delayed().unwrap_or(0)).sum::<u64>()).into_iter().sum()
    }

    /// How many of the calls have each of these flags of [`Records::operation`].
    pub fn flagged<const N: usize>(&self, flags: [u32; N]) -> [u64; N] {
        let counted = self.of_shares(|blocks| {
            let mut counts = [0; N];
            for block in blocks {
                let operation = block.operation();
                for (count, flag) in counts.iter_mut().zip(flags) {
                    *count += operation.iter().filter(|&&operation| operation & flag != 0).count() as u64;
                }
            }
            counts
        });
        let mut sum = [0; N];
        for counts in counted {
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        sum
    }

    /// The lowest entry of any call, ticks.
    pub fn lowest_entry(&self) -> Option<u64> {
        let lowest = self.of_shares(|blocks| blocks.filter_map(|one| one.block.lowest_entry()).min());
        lowest.into_iter().flatten().min()
    }

    /// The last tick of any call that was kept; 0 without one.
    pub fn last_tick(&self) -> u64 {
        let last = |one: Records| one.times().iter().filter_map(|ticks| ticks.iter().copied().max()).max();
        self.of_shares(|blocks| blocks.filter_map(last).max()).into_iter().flatten().max().unwrap_or(0)
    }

    /// Does something with all blocks, shared out among the processors where they are many.
    fn of_shares<R: Send>(&self, work: impl Fn(&mut dyn Iterator<Item = Records<'_>>) -> R + Sync) -> Vec<R> {
        let shares = self.records().div_ceil(parallel::share(self.records()).max(1)).max(1);
        let of_share = self.places.len().div_ceil(shares).max(1);
        let firsts = (0..self.places.len()).step_by(of_share).collect();
        parallel::map(firsts, |first| {
            let numbers = first..self.places.len().min(first + of_share);
            work(&mut numbers.filter_map(|number| self.block(number)))
        })
    }
}

impl Records<'_> {
    /// Index of each call's operation, with [`mpitrace_format::layout::DISTURBED`],
    /// [`mpitrace_format::layout::INTERRUPTED`] and [`mpitrace_format::layout::INTERRUPTED_BEFORE`].
    pub fn operation(&self) -> Vec<u32> {
        self.block.operations().unwrap_or_else(|| vec![0; self.range.len()])
    }

    /// Ticks at the entries and at the exits; an exit of 0: the call did not return.
    pub fn times(&self) -> [Vec<u64>; 2] {
        self.block.times().unwrap_or_else(|| [self.zeros(), self.zeros()])
    }

    /// The indices in the block of the calls that did not return, ascending.
    pub fn open(&self) -> Vec<usize> {
        self.block.open().unwrap_or_default()
    }

    /// [`Records::operation`] and [`Records::position`].
    pub fn calls(&self) -> (Vec<u32>, Vec<u64>) {
        let operation = self.operation();
        let position = self.values(column::POSITION, &operation);
        (operation, position)
    }

    /// Each call's position on its communicator.
    pub fn position(&self) -> Vec<u64> {
        self.calls().1
    }

    /// How many calls of the same operation this rank had begun before, of records with these operations.
    pub fn repetition(&self, operation: &[u32]) -> Vec<u64> {
        self.values(column::REPETITION, operation)
    }

    /// The first and the last position, where the records are in the order of their positions; `Ok(None)` without
    /// records.
    #[allow(clippy::result_unit_err, reason = "there is nothing more to say")]
    pub(crate) fn sorted_positions(&self) -> Result<Option<(u64, u64)>, ()> {
        if let Some(first) = self.block.first_of_consecutive() {
            return Ok(self.range.len().checked_sub(1).map(|last| (first, first + last as u64)));
        }
        let position = self.position();
        match position.is_sorted() {
            true => Ok(position.first().copied().zip(position.last().copied())),
            false => Err(()),
        }
    }

    /// The values of any column, as numbers of 64 bits.
    pub(super) fn column(&self, number: u32) -> Vec<u64> {
        match number {
            column::ENTER | column::EXIT => {
                let [enter, exit] = self.times();
                if number == column::ENTER { enter } else { exit }
            }
            column::OPERATION => self.operation().into_iter().map(u64::from).collect(),
            _ => self.values(number, &self.operation()),
        }
    }

    fn values(&self, number: u32, operation: &[u32]) -> Vec<u64> {
        self.block.values(number, operation).unwrap_or_else(|| self.zeros())
    }

    fn zeros(&self) -> Vec<u64> {
        vec![0; self.range.len()]
    }
}
