//! The calls of a block, column by column: how each is stored.

use crate::layout::{
    COLUMNS, DISTURBED, INTERRUPTED, INTERRUPTED_BEFORE, OPERATION_MASK, OperationEntry, TRUE_COLUMNS,
};

use super::counted::Counts;
use super::{frames, number, phrases, times};

/// How the values of a block are stored: its first byte.
mod scheme {
    /// As they are.
    pub const PLAIN: u8 = 0;
    /// [`crate::packed::frames`].
    pub const FRAMES: u8 = 1;
    /// The same of the differences from the value before, for the first from 0.
    pub const DIFFERENCES: u8 = 2;
    /// [`crate::packed::times`].
    pub const TIMES: u8 = 3;
    /// [`crate::packed::counted`].
    pub const COUNTED: u8 = 4;
    /// [`crate::packed::phrases`].
    pub const PHRASES: u8 = 5;
}

/// What the values of a column follow from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Entries, with the column of the exits.
    Enter(usize),
    /// Exits, with the column of the entries.
    Exit(usize),
    /// Counted by communicator.
    Position,
    /// Counted by operation.
    Repetition,
    /// The operations.
    Operation,
    /// All others.
    Value,
}

/// The columns of a part and the tables that their values follow from.
#[derive(Debug)]
pub struct Columns {
    roles: Vec<Role>,
    sizes: Vec<usize>,
    operation: usize,
    communicator_of: Vec<u32>,
    own: Vec<u32>,
}

impl Columns {
    /// The columns with these names and element sizes (bytes), of a part with these operations. [`COLUMNS`] are among
    /// them.
    pub fn new<'n>(columns: impl Iterator<Item = (&'n str, u32)>, operations: &[OperationEntry]) -> Columns {
        Columns::with_communicators(columns, operations.iter().map(|entry| entry.communicator).collect())
    }

    /// The same, of a part whose operations are on these communicators.
    pub fn with_communicators<'n>(columns: impl Iterator<Item = (&'n str, u32)>, communicator_of: Vec<u32>) -> Columns {
        let columns: Vec<(&str, u32)> = columns.collect();
        let place = |wanted: (&str, u32)| columns.iter().position(|column| *column == wanted);
        let role = |column: &(&str, u32)| {
            let pairs = [[COLUMNS[0], COLUMNS[1]], TRUE_COLUMNS];
            let of_pair = |[enter, exit]: [(&str, u32); 2]| match (place(enter), place(exit)) {
                (_, Some(exit)) if *column == enter => Some(Role::Enter(exit)),
                (Some(enter), _) if *column == exit => Some(Role::Exit(enter)),
                _ => None,
            };
            let counted = |wanted, role| (*column == wanted).then_some(role);
            let mut roles = pairs.into_iter().map(of_pair).chain([
                counted(COLUMNS[2], Role::Position),
                counted(COLUMNS[3], Role::Repetition),
                counted(COLUMNS[4], Role::Operation),
            ]);
            roles.find_map(|role| role).unwrap_or(Role::Value)
        };
        Columns {
            roles: columns.iter().map(role).collect(),
            sizes: columns.iter().map(|(_, size)| *size as usize).collect(),
            operation: place(COLUMNS[4]).unwrap_or(0),
            own: (0..communicator_of.len() as u32).collect(),
            communicator_of,
        }
    }

    /// Whether the values can be packed.
    fn is_packable(&self, column: usize) -> bool {
        matches!(self.sizes[column], 4 | 8)
    }

    fn counts(&self, role: Role) -> Counts<'_> {
        Counts::new(if role == Role::Position { &self.communicator_of } else { &self.own })
    }
}

/// Packs blocks.
#[derive(Debug)]
pub struct Packer<'c> {
    columns: &'c Columns,
    position: Counts<'c>,
    repetition: Counts<'c>,
}

impl<'c> Packer<'c> {
    /// Of parts with these columns.
    pub fn new(columns: &'c Columns) -> Self {
        Packer { columns, position: columns.counts(Role::Position), repetition: columns.counts(Role::Repetition) }
    }

    /// The bytes of a block of at least one call, for each column, out of the plain bytes of each.
    pub fn pack(&mut self, plain: &[&[u8]]) -> Vec<Vec<u8>> {
        let operations: Vec<u32> = words(plain[self.columns.operation]);
        let mut packed: Vec<Vec<u8>> = (0..plain.len()).map(|column| self.column(column, plain, &operations)).collect();
        for (column, role) in self.columns.roles.iter().enumerate() {
            if let Role::Enter(exit) = *role {
                let both = pack_times(&values(plain[column], 8), &values(plain[exit], 8));
                if both[0].len() + both[1].len() < packed[column].len() + packed[exit].len() {
                    [packed[column], packed[exit]] = both;
                }
            }
        }
        packed
    }

