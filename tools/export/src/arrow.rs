//! Arrow IPC: as a file, which is read in place and is Feather's version 2, and as a stream.

use anyhow::Result;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use mpitrace_show::destination::{Content, Destination};

use super::columns::Batches;
use super::rows::Calls;

/// Record batches as they are.
pub fn export(calls: &Calls, operation: Option<usize>, destination: &mut Destination) -> Result<()> {
    // As Arrow's documentation names them: `.arrow` a file, `.arrows` a stream.
    let stream = destination.is_pipe() || destination.path().extension().is_some_and(|ending| ending == "arrows");
    let batches = Batches::new(calls)?;
    destination.stream(Content::Compressed, |sink| {
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
    })
}
