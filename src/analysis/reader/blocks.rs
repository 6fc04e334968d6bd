//! The records of a part piece by piece: packed columns are decoded block by block, so that not all of them are in
//! memory at once.
//!
//! A block that has its checksum and yet cannot be decoded was written by another program; its values are 0.

use std::borrow::Cow;
use std::ops::Range;

use mpitrace_format::layout::{DISTURBED, OPERATION_MASK};

use super::part::{Part, Place, Values};
use crate::packed::{Block, Columns, RECORDS};
use crate::parallel;

/// The places of the columns that every part has.
pub(super) const ENTER: usize = 0;
pub(super) const EXIT: usize = 1;
pub(super) const POSITION: usize = 2;
const REPETITION: usize = 3;
pub(super) const OPERATION: usize = 4;

/// Some records of a part, one after the other.
#[derive(Debug)]
pub struct Records<'p> {
    part: &'p Part,
    /// Which records of the part these are.
    pub range: Range<usize>,
    block: Option<Block<'p>>,
}

impl Part {
    /// All records, piece by piece.
    pub fn pieces(&self) -> impl Iterator<Item = Records<'_>> {
        (0..self.records().div_ceil(self.piece())).map(|number| self.numbered_piece(number))
    }

    /// The entry and the exit of each call, in order.
    pub fn all_times(&self) -> impl Iterator<Item = (u64, u64)> {
        self.pieces().flat_map(|piece| {
            let [enter, exit] = piece.times();
            enter.into_owned().into_iter().zip(exit.into_owned())
        })
    }

    /// The piece with this record.
    pub fn piece_with(&self, record: usize) -> Records<'_> {
        self.numbered_piece(record / self.piece())
    }

    /// Records of a piece; the last one may have fewer.
    pub fn piece(&self) -> usize {
        self.columns[ENTER].block_records().unwrap_or(RECORDS)
    }

    fn numbered_piece(&self, number: usize) -> Records<'_> {
        let range = number * self.piece()..self.records().min((number + 1) * self.piece());
        let block = self.packed.as_ref().map(|columns| self.block(columns, number, range.len()));
        Records { part: self, range, block }
    }

    fn block<'p>(&'p self, columns: &'p Columns, number: usize, count: usize) -> Block<'p> {
        let bytes = self.columns.iter().map(|column| match &column.place {
            Place::Blocks(section, _) => &self.map[section.blocks[number].0.clone()],
            Place::Plain(_) => &[],
        });
        Block::new(columns, count, bytes.collect())
    }

    /// The highest operation of any record.
    pub(super) fn highest_operation(&self) -> Result<Option<u32>, &'static str> {
        if self.packed.is_some() {
            let of_block = |piece: Records| piece.block.as_ref().and_then(Block::highest_operation);
            let highest: Option<Vec<u32>> = self.pieces().map(of_block).collect();
            return Ok(highest.ok_or("has a block that cannot be decoded")?.into_iter().max());
        }
        let column = self.operation();
        // The highest of each piece, since a loop that may end at every value takes one at a time.
        let highest = |piece: Range<usize>| column[piece].iter().map(|&operation| operation & OPERATION_MASK).max();
        Ok(parallel::map(parallel::pieces(column.len()), highest).into_iter().flatten().max())
    }

    /// How many of the calls the tracer may have delayed.
    pub fn delayed(&self) -> u64 {
        let of_piece = |piece: Records| match &piece.block {
            Some(block) => block.delayed().unwrap_or(0),
            None => piece.operation().iter().filter(|&&operation| operation & DISTURBED != 0).count() as u64,
        };
        parallel::map(self.large_pieces(), |pieces| pieces.into_iter().map(of_piece).sum::<u64>()).into_iter().sum()
    }

    /// How many of the calls have each of these flags of [`Part::operation`].
    pub fn flagged<const N: usize>(&self, flags: [u32; N]) -> [u64; N] {
        let of_pieces = |pieces: Vec<Records>| {
            let mut counts = [0; N];
            for piece in pieces {
                let operation = piece.operation();
                for (count, flag) in counts.iter_mut().zip(flags) {
                    *count += operation.iter().filter(|&&operation| operation & flag != 0).count() as u64;
                }
            }
            counts
        };
        let mut sum = [0; N];
        for counts in parallel::map(self.large_pieces(), of_pieces) {
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        sum
    }

    /// The lowest entry of any call, ticks.
    pub fn lowest_entry(&self) -> Option<u64> {
        let of_piece = |piece: Records| match &piece.block {
            Some(block) => block.lowest_entry(ENTER),
            None => self.enter()[piece.range].iter().copied().min(),
        };
        let lowest = parallel::map(self.large_pieces(), |pieces| pieces.into_iter().filter_map(of_piece).min());
        lowest.into_iter().flatten().min()
    }

    /// All pieces, shared out among the processors where they are many.
    fn large_pieces(&self) -> Vec<Vec<Records<'_>>> {
        let mut pieces = self.pieces();
        let share = parallel::share(self.records()).div_ceil(self.piece());
        let shares = self.records().div_ceil(self.piece()).div_ceil(share);
        (0..shares).map(|_| pieces.by_ref().take(share).collect()).collect()
    }

    /// All values of a packed column.
    pub(super) fn decoded(&self, column: usize) -> Values {
        if let ENTER | EXIT = column {
            return self.decoded_times(column);
        }
        let pieces: Vec<Records> = self.pieces().collect();
        match self.columns[column].element_size {
            4 => Values::Of4(joined(pieces, self.records(), |piece| piece.narrow(column))),
            _ => Values::Of8(joined(pieces, self.records(), |piece| piece.wide(column))),
        }
    }

    /// The entries or the exits; keeps the others too, since one needs the other.
    fn decoded_times(&self, column: usize) -> Values {
        let mut all = [vec![0; self.records()], vec![0; self.records()]];
        let [enter, exit] = &mut all;
        let places = enter.chunks_mut(self.piece()).zip(exit.chunks_mut(self.piece()));
        parallel::map(self.pieces().zip(places).collect(), |(piece, (enter, exit))| {
            let [found_enter, found_exit] = piece.times();
            if found_enter.len() == enter.len() && found_exit.len() == exit.len() {
                enter.copy_from_slice(&found_enter);
                exit.copy_from_slice(&found_exit);
            }
        });
        let [enter, exit] = all;
        let (asked, other, place) = if column == ENTER { (enter, exit, EXIT) } else { (exit, enter, ENTER) };
        if let Place::Blocks(_, values) = &self.columns[place].place {
            // It may be there already: both are the same.
            let _ = values.set(Values::Of8(other));
        }
        Values::Of8(asked)
    }

    /// The bytes of a packed column as they were before; `None` where a block cannot be decoded.
    pub(crate) fn plain_bytes(&self, column: usize) -> Option<Vec<u8>> {
        let blocks = parallel::map(self.pieces().collect(), |piece| piece.block.as_ref()?.plain(column));
        Some(blocks.into_iter().collect::<Option<Vec<_>>>()?.concat())
    }
}

