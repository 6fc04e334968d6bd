//! Columns by their names, from plain values: what tables of other things than calls are made of.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Result;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, TimestampMillisecondArray, UInt32Array,
};
use arrow_schema::{Field, Schema};

/// Columns with their names; of those that are to be null nowhere also that.
#[derive(Default)]
pub struct Columns(Vec<(Field, ArrayRef)>);

impl Columns {
    /// None yet.
    pub fn new() -> Columns {
        Columns(Vec::new())
    }

    /// A column that may have nulls.
    pub fn optional(mut self, name: &str, column: impl Array + 'static) -> Columns {
        self.0.push((Field::new(name, column.data_type().clone(), true), Arc::new(column)));
        self
    }

    /// A column that has none.
    pub fn required(mut self, name: &str, column: impl Array + 'static) -> Columns {
        self.0.push((Field::new(name, column.data_type().clone(), false), Arc::new(column)));
        self
    }

    /// A column of numbers.
    pub fn numbers(self, name: &str, values: impl Iterator<Item = f64>) -> Columns {
        self.required(name, Float64Array::from_iter_values(values))
    }

    /// A column of truths.
    pub fn truths(self, name: &str, values: impl Iterator<Item = bool>) -> Columns {
        self.required(name, values.map(Some).collect::<BooleanArray>())
    }

    /// A column of texts that may be missing.
    pub fn texts<'t>(self, name: &str, values: impl Iterator<Item = Option<&'t str>>) -> Columns {
        self.optional(name, values.collect::<StringArray>())
    }

    /// A column of numbers that may be missing.
    pub fn some_numbers(self, name: &str, values: impl Iterator<Item = Option<f64>>) -> Columns {
        self.optional(name, values.collect::<Float64Array>())
    }

    /// A column of whole numbers.
    pub fn counts(self, name: &str, values: impl Iterator<Item = u32>) -> Columns {
        self.required(name, UInt32Array::from_iter_values(values))
    }

    /// A column of whole numbers that may be missing.
    pub fn some_counts(self, name: &str, values: impl Iterator<Item = Option<u32>>) -> Columns {
        self.optional(name, values.collect::<UInt32Array>())
    }

    /// A column of points in time that may be missing, ms since 1970 in UTC.
    pub fn some_milliseconds(self, name: &str, values: impl Iterator<Item = Option<i64>>) -> Columns {
        self.optional(name, values.collect::<TimestampMillisecondArray>().with_timezone("UTC"))
    }

    /// All of them as one record batch.
    pub fn batch(self, metadata: HashMap<String, String>) -> Result<RecordBatch> {
        let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = self.0.into_iter().unzip();
        Ok(RecordBatch::try_new(Arc::new(Schema::new_with_metadata(fields, metadata)), columns)?)
    }
}
