//! The columns of the calls. Each is declared once, in a file of this folder: `dump`, JSON, CSV, Arrow, Parquet and
//! Perfetto go by the list.

mod account;
mod algorithm;
mod call;
mod processor;
mod request;
mod waits;

use std::fmt;

use mpitrace_trace::calls::algorithms::Algorithm;
use mpitrace_trace::operations::Operations;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::rows::{Calls, Row};

/// All of them, in the order in which a file has them. The counters come behind.
pub fn all_columns() -> impl Iterator<Item = &'static CallColumn> {
    [call::COLUMNS, account::COLUMNS, processor::COLUMNS, algorithm::COLUMNS, waits::COLUMNS, request::COLUMNS]
        .into_iter()
        .flatten()
}

/// The columns of data: all but those that only the table of `dump` has.
pub fn data_columns() -> impl Iterator<Item = &'static CallColumn> {
    all_columns().filter(|column| column.is_data)
}

pub struct CallColumn {
    pub name: &'static str,
    pub kind: Kind,
    /// Its value for a call.
    pub value: for<'r> fn(&Row<'r>) -> Value<'r>,
    /// True if every call has a value.
    #[cfg_attr(not(feature = "arrow"), allow(dead_code, reason = "of tables in memory alone"))]
    pub is_always_known: bool,
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

impl CallColumn {
    /// One of data, which the table does not show.
    const fn new(name: &'static str, kind: Kind, value: for<'r> fn(&Row<'r>) -> Value<'r>) -> CallColumn {
        CallColumn {
            name,
            kind,
            value,
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

    const fn always_known(self) -> CallColumn {
        CallColumn { is_always_known: true, ..self }
    }

    const fn of_request(self) -> CallColumn {
        CallColumn { is_of_request: true, ..self }
    }

    const fn in_long_csv(self) -> CallColumn {
        CallColumn { is_metric: true, ..self }
    }

    const fn beside(self) -> CallColumn {
        CallColumn { is_beside: true, ..self }
    }

    const fn in_table(self, width: fn(&Calls) -> usize) -> CallColumn {
        CallColumn { width: Some(width), ..self }
    }

    const fn spare(self, spare: u8) -> CallColumn {
        CallColumn { spare, ..self }
    }
}

#[derive(Clone, Copy)]
pub enum Kind {
    U32,
    U64,
    I32,
    Real,
    Flag,
    /// A text of the operation with this number.
    #[cfg_attr(not(feature = "arrow"), allow(dead_code, reason = "of tables in memory alone"))]
    OfOperation(fn(&Operations, usize) -> &str),
    Algorithm,
}

/// The value of a call in a column.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value<'a> {
    Unknown,
    Number(u64),
    Signed(i32),
    Real(f64),
    Flag(bool),
    Text(&'a str),
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

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for column in data_columns().filter(|column| !column.is_of_request || self.request.is_some()) {
            map.serialize_entry(column.name, &(column.value)(self))?;
        }
        map.serialize_entry("counters", &self.counters)?;
        map.end()
    }
}