/// The values of all pieces, one behind the other.
fn joined<T: Clone + Default + Send>(
    pieces: Vec<Records>,
    count: usize,
    values: impl Fn(&Records) -> Vec<T> + Sync,
) -> Vec<T> {
    let mut all = vec![T::default(); count];
    let mut rest = &mut all[..];
    let mut places = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let (place, behind) = rest.split_at_mut(piece.range.len());
        places.push((piece, place));
        rest = behind;
    }
    parallel::map(places, |(piece, place)| {
        let found = values(&piece);
        let length = found.len().min(place.len());
        place[..length].clone_from_slice(&found[..length]);
    });
    all
}

impl<'p> Records<'p> {
    /// As [`Part::operation`].
    pub fn operation(&self) -> Cow<'p, [u32]> {
        match self.block {
            Some(_) => self.narrow(OPERATION).into(),
            None => self.part.operation()[self.range.clone()].into(),
        }
    }

    /// As [`Part::enter`] and [`Part::exit`].
    pub fn times(&self) -> [Cow<'p, [u64]>; 2] {
        match &self.block {
            Some(block) => block.times(ENTER, EXIT).unwrap_or_else(|| [self.zeros(), self.zeros()]).map(Cow::Owned),
            None => [self.part.enter(), self.part.exit()].map(|column| column[self.range.clone()].into()),
        }
    }

    /// exit - enter, ticks (wrapping); 0 for a call that did not return.
    pub fn durations(&self) -> Vec<u64> {
        if let Some(block) = &self.block {
            return block.durations(ENTER, EXIT).unwrap_or_else(|| self.zeros());
        }
        let [enter, exit] = self.times();
        let took = |(&enter, &exit): (&u64, &u64)| if exit == 0 { 0 } else { exit.wrapping_sub(enter) };
        enter.iter().zip(&*exit).map(took).collect()
    }

    /// The indices in the piece of the calls that did not return, ascending.
    pub fn open(&self) -> Vec<usize> {
        if let Some(block) = &self.block {
            return block.open(EXIT).unwrap_or_default();
        }
        let exit = &self.part.exit()[self.range.clone()];
        exit.iter().enumerate().filter(|(_, exit)| **exit == 0).map(|(index, _)| index).collect()
    }

    /// [`Records::operation`] and [`Records::position`].
    pub fn calls(&self) -> (Cow<'p, [u32]>, Cow<'p, [u64]>) {
        let operation = self.operation();
        let position = self.counted(POSITION, &operation).unwrap_or_else(|| self.position());
        (operation, position)
    }

    /// [`Records::repetition`], of records with these operations.
    pub fn repetition_of(&self, operation: &[u32]) -> Cow<'p, [u64]> {
        self.counted(REPETITION, operation).unwrap_or_else(|| self.repetition())
    }

    fn counted(&self, column: usize, operation: &[u32]) -> Option<Cow<'p, [u64]>> {
        Some(self.block.as_ref()?.values(column, operation)?.into())
    }

    /// The first and the last position, where the records are in the order of their positions; `Ok(None)` without
    /// records.
    #[allow(clippy::result_unit_err, reason = "there is nothing more to say")]
    pub(crate) fn sorted_positions(&self) -> Result<Option<(u64, u64)>, ()> {
        let consecutive = self.block.as_ref().and_then(|block| block.first_of_consecutive(POSITION));
        if let Some(first) = consecutive {
            return Ok(self.range.len().checked_sub(1).map(|last| (first, first + last as u64)));
        }
        let position = self.position();
        match position.is_sorted() {
            true => Ok(position.first().copied().zip(position.last().copied())),
            false => Err(()),
        }
    }

    /// As [`Part::position`].
    pub fn position(&self) -> Cow<'p, [u64]> {
        match self.block {
            Some(_) => self.wide(POSITION).into(),
            None => self.part.position()[self.range.clone()].into(),
        }
    }

    /// As [`Part::repetition`].
    pub fn repetition(&self) -> Cow<'p, [u64]> {
        match self.block {
            Some(_) => self.wide(REPETITION).into(),
            None => self.part.repetition()[self.range.clone()].into(),
        }
    }

    /// The values of a packed column, whatever the size of its elements.
    pub(super) fn values(&self, column: usize) -> Vec<u64> {
        match self.part.columns[column].element_size {
            4 => self.narrow(column).into_iter().map(u64::from).collect(),
            _ => self.wide(column),
        }
    }

    /// The values of a packed column with elements of 4 bytes.
    fn narrow(&self, column: usize) -> Vec<u32> {
        let Some(block) = &self.block else { return Vec::new() };
        let values = match column {
            OPERATION => block.operations(),
            _ => block.values(column, &[]).map(|values| values.into_iter().map(|value| value as u32).collect()),
        };
        values.unwrap_or_else(|| vec![0; self.range.len()])
    }

    /// The values of a packed column with elements of 8 bytes.
    fn wide(&self, column: usize) -> Vec<u64> {
        let Some(block) = &self.block else { return Vec::new() };
        block.wide(column).unwrap_or_else(|| self.zeros())
    }

    fn zeros(&self) -> Vec<u64> {
        vec![0; self.range.len()]
    }
}
