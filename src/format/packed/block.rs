//! A block: a header, how long each column is, then the columns.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use crate::layout::{
    COLUMNS, DISTURBED, INTERRUPTED, INTERRUPTED_BEFORE, MAX_CHUNK_RECORDS, MAX_COLUMNS, OPERATION_MASK, Packing,
    RECORD_COLUMNS,
};

use super::counted::Counts;
use super::{frames, number, phrases, times};

/// The numbers of the columns that every block has; those behind them are the part's own
/// ([`crate::layout::StoredColumn`]).
pub mod column {
    use crate::layout::{COLUMNS, recorded};

    /// Ticks at the entries.
    pub const ENTER: u32 = recorded::ENTER.number();
    /// Ticks at the exits; 0: the call did not return.
    pub const EXIT: u32 = recorded::EXIT.number();
    /// Positions on the communicators.
    pub const POSITION: u32 = recorded::POSITION.number();
    /// How many calls of the operation came before.
    pub const REPETITION: u32 = recorded::REPETITION.number();
    /// Operations, with their marks.
    pub const OPERATION: u32 = recorded::OPERATION.number();
    /// The first of those that not every part has.
    pub const OTHERS: u32 = COLUMNS.len() as u32;
}

/// The start of a block. Behind it lies the length of each column that it has, u32, then the columns.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct BlockHeader {
    /// Bytes of the block, this header included.
    pub length: u32,
    /// CRC-32 of the block with this field as 0.
    pub crc: u32,
    /// The number of the chunk's draw.
    pub draw: u64,
    /// A bit for each column that it has, by the number of the column; the others are 0 for all records.
    pub columns: u64,
    /// Records, at least one.
    pub records: u32,
    /// Index of the thread.
    pub thread: u32,
}

/// No block is longer: all columns of the longest chunk, in frames that take the values as they are.
pub const LONGEST_BLOCK: usize = MAX_COLUMNS * (MAX_CHUNK_RECORDS as usize * 9 + 64) + 4096;

const HEADER: usize = size_of::<BlockHeader>();
/// The columns that every block has.
const ALWAYS: u64 = (1 << column::OTHERS) - 1;

/// How the values of a column are stored that may be stored in several ways: its first byte.
mod scheme {
    /// [`crate::packed::frames`].
    pub(super) const FRAMES: u8 = 1;
    /// Frames of the differences from the value before, for the first from 0.
    pub(super) const DIFFERENCES: u8 = 2;
    /// [`crate::packed::counted`].
    pub(super) const COUNTED: u8 = 3;
    /// A number, and [`crate::packed::frames`] of the values divided by it.
    pub(super) const STEPS: u8 = 4;
}

/// Which calls are numbered together.
///
/// ```
/// use mpitrace_format::packed::Numbering;
///
/// // Two operations on one communicator, then one on another.
/// let mut numbering = Numbering::new(vec![0, 0]);
/// numbering.extend([1].into_iter());
/// assert_eq!((numbering.len(), numbering.is_empty()), (3, false));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Numbering {
    /// For each operation its communicator, which counts positions.
    communicators: Vec<u32>,
    /// For each operation itself, which counts repetitions.
    operations: Vec<u32>,
}

impl Numbering {
    /// The numbering of operations on these communicators.
    pub fn new(communicators: Vec<u32>) -> Numbering {
        let operations = (0..communicators.len() as u32).collect();
        Numbering { communicators, operations }
    }

    /// Adds operations on these communicators.
    pub fn extend(&mut self, communicators: impl Iterator<Item = u32>) {
        self.communicators.extend(communicators);
        self.operations.extend(self.operations.len() as u32..self.communicators.len() as u32);
    }

    /// Operations.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    fn counts(&self, number: u32) -> Counts<'_> {
        // Those behind have numbers of the part's own, and are all packed in one way.
        match RECORD_COLUMNS[..COLUMNS.len()].get(number as usize).map(|column| column.packing) {
            Some(Packing::CountedByCommunicator) => Counts::new(&self.communicators, 1),
            Some(Packing::CountedByOperation) => Counts::new(&self.operations, 1),
            _ => Counts::new(&self.operations, 0),
        }
    }
}

