//! Parquet.

use std::io::Write;

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use arrow_array::StringArray;
use arrow_schema::SchemaRef;
use mpitrace_show::destination::{Content, Destination};
use parquet::arrow::ArrowWriter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::columns::Batches;
use super::named_columns::Columns;
use super::rows::Calls;

/// Rows of a group, which lies in memory until it is written: some 30 MB.
const GROUP: usize = 1 << 18;

/// Writes a table of its own.
pub fn write<W: Write + Send>(columns: Columns, sink: W) -> Result<()> {
    let batch = columns.batch(Default::default())?;
    let mut writer = writer(sink, batch.schema())?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(())
}

/// The texts of one column of a file, nulls left out.
///
/// # Errors
/// A file that cannot be read, is not Parquet, or has no such column of texts.
pub fn read_texts(path: &Path, column: &str) -> Result<Vec<String>> {
    let shown = || path.display().to_string();
    let file = File::open(path).with_context(shown)?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).with_context(shown)?;
    let mask = ProjectionMask::columns(reader.parquet_schema(), [column]);
    let mut texts = Vec::new();
    for batch in reader.with_projection(mask).build().with_context(shown)? {
        let batch = batch.with_context(shown)?;
        let found = batch.column_by_name(column).and_then(|column| column.as_any().downcast_ref::<StringArray>());
        let found = found.with_context(|| format!("{}: has no column `{column}` of texts", path.display()))?;
        texts.extend(found.iter().flatten().map(str::to_owned));
    }
    Ok(texts)
}

/// Writes batches of this schema.
fn writer<W: Write + Send>(sink: W, schema: SchemaRef) -> Result<ArrowWriter<W>> {
    let properties = WriterProperties::builder()
        // In pure Rust, and read by everything that has been made since 2023.
        .set_compression(Compression::LZ4_RAW)
        .set_max_row_group_row_count(Some(GROUP))
        .set_created_by(concat!("mpitrace ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    Ok(ArrowWriter::try_new(sink, schema, Some(properties))?)
}

/// Record batches, column by column, compressed.
pub fn export(calls: &Calls, operation: Option<usize>, destination: &mut Destination) -> Result<()> {
    let batches = Batches::new(calls)?;
    destination.stream(Content::Compressed, |sink| {
        let mut writer = writer(sink, batches.schema.clone())?;
        batches.each(operation, |batch| Ok(writer.write(batch)?))?;
        writer.close()?;
        Ok(())
    })
}
