//! Formats of record batches: one file, or a dataset with a folder for each operation (`operation=N`, as Hive names
//! them).

use anyhow::{Result, ensure};

use super::Exporter;
use super::columns::{Batches, Rows};
use super::destination::{Content, Destination, Sink, write_file};
use super::rows::Calls;

/// A format that record batches are written in.
pub trait Table: Copy + 'static {
    /// The ending of a file's name.
    const ENDING: &'static str;

    /// Writes the rows. `stream`: to be read from the start on, while it is written.
    fn write(self, batches: &Batches, rows: Rows, stream: bool, sink: &mut Sink) -> Result<()>;
}

/// The exporter of such a format.
pub fn exporter(table: impl Table, partitioned: bool) -> Box<dyn Exporter> {
    if partitioned { Box::new(Partitioned(table)) } else { Box::new(Whole(table)) }
}

struct Whole<T>(T);

impl<T: Table> Exporter for Whole<T> {
    fn export(&self, calls: &Calls, operation: Option<usize>, destination: &mut Destination) -> Result<()> {
        // As Arrow's documentation names them: `.arrow` a file, `.arrows` a stream.
        let stream = destination.is_pipe() || destination.path().extension().is_some_and(|ending| ending == "arrows");
        let batches = Batches::of(calls, true)?;
        destination.stream(Content::Compressed, |sink| self.0.write(&batches, Rows::All(operation), stream, sink))
    }
}

struct Partitioned<T>(T);

/// Rows of a file: some 200 MB of Parquet. What one machine reads at a time.
pub const FILE: usize = 1 << 23;

impl<T: Table> Exporter for Partitioned<T> {
    fn export(&self, calls: &Calls, operation: Option<usize>, destination: &mut Destination) -> Result<()> {
        let operations = &calls.operations.operations;
        ensure!(!operations.is_empty(), "this trace has no operation");
        let batches = Batches::of(calls, false)?;
        destination.folder(|folder| {
            let wanted = (0..operations.len()).filter(|number| operation.is_none_or(|wanted| wanted == *number));
            for number in wanted {
                let folder = folder.join(format!("operation={number}"));
                std::fs::create_dir(&folder)?;
                let rows: Vec<usize> = (0..operations[number].repetition.len()).collect();
                // A repetition lies in one file with all of its ranks.
                let ranks = operations[number].parts.len();
                let repetitions = (FILE / ranks.max(1)).max(1);
                for (index, rows) in rows.chunks(repetitions).enumerate() {
                    let path = folder.join(format!("part-{index}.{}", T::ENDING));
                    let rows = Rows::OfOperation(number, 0..ranks, rows);
                    write_file(&path, Content::Compressed, |sink| self.0.write(&batches, rows, false, sink))?;
                }
            }
            Ok(())
        })
    }
}
