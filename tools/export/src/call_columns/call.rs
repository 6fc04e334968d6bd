//! Which call it is, and when it was made.

use mpitrace_trace::operations::Operations;

use super::column::{CallColumn, Kind, Value};
use crate::rows::Calls;

/// 15 digits before the point: eleven days.
const TIME: usize = 16;

pub const COLUMNS: &[CallColumn] = &[
    CallColumn::new("rank", Kind::U32, |row| row.rank.into())
        .always_known()
        .in_table(|calls| digits(calls.trace.world_size.into())),
    CallColumn::new("thread", Kind::U32, |row| row.thread.into()).always_known().in_table(|_| 0).spare(5),
    CallColumn::new("operation", Kind::U32, |row| row.operation.into()).always_known().beside().in_table(|_| 0),
    CallColumn::new("repetition", Kind::U64, |row| row.repetition.into()).always_known().beside().in_table(|calls| {
        widest(calls, |operations, number| operations.operations[number].repetition.last().map_or(0, digits))
    }),
    CallColumn::new("function", Kind::OfOperation(function), |row| Value::Text(row.function))
        .always_known()
        .in_table(|calls| widest(calls, |operations, number| function(operations, number).chars().count())),
    CallColumn::new("communicator", Kind::OfOperation(communicator), |row| Value::Text(row.communicator))
        .always_known()
        .beside()
        .in_table(|calls| widest(calls, |operations, number| communicator(operations, number).chars().count()))
        .spare(2),
    CallColumn::new("bytes", Kind::U64, |row| row.bytes.into()).beside().in_table(|_| 8).spare(1),
    CallColumn::new("root", Kind::I32, |row| row.root.into()).in_table(|_| 0).spare(4),
    CallColumn::new("enter_ns", Kind::Real, |row| row.enter_ns.into()).always_known().in_table(|_| TIME),
    CallColumn {
        unknown: "not returned",
        ..CallColumn::new("exit_ns", Kind::Real, |row| row.exit_ns.into()).in_table(|_| TIME).spare(3)
    },
    CallColumn {
        is_data: false,
        ..CallColumn::new("took_ns", Kind::Real, |row| row.exit_ns.map(|exit| exit - row.enter_ns).into())
            .in_table(|_| 12)
    },
    CallColumn::new("error_ns", Kind::Real, |row| row.error_ns.into()).beside(),
    CallColumn::new("perturbed", Kind::Flag, |row| row.perturbed.into())
        .always_known()
        .beside()
        .in_table(|_| 0)
        .spare(6),
];

fn function(operations: &Operations, number: usize) -> &str {
    &operations.operations[number].key.function
}

fn communicator(operations: &Operations, number: usize) -> &str {
    &operations.communicators[operations.operations[number].key.communicator].name
}

/// The widest text of any operation.
fn widest(calls: &Calls, width: fn(&Operations, usize) -> usize) -> usize {
    (0..calls.operations.operations.len()).map(|number| width(calls.operations, number)).max().unwrap_or(0)
}

fn digits(value: u64) -> usize {
    value.to_string().len()
}
