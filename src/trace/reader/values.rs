//! Values of single records. A block that was decoded for one is kept for the others: all of them up to a bound for the
//! trace, beyond it those of each part that were asked for last. So records are best asked for in about their order.

use std::ops::Range;
#[cfg(test)]
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use mpitrace_format::layout::{CounterEntry, RecordColumn, WAITED_FOR, counter_flags, recorded};
use mpitrace_format::packed::column;

use super::decoded::{Decoded, HELD, HeldBlock, Values};
use super::part::Part;

/// Blocks are kept where fewer records than this are asked for together,
const MANY: usize = 1 << 10;
/// or fewer than one in so many: other operations have the rest, and are read from the same blocks.
const MOST_BETWEEN: usize = 8;

/// The known times and tests of the request of one call; all 0 for a call without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Ticks that the starting call took.
    pub init: u64,
    /// Ticks spent in Test calls for the request.
    pub test: u64,
    /// Ticks spent in Wait calls for the request.
    pub wait: u64,
    /// Test calls for the request.
    pub tests: u32,
}

/// The values of one column.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// # mpitrace_testing::synthetic::write_example(&path)?;
/// use mpitrace_format::layout::{partner, recorded};
/// use mpitrace_trace::reader::Trace;
///
/// let trace = Trace::open(&[path])?;
/// let part = &trace.parts[0];
/// // The eleventh call is the MPI_Ibarrier, with the cost of its request.
/// assert_eq!((part.times_of(10), part.operation_of(10), part.position_of(10)), ((1_300_000, 1_303_000), 1, 10));
/// let request = part.request_of(10).expect("requests");
/// assert_eq!((request.init, request.test, request.wait, request.tests), (200, 100, 1000, 2));
/// let [init, ..] = part.request_columns().expect("requests");
/// assert_eq!(init.all().collect::<Vec<u64>>(), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 200]);
/// assert!(!part.is_waited_for(10));
/// // Before the sixth call the thread was 300 ticks in message calls.
/// assert_eq!(part.recorded(&recorded::P2P).map(|column| column.get(5)), Some(300));
/// assert_eq!(part.recorded(&recorded::P2P_PARTNER).map(|column| column.get(5)), Some(partner::SEVERAL));
/// // Neither algorithms nor counters nor true ticks were recorded.
/// assert!(part.recorded(&recorded::ALGORITHM).is_none() && part.true_ticks().is_none());
/// assert_eq!(part.counter_columns().chain(part.columns_before()).count(), 0);
/// assert!(part.counters().iter().all(|counter| part.counter_column(counter).is_none()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Column<'p> {
    part: &'p Part,
    number: u32,
    /// The bits that are no part of the value.
    marks: u64,
}

impl Column<'_> {
    /// The value of a record that is there.
    #[inline]
    pub fn get(&self, record: usize) -> u64 {
        self.part.value(self.number, record) & !self.marks
    }

    /// Hands on the value of each of these records, in their order. Ascending records are read block by block.
    pub(crate) fn each(&self, cursor: &mut Cursor<'_>, records: &[u32], mut to: impl FnMut(u64)) {
        // Blocks of which many records are read at once are not needed again.
        let span = records.last().zip(records.first()).map_or(0, |(last, first)| last.abs_diff(*first) as usize);
        cursor.keeps = records.len() < MANY || span > MOST_BETWEEN * records.len();
        for &record in records {
            to(cursor.value(record as usize) & !self.marks);
        }
    }

    /// Reads the column, record after record.
    pub(crate) fn cursor(&self) -> Cursor<'_> {
        Cursor { part: self.part, number: self.number, keeps: true, range: 0..0, values: Arc::default() }
    }

    /// The values of all records.
    pub fn all(&self) -> impl Iterator<Item = u64> {
        self.part.blocks().flat_map(|block| block.column(self.number)).map(|value| value & !self.marks)
    }
}

impl Part {
    /// Ticks at the entry and at the exit of a call; an exit of 0: it did not return.
    #[inline]
    pub fn times_of(&self, record: usize) -> (u64, u64) {
        let behind = self.block_range(self.block_number(record)).len();
        self.in_block(column::ENTER, record, |values, place| (values.get(place), values.get(behind + place)))
    }

