//! The columns that not every record has, as `mpitrace_format::layout::recorded` declares them.

use std::sync::LazyLock;

use mpitrace_format::layout::{Calls, Exported, ON_DEMAND_COLUMNS, RecordColumn, Unit, shown};

use super::column::{CallColumn, Kind};

/// The order in which the table of `dump` leaves them out.
const SPARE: u8 = 7;

pub static COLUMNS: LazyLock<Vec<CallColumn>> =
    LazyLock::new(|| ON_DEMAND_COLUMNS.iter().filter_map(|column| Some(exported(column, column.exported?))).collect());

fn exported(column: &RecordColumn, Exported { name, shown }: Exported) -> CallColumn {
    let kind = match (column.unit, column.width) {
        (Unit::Ticks, _) => Kind::Real,
        (Unit::Count, 8) => Kind::U64,
        (Unit::Count | Unit::Partner | Unit::Operation, _) => Kind::U32,
        (Unit::Algorithm, _) => Kind::Algorithm,
    };
    let is_shown = |place| shown & place != 0;
    CallColumn {
        is_of_request: column.calls == Calls::WithRequest,
        is_metric: is_shown(shown::METRIC),
        is_beside: is_shown(shown::TIMELINE),
        width: is_shown(shown::TABLE).then_some(|_| 0),
        spare: SPARE,
        ..CallColumn::of_record(name, kind, *column)
    }
}
