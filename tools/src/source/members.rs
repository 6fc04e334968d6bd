//! What a trace has of one operation on each rank, and how a column is made of it: on all processors, where the records
//! lie.

use mpitrace::clock::RankClock;
use mpitrace::operations::{Operation, Row};
use mpitrace_format::layout::NO_VALUE;
use rayon::prelude::*;

/// Rows that one processor takes at least: below, sharing them out costs more than it gains.
const ROWS_AT_ONCE: usize = 1 << 14;

/// The rows of an operation that every rank finished and kept.
#[derive(Debug)]
pub(super) struct Rows<'s> {
    operation: &'s Operation,
    /// `None`: all of them.
    some: Option<Vec<u32>>,
    count: usize,
}

impl<'s> Rows<'s> {
    pub(super) fn of(operation: &'s Operation) -> Rows<'s> {
        let count = operation.repetitions();
        let all = count == operation.repetition.len();
        let some = (!all).then(|| operation.complete_rows().map(|row| row as u32).collect());
        Rows { operation, some, count }
    }

    /// The records of the `index`-th of them, one for each rank.
    pub(super) fn records(&self, index: usize) -> Row<'s> {
        self.operation.records(self.some.as_ref().map_or(index, |some| some[index] as usize))
    }

    /// A value for each of them, in order.
    pub(super) fn map<T: Send>(&self, value: impl Fn(Row) -> T + Sync) -> Vec<T> {
        let indices = (0..self.count).into_par_iter().with_min_len(ROWS_AT_ONCE);
        indices.map(|index| value(self.records(index))).collect()
    }
}

/// What times one rank has.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemberTimes<'s> {
    /// Its index among the ranks.
    pub(super) index: usize,
    pub(super) enter: &'s [u64],
    pub(super) exit: &'s [u64],
    pub(super) clock: &'s RankClock,
}

impl MemberTimes<'_> {
    pub(super) fn enter_ns(&self, rows: &Rows<'_>) -> Vec<f64> {
        rows.map(|records| self.clock.nanoseconds(self.enter[records.get(self.index) as usize]))
    }

    pub(super) fn exit_ns(&self, rows: &Rows<'_>) -> Vec<f64> {
        rows.map(|records| self.clock.nanoseconds(self.exit[records.get(self.index) as usize]))
    }

    pub(super) fn duration_ns(&self, rows: &Rows<'_>) -> Vec<f64> {
        rows.map(|records| {
            let record = records.get(self.index) as usize;
            self.clock.duration_ns(self.enter[record], self.exit[record])
        })
    }
}

/// A metric of one rank, as the trace has it.
#[derive(Clone, Copy, Debug)]
pub(super) enum MemberColumn<'s> {
    /// Numbers; [`NO_VALUE`] is none.
    Numbers(&'s [u64]),
    /// Small numbers.
    Small(&'s [u32]),
    /// Times, ticks.
    Ticks(&'s [u64], &'s RankClock),
}

impl MemberColumn<'_> {
    /// The values of the `index`-th rank.
    pub(super) fn values(&self, rows: &Rows<'_>, index: usize) -> Vec<f64> {
        let at = |records: Row| records.get(index) as usize;
        match *self {
            MemberColumn::Numbers(values) => rows.map(|records| match values[at(records)] {
                NO_VALUE => f64::NAN,
                value => value as f64,
            }),
            MemberColumn::Small(values) => rows.map(|records| values[at(records)].into()),
            MemberColumn::Ticks(values, clock) => rows.map(|records| clock.ticks_ns(values[at(records)])),
        }
    }
}
