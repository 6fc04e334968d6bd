//! The columns of a call: their names and values, once for `dump --csv`, Parquet and Arrow. Counters come behind them.

use std::io::{self, Write};

use super::rows::Row;
use crate::text::{csv_field, optional};

/// A column: its name and the value of a call.
pub struct Column(pub &'static str, pub Value);

/// The value of a call in a column; `None` in those that may lack one (`Maybe...`).
#[derive(Clone, Copy)]
pub enum Value {
    Word(for<'r> fn(&Row<'r>) -> &'r str),
    Bool(fn(&Row) -> bool),
    U32(fn(&Row) -> u32),
    U64(fn(&Row) -> u64),
    F64(fn(&Row) -> f64),
    MaybeU32(fn(&Row) -> Option<u32>),
    MaybeU64(fn(&Row) -> Option<u64>),
    MaybeI32(fn(&Row) -> Option<i32>),
    MaybeF64(fn(&Row) -> Option<f64>),
}

use Value::{Bool, F64, MaybeF64, MaybeI32, MaybeU32, MaybeU64, U32, U64, Word};

/// All of them, in their order. Rows have their accounts ([`super::rows::Accounts::with`]).
pub const COLUMNS: [Column; 20] = [
    Column("rank", U32(|row| row.rank)),
    Column("thread", U32(|row| row.thread)),
    Column("operation", U32(|row| row.operation)),
    Column("repetition", U64(|row| row.repetition)),
    Column("function", Word(|row| row.function)),
    Column("communicator", Word(|row| row.communicator)),
    Column("bytes", MaybeU64(|row| row.bytes)),
    Column("root", MaybeI32(|row| row.root)),
    Column("enter_ns", F64(|row| row.enter_ns)),
    Column("exit_ns", MaybeF64(|row| row.exit_ns)),
    Column("error_ns", MaybeF64(|row| row.error_ns)),
    Column("perturbed", Bool(|row| row.perturbed)),
    Column("waiting_ns", MaybeF64(|row| row.account?.waiting_ns)),
    Column("interrupted_ns", MaybeF64(|row| row.account?.interrupted_ns)),
    Column("interruptions", MaybeU64(|row| row.account?.interruptions)),
    Column("cpu", MaybeU32(|row| row.account?.cpu)),
    Column("init_ns", MaybeF64(|row| Some(row.request?.init_ns))),
    Column("test_ns", MaybeF64(|row| Some(row.request?.test_ns))),
    Column("wait_ns", MaybeF64(|row| Some(row.request?.wait_ns))),
    Column("tests", MaybeU32(|row| Some(row.request?.tests))),
];

impl Value {
    /// Writes the value of a call as CSV has it: nothing for none.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write_csv(self, row: &Row, output: &mut dyn Write) -> io::Result<()> {
        match self {
            Word(value) => write!(output, "{}", csv_field(value(row))),
            Bool(value) => write!(output, "{}", value(row)),
            U32(value) => write!(output, "{}", value(row)),
            U64(value) => write!(output, "{}", value(row)),
            F64(value) => write!(output, "{}", value(row)),
            MaybeU32(value) => write!(output, "{}", optional(value(row))),
            MaybeU64(value) => write!(output, "{}", optional(value(row))),
            MaybeI32(value) => write!(output, "{}", optional(value(row))),
            MaybeF64(value) => write!(output, "{}", optional(value(row))),
        }
    }
}
