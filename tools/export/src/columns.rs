//! The calls as Arrow's record batches: the columns of `dump`, each counter as a column of its own, and the category.

use std::sync::Arc;

use anyhow::Result;
use arrow_array::builder::{BooleanBuilder, Float64Builder, Int32Builder, StringBuilder, UInt32Builder, UInt64Builder};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use mpitrace_statistics::categories::Category;
use mpitrace_trace::operations::Operations;

use super::call_columns::{self, CallColumn, Kind, Value};
use super::labels::Labels;
use super::rows::{Calls, Row, Selection};

/// Rows of a batch: some 8 MiB.
const BATCH: usize = 1 << 16;

/// Makes batches of a trace.
pub struct Batches<'c, 't> {
    calls: &'c Calls<'t>,
    labels: Labels,
    /// The schema of every batch.
    pub schema: SchemaRef,
    categories: Arc<StringArray>,
}

impl<'c, 't> Batches<'c, 't> {
    /// For these calls.
    ///
    /// # Errors
    /// Run times that the rule of the categories cannot sort.
    pub fn new(calls: &'c Calls<'t>) -> Result<Batches<'c, 't>> {
        Ok(Batches {
            calls,
            labels: Labels::new(calls)?,
            schema: Arc::new(Schema::new(fields(&calls.counter_names))),
            categories: Arc::new(Category::ALL.iter().map(|category| Some(category.name())).collect()),
        })
    }

    /// Visits the batches of all operations or of one, as `dump` orders the calls.
    pub fn each(&self, operation: Option<usize>, mut visit: impl FnMut(&RecordBatch) -> Result<()>) -> Result<()> {
        let mut chunk = Chunk::new(self.calls);
        let push = |row: Row| {
            chunk.push(row, self);
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

fn fields(counters: &[String]) -> Vec<Field> {
    let texts = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let field = |column: &CallColumn| {
        let kind = match column.kind {
            Kind::U32 => DataType::UInt32,
            Kind::U64 => DataType::UInt64,
            Kind::I32 => DataType::Int32,
            Kind::Real => DataType::Float64,
            Kind::Flag => DataType::Boolean,
            Kind::OfOperation(_) => texts(),
            Kind::Algorithm => DataType::Utf8,
        };
        Field::new(column.name, kind, !column.is_always_known)
    };
    let mut fields: Vec<Field> = call_columns::data_columns().map(field).collect();
    fields.extend(counters.iter().map(|name| Field::new(name, DataType::UInt64, true)));
    fields.push(Field::new("category", texts(), true));
    fields
}

/// The values of a column in a batch.
enum Builder {
    U32(UInt32Builder),
    U64(UInt64Builder),
    I32(Int32Builder),
    Real(Float64Builder),
    Flag(BooleanBuilder),
    /// Texts, by their numbers among those of all operations.
    OfOperation(Int32Builder, DictionaryArray<Int32Type>),
    Algorithms(StringBuilder),
}

impl Builder {
    fn new(kind: Kind, operations: &Operations) -> Builder {
        match kind {
            Kind::U32 => Builder::U32(UInt32Builder::new()),
            Kind::U64 => Builder::U64(UInt64Builder::new()),
            Kind::I32 => Builder::I32(Int32Builder::new()),
            Kind::Real => Builder::Real(Float64Builder::new()),
            Kind::Flag => Builder::Flag(BooleanBuilder::new()),
            Kind::OfOperation(text) => {
                let texts = (0..operations.operations.len()).map(|number| text(operations, number));
                Builder::OfOperation(Int32Builder::new(), texts.collect())
            }
            Kind::Algorithm => Builder::Algorithms(StringBuilder::new()),
        }
    }

    /// Appends the value of a call of an operation.
    fn append(&mut self, value: Value, operation: u32) {
        match (self, value) {
            (Builder::U32(builder), Value::Number(value)) => builder.append_value(value as u32),
            (Builder::U64(builder), Value::Number(value)) => builder.append_value(value),
            (Builder::I32(builder), Value::Signed(value)) => builder.append_value(value),
            (Builder::Real(builder), Value::Real(value)) => builder.append_value(value),
            (Builder::Flag(builder), Value::Flag(value)) => builder.append_value(value),
            (Builder::OfOperation(builder, texts), Value::Text(_)) => {
                builder.append_value(texts.keys().value(operation as usize));
            }
            (Builder::Algorithms(builder), Value::Algorithm(value)) => builder.append_value(value.to_string()),
            (Builder::U32(builder), _) => builder.append_null(),
            (Builder::U64(builder), _) => builder.append_null(),
            (Builder::I32(builder), _) => builder.append_null(),
            (Builder::Real(builder), _) => builder.append_null(),
            (Builder::Flag(builder), _) => builder.append_null(),
            (Builder::OfOperation(builder, _), _) => builder.append_null(),
            (Builder::Algorithms(builder), _) => builder.append_null(),
        }
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        Ok(match self {
            Builder::U32(builder) => Arc::new(builder.finish()),
            Builder::U64(builder) => Arc::new(builder.finish()),
            Builder::I32(builder) => Arc::new(builder.finish()),
            Builder::Real(builder) => Arc::new(builder.finish()),
            Builder::Flag(builder) => Arc::new(builder.finish()),
            Builder::OfOperation(builder, texts) => {
                Arc::new(DictionaryArray::try_new(builder.finish(), texts.values().clone())?)
            }
            Builder::Algorithms(builder) => Arc::new(builder.finish()),
        })
    }
}

/// A batch in the making.
struct Chunk {
    rows: usize,
    columns: Vec<(&'static CallColumn, Builder)>,
    counters: Vec<UInt64Builder>,
    category: Int32Builder,
}

impl Chunk {
    fn new(calls: &Calls) -> Chunk {
        let builder = |column: &'static CallColumn| (column, Builder::new(column.kind, calls.operations));
        Chunk {
            rows: 0,
            columns: call_columns::data_columns().map(builder).collect(),
            counters: calls.counter_names.iter().map(|_| UInt64Builder::new()).collect(),
            category: Int32Builder::new(),
        }
    }

    fn push(&mut self, row: Row, batches: &Batches) {
        self.rows += 1;
        for (column, builder) in &mut self.columns {
            builder.append(column.value(&row), row.operation);
        }
        for (index, counter) in self.counters.iter_mut().enumerate() {
            counter.append_option(row.counters.get(index));
        }
        self.category.append_option(batches.labels.of_row(&row).map(|category| category.place() as i32));
    }

    fn finish(&mut self, batches: &Batches) -> Result<RecordBatch> {
        self.rows = 0;
        let columns = self.columns.iter_mut().map(|(_, builder)| builder.finish());
        let mut columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
        columns.extend(self.counters.iter_mut().map(|counter| Arc::new(counter.finish()) as ArrayRef));
        columns.push(Arc::new(DictionaryArray::try_new(self.category.finish(), batches.categories.clone())?));
        Ok(RecordBatch::try_new(batches.schema.clone(), columns)?)
    }
}
