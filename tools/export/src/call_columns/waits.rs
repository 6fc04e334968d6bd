//! The time in calls that can wait before a call.

use super::column::{CallColumn, Kind};

pub const COLUMNS: &[CallColumn] = &[
    CallColumn::new("p2p_ns", Kind::Real, |row| row.p2p_ns.into()).in_long_csv().beside(),
    CallColumn::new("p2p_partner", Kind::U32, |row| row.p2p_partner.into()).beside(),
];
