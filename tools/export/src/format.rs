//! The formats, each with its exporter.

use anyhow::Result;
use clap::ValueEnum;
use mpitrace_show::destination::Destination;

#[cfg(feature = "columns")]
use super::arrow;
#[cfg(feature = "columns")]
use super::parquet;
use super::rows::Calls;
use super::{csv, folded, json, otf2, perfetto, reprompi};

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
    /// A row a call as Arrow IPC: a stream into a pipe and as OUT.arrows, else a file (Feather)
    Arrow,
    /// A timeline for the web page ui.perfetto.dev
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
            Format::Parquet | Format::Arrow => anyhow::bail!(
                "this mpitrace was built without Parquet and Arrow; `cargo build --release --workspace` in the clone \
                 builds it with them"
            ),
        })
    }
}
