//! What a trace has of one operation on each rank, and how a column is made of it: on all processors, where the records
//! lie.

use std::ops::Range;

use mpitrace::clock::RankClock;
use mpitrace::operations::{CompleteRows, Operation, Row};
use mpitrace::reader::{Column, Part};
use mpitrace_format::layout::NO_VALUE;
use rayon::prelude::*;

/// Rows that one processor takes at least: below, sharing them out costs more than it gains.
const ROWS_AT_ONCE: usize = 1 << 14;

/// The rows of an operation that every rank finished and kept.
#[derive(Debug)]
pub(super) struct Rows<'s> {
    operation: &'s Operation,
    complete: CompleteRows,
}

impl<'s> Rows<'s> {
    pub(super) fn of(operation: &'s Operation) -> Rows<'s> {
        Rows { operation, complete: operation.complete() }
    }

    /// The records of the `index`-th of them, one for each rank.
    pub(super) fn records(&self, index: usize) -> Row<'s> {
        self.operation.records(self.complete.get(index))
    }

    /// A value for each of them, in order.
    pub(super) fn map<T: Send>(&self, value: impl Fn(Row) -> T + Sync) -> Vec<T> {
        let indices = (0..self.complete.len()).into_par_iter().with_min_len(ROWS_AT_ONCE);
        indices.map(|index| value(self.records(index))).collect()
    }
}

/// What times one rank has.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemberTimes<'s> {
    /// Its index among the ranks.
    pub(super) index: usize,
    pub(super) part: &'s Part,
    pub(super) clock: &'s RankClock,
}

impl MemberTimes<'_> {
    pub(super) fn enter_ns(&self, rows: &Rows<'_>) -> Vec<f64> {
        rows.map(|records| self.clock.nanoseconds(self.times(records).0))
    }

    pub(super) fn exit_ns(&self, rows: &Rows<'_>) -> Vec<f64> {
        rows.map(|records| self.clock.nanoseconds(self.times(records).1))
    }

    pub(super) fn duration_ns(&self, rows: &Rows<'_>) -> Vec<f64> {
        rows.map(|records| {
            let (enter, exit) = self.times(records);
            self.clock.duration_ns(enter, exit)
        })
    }

    /// The three of them, of these repetitions.
    pub(super) fn times_of(&self, rows: &Rows<'_>, repetitions: Range<usize>) -> [Vec<f64>; 3] {
        let mut columns = [(); 3].map(|()| Vec::with_capacity(repetitions.len()));
        for index in repetitions {
            let (enter, exit) = self.times(rows.records(index));
            columns[0].push(self.clock.nanoseconds(enter));
            columns[1].push(self.clock.nanoseconds(exit));
            columns[2].push(self.clock.duration_ns(enter, exit));
        }
        columns
    }

    fn times(&self, records: Row) -> (u64, u64) {
        self.part.times_of(records.get(self.index) as usize)
    }
}

/// A metric of one rank, as the trace has it.
#[derive(Clone, Copy, Debug)]
pub(super) enum MemberColumn<'s> {
    /// Numbers; [`NO_VALUE`] is none.
    Numbers(Column<'s>),
    /// Times, ticks.
    Ticks(Column<'s>, &'s RankClock),
}

impl MemberColumn<'_> {
    /// The values of the `index`-th rank.
    pub(super) fn values(&self, rows: &Rows<'_>, index: usize) -> Vec<f64> {
        let at = |records: Row| records.get(index) as usize;
        match *self {
            MemberColumn::Numbers(column) => rows.map(|records| match column.get(at(records)) {
                NO_VALUE => f64::NAN,
                value => value as f64,
            }),
            MemberColumn::Ticks(column, clock) => rows.map(|records| clock.ticks_ns(column.get(at(records)))),
        }
    }
}
