//! The time of a call that was waiting, or spent off the processor.

use super::column::{CallColumn, Kind};

pub const COLUMNS: &[CallColumn] = &[
    CallColumn::new("waiting_ns", Kind::Real, |row| row.account.waiting_ns.into())
        .in_long_csv()
        .beside()
        .in_table(|_| 12)
        .spare(3),
    CallColumn::new("interrupted_ns", Kind::Real, |row| row.account.interrupted_ns.into())
        .in_long_csv()
        .beside()
        .in_table(|_| 0)
        .spare(8),
    CallColumn::new("interruptions", Kind::U64, |row| row.account.interruptions.into())
        .in_long_csv()
        .beside()
        .in_table(|_| 0)
        .spare(9),
];
