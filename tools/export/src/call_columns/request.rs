//! The cost of a non-blocking call beside its own time.

use super::column::{CallColumn, Kind};

pub const COLUMNS: &[CallColumn] = &[
    CallColumn::new("init_ns", Kind::Real, |row| row.request.map(|request| request.init_ns).into()).of_request(),
    CallColumn::new("test_ns", Kind::Real, |row| row.request.map(|request| request.test_ns).into()).of_request(),
    CallColumn::new("wait_ns", Kind::Real, |row| row.request.map(|request| request.wait_ns).into()).of_request(),
    CallColumn::new("tests", Kind::U32, |row| row.request.map(|request| request.tests).into()).of_request(),
];
