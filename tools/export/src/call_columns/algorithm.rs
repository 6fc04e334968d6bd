//! The algorithm of a call.

use super::column::{CallColumn, Kind};

pub const COLUMNS: &[CallColumn] =
    &[CallColumn::new("algorithm", Kind::Algorithm, |row| row.algorithm.into()).beside().in_table(|_| 0).spare(7)];