    /// Ticks at the entries and the exits of these records, in the place of what the two lists held.
    pub(crate) fn read_times(&self, records: &[u32], enter: &mut Vec<u64>, exit: &mut Vec<u64>) {
        enter.clear();
        exit.clear();
        let mut rest = records;
        while let Some(&first) = rest.first() {
            let range = self.block_range(self.block_number(first as usize));
            let count = rest.iter().take_while(|record| range.contains(&(**record as usize))).count();
            let (here, behind) = rest.split_at(count.max(1));
            let entries = here.iter().map(|&record| record as usize - range.start);
            let exits = entries.clone().map(|place| range.len() + place);
            self.in_block(column::ENTER, first as usize, |values, _| match values {
                Values::Near(lowest, behind) => {
                    enter.extend(entries.map(|place| lowest + u64::from(behind[place])));
                    exit.extend(exits.map(|place| lowest + u64::from(behind[place])));
                }
                values => {
                    enter.extend(entries.map(|place| values.get(place)));
                    exit.extend(exits.map(|place| values.get(place)));
                }
            });
            rest = behind;
        }
    }

    /// As [`super::Records::operation`].
    #[inline]
    pub fn operation_of(&self, record: usize) -> u32 {
        self.value(column::OPERATION, record) as u32
    }

    /// As [`super::Records::position`].
    pub fn position_of(&self, record: usize) -> u64 {
        self.value(column::POSITION, record)
    }

    /// As [`super::Records::repetition`].
    pub(crate) fn repetition_of(&self, record: usize) -> u64 {
        self.value(column::REPETITION, record)
    }

    /// The known times and tests of the request of a call; `None` where no call of this rank had one.
    pub fn request_of(&self, record: usize) -> Option<Request> {
        let [init, test, wait, tests] = self.request_columns()?.map(|column| column.get(record));
        Some(Request { init, test, wait, tests: tests as u32 })
    }

    /// The columns of [`Request`]: init, test, wait and tests; `None` where no call of this rank had one.
    pub fn request_columns(&self) -> Option<[Column<'_>; 4]> {
        let [init, test, wait, tests] =
            [recorded::INIT, recorded::TEST, recorded::WAIT, recorded::TESTS].map(|column| self.recorded(&column));
        Some([init?, test?, wait?, tests?])
    }

    /// The values of a column of the records, in its unit; `None`: no record of the part has any.
    pub fn recorded(&self, column: &RecordColumn) -> Option<Column<'_>> {
        self.column(column.name, column.marks)
    }

    /// True if the rank was in a Wait call that does not return before the request of this call is complete.
    pub fn is_waited_for(&self, record: usize) -> bool {
        self.column(recorded::WAIT.name, 0).is_some_and(|wait| wait.get(record) & WAITED_FOR != 0)
    }

    /// The counters that could be had: their names and columns.
    pub fn counter_columns(&self) -> impl Iterator<Item = (String, Column<'_>)> {
        self.columns_of_counters(0)
    }

    /// The counts between the thread's previous recorded call and a call: the counters' names, with
    /// [`mpitrace_format::layout::BEFORE`] behind, and columns.
    pub fn columns_before(&self) -> impl Iterator<Item = (String, Column<'_>)> {
        self.columns_of_counters(counter_flags::BEFORE)
    }

    fn columns_of_counters(&self, before: u32) -> impl Iterator<Item = (String, Column<'_>)> {
        let counters = self.counters().iter().filter(move |counter| counter.flags & counter_flags::BEFORE == before);
        counters.filter_map(|counter| Some((self.text(counter.name)?, self.counter_column(counter)?)))
    }

    /// The values of a counter, one for each call; `None` where it could not be had.
    pub fn counter_column(&self, counter: &CounterEntry) -> Option<Column<'_>> {
        let index = counter.column.checked_sub(1)?;
        self.column(&mpitrace_format::layout::counter_column(index as usize), 0)
    }

    /// Under a simulated clock the true ticks of each call's entry and exit.
    pub fn true_ticks(&self) -> Option<[Column<'_>; 2]> {
        Some([self.recorded(&recorded::TRUE_ENTER)?, self.recorded(&recorded::TRUE_EXIT)?])
    }

    /// The column with this name; `None`: no record of the part has it.
    fn column(&self, name: &str, marks: u64) -> Option<Column<'_>> {
        let (_, number) = *self.columns.iter().find(|column| column.0 == name)?;
        Some(Column { part: self, number, marks })
    }

    #[inline]
    fn value(&self, number: u32, record: usize) -> u64 {
        self.in_block(number, record, |values, place| values.get(place))
    }

    /// Reads the entry and the exit of calls, one after the other.
    pub fn times_cursor(&self) -> Cursor<'_> {
        Cursor { part: self, number: column::ENTER, keeps: true, range: 0..0, values: Arc::default() }
    }

    /// Reads [`Part::operation_of`] of calls, one after the other.
    pub fn operation_cursor(&self) -> Cursor<'_> {
        Cursor { part: self, number: column::OPERATION, keeps: true, range: 0..0, values: Arc::default() }
    }

    /// Reads in the decoded values of the block with this record, which has this place among them. Both times are
    /// decoded together, as [`column::ENTER`].
    #[inline]
    fn in_block<R>(&self, number: u32, record: usize, read: impl FnOnce(&Values, usize) -> R) -> R {
        let (column, block) = (self.place_of_column(number), self.block_number(record));
        let place = record - self.places[block].first;
        match self.decoded.kept[column].get().and_then(|blocks| blocks[block].get()) {
            Some(values) => read(values, place),
            None => read(&self.new_block(column, number, block), place),
        }
    }

    #[inline]
    fn place_of_column(&self, number: u32) -> usize {
        match number {
            ..column::OTHERS => number as usize,
            _ => self.columns.iter().position(|column| column.1 == number).unwrap_or(0),
        }
    }

    fn decoded_block(&self, number: u32, block: usize) -> Values {
        Values::new(self.block(block).map_or_else(Vec::new, |records| match number {
            column::ENTER => records.times().concat(),
            number => records.column(number),
        }))
    }

    /// The decoded values of a block that is not kept yet.
    #[cold]
    fn new_block(&self, column: usize, number: u32, block: usize) -> Arc<Values> {
        let Decoded { kept, budget, held } = &self.decoded;
        let place = |held: &[Mutex<HeldBlock>]| (block + 7 * column) % held.len();
        if let Some(held) = held.get() {
            let held = held[place(held)].lock().unwrap_or_else(PoisonError::into_inner);
            if (held.0, held.1) == (number, block) {
                return held.2.clone();
            }
        }
        let values = Arc::new(self.decoded_block(number, block));
        if budget.take(values.bytes()) {
            let blocks = kept[column].get_or_init(|| (0..self.places.len()).map(|_| OnceLock::new()).collect());
            return blocks[block].get_or_init(|| values).clone();
        }
        let empty = || Mutex::new((0, usize::MAX, Arc::default()));
        let held = held.get_or_init(|| (0..HELD).map(|_| empty()).collect());
        *held[place(held)].lock().unwrap_or_else(PoisonError::into_inner) = (number, block, values.clone());
        values
    }
}

