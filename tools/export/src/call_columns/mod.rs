//! The columns of the calls. Each is declared once, in a file of this folder: `dump`, JSON, CSV, Arrow, Parquet and
//! Perfetto go by the list.

mod account;
mod algorithm;
mod call;
mod column;
mod processor;
mod request;
mod waits;

pub use column::{CallColumn, Kind, Value};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::rows::Row;

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
