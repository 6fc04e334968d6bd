//! The calls as Arrow's record batches: the columns of `dump`, each counter as a column of its own, and the category.

use std::sync::Arc;

use anyhow::Result;
use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, Int32Builder, UInt32Builder, UInt64Builder, make_builder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use mpitrace::categories::Category;
use mpitrace::operations::{Operation, Operations};

use super::cells::{COLUMNS, Column, Value};
use super::labels::Labels;
use super::rows::{Accounts, Calls, Row, Selection};

/// Rows of a batch: some 8 MiB.
const BATCH: usize = 1 << 16;

/// Makes batches of a trace.
pub struct Batches<'c> {
    calls: &'c Calls<'c>,
    labels: Labels,
    accounts: Accounts<'c>,
    /// Of every batch.
    pub schema: SchemaRef,
    /// Of columns of words.
    words: Vec<Option<Words>>,
    categories: Arc<StringArray>,
}

/// The words of a column, each stored once, and for each operation the index of its own.
struct Words {
    words: Arc<StringArray>,
    of_operation: Vec<i32>,
}

impl<'c> Batches<'c> {
    /// For these calls.
    ///
    /// # Errors
    /// Run times that the rule of the categories cannot sort.
    pub fn new(calls: &'c Calls) -> Result<Batches<'c>> {
        Ok(Batches {
            calls,
            labels: Labels::new(calls)?,
            accounts: calls.accounts(),
            schema: Arc::new(Schema::new(fields(&calls.counter_names))),
            words: COLUMNS.iter().map(|column| Words::of_column(column, calls.operations)).collect(),
            categories: Arc::new(Category::ALL.iter().map(|category| Some(category.name())).collect()),
        })
    }

    /// Visits the batches of all operations or of one, as `dump` orders the calls.
    ///
    /// # Errors
    /// Those of `visit`.
    pub fn each(&self, operation: Option<usize>, mut visit: impl FnMut(&RecordBatch) -> Result<()>) -> Result<()> {
        let mut chunk = Chunk::new(&self.calls.counter_names);
        let push = |row: Row| {
            chunk.push(&self.accounts.with(row), self);
            if chunk.rows == BATCH {
                visit(&chunk.finish(self)?)?;
            }
            Ok(())
        };
        self.calls.each(Selection::from(operation), push)?;
        if chunk.rows > 0 {
            visit(&chunk.finish(self)?)?;
        }
        Ok(())
    }
}

impl Words {
    fn of_column(column: &Column, operations: &Operations) -> Option<Words> {
        let word = |operation: &Operation| match column {
            Column("function", _) => operation.key.function.clone(),
            _ => operations.communicators[operation.key.communicator].name.clone(),
        };
        let mut known: Vec<String> = Vec::new();
        let index = |word: String| {
            let found = known.iter().position(|other| *other == word);
            found.unwrap_or_else(|| {
                known.push(word);
                known.len() - 1
            }) as i32
        };
        let is_words = matches!(column.1, Value::Word(_));
        let of_operation = is_words.then(|| operations.operations.iter().map(word).map(index).collect())?;
        Some(Words { words: Arc::new(StringArray::from(known)), of_operation })
    }
}

fn fields(counters: &[String]) -> Vec<Field> {
    let field = |column: &Column| {
        let (data_type, nullable) = data_type(column.1);
        Field::new(column.0, data_type, nullable)
    };
    let mut fields: Vec<Field> = COLUMNS.iter().map(field).collect();
    fields.extend(counters.iter().map(|name| Field::new(name, DataType::UInt64, true)));
    fields.push(Field::new("category", words_type(), true));
    fields
}

/// The type of a column, and whether it may have nulls.
fn data_type(value: Value) -> (DataType, bool) {
    match value {
        Value::Word(_) => (words_type(), false),
        Value::Bool(_) => (DataType::Boolean, false),
        Value::U32(_) => (DataType::UInt32, false),
        Value::U64(_) => (DataType::UInt64, false),
        Value::F64(_) => (DataType::Float64, false),
        Value::MaybeU32(_) => (DataType::UInt32, true),
        Value::MaybeU64(_) => (DataType::UInt64, true),
        Value::MaybeI32(_) => (DataType::Int32, true),
        Value::MaybeF64(_) => (DataType::Float64, true),
    }
}

fn words_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// A batch in the making.
struct Chunk {
    rows: usize,
    /// Of columns of words the indices.
    columns: Vec<Box<dyn ArrayBuilder>>,
    counters: Vec<UInt64Builder>,
    category: Int32Builder,
}

impl Chunk {
    fn new(counters: &[String]) -> Chunk {
        let builder = |value| match value {
            Value::Word(_) => make_builder(&DataType::Int32, BATCH),
            value => make_builder(&data_type(value).0, BATCH),
        };
        Chunk {
            rows: 0,
            columns: COLUMNS.iter().map(|column| builder(column.1)).collect(),
            counters: counters.iter().map(|_| UInt64Builder::new()).collect(),
            category: Int32Builder::new(),
        }
    }

    fn push(&mut self, row: &Row, batches: &Batches) {
        self.rows += 1;
        let operation = row.operation as usize;
        for (builder, (column, words)) in self.columns.iter_mut().zip(COLUMNS.iter().zip(&batches.words)) {
            match column.1 {
                Value::Word(_) => {
                    typed::<Int32Builder>(builder).append_option(words.as_ref().map(|w| w.of_operation[operation]))
                }
                Value::Bool(value) => typed::<BooleanBuilder>(builder).append_value(value(row)),
                Value::U32(value) => typed::<UInt32Builder>(builder).append_value(value(row)),
                Value::U64(value) => typed::<UInt64Builder>(builder).append_value(value(row)),
                Value::F64(value) => typed::<Float64Builder>(builder).append_value(value(row)),
                Value::MaybeU32(value) => typed::<UInt32Builder>(builder).append_option(value(row)),
                Value::MaybeU64(value) => typed::<UInt64Builder>(builder).append_option(value(row)),
                Value::MaybeI32(value) => typed::<Int32Builder>(builder).append_option(value(row)),
                Value::MaybeF64(value) => typed::<Float64Builder>(builder).append_option(value(row)),
            }
        }
        for (index, counter) in self.counters.iter_mut().enumerate() {
            counter.append_option(row.counters.get(index));
        }
        let category = |category: Category| Category::ALL.iter().position(|other| *other == category);
        self.category.append_option(batches.labels.of_row(row).and_then(category).map(|index| index as i32));
    }

    fn finish(&mut self, batches: &Batches) -> Result<RecordBatch> {
        self.rows = 0;
        let finished = self.columns.iter_mut().map(|builder| builder.finish()).zip(&batches.words);
        let finished = finished.map(|(values, words)| match words {
            Some(words) => {
                Ok(Arc::new(DictionaryArray::try_new(values.as_primitive::<Int32Type>().clone(), words.words.clone())?)
                    as _)
            }
            None => Ok(values),
        });
        let mut columns = finished.collect::<Result<Vec<ArrayRef>>>()?;
        columns.extend(self.counters.iter_mut().map(|counter| Arc::new(counter.finish()) as ArrayRef));
        let categories = DictionaryArray::try_new(self.category.finish(), batches.categories.clone())?;
        columns.push(Arc::new(categories));
        Ok(RecordBatch::try_new(batches.schema.clone(), columns)?)
    }
}

/// A builder as that of the type that its column has.
fn typed<B: ArrayBuilder>(builder: &mut Box<dyn ArrayBuilder>) -> &mut B {
    builder.as_any_mut().downcast_mut().expect("the builder of the column's type")
}