    /// The shortest of what a column can be without another one's times.
    fn column(&mut self, column: usize, plain: &[&[u8]], operations: &[u32]) -> Vec<u8> {
        let plain = plain[column];
        let as_it_is = [&[scheme::PLAIN], plain].concat();
        if !self.columns.is_packable(column) {
            return as_it_is;
        }
        let role = self.columns.roles[column];
        let values = values(plain, self.columns.sizes[column]);
        let mut candidates = vec![as_it_is];
        match role {
            Role::Position | Role::Repetition => {
                let mut bytes = vec![scheme::COUNTED];
                let counts = if role == Role::Position { &mut self.position } else { &mut self.repetition };
                counts.put(&mut bytes, &values, operations);
                // What follows from counting needs no other attempt.
                if bytes.len() < values.len() / 8 {
                    return bytes;
                }
                candidates.push(bytes);
            }
            Role::Operation => candidates.push(pack_operations(operations)),
            Role::Enter(_) | Role::Exit(_) | Role::Value => {}
        }
        if matches!(role, Role::Position | Role::Repetition | Role::Value) {
            let mut frames = vec![scheme::FRAMES];
            frames::put(&mut frames, &values);
            let mut differences = vec![scheme::DIFFERENCES];
            let before = std::iter::once(&0).chain(&values);
            let steps: Vec<u64> =
                values.iter().zip(before).map(|(value, before)| value.wrapping_sub(*before)).collect();
            frames::put(&mut differences, &steps);
            candidates.extend([frames, differences]);
        }
        candidates.into_iter().min_by_key(Vec::len).unwrap_or_default()
    }
}

/// Entries and exits as blocks of their columns.
pub fn pack_times(enter: &[u64], exit: &[u64]) -> [Vec<u8>; 2] {
    let mut both = [vec![scheme::TIMES], vec![scheme::TIMES]];
    let [entries, exits] = &mut both;
    times::put(entries, exits, enter, exit);
    both
}

/// A block of `count` values of this size that are all 0.
pub fn zeros(size: usize, count: usize) -> Vec<u8> {
    let mut frames = vec![scheme::FRAMES];
    frames::put(&mut frames, &vec![0; count]);
    let plain = vec![scheme::PLAIN; 1 + count * size];
    if frames.len() < plain.len() { frames } else { plain }
}

/// The packed columns of one block, as they are read.
#[derive(Debug)]
pub struct Block<'b> {
    columns: &'b Columns,
    count: usize,
    /// The bytes of each column.
    bytes: Vec<&'b [u8]>,
}

impl<'b> Block<'b> {
    /// A block of `count` calls.
    pub fn new(columns: &'b Columns, count: usize, bytes: Vec<&'b [u8]>) -> Self {
        Block { columns, count, bytes }
    }

    /// The highest operation, and whether there is one; `None` where the bytes are wrong.
    pub fn highest_operation(&self) -> Option<u32> {
        match self.bytes[self.columns.operation].split_first()? {
            (&scheme::PHRASES, mut rest) => u32::try_from(number::take(&mut rest)?).ok(),
            _ => self.operations()?.into_iter().map(|operation| operation & OPERATION_MASK).max(),
        }
    }

    /// How many calls the tracer may have delayed.
    pub fn delayed(&self) -> Option<u64> {
        match self.bytes[self.columns.operation].split_first()? {
            (&scheme::PHRASES, mut rest) => {
                number::take(&mut rest)?;
                number::take(&mut rest)
            }
            _ => Some(self.operations()?.iter().filter(|&&operation| operation & DISTURBED != 0).count() as u64),
        }
    }

    /// The lowest entry.
    pub fn lowest_entry(&self, enter: usize) -> Option<u64> {
        match self.bytes[enter].split_first()? {
            (&scheme::TIMES, mut rest) => times::take_lowest(&mut rest),
            _ => self.values(enter, &[])?.into_iter().min(),
        }
    }

    /// The first of the sequence numbers, where each is one more than the one before.
    pub fn first_of_consecutive(&self, position: usize) -> Option<u64> {
        match self.bytes[position].split_first()? {
            (&scheme::COUNTED, rest) => self.columns.counts(Role::Position).only(rest),
            _ => None,
        }
    }

    /// The operations; `None` where the bytes are wrong.
    pub fn operations(&self) -> Option<Vec<u32>> {
        match self.bytes[self.columns.operation].split_first()? {
            (&scheme::PHRASES, mut rest) => take_operations(&mut rest, self.count).filter(|_| rest.is_empty()),
            (&scheme::PLAIN, rest) => Some(words(rest)).filter(|operations| operations.len() == self.count),
            _ => None,
        }
    }

    /// The indices of the calls that did not return.
    pub fn open(&self, exit: usize) -> Option<Vec<usize>> {
        match self.bytes[exit].split_first()? {
            (&scheme::TIMES, mut rest) => times::take_only_open(&mut rest, self.count),
            _ => {
                let exits = self.values(exit, &[])?;
                Some(exits.iter().enumerate().filter(|(_, exit)| **exit == 0).map(|(index, _)| index).collect())
            }
        }
    }