/// The values of some records, at least one, all columns of the same length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Ticks at the entries.
    pub enter: Vec<u64>,
    /// Ticks at the exits; 0: the call did not return.
    pub exit: Vec<u64>,
    /// Positions on the communicators.
    pub position: Vec<u64>,
    /// How many calls of the operation came before.
    pub repetition: Vec<u64>,
    /// Operations, with their marks.
    pub operation: Vec<u32>,
    /// The other columns that are in use, by ascending numbers from [`column::OTHERS`] on.
    pub others: Vec<(u32, Vec<u64>)>,
}

impl Rows {
    /// Leaves those records for which `keep` is true.
    pub fn retain(&mut self, keep: &[bool]) {
        fn retain<T>(values: &mut Vec<T>, keep: &[bool]) {
            let mut keep = keep.iter();
            values.retain(|_| keep.next() == Some(&true));
        }
        let others = self.others.iter_mut().map(|(_, values)| values);
        [&mut self.enter, &mut self.exit, &mut self.position, &mut self.repetition]
            .into_iter()
            .chain(others)
            .for_each(|values| retain(values, keep));
        retain(&mut self.operation, keep);
    }

    /// The block of these records. Every operation is one of `numbering`.
    pub fn pack(&self, numbering: &Numbering, draw: u64, thread: u32) -> Vec<u8> {
        let columns = self.others.iter().fold(ALWAYS, |columns, (number, _)| columns | 1 << number);
        let start = HEADER + columns.count_ones() as usize * size_of::<u32>();
        // What most blocks take.
        let mut bytes = Vec::with_capacity(start + self.enter.len() * 2 * (1 + self.others.len()));
        bytes.resize(start, 0);
        let mut place = HEADER;
        let mut end_column = |bytes: &mut Vec<u8>, start: usize| {
            let length = (bytes.len() - start) as u32;
            bytes[place..place + size_of::<u32>()].copy_from_slice(&length.to_le_bytes());
            place += size_of::<u32>();
        };
        let mut exits = Vec::new();
        let start = bytes.len();
        times::put(&mut bytes, &mut exits, &self.enter, &self.exit);
        end_column(&mut bytes, start);
        let start = bytes.len();
        bytes.append(&mut exits);
        end_column(&mut bytes, start);
        for (number, values) in [(column::POSITION, &self.position), (column::REPETITION, &self.repetition)] {
            let start = bytes.len();
            put_counted(&mut bytes, number, values, &self.operation, numbering);
            end_column(&mut bytes, start);
        }
        let start = bytes.len();
        put_operations(&mut bytes, &self.operation);
        end_column(&mut bytes, start);
        for (number, values) in &self.others {
            let start = bytes.len();
            put_counted(&mut bytes, *number, values, &self.operation, numbering);
            end_column(&mut bytes, start);
        }
        let (length, records) = (bytes.len() as u32, self.enter.len() as u32);
        let header = BlockHeader { length, crc: 0, draw, columns, records, thread };
        bytes[..HEADER].copy_from_slice(bytemuck::bytes_of(&header));
        let crc = crc32fast::hash(&bytes);
        bytes[4..8].copy_from_slice(&crc.to_le_bytes());
        bytes
    }
}

/// Numbers that follow from counting need no other attempt.
fn put_counted(bytes: &mut Vec<u8>, number: u32, values: &[u64], operations: &[u32], numbering: &Numbering) {
    let start = bytes.len();
    bytes.push(scheme::COUNTED);
    if !numbering.counts(number).put(bytes, values, operations) {
        bytes.truncate(start);
        return put_values(bytes, values);
    }
    if bytes.len() - start > values.len() / 8 + 16 {
        let mut other = Vec::new();
        put_values(&mut other, values);
        if other.len() < bytes.len() - start {
            bytes.truncate(start);
            bytes.append(&mut other);
        }
    }
}