/// Reads values of one column, record after record: the block of the last one is at hand. Each thread has its own.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// # mpitrace_testing::synthetic::write_example(&path)?;
/// use mpitrace_trace::reader::Trace;
///
/// let trace = Trace::open(&[path])?;
/// let (mut times, mut operation) = (trace.parts[0].times_cursor(), trace.parts[0].operation_cursor());
/// let read: Vec<_> = [0, 10].map(|record| (times.times(record), operation.value(record))).into();
/// assert_eq!(read, [((1_000_000, 1_002_500), 0), ((1_300_000, 1_303_000), 1)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cursor<'p> {
    part: &'p Part,
    number: u32,
    /// Blocks that it decodes are kept for others.
    keeps: bool,
    /// The records of the block at hand.
    range: Range<usize>,
    values: Arc<Values>,
}

impl Cursor<'_> {
    /// The value of a record.
    #[inline]
    pub fn value(&mut self, record: usize) -> u64 {
        let place = self.place(record);
        self.values.get(place)
    }

    /// The ticks at the entry and at the exit of a call.
    #[inline]
    pub fn times(&mut self, record: usize) -> (u64, u64) {
        let place = self.place(record);
        (self.values.get(place), self.values.get(self.range.len() + place))
    }

    #[inline]
    fn place(&mut self, record: usize) -> usize {
        if !self.range.contains(&record) {
            self.load(record);
        }
        record - self.range.start
    }

    #[cold]
    fn load(&mut self, record: usize) {
        let Cursor { part, number, keeps, .. } = *self;
        let (column, block) = (part.place_of_column(number), part.block_number(record));
        self.range = part.block_range(block);
        let kept = part.decoded.kept[column].get().and_then(|blocks| blocks[block].get());
        self.values = match kept {
            Some(values) => values.clone(),
            None if keeps => part.new_block(column, number, block),
            None => Arc::new(part.decoded_block(number, block)),
        };
    }
}

#[cfg(test)]
impl super::Trace {
    /// From now on no more than some blocks are held.
    pub(crate) fn spend_budget(&self) {
        self.parts.iter().for_each(|part| part.decoded.budget.0.store(0, Ordering::Relaxed));
    }
}
