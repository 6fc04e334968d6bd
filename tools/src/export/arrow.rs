//! Arrow IPC: as a file, which is read in place and is Feather's version 2, and as a stream.

use anyhow::Result;
use arrow_ipc::writer::{FileWriter, StreamWriter};

use super::columns::Batches;
use super::destination::Sink;
use super::table::Table;

/// Record batches as they are.
#[derive(Clone, Copy)]
pub struct Arrow;

impl Table for Arrow {
    fn write(self, batches: &Batches, operation: Option<usize>, stream: bool, sink: &mut Sink) -> Result<()> {
        if stream {
            let mut writer = StreamWriter::try_new(sink, &batches.schema)?;
            batches.each(operation, |batch| Ok(writer.write(batch)?))?;
            writer.finish()?;
        } else {
            let mut writer = FileWriter::try_new(sink, &batches.schema)?;
            batches.each(operation, |batch| Ok(writer.write(batch)?))?;
            writer.finish()?;
        }
        Ok(())
    }
}
