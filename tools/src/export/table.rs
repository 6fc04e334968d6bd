//! Formats of record batches.

use anyhow::Result;

use super::Exporter;
use super::columns::Batches;
use super::destination::{Content, Destination, Sink};
use super::rows::Calls;

/// A format that record batches are written in.
pub trait Table: Copy + 'static {
    /// Writes the rows of all operations, or of one. `stream`: to be read from the start on, while it is written.
    ///
    /// # Errors
    /// The sink cannot be written.
    fn write(self, batches: &Batches, operation: Option<usize>, stream: bool, sink: &mut Sink) -> Result<()>;
}

/// Writes one file.
pub struct Whole<T>(pub T);

impl<T: Table> Exporter for Whole<T> {
    fn export(&self, calls: &Calls, operation: Option<usize>, destination: &mut Destination) -> Result<()> {
        // As Arrow's documentation names them: `.arrow` a file, `.arrows` a stream.
        let stream = destination.is_pipe() || destination.path().extension().is_some_and(|ending| ending == "arrows");
        let batches = Batches::new(calls)?;
        destination.stream(Content::Compressed, |sink| self.0.write(&batches, operation, stream, sink))
    }
}
