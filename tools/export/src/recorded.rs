//! The values of a call in the columns that not every record has, as `mpitrace_format::layout::recorded` declares each.

use mpitrace_format::layout::{Calls, ON_DEMAND_COLUMNS, RecordColumn, Unit};
use mpitrace_trace::calls::algorithms::{Algorithm, Seen};
use mpitrace_trace::clock::RankClock;
use mpitrace_trace::partners::Partners;
use mpitrace_trace::reader::{Column, Part};

/// The columns of a part, which are not looked up for every call.
pub struct RecordedColumns<'t> {
    /// In the order of [`ON_DEMAND_COLUMNS`]; `None`: no call has a value.
    columns: [Option<Column<'t>>; ON_DEMAND_COLUMNS.len()],
    waits_are_stamped: bool,
}

impl<'t> RecordedColumns<'t> {
    /// The columns of a part.
    pub fn new(part: &'t Part) -> RecordedColumns<'t> {
        let columns = ON_DEMAND_COLUMNS.map(|column| part.recorded(&column));
        RecordedColumns { columns, waits_are_stamped: part.waits_are_stamped() }
    }
}

/// A value, by the unit of its column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RecordedValue {
    /// Nanoseconds.
    Ns(f64),
    /// A count or another number without a unit.
    Number(u64),
    /// A rank of MPI_COMM_WORLD.
    WorldRank(u32),
    /// An algorithm inside the MPI library.
    Algorithm(Algorithm),
}

/// The values of a call.
#[derive(Clone, Copy)]
pub struct Recorded<'a> {
    /// The columns of the part that has the record.
    pub columns: &'a RecordedColumns<'a>,
    /// Clock of the rank, by which ticks become nanoseconds.
    pub clock: &'a RankClock,
    /// World ranks by the numbers that records have for them.
    pub partners: &'a Partners,
    /// Which algorithms of the operation are seen.
    pub seen: &'a Seen,
    /// Index of the part.
    pub part: usize,
    /// Index of the record in it.
    pub record: usize,
    /// True if a request stands for the calls of its operation.
    pub of_request: bool,
    /// True if the record is a region of the program, not an MPI call.
    pub is_region: bool,
}

impl Recorded<'_> {
    /// The value in a column; `None`: the call has none, or it is not known.
    pub fn get(&self, column: &RecordColumn) -> Option<RecordedValue> {
        let stored = self.columns.columns[column.place_on_demand()].map(|values| values.get(self.record));
        let value = match column.calls {
            Calls::All | Calls::WithSimulatedClock => stored,
            Calls::WithValue => stored.filter(|value| *value != 0),
            Calls::WithStampedWaits if self.columns.waits_are_stamped && !self.is_region => Some(stored.unwrap_or(0)),
            Calls::WithRequest if self.of_request => stored,
            Calls::WithStampedWaits | Calls::WithRequest => None,
        }?;
        match column.unit {
            Unit::Ticks => Some(RecordedValue::Ns(self.clock.ticks_ns(value))),
            Unit::Count | Unit::Operation => Some(RecordedValue::Number(value)),
            Unit::Partner => self.partners.world_rank(self.part, value).map(RecordedValue::WorldRank),
            Unit::Algorithm => self.seen.algorithm(value).map(RecordedValue::Algorithm),
        }
    }
}
