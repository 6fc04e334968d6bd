//! The calls as Arrow's record batches: the columns of `dump`, each counter as a column of its own, and the category.

use std::sync::Arc;

use anyhow::Result;
use arrow_array::builder::{BooleanBuilder, Float64Builder, Int32Builder, UInt32Builder, UInt64Builder};
use arrow_array::{ArrayRef, DictionaryArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use mpitrace::categories::Category;

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
    functions: Words,
    communicators: Words,
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
    pub fn of(calls: &'c Calls) -> Result<Batches<'c>> {
        let operations = calls.operations;
        let name = |communicator: usize| operations.communicators[communicator].name.as_str();
        let keys = || operations.operations.iter().map(|operation| &operation.key);
        Ok(Batches {
            calls,
            labels: Labels::of(calls)?,
            accounts: calls.accounts(),
            schema: Arc::new(Schema::new(fields(&calls.counter_names))),
            functions: Words::of(keys().map(|key| key.function.as_str())),
            communicators: Words::of(keys().map(|key| name(key.communicator))),
            categories: Arc::new(Category::ALL.iter().map(|category| Some(category.name())).collect()),
        })
    }

    /// Visits the batches of all operations or of one, as `dump` orders the calls.
    ///
    /// # Errors
    /// Those of `visit`.
    pub fn each(&self, operation: Option<usize>, mut visit: impl FnMut(&RecordBatch) -> Result<()>) -> Result<()> {
        let mut chunk = Chunk::new(self.calls.counter_names.len());
        let push = |row: Row| {
            chunk.push(&row, self);
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
    fn of<'w>(words: impl Iterator<Item = &'w str>) -> Words {
        let mut known: Vec<&str> = Vec::new();
        let index = |word| {
            let found = known.iter().position(|other| *other == word);
            found.unwrap_or_else(|| {
                known.push(word);
                known.len() - 1
            }) as i32
        };
        let of_operation = words.map(index).collect();
        Words { words: Arc::new(StringArray::from(known)), of_operation }
    }
}

fn fields(counters: &[String]) -> Vec<Field> {
    let words = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let mut fields = vec![
        Field::new("rank", DataType::UInt32, false),
        Field::new("thread", DataType::UInt32, false),
        Field::new("operation", DataType::UInt32, false),
        Field::new("repetition", DataType::UInt64, false),
        Field::new("function", words(), false),
        Field::new("communicator", words(), false),
        Field::new("bytes", DataType::UInt64, true),
        Field::new("root", DataType::Int32, true),
        Field::new("enter_ns", DataType::Float64, false),
        Field::new("exit_ns", DataType::Float64, true),
        Field::new("error_ns", DataType::Float64, true),
        Field::new("perturbed", DataType::Boolean, false),
        Field::new("waiting_ns", DataType::Float64, true),
        Field::new("interrupted_ns", DataType::Float64, true),
        Field::new("interruptions", DataType::UInt64, true),
        Field::new("cpu", DataType::UInt32, true),
        Field::new("init_ns", DataType::Float64, true),
        Field::new("test_ns", DataType::Float64, true),
        Field::new("wait_ns", DataType::Float64, true),
        Field::new("tests", DataType::UInt32, true),
    ];
    fields.extend(counters.iter().map(|name| Field::new(name, DataType::UInt64, true)));
    fields.push(Field::new("category", words(), true));
    fields
}

/// A batch in the making.
#[derive(Default)]
struct Chunk {
    rows: usize,
    rank: UInt32Builder,
    thread: UInt32Builder,
    operation: UInt32Builder,
    repetition: UInt64Builder,
    function: Int32Builder,
    communicator: Int32Builder,
    bytes: UInt64Builder,
    root: Int32Builder,
    enter_ns: Float64Builder,
    exit_ns: Float64Builder,
    error_ns: Float64Builder,
    perturbed: BooleanBuilder,
    waiting_ns: Float64Builder,
    interrupted_ns: Float64Builder,
    interruptions: UInt64Builder,
    cpu: UInt32Builder,
    init_ns: Float64Builder,
    test_ns: Float64Builder,
    wait_ns: Float64Builder,
    tests: UInt32Builder,
    counters: Vec<UInt64Builder>,
    category: Int32Builder,
}

impl Chunk {
    fn new(counters: usize) -> Chunk {
        Chunk { counters: (0..counters).map(|_| UInt64Builder::new()).collect(), ..Chunk::default() }
    }

    fn push(&mut self, row: &Row, batches: &Batches) {
        let request = row.request;
        let category = |category: Category| Category::ALL.iter().position(|other| *other == category);
        self.rows += 1;
        self.rank.append_value(row.rank);
        self.thread.append_value(row.thread);
        self.operation.append_value(row.operation);
        self.repetition.append_value(row.repetition);
        self.function.append_value(batches.functions.of_operation[row.operation as usize]);
        self.communicator.append_value(batches.communicators.of_operation[row.operation as usize]);
        self.bytes.append_option(row.bytes);
        self.root.append_option(row.root);
        self.enter_ns.append_value(row.enter_ns);
        self.exit_ns.append_option(row.exit_ns);
        self.error_ns.append_option(row.error_ns);
        self.perturbed.append_value(row.perturbed);
        let account = batches.accounts.of(row);
        self.waiting_ns.append_option(account.waiting_ns);
        self.interrupted_ns.append_option(account.interrupted_ns);
        self.interruptions.append_option(account.interruptions);
        self.cpu.append_option(account.cpu);
        self.init_ns.append_option(request.map(|times| times.init_ns));
        self.test_ns.append_option(request.map(|times| times.test_ns));
        self.wait_ns.append_option(request.map(|times| times.wait_ns));
        self.tests.append_option(request.map(|times| times.tests));
        for (index, counter) in self.counters.iter_mut().enumerate() {
            counter.append_option(row.counters.get(index));
        }
        let index = batches.labels.of_row(row).and_then(category);
        self.category.append_option(index.map(|index| index as i32));
    }

    fn finish(&mut self, batches: &Batches) -> Result<RecordBatch> {
        let word = |keys: &mut Int32Builder, words: &Arc<StringArray>| -> Result<ArrayRef> {
            Ok(Arc::new(DictionaryArray::try_new(keys.finish(), words.clone())?))
        };
        self.rows = 0;
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(self.rank.finish()),
            Arc::new(self.thread.finish()),
            Arc::new(self.operation.finish()),
            Arc::new(self.repetition.finish()),
            word(&mut self.function, &batches.functions.words)?,
            word(&mut self.communicator, &batches.communicators.words)?,
            Arc::new(self.bytes.finish()),
            Arc::new(self.root.finish()),
            Arc::new(self.enter_ns.finish()),
            Arc::new(self.exit_ns.finish()),
            Arc::new(self.error_ns.finish()),
            Arc::new(self.perturbed.finish()),
            Arc::new(self.waiting_ns.finish()),
            Arc::new(self.interrupted_ns.finish()),
            Arc::new(self.interruptions.finish()),
            Arc::new(self.cpu.finish()),
            Arc::new(self.init_ns.finish()),
            Arc::new(self.test_ns.finish()),
            Arc::new(self.wait_ns.finish()),
            Arc::new(self.tests.finish()),
        ];
        columns.extend(self.counters.iter_mut().map(|counter| Arc::new(counter.finish()) as ArrayRef));
        columns.push(word(&mut self.category, &batches.categories)?);
        Ok(RecordBatch::try_new(batches.schema.clone(), columns)?)
    }
}
