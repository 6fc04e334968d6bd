//! The options of all commands that read run times.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use mpitrace::run_time::RunTime;

/// Where the run times are.
#[derive(Debug, Args)]
pub struct Input {
    /// The trace; several files where one run left several. With --from the files of another tool, each by itself
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The files are no traces: csv (iteration id, MPI rank, metric name, value; runtime in ns), or ReproMPI's raw output
    #[arg(long, value_name = "FORMAT")]
    pub from: Option<Format>,
}

/// What other tools write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The four columns of Roth's thesis.
    Csv,
    /// ReproMPI's raw output.
    Reprompi,
}

/// The run time that is meant.
#[derive(Clone, Copy, Debug, Args)]
pub struct TimeArgument {
    /// The run time: the longest on any rank (local), first entry to last exit (global), last entry to last exit (last)
    #[arg(long, default_value = "local")]
    pub time: Time,
}

/// The run times that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Time {
    /// max(e - s).
    Local,
    /// max e - min s.
    Global,
    /// max e - max s.
    Last,
}

impl From<Time> for RunTime {
    fn from(time: Time) -> RunTime {
        match time {
            Time::Local => RunTime::Local,
            Time::Global => RunTime::Global,
            Time::Last => RunTime::Last,
        }
    }
}

impl From<TimeArgument> for RunTime {
    fn from(argument: TimeArgument) -> RunTime {
        argument.time.into()
    }
}
