//! Record batches of operations, repetitions and accounts.

use std::collections::HashMap;
use std::sync::Arc;

use mpitrace_source::Categorized;
use mpitrace_words::description::Description;

use crate::named_columns::Columns;
use anyhow::Result;
use arrow_array::{
    BooleanArray, DictionaryArray, Float64Array, Int32Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use mpitrace_analysis::account::{Account, Parts};
use mpitrace_statistics::categories::Category;

/// The key of a schema's metadata under which JSON is.
const METADATA: &str = "mpitrace";

/// The operations, with the columns of `info --json`.
pub fn operations(operations: &[Description]) -> Result<RecordBatch> {
    let strings = |of: fn(&Description) -> &str| StringArray::from_iter_values(operations.iter().map(of));
    let some_strings = |of: fn(&Description) -> Option<&str>| operations.iter().map(of).collect::<StringArray>();
    let counts = |of: fn(&Description) -> u64| UInt64Array::from_iter_values(operations.iter().map(of));
    Columns::new()
        .required("operation", UInt32Array::from_iter_values(operations.iter().map(|of| of.operation as u32)))
        .required("function", strings(|of| &of.function))
        .required("communicator", strings(|of| &of.communicator))
        .optional(
            "communicator_id",
            UInt32Array::from_iter(operations.iter().map(|of| Some(of.communicator_id? as u32))),
        )
        .optional("bytes", UInt64Array::from_iter(operations.iter().map(|of| of.bytes)))
        .optional("root", Int32Array::from_iter(operations.iter().map(|of| of.root)))
        .optional("datatype", some_strings(|of| of.datatype.as_deref()))
        .optional("reduction", some_strings(|of| of.reduction.as_deref()))
        .required("ranks", UInt32Array::from_iter_values(operations.iter().map(|of| of.ranks)))
        .required("repetitions", counts(|of| of.repetitions as u64))
        .required("incomplete", counts(|of| of.incomplete))
        .batch(HashMap::new())
}

/// Repetitions with their local, global and last run times.
pub fn repetitions(categorized: &Categorized, times: [Vec<f64>; 3], perturbed: Vec<bool>) -> Result<RecordBatch> {
    let [local, global, last] = times;
    of_repetitions(categorized)
        .required("local_ns", Float64Array::from(local))
        .required("global_ns", Float64Array::from(global))
        .required("last_ns", Float64Array::from(last))
        .required("perturbed", BooleanArray::from(perturbed))
        .required("category", categories_column(categorized)?)
        .batch(HashMap::new())
}

/// Repetitions with the run times that their categories are of.
pub fn categories(categorized: &Categorized) -> Result<RecordBatch> {
    let mut rest = serde_json::to_value(categorized)?;
    if let Some(keys) = rest.as_object_mut() {
        // The first three are the columns; the algorithm of each call is in `calls`.
        ["repetition", "run_time_ns", "category", "algorithm"].iter().for_each(|column| drop(keys.remove(*column)));
    }
    of_repetitions(categorized)
        .numbers("run_time_ns", categorized.run_time_ns.iter().copied())
        .required("category", categories_column(categorized)?)
        .batch(HashMap::from([(METADATA.to_owned(), rest.to_string())]))
}

fn of_repetitions(categorized: &Categorized) -> Columns {
    let numbers = &categorized.repetition;
    let operation = categorized.operation.operation as u32;
    Columns::new()
        .required("operation", UInt32Array::from_value(operation, numbers.len()))
        .required("repetition", UInt64Array::from_iter_values(numbers.iter().copied()))
}

fn categories_column(categorized: &Categorized) -> Result<DictionaryArray<arrow_array::types::Int32Type>> {
    let keys = Int32Array::from_iter_values(
        categorized.found.categories.category.iter().map(|category| category.place() as i32),
    );
    let names = StringArray::from_iter_values(Category::ALL.iter().map(|category| category.name()));
    Ok(DictionaryArray::try_new(keys, Arc::new(names))?)
}

/// The account, a row for each rank of each operation, ns.
pub fn account(account: &Account) -> Result<RecordBatch> {
    let of_operation = |(number, operation): (usize, &mpitrace_analysis::account::OperationAccount)| {
        let row = |(&(rank, parts), late): (&(u32, Parts), &mpitrace_analysis::account::Late)| {
            (number as u32, rank, operation.repetitions as u64, parts, late.waiting_ns)
        };
        operation.ranks.iter().zip(&operation.late).map(row).collect::<Vec<_>>()
    };
    let rows: Vec<(u32, u32, u64, Parts, f64)> = account.operations.iter().enumerate().flat_map(of_operation).collect();
    let parts = |of: fn(&Parts) -> f64| rows.iter().map(move |(_, _, _, parts, _)| of(parts));
    let most = rows.iter().map(|(_, _, _, parts, _)| parts.known_most());
    Columns::new()
        .required("operation", UInt32Array::from_iter_values(rows.iter().map(|row| row.0)))
        .required("rank", UInt32Array::from_iter_values(rows.iter().map(|row| row.1)))
        .required("repetitions", UInt64Array::from_iter_values(rows.iter().map(|row| row.2)))
        .numbers("run_time_ns", parts(|parts| parts.run_time))
        .numbers("waiting_ns", parts(|parts| parts.waiting))
        .numbers("interrupted_ns", parts(|parts| parts.interrupted))
        .optional("interrupted_most_ns", Float64Array::from_iter(most))
        .numbers("perturbed_ns", parts(|parts| parts.perturbed))
        .numbers("communication_ns", parts(|parts| parts.communication))
        .numbers("unsplit_ns", parts(|parts| parts.unsplit))
        .numbers("caused_ns", rows.iter().map(|row| row.4))
        .batch(HashMap::new())
}
