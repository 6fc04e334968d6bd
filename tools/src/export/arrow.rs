//! Arrow IPC: as a file, which is read in place and is Feather's version 2, and as a stream.

use anyhow::Result;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::SchemaRef;

use super::destination::Sink;
use super::table::{EachBatch, Table};

/// Record batches as they are.
#[derive(Clone, Copy)]
pub struct Arrow;

impl Table for Arrow {
    fn write(self, schema: &SchemaRef, each: &mut EachBatch, stream: bool, sink: &mut Sink) -> Result<()> {
        if stream {
            let mut writer = StreamWriter::try_new(sink, schema)?;
            each(&mut |batch| Ok(writer.write(batch)?))?;
            writer.finish()?;
        } else {
            let mut writer = FileWriter::try_new(sink, schema)?;
            each(&mut |batch| Ok(writer.write(batch)?))?;
            writer.finish()?;
        }
        Ok(())
    }
}