fn put_values(bytes: &mut Vec<u8>, values: &[u64]) {
    let start = bytes.len();
    bytes.push(scheme::FRAMES);
    frames::put(bytes, values);
    let mut differences = vec![scheme::DIFFERENCES];
    let before = std::iter::once(&0).chain(values);
    let changes: Vec<u64> = values.iter().zip(before).map(|(value, before)| value.wrapping_sub(*before)).collect();
    frames::put(&mut differences, &changes);
    let mut divided = values.to_vec();
    let step = times::in_steps(&mut divided);
    let mut steps = vec![scheme::STEPS];
    if step > 1 {
        number::put(&mut steps, step);
        frames::put(&mut steps, &divided);
    }
    for mut other in [differences, steps].into_iter().filter(|other| other.len() > 1) {
        if other.len() < bytes.len() - start {
            bytes.truncate(start);
            bytes.append(&mut other);
        }
    }
}

/// A block, as it is read. Of columns that cannot be decoded there is nothing: another program has written them.
///
/// ```
/// use mpitrace_format::packed::{Block, Numbering, Rows};
///
/// let numbering = Numbering::new(vec![0]);
/// let mut rows = Rows {
///     enter: vec![1000, 2000, 3000],
///     exit: vec![1400, 2400, 0],
///     position: vec![0, 1, 2],
///     repetition: vec![0, 1, 2],
///     operation: vec![0, 0, 0],
///     others: Vec::new(),
/// };
/// let bytes = rows.pack(&numbering, 1, 0);
/// let block = Block::parse(&bytes, &numbering).expect("a block");
/// assert!(block.has_its_checksum() && block.bytes() == &bytes[..]);
/// assert_eq!((block.records(), block.open(), block.delayed()), (3, Some(vec![2]), Some(0)));
/// assert_eq!(block.lowest_entry(), Some(1000));
/// assert!(block.first_of_consecutive().is_none_or(|first| first == 0));
/// assert_eq!((block.highest_operation(), block.operations()), (Some(0), Some(vec![0; 3])));
/// assert_eq!(block.times(), Some([rows.enter.clone(), rows.exit.clone()]));
/// assert_eq!(block.values(mpitrace_format::packed::column::POSITION, &[0; 3]), Some(vec![0, 1, 2]));
/// assert_eq!(block.rows().as_ref(), Some(&rows));
/// rows.retain(&[true, false, true]);
/// assert_eq!(rows.enter, [1000, 3000]);
/// assert!(Block::parse(&bytes[..20], &numbering).is_none());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Block<'b> {
    /// The header, which says what it is of.
    pub header: BlockHeader,
    numbering: &'b Numbering,
    bytes: &'b [u8],
}

