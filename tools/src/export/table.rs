//! Formats of record batches.

use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::Exporter;
use super::columns::{self, Batches};
use super::destination::{Content, Destination, Sink};
use super::messages::MessageRows;
use super::rows::Calls;

/// Visits the batches.
pub type EachBatch<'e> = dyn FnMut(&mut dyn FnMut(&RecordBatch) -> Result<()>) -> Result<()> + 'e;

/// A format that record batches are written in.
pub trait Table: Copy + 'static {
    /// Writes all rows. `stream`: to be read from the start on, while it is written.
    ///
    /// # Errors
    /// The sink cannot be written.
    fn write(self, schema: &SchemaRef, each: &mut EachBatch, stream: bool, sink: &mut Sink) -> Result<()>;
}

/// Writes one file.
pub struct Whole<T>(pub T);

impl<T: Table> Exporter for Whole<T> {
    fn export(&self, calls: &Calls, operation: Option<usize>, destination: &mut Destination) -> Result<()> {
        let stream = is_stream(destination);
        let batches = Batches::new(calls)?;
        let each = &mut |visit: &mut dyn FnMut(&RecordBatch) -> Result<()>| batches.each(operation, visit);
        destination.stream(Content::Compressed, |sink| self.0.write(&batches.schema, each, stream, sink))
    }
}

/// Writes one file of the message calls.
pub struct OfMessages<T>(pub T);

impl<T: Table> Exporter for OfMessages<T> {
    fn export(&self, calls: &Calls, _: Option<usize>, destination: &mut Destination) -> Result<()> {
        let rows = MessageRows::recorded(calls)?;
        let schema = columns::message_schema();
        let each =
            &mut |visit: &mut dyn FnMut(&RecordBatch) -> Result<()>| columns::each_of_messages(&rows, &schema, visit);
        let stream = is_stream(destination);
        destination.stream(Content::Compressed, |sink| self.0.write(&schema, each, stream, sink))
    }
}

/// As Arrow's documentation names them: `.arrow` a file, `.arrows` a stream.
fn is_stream(destination: &Destination) -> bool {
    destination.is_pipe() || destination.path().extension().is_some_and(|ending| ending == "arrows")
}