    /// How long the calls took, exit - enter (wrapping) for those that returned, 0 for the others.
    pub fn durations(&self, enter: usize, exit: usize) -> Option<Vec<u64>> {
        match self.bytes[exit].split_first()? {
            (&scheme::TIMES, mut rest) => {
                Some(times::take_durations(&mut rest, self.count)?.ticks).filter(|_| rest.is_empty())
            }
            _ => {
                let [enter, exit] = self.times(enter, exit)?;
                let took = |(enter, exit): (u64, u64)| if exit == 0 { 0 } else { exit.wrapping_sub(enter) };
                Some(enter.into_iter().zip(exit).map(took).collect())
            }
        }
    }

    /// The entries and the exits.
    pub fn times(&self, enter: usize, exit: usize) -> Option<[Vec<u64>; 2]> {
        let [(first, mut entries), (second, mut exits)] =
            [self.bytes[enter].split_first()?, self.bytes[exit].split_first()?];
        match (*first, *second) {
            (scheme::TIMES, scheme::TIMES) => {
                let durations = times::take_durations(&mut exits, self.count)?;
                let mut found = [Vec::with_capacity(self.count), Vec::with_capacity(self.count)];
                let [enter, exit] = &mut found;
                times::take(&mut entries, durations, enter, exit)?;
                (entries.is_empty() && exits.is_empty()).then_some(found)
            }
            (scheme::TIMES, _) | (_, scheme::TIMES) => None,
            _ => Some([self.values(enter, &[])?, self.values(exit, &[])?]),
        }
    }

    /// The values of any other column, widened to 64 bits; `operations` are those of the block.
    pub fn values(&self, column: usize, operations: &[u32]) -> Option<Vec<u64>> {
        let (size, role) = (self.columns.sizes[column], self.columns.roles[column]);
        let (scheme, mut rest) = self.bytes[column].split_first()?;
        let mut found = Vec::with_capacity(self.count);
        match *scheme {
            scheme::PLAIN if rest.len() == self.count * size => return Some(values(rest, size)),
            scheme::FRAMES => frames::take(&mut rest, self.count, &mut found)?,
            scheme::DIFFERENCES => {
                frames::take(&mut rest, self.count, &mut found)?;
                let mut value = 0u64;
                for step in &mut found {
                    value = value.wrapping_add(*step);
                    *step = value;
                }
            }
            scheme::COUNTED if matches!(role, Role::Position | Role::Repetition) => {
                self.columns.counts(role).take(&mut rest, operations, &mut found)?;
            }
            _ => return None,
        }
        rest.is_empty().then_some(found)
    }

    /// The values of any column, widened to 64 bits.
    pub fn wide(&self, column: usize) -> Option<Vec<u64>> {
        match self.columns.roles[column] {
            Role::Operation => Some(self.operations()?.into_iter().map(u64::from).collect()),
            Role::Enter(exit) => self.times(column, exit)?.into_iter().next(),
            Role::Exit(enter) => self.times(enter, column)?.into_iter().nth(1),
            Role::Position | Role::Repetition => self.values(column, &self.operations()?),
            Role::Value => self.values(column, &[]),
        }
    }

    /// The plain bytes of a column.
    pub fn plain(&self, column: usize) -> Option<Vec<u8>> {
        let size = self.columns.sizes[column];
        if !self.columns.is_packable(column) {
            let (scheme, rest) = self.bytes[column].split_first()?;
            return (*scheme == scheme::PLAIN && rest.len() == self.count * size).then(|| rest.to_vec());
        }
        let values = self.wide(column)?;
        Some(values.iter().flat_map(|value| value.to_le_bytes().into_iter().take(size)).collect())
    }
}

/// What a call can be marked with, in the order in which a block lists the calls.
const MARKS: [u32; 3] = [DISTURBED, INTERRUPTED, INTERRUPTED_BEFORE];

/// The highest operation; for each of [`MARKS`] the number of calls that have it, and for each of these how many calls
/// after the one before it comes; then the phrases.
fn pack_operations(operations: &[u32]) -> Vec<u8> {
    let mut bytes = vec![scheme::PHRASES];
    let plain: Vec<u32> = operations.iter().map(|operation| operation & OPERATION_MASK).collect();
    number::put(&mut bytes, plain.iter().copied().max().unwrap_or(0).into());
    for mark in MARKS {
        let marked: Vec<usize> = (0..plain.len()).filter(|&index| operations[index] & mark != 0).collect();
        number::put(&mut bytes, marked.len() as u64);
        let mut last = 0;
        for index in marked {
            number::put(&mut bytes, (index - last) as u64);
            last = index;
        }
    }
    phrases::put(&mut bytes, &plain);
    bytes
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

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// Values of 4 or 8 bytes as 64 bits.
fn values(bytes: &[u8], size: usize) -> Vec<u64> {
    match size {
        4 => words(bytes).into_iter().map(u64::from).collect(),
        _ => bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect(),
    }
}