impl<'b> Block<'b> {
    /// The block that `bytes` begin with; `None`: they do not, or not with all of it.
    pub fn parse(bytes: &'b [u8], numbering: &'b Numbering) -> Option<Block<'b>> {
        let header: BlockHeader = bytemuck::pod_read_unaligned(bytes.get(..HEADER)?);
        let bytes = bytes.get(..header.length as usize)?;
        let block = Block { header, numbering, bytes };
        let lengths = bytes.get(HEADER..block.columns_start())?.as_chunks().0;
        let sum: u64 = lengths.iter().map(|length| u64::from(u32::from_le_bytes(*length))).sum();
        let is_whole = header.columns & ALWAYS == ALWAYS
            && (1..=MAX_CHUNK_RECORDS).contains(&header.records.into())
            && block.columns_start() as u64 + sum == header.length.into();
        is_whole.then_some(block)
    }

    /// True if its bytes are those that were written.
    pub fn has_its_checksum(&self) -> bool {
        let mut crc = crc32fast::Hasher::new();
        crc.update(bytemuck::bytes_of(&BlockHeader { crc: 0, ..self.header }));
        crc.update(&self.bytes[HEADER..]);
        crc.finalize() == self.header.crc
    }

    /// Its bytes.
    pub fn bytes(&self) -> &'b [u8] {
        self.bytes
    }

    /// Records.
    pub fn records(&self) -> usize {
        self.header.records as usize
    }

    fn columns_start(&self) -> usize {
        HEADER + self.header.columns.count_ones() as usize * size_of::<u32>()
    }

    /// The bytes of a column; `None`: it does not have it.
    fn column(&self, number: u32) -> Option<&'b [u8]> {
        if self.header.columns >> number & 1 == 0 {
            return None;
        }
        let before = (self.header.columns & ((1 << number) - 1)).count_ones() as usize;
        let lengths = self.bytes[HEADER..self.columns_start()].as_chunks::<4>().0;
        let length = |index: usize| u32::from_le_bytes(lengths[index]) as usize;
        let start = self.columns_start() + (0..before).map(length).sum::<usize>();
        self.bytes.get(start..start + length(before))
    }

    /// The highest operation; `None` where the bytes are wrong.
    pub fn highest_operation(&self) -> Option<u32> {
        u32::try_from(number::take(&mut self.column(column::OPERATION)?)?).ok()
    }

    /// How many calls the tracer may have delayed.
    pub fn delayed(&self) -> Option<u64> {
        let mut rest = self.column(column::OPERATION)?;
        number::take(&mut rest)?;
        number::take(&mut rest)
    }

    /// The lowest entry.
    pub fn lowest_entry(&self) -> Option<u64> {
        times::take_lowest(&mut self.column(column::ENTER)?)
    }

    /// The first of the positions, where each is one more than the one before; `None`: they are not, or so few that
    /// they are stored as they are.
    pub fn first_of_consecutive(&self) -> Option<u64> {
        match self.column(column::POSITION)?.split_first()? {
            (&scheme::COUNTED, rest) => self.numbering.counts(column::POSITION).only(rest),
            _ => None,
        }
    }

    /// The operations, with their marks; `None` where the bytes are wrong.
    pub fn operations(&self) -> Option<Vec<u32>> {
        let mut rest = self.column(column::OPERATION)?;
        take_operations(&mut rest, self.records()).filter(|_| rest.is_empty())
    }

    /// The indices of the calls that did not return.
    pub fn open(&self) -> Option<Vec<usize>> {
        times::take_only_open(&mut self.column(column::EXIT)?, self.records())
    }

    /// The entries and the exits.
    pub fn times(&self) -> Option<[Vec<u64>; 2]> {
        let (mut entries, mut exits) = (self.column(column::ENTER)?, self.column(column::EXIT)?);
        let durations = times::take_durations(&mut exits, self.records())?;
        let mut found = [Vec::with_capacity(self.records()), Vec::with_capacity(self.records())];
        let [enter, exit] = &mut found;
        times::take(&mut entries, durations, enter, exit)?;
        (entries.is_empty() && exits.is_empty()).then_some(found)
    }

    /// The values of any column but those of times and operations. `operations` are those of the block, which values
    /// follow from.
    pub fn values(&self, number: u32, operations: &[u32]) -> Option<Vec<u64>> {
        let Some(bytes) = self.column(number) else { return Some(vec![0; self.records()]) };
        let (scheme, mut rest) = bytes.split_first()?;
        let mut found = Vec::with_capacity(self.records());
        match *scheme {
            scheme::FRAMES => frames::take(&mut rest, self.records(), &mut found)?,
            scheme::DIFFERENCES => {
                frames::take(&mut rest, self.records(), &mut found)?;
                let mut value = 0u64;
                for step in &mut found {
                    value = value.wrapping_add(*step);
                    *step = value;
                }
            }
            scheme::STEPS => {
                let step = number::take(&mut rest)?;
                found = times::take_steps(&mut rest, self.records(), step)?;
            }
            scheme::COUNTED => self.numbering.counts(number).take(&mut rest, operations, &mut found)?,
            _ => return None,
        }
        rest.is_empty().then_some(found)
    }

    /// All columns.
    pub fn rows(&self) -> Option<Rows> {
        let operation = self.operations()?;
        let [enter, exit] = self.times()?;
        let [position, repetition] = [column::POSITION, column::REPETITION].map(|one| self.values(one, &operation));
        let (position, repetition) = (position?, repetition?);
        let numbers: Range<u32> = column::OTHERS..MAX_COLUMNS as u32;
        let others = numbers.filter(|number| self.header.columns >> number & 1 != 0);
        let others = others.map(|number| Some((number, self.values(number, &operation)?)));
        let others = others.collect::<Option<_>>()?;
        Some(Rows { enter, exit, position, repetition, operation, others })
    }
}

