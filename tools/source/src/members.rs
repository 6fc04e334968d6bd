//! One operation of a trace on each rank, and its columns: they are made on all processors, where the records
//! lie.

use std::ops::Range;

use mpitrace_format::layout::NO_VALUE;
use mpitrace_trace::clock::RankClock;
use mpitrace_trace::operations::{CompleteRows, Operation, RepetitionRow};
use mpitrace_trace::reader::{Column, Part};
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
    pub(super) fn new(operation: &'s Operation) -> Rows<'s> {
        Rows { operation, complete: operation.complete() }
    }

    /// The records of the `index`-th of them, one for each rank.
    pub(super) fn records(&self, index: usize) -> RepetitionRow<'s> {
        self.operation.records(self.complete.get(index))
    }

    /// A value for each of them, or for those at these places, in order.
    pub(super) fn map<T: Send>(&self, places: Option<&[u32]>, value: impl Fn(RepetitionRow) -> T + Sync) -> Vec<T> {
        let count = places.map_or(self.complete.len(), <[u32]>::len);
        let place = |index: usize| places.map_or(index, |places| places[index] as usize);
        let indices = (0..count).into_par_iter().with_min_len(ROWS_AT_ONCE);
        indices.map(|index| value(self.records(place(index)))).collect()
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct MemberTimes<'s> {
    pub(super) index: usize,
    pub(super) part: &'s Part,
    pub(super) clock: &'s RankClock,
}

impl MemberTimes<'_> {
    pub(super) fn enter_ns(&self, rows: &Rows<'_>) -> Vec<f64> {
        self.column(rows, |enter, _| self.clock.nanoseconds(enter))
    }

    pub(super) fn exit_ns(&self, rows: &Rows<'_>) -> Vec<f64> {
        self.column(rows, |_, exit| self.clock.nanoseconds(exit))
    }

    pub(super) fn duration_ns(&self, rows: &Rows<'_>) -> Vec<f64> {
        self.column(rows, |enter, exit| self.clock.duration_ns(enter, exit))
    }

    pub(super) fn times_of(&self, rows: &Rows<'_>, repetitions: Range<usize>) -> [Vec<f64>; 3] {
        let (enter, exit) = self.ticks(rows, repetitions);
        let in_ns = |ticks: &[u64]| ticks.iter().map(|&tick| self.clock.nanoseconds(tick)).collect();
        let duration = enter.iter().zip(&exit).map(|(&enter, &exit)| self.clock.duration_ns(enter, exit));
        [in_ns(&enter), in_ns(&exit), duration.collect()]
    }

    /// A value for each repetition, out of the ticks at the entry and at the exit.
    fn column(&self, rows: &Rows<'_>, value: impl Fn(u64, u64) -> f64 + Sync) -> Vec<f64> {
        let mut values = vec![0.0; rows.complete.len()];
        let share = |(number, values): (usize, &mut [f64])| {
            let first = number * ROWS_AT_ONCE;
            let (enter, exit) = self.ticks(rows, first..first + values.len());
            for ((found, enter), exit) in values.iter_mut().zip(enter).zip(exit) {
                *found = value(enter, exit);
            }
        };
        values.par_chunks_mut(ROWS_AT_ONCE).enumerate().for_each(share);
        values
    }

    fn ticks(&self, rows: &Rows<'_>, repetitions: Range<usize>) -> (Vec<u64>, Vec<u64>) {
        rows.operation.ticks_of(self.index, self.part, &rows.complete, repetitions)
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
    /// The values of the `index`-th rank, in all repetitions or in those at these places.
    pub(super) fn values(&self, rows: &Rows<'_>, index: usize, places: Option<&[u32]>) -> Vec<f64> {
        let at = |records: RepetitionRow| records.get(index) as usize;
        match *self {
            MemberColumn::Numbers(column) => rows.map(places, |records| match column.get(at(records)) {
                NO_VALUE => f64::NAN,
                value => value as f64,
            }),
            MemberColumn::Ticks(column, clock) => rows.map(places, |records| clock.ticks_ns(column.get(at(records)))),
        }
    }
}
