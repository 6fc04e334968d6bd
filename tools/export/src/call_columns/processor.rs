//! The processor on which a call returned.

use super::column::{CallColumn, Kind};

pub const COLUMNS: &[CallColumn] =
    &[CallColumn::new("cpu", Kind::U32, |row| row.account.cpu.into()).in_long_csv().beside().in_table(|_| 0).spare(10)];