/// The marks that a call can have, in the order in which a block lists the calls.
const MARKS: [u32; 3] = [DISTURBED, INTERRUPTED, INTERRUPTED_BEFORE];

/// The highest operation; for each of [`MARKS`] the number of calls that have it, and for each of these how many calls
/// after the one before it comes; then the phrases.
fn put_operations(bytes: &mut Vec<u8>, operations: &[u32]) {
    let plain: Vec<u32> = operations.iter().map(|operation| operation & OPERATION_MASK).collect();
    number::put(bytes, plain.iter().copied().max().unwrap_or(0).into());
    let marks = operations.iter().fold(0, |marks, operation| marks | operation);
    for mark in MARKS {
        let some = if marks & mark == 0 { &[] } else { operations };
        let marked: Vec<usize> = (0..some.len()).filter(|&index| operations[index] & mark != 0).collect();
        number::put(bytes, marked.len() as u64);
        let mut last = 0;
        for index in marked {
            number::put(bytes, (index - last) as u64);
            last = index;
        }
    }
    phrases::put(bytes, &plain);
}

fn take_operations(bytes: &mut &[u8], count: usize) -> Option<Vec<u32>> {
    let highest = u32::try_from(number::take(bytes)?).ok()?;
    let mut marked = Vec::new();
    for mark in MARKS {
        let calls = usize::try_from(number::take(bytes)?).ok().filter(|&calls| calls <= count)?;
        let mut last = 0usize;
        for _ in 0..calls {
            last = last.checked_add(usize::try_from(number::take(bytes)?).ok()?).filter(|&index| index < count)?;
            marked.push((last, mark));
        }
    }
    let mut operations = Vec::with_capacity(count);
    phrases::take(bytes, count, highest, &mut operations)?;
    marked.into_iter().for_each(|(index, mark)| operations[index] |= mark);
    Some(operations)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Records of four operations on two communicators, as a program leaves them, with exceptions.
    fn rows() -> impl Strategy<Value = Rows> {
        let call = (0u32..4, 0u64..2000, 0u64..5000, 0u32..60, any::<u64>());
        // The last one is never there.
        let others = proptest::collection::btree_set(column::OTHERS..MAX_COLUMNS as u32 - 1, 0..4);
        (proptest::collection::vec(call, 1..1500), others, 1u64..40).prop_map(|(calls, others, step)| {
            let mut rows = Rows::default();
            let (mut now, mut positions, mut repetitions) = (1 << 40, [0u64; 2], [0u64; 4]);
            for (operation, gap, duration, odds, value) in &calls {
                now += gap * step;
                rows.enter.push(if *odds == 0 { *value } else { now });
                now += duration * step;
                rows.exit.push(if *odds == 1 { 0 } else { now.max(1) });
                let [position, repetition] =
                    [&mut positions[*operation as usize / 2], &mut repetitions[*operation as usize]];
                rows.position.push(if *odds == 2 { *value } else { *position });
                rows.repetition.push(if *odds == 3 { *value } else { *repetition });
                (*position, *repetition) = (*position + 1, *repetition + 1);
                rows.operation.push(operation | if (4..7).contains(odds) { MARKS[*odds as usize - 4] } else { 0 });
            }
            let scaled = |number: u32| if number.is_multiple_of(2) { step } else { 1 };
            let value = |number: u32, value: u64| (value >> (number % 64)).wrapping_mul(scaled(number));
            let values = |number: u32| calls.iter().map(|call| value(number, call.4)).collect();
            rows.others = others.into_iter().map(|number| (number, values(number))).collect();
            rows
        })
    }

    fn numbering() -> Numbering {
        Numbering::new(vec![0, 0, 1, 1])
    }

    #[test]
    fn bytes_whose_header_contradicts_them_are_no_block() {
        let numbering = numbering();
        let rows = Rows {
            enter: vec![10, 30],
            exit: vec![20, 40],
            position: vec![0, 1],
            repetition: vec![0, 1],
            operation: vec![0, 0],
            others: Vec::new(),
        };
        let bytes = rows.pack(&numbering, 1, 0);
        let is_block = |change: fn(&mut BlockHeader)| {
            let mut header: BlockHeader = bytemuck::pod_read_unaligned(&bytes[..HEADER]);
            change(&mut header);
            Block::parse(&[bytemuck::bytes_of(&header), &bytes[HEADER..]].concat(), &numbering).is_some()
        };
        assert!(is_block(|_| {}));
        assert!(!is_block(|header| header.records = 0));
        assert!(!is_block(|header| header.records = MAX_CHUNK_RECORDS as u32 + 1));
        assert!(!is_block(|header| header.length -= 1));
    }

    proptest! {
        #[test]
        fn all_records_come_back(rows in rows(), draw: u64, thread: u32) {
            let numbering = numbering();
            let bytes = rows.pack(&numbering, draw, thread);
            prop_assert!(bytes.len() <= LONGEST_BLOCK);
            let block = Block::parse(&bytes, &numbering).unwrap();
            prop_assert!(block.has_its_checksum());
            prop_assert_eq!((block.header.draw, block.header.thread), (draw, thread));
            let highest = rows.operation.iter().map(|operation| operation & OPERATION_MASK).max();
            prop_assert_eq!(block.highest_operation(), highest);
            prop_assert_eq!(block.lowest_entry(), rows.enter.iter().copied().min());
            let open: Vec<usize> = (0..rows.exit.len()).filter(|&index| rows.exit[index] == 0).collect();
            prop_assert_eq!(block.open(), Some(open));
            prop_assert_eq!(block.values(MAX_COLUMNS as u32 - 1, &[]).map(|values| values.len()), Some(rows.enter.len()));
            prop_assert_eq!(block.rows(), Some(rows));
        }

        #[test]
        fn bytes_that_are_no_block_are_refused_or_are_records(
            rows in rows(), changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        ) {
            let numbering = numbering();
            let mut bytes = rows.pack(&numbering, 1, 0);
            changes.into_iter().for_each(|(place, byte)| *place.get_mut(&mut bytes) = byte);
            if let Some(block) = Block::parse(&bytes, &numbering)
                && block.highest_operation().is_some_and(|highest| (highest as usize) < numbering.len())
                && let Some(found) = block.rows()
            {
                prop_assert!(found.enter.len() == block.records() && found.position.len() == block.records());
            }
        }
    }

    #[test]
    fn values_in_steps_of_the_counter_take_the_bits_of_their_steps() {
        let values: Vec<u64> = (0..1024u64).map(|call| 26 * (5000 + call * 37 % 128)).collect();
        let mut bytes = Vec::new();
        put_values(&mut bytes, &values);
        assert!(bytes.len() <= 2 + 1024 * 7 / 8 + 4 * 1024 / 128, "7 bits a value: {}", bytes.len());
    }

    #[test]
    fn a_loop_takes_what_its_times_need() {
        // Run times of 4 to 67 and gaps of 2 to 5 steps of 26 ticks: 8 bits a call.
        let mut rows = Rows::default();
        let mut now = 1 << 50;
        for call in 0..1024u64 {
            let (gap, duration) = (26 * (2 + call * 7 % 4), 26 * (4 + call * 37 % 64));
            rows.enter.push(now + gap);
            rows.exit.push(now + gap + duration);
            rows.position.push(call);
            rows.repetition.push(call / 2);
            rows.operation.push(call as u32 % 2);
            now += gap + duration;
        }
        let packed = rows.pack(&Numbering::new(vec![0, 0]), 1, 0).len();
        let frames = 2 * 4 * 1024 / 128;
        assert!(packed <= 1024 + frames + HEADER + 5 * 4 + 48, "{packed} bytes");
    }
}
