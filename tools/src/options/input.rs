//! The files that a command reads.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};
use mpitrace::reader::Trace;

/// The files of a command that reads traces only.
#[derive(Debug, Args)]
pub struct TraceInput {
    /// The trace; several files where one run left several
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

impl TraceInput {
    /// Opens the trace.
    ///
    /// # Errors
    /// A file that is not a trace or cannot be read; the message names it.
    pub fn open(&self) -> Result<Trace> {
        Ok(Trace::open(&self.files)?)
    }
}

/// The files of a command that reads run times, traced or not.
#[derive(Debug, Args)]
pub struct Input {
    /// The trace; several files where one run left several. With --from the files of another tool, each by itself
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// What the files are.
    #[command(flatten)]
    pub from: FromOption,
}

/// What the files are: traces, or run times that another tool wrote.
#[derive(Clone, Copy, Debug, Args)]
pub struct FromOption {
    /// The files are not traces: csv (iteration id, MPI rank, metric name, value; runtime in ns), or ReproMPI's raw
    /// output
    #[arg(long = "from", value_name = "FORMAT")]
    pub format: Option<Format>,
}

/// What other tools write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The four columns of Roth's thesis.
    Csv,
    /// ReproMPI's raw output.
    Reprompi,
}
