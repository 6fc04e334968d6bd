//! Ways out: the calls of a trace as other tools read them, one file a format behind the trait [`Exporter`].

#[cfg(feature = "columns")]
mod arrow;
#[cfg(feature = "arrow")]
pub mod columns;
mod csv;
#[cfg(feature = "columns")]
mod dataset;
pub mod destination;
mod json;
mod labels;
mod otf2;
#[cfg(feature = "columns")]
mod parquet;
#[cfg(feature = "columns")]
mod partitions;
mod perfetto;
mod reprompi;
pub mod rows;
mod stamps;

use anyhow::{Result, bail, ensure};
use clap::ValueEnum;

use destination::Destination;
#[cfg(test)]
pub use otf2::Collective as Otf2Collective;
use rows::{Calls, Selection};

/// A format.
pub trait Exporter {
    /// Writes the calls of the trace, or of one operation.
    ///
    /// # Errors
    /// The destination is not one for this format, or cannot be written; the format has no room for what the trace
    /// holds.
    fn export(&self, calls: &Calls, operation: Option<usize>, destination: &mut Destination) -> Result<()>;
}

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
}

/// What some of the formats leave open.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Parquet and Arrow: a folder for each operation.
    pub partitioned: bool,
    /// Parquet: the name of the run that is added to a dataset of several runs.
    pub dataset: Option<String>,
    /// The most ranks of a file of that.
    #[cfg_attr(not(feature = "columns"), allow(dead_code, reason = "only a dataset has blocks"))]
    pub rank_block: usize,
    /// ReproMPI: the run time of each repetition, not the times of each rank.
    pub run_times: bool,
}

impl Format {
    /// The exporter for it.
    pub fn exporter(self, options: Options) -> Result<Box<dyn Exporter>> {
        let columns = matches!(self, Format::Parquet | Format::Arrow);
        ensure!(columns || !options.partitioned, "--partitioned is for --format parquet and arrow");
        ensure!(self == Format::Parquet || options.dataset.is_none(), "--dataset is for --format parquet");
        ensure!(self == Format::Reprompi || !options.run_times, "--run-times is for --format reprompi");
        Ok(match self {
            Format::Csv => Box::new(csv::Csv),
            Format::Json => Box::new(json::Json),
            Format::Perfetto => Box::new(perfetto::Perfetto),
            Format::Otf2 => Box::new(otf2::Otf2),
            Format::Reprompi => Box::new(reprompi::Reprompi { run_times: options.run_times }),
            #[cfg(feature = "columns")]
            Format::Parquet => match options.dataset {
                Some(run) => dataset::exporter(run, options.rank_block)?,
                None => partitions::exporter(parquet::Parquet, options.partitioned),
            },
            #[cfg(feature = "columns")]
            Format::Arrow => partitions::exporter(arrow::Arrow, options.partitioned),
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
        eprintln!("mpitrace: operation {number}: {} left out", crate::text::count(incomplete, "incomplete repetition"));
    }
}

impl From<Option<usize>> for Selection {
    fn from(operation: Option<usize>) -> Selection {
        Selection { operation, ..Selection::default() }
    }
}
