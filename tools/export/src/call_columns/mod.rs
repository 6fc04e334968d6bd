//! The columns of the calls. Each is declared once, in a file of this folder or, where records have it, by
//! `mpitrace_format::layout::recorded`: `dump`, JSON, CSV, Arrow, Parquet and Perfetto go by the list.

mod account;
mod call;
mod column;
mod processor;
mod recorded;

pub use column::{CallColumn, Kind, Value};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::rows::Row;

/// All of them, in the order in which a file has them. The counters come behind.
pub fn all_columns() -> impl Iterator<Item = &'static CallColumn> {
    [call::COLUMNS, account::COLUMNS, processor::COLUMNS, &recorded::COLUMNS].into_iter().flatten()
}

/// The columns of data: all but those that only the table of `dump` has.
pub fn data_columns() -> impl Iterator<Item = &'static CallColumn> {
    all_columns().filter(|column| column.is_data)
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let of_request = self.starting_ns().is_some();
        for column in data_columns().filter(|column| !column.is_of_request || of_request) {
            map.serialize_entry(column.name, &column.value(self))?;
        }
        map.serialize_entry("counters", &self.counters)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of docs/exporting.md names each column of data, in their order.
    #[test]
    fn the_page_names_each_column() {
        let page = include_str!("../../../../docs/exporting.md");
        let rows = page.lines().skip_while(|line| !line.starts_with("| column |")).take_while(|line| !line.is_empty());
        let first = rows.filter_map(|line| line.split('|').nth(1));
        let named: Vec<&str> = first.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
        let mut declared: Vec<&str> = data_columns().map(|column| column.name).collect();
        declared.push("category");
        assert_eq!(named, declared);
    }
}
