//! Parquet.

use anyhow::Result;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::columns::Batches;
use super::destination::Sink;
use super::table::Table;

/// Record batches, column by column, compressed.
#[derive(Clone, Copy)]
pub struct Parquet;

/// Rows of a group, which lies in memory until it is written: some 30 MB.
const GROUP: usize = 1 << 18;

impl Table for Parquet {
    fn write(self, batches: &Batches, operation: Option<usize>, _: bool, sink: &mut Sink) -> Result<()> {
        let properties = WriterProperties::builder()
            // In pure Rust, and read by everything that has been made since 2023.
            .set_compression(Compression::LZ4_RAW)
            .set_max_row_group_row_count(Some(GROUP))
            .set_created_by(concat!("mpitrace ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let mut writer = ArrowWriter::try_new(sink, batches.schema.clone(), Some(properties))?;
        batches.each(operation, |batch| Ok(writer.write(batch)?))?;
        writer.close()?;
        Ok(())
    }
}
