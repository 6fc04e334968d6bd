//! Values of single records. Of a packed part of a large trace only the pieces that were asked for last are decoded, so
//! that memory is for some pieces of each part and not for the trace: records are to be asked for in about their order.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::iter::repeat;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use mpitrace_format::layout::{CounterEntry, REQUEST_COLUMNS, WAITED_FOR};

use super::blocks::{ENTER, OPERATION, POSITION};
use super::part::Part;

/// Has a different value in each part that this process opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity(u64);

impl Identity {
    /// The next one.
    pub fn new() -> Identity {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Identity(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The records of a piece and the values of a column in it; all entries are followed by all exits.
#[derive(Default)]
struct Piece {
    range: Range<usize>,
    values: Vec<u64>,
}

/// So many pieces are kept at most, those of traces that were closed among them.
const MOST_PIECES: usize = 1 << 12;

thread_local! {
    /// The piece of each column of each part that this thread decoded last.
    static DECODED: RefCell<HashMap<(Identity, usize), Piece, BuildHasherDefault<Mixed>>> = RefCell::default();
}

/// A hash of two small numbers: each value that is asked for is looked up, and the standard library's takes 20 ns.
#[derive(Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, number: u64) {
        // An odd number near 2^64 divided by the golden ratio; the high bits are mixed best, and are moved down.
        self.0 = (self.0.rotate_left(8) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

/// Which of [`REQUEST_COLUMNS`] holds the ticks spent in Wait calls.
const WAIT: usize = 2;

/// What is known of the request of one call; all 0 for a call without one.
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

/// The values of one column, asked for one by one.
#[derive(Clone, Copy, Debug)]
pub struct Column<'p> {
    part: &'p Part,
    index: usize,
    /// The bits that are no part of the value.
    marks: u64,
}

impl Column<'_> {
    /// The value of a record that is there.
    pub fn get(&self, record: usize) -> u64 {
        self.part.value(self.index, record) & !self.marks
    }
}

impl Part {
    /// Ticks at the entry and at the exit of a call; an exit of 0: it did not return.
    pub fn times_of(&self, record: usize) -> (u64, u64) {
        match self.is_read_piecewise {
            false => (self.enter()[record], self.exit()[record]),
            true => self.in_piece(ENTER, record, |values, at| (values[at], values[values.len() / 2 + at])),
        }
    }

    /// As [`Part::operation`].
    pub fn operation_of(&self, record: usize) -> u32 {
        match self.is_read_piecewise {
            false => self.operation()[record],
            true => self.in_piece(OPERATION, record, |values, at| values[at]) as u32,
        }
    }

    /// As [`Part::position`].
    pub fn position_of(&self, record: usize) -> u64 {
        self.value(POSITION, record)
    }

    /// What is known of the request of a call; `None` where no call of this rank had one.
    pub fn request_of(&self, record: usize) -> Option<Request> {
        let [init, test, wait, tests] = self.request_columns()?.map(|column| column.get(record));
        Some(Request { init, test, wait, tests: tests as u32 })
    }

    /// The columns of [`Request`]: init, test, wait and tests; `None` where no call of this rank had one.
    pub fn request_columns(&self) -> Option<[Column<'_>; 4]> {
        let column =
            |index: usize, marks| Some(Column { part: self, index: self.place(REQUEST_COLUMNS[index])?, marks });
        Some([column(0, 0)?, column(1, 0)?, column(WAIT, WAITED_FOR)?, column(3, 0)?])
    }

    /// Whether the rank was in a Wait call that does not return before the request of this call is complete.
    pub fn is_waited_for(&self, record: usize) -> bool {
        self.place(REQUEST_COLUMNS[WAIT]).is_some_and(|column| self.value(column, record) & WAITED_FOR != 0)
    }

    /// The counters that could be had: their names and columns.
    pub fn counter_columns(&self) -> impl Iterator<Item = (String, Column<'_>)> {
        self.counters().iter().filter_map(|counter| Some((self.text(counter.name)?, self.counter_column(counter)?)))
    }

    /// As [`Part::counter`].
    pub fn counter_column(&self, counter: &CounterEntry) -> Option<Column<'_>> {
        Some(Column { part: self, index: self.place_of_counter(counter)?, marks: 0 })
    }

    fn value(&self, column: usize, record: usize) -> u64 {
        match (self.is_read_piecewise, self.columns[column].element_size) {
            (true, _) => self.in_piece(column, record, |values, at| values[at]),
            (false, 4) => self.column::<u32>(column)[record].into(),
            (false, _) => self.column::<u64>(column)[record],
        }
    }

    /// Reads the piece that this thread decoded last, or decodes now: its values, and the record's place among them.
    fn in_piece<R>(&self, column: usize, record: usize, read: impl FnOnce(&[u64], usize) -> R) -> R {
        DECODED.with_borrow_mut(|decoded| {
            if decoded.len() > MOST_PIECES {
                decoded.clear();
            }
            let piece = decoded.entry((self.identity, column)).or_default();
            if !piece.range.contains(&record) {
                *piece = self.decoded_piece(column, record);
            }
            read(&piece.values, record - piece.range.start)
        })
    }

    fn decoded_piece(&self, column: usize, record: usize) -> Piece {
        let records = self.piece_with(record);
        let count = records.range.len();
        let values = match column {
            ENTER => {
                let [enter, exit] = records.times();
                let padded = |column: &[u64]| column.iter().copied().chain(repeat(0)).take(count).collect::<Vec<u64>>();
                [padded(&enter), padded(&exit)].concat()
            }
            _ => {
                let mut values = records.values(column);
                values.resize(count, 0);
                values
            }
        };
        Piece { range: records.range, values }
    }
}
