//! Ways out: the calls of a trace as other tools read them, one file a format.

#[cfg(feature = "columns")]
mod arrow;
pub mod call_columns;
#[cfg(feature = "arrow")]
pub mod columns;
mod csv;
mod folded;
mod json;
mod labels;
pub mod messages;
mod otf2;
#[cfg(feature = "columns")]
pub mod parquet;
mod perfetto;
mod reprompi;
pub mod rows;
mod stamps;

use anyhow::{Result, bail};
use clap::ValueEnum;
use mpitrace_show::destination::Destination;
#[cfg(test)]
pub use otf2::Collective as Otf2Collective;
use rows::{Calls, Selection};

/// Writes the calls of the trace, or of one operation. It fails where the destination is not one for the format, or
/// cannot be written, or the format has no room for what the trace holds.
pub type Exporter = fn(&Calls, Option<usize>, &mut Destination) -> Result<()>;

/// The formats that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// iteration, rank, metric, value: one operation a file
    Csv,
    /// The rows of `dump --json`
    Json,
    /// A row a call, compressed
    Parquet,
    /// The same as Arrow IPC: a stream into a pipe and as OUT.arrows, else a file (Feather)
    Arrow,
    /// A timeline for https://ui.perfetto.dev
    Perfetto,
    /// An OTF2 archive for Vampir, Scalasca and Cube
    Otf2,
    /// ReproMPI's raw output
    Reprompi,
    /// The samples, a line for each stack, for flame graphs
    Folded,
}

impl Format {
    /// The exporter for it.
    ///
    /// # Errors
    /// A format that this program was built without.
    pub fn exporter(self) -> Result<Exporter> {
        Ok(match self {
            Format::Csv => csv::export,
            Format::Json => json::export,
            Format::Perfetto => perfetto::export,
            Format::Otf2 => otf2::export,
            Format::Reprompi => reprompi::export,
            Format::Folded => folded::export,
            #[cfg(feature = "columns")]
            Format::Parquet => parquet::export,
            #[cfg(feature = "columns")]
            Format::Arrow => arrow::export,
            #[cfg(not(feature = "columns"))]
            Format::Parquet | Format::Arrow => bail!(
                "this mpitrace was built without Parquet and Arrow; `cargo build --release --workspace` in the clone \
                 builds it with them"
            ),
        })
    }
}

/// The one operation that goes into a file of a format that holds no more.
fn only_operation(calls: &Calls, wanted: Option<usize>) -> Result<usize> {
    match (wanted, calls.operations.operations.len()) {
        (Some(number), _) => Ok(number),
        (None, 1) => Ok(0),
        (None, 0) => bail!("this trace has no operation"),
        (None, several) => bail!(
            "this trace has operations 0 to {}, and a file of this format holds one: --operation N, \
             or a file each in -o FOLDER/",
            several - 1
        ),
    }
}

/// Says how many repetitions are left out of a format that has no place for those that a rank lacks.
fn tell_incomplete(calls: &Calls, number: usize) {
    let incomplete = calls.operations.operations[number].incomplete;
    if incomplete > 0 {
        eprintln!(
            "mpitrace: operation {number}: {} left out",
            mpitrace_show::text::count(incomplete, "incomplete repetition")
        );
    }
}

impl From<Option<usize>> for Selection {
    fn from(operation: Option<usize>) -> Selection {
        Selection { operation, ..Selection::default() }
    }
}
