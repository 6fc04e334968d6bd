//! The declaration of a column, and the value that a call has in it.

use std::fmt;

use mpitrace_format::layout::RecordColumn;
use mpitrace_trace::calls::algorithms::Algorithm;
use mpitrace_trace::operations::Operations;
use serde::{Serialize, Serializer};

use crate::recorded::RecordedValue;
use crate::rows::{Calls, Row};

/// A column of the calls.
pub struct CallColumn {
    /// Name of the column, as every format has it.
    pub name: &'static str,
    /// Kind of its values, which decides the type that a typed format stores.
    pub kind: Kind,
    pub(super) source: Source,
    /// True if every call has a value.
    pub is_always_known: bool,
    /// True if the column is in exports; false if only the table of `dump` shows it.
    pub is_data: bool,
    /// Only calls with a request have it.
    pub is_of_request: bool,
    /// True if it is a metric in the long form of CSV.
    pub is_metric: bool,
    /// True if a timeline shows it beside a call.
    pub is_beside: bool,
    /// Characters in the table of `dump`, at least; `None`: it is not there.
    pub width: Option<fn(&Calls) -> usize>,
    /// The order in which the table leaves it out.
    pub spare: u8,
    /// Its text in the table where it is not known.
    pub unknown: &'static str,
}

/// Where the values of a column come from.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// The fields of a row.
    Row(for<'r> fn(&Row<'r>) -> Value<'r>),
    /// A column of the records.
    Record(RecordColumn),
}

impl CallColumn {
    /// One of data, which the table does not show.
    pub const fn new(name: &'static str, kind: Kind, value: for<'r> fn(&Row<'r>) -> Value<'r>) -> CallColumn {
        CallColumn::from(name, kind, Source::Row(value))
    }

    /// One of data with what the records have in a column, which the table does not show.
    pub const fn of_record(name: &'static str, kind: Kind, column: RecordColumn) -> CallColumn {
        CallColumn::from(name, kind, Source::Record(column))
    }

    const fn from(name: &'static str, kind: Kind, source: Source) -> CallColumn {
        CallColumn {
            name,
            kind,
            source,
            is_always_known: false,
            is_data: true,
            is_of_request: false,
            is_metric: false,
            is_beside: false,
            width: None,
            spare: 0,
            unknown: "",
        }
    }

    /// Its value for a call.
    pub fn value<'r>(&self, row: &Row<'r>) -> Value<'r> {
        match &self.source {
            Source::Row(value) => value(row),
            Source::Record(column) => row.recorded.get(column).into(),
        }
    }

    /// Declares that every call has a value.
    pub const fn always_known(self) -> CallColumn {
        CallColumn { is_always_known: true, ..self }
    }

    /// Declares that only calls with a request have a value.
    pub const fn of_request(self) -> CallColumn {
        CallColumn { is_of_request: true, ..self }
    }

    /// Declares the column a metric in the long form of CSV.
    pub const fn in_long_csv(self) -> CallColumn {
        CallColumn { is_metric: true, ..self }
    }

    /// Declares that a timeline shows the value beside a call.
    pub const fn beside(self) -> CallColumn {
        CallColumn { is_beside: true, ..self }
    }

    /// Declares that the table of `dump` shows the column, at least `width` characters wide.
    pub const fn in_table(self, width: fn(&Calls) -> usize) -> CallColumn {
        CallColumn { width: Some(width), ..self }
    }

    /// Sets the order in which a narrow table leaves the column out: the largest `spare` first.
    pub const fn spare(self, spare: u8) -> CallColumn {
        CallColumn { spare, ..self }
    }
}

/// Kind of the values of a column.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A whole number from 0 to 2^32 - 1.
    U32,
    /// A whole number from 0 to 2^64 - 1.
    U64,
    /// A whole number that may be negative.
    I32,
    /// A floating-point number; times are in nanoseconds.
    Real,
    /// True or false.
    Flag,
    /// A text of the operation with this number.
    OfOperation(fn(&Operations, usize) -> &str),
    /// An algorithm inside the MPI library, a text by its name.
    Algorithm,
}

/// The value of a call in a column.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value<'a> {
    /// The call has no value, or it is not known.
    Unknown,
    /// A whole number.
    Number(u64),
    /// A whole number that may be negative.
    Signed(i32),
    /// A floating-point number; times are in nanoseconds.
    Real(f64),
    /// True or false.
    Flag(bool),
    /// A text.
    Text(&'a str),
    /// An algorithm inside the MPI library; serialised as the text of its name.
    #[serde(serialize_with = "as_text")]
    Algorithm(Algorithm),
}

fn as_text<S: Serializer>(algorithm: &Algorithm, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(algorithm)
}

macro_rules! values {
    ($($kind:ty => $variant:ident),*) => { $(
        impl From<$kind> for Value<'_> {
            fn from(value: $kind) -> Self {
                Value::$variant(value.into())
            }
        }
    )* };
}

values! { u32 => Number, u64 => Number, i32 => Signed, f64 => Real, bool => Flag, Algorithm => Algorithm }

impl From<RecordedValue> for Value<'_> {
    fn from(value: RecordedValue) -> Self {
        match value {
            RecordedValue::Ns(ns) => ns.into(),
            RecordedValue::Number(number) => number.into(),
            RecordedValue::WorldRank(rank) => rank.into(),
            RecordedValue::Algorithm(algorithm) => algorithm.into(),
        }
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Unknown, Into::into)
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Value::Unknown => Ok(()),
            Value::Number(value) => value.fmt(formatter),
            Value::Signed(value) => value.fmt(formatter),
            Value::Real(value) => value.fmt(formatter),
            Value::Flag(value) => value.fmt(formatter),
            Value::Text(value) => value.fmt(formatter),
            Value::Algorithm(value) => value.fmt(formatter),
        }
    }
}
