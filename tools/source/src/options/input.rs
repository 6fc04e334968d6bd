//! The files that a command reads.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};
use mpitrace_analysis::run::{Need, Run};

use crate::opened;

/// The files of a command that reads traces only.
#[derive(Debug, Args)]
pub struct TraceInput {
    /// The trace, or its folder; all files if one run left several
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

impl TraceInput {
    /// Opens the run, and makes what is needed of it.
    ///
    /// # Errors
    /// A file that is not a trace or cannot be read; the message names it.
    pub fn open(&self, need: Need) -> Result<Run> {
        opened::open(&self.files, need)
    }
}

/// The files of a command that reads run times, traced or not.
#[derive(Debug, Args)]
pub struct Input {
    /// The trace, or its folder; all files if one run left several. With --from the files of another tool, each by
    /// itself
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The kind of the files.
    #[command(flatten)]
    pub from: FromOption,
    /// Only the repetitions A to B - 1 of each operation; A..: from A on; ..B: before B
    #[arg(long, value_name = "A..B", value_parser = repetitions)]
    pub repetitions: Option<Range<u64>>,
}

/// `A..B`, `A..` or `..B`.
fn repetitions(text: &str) -> Result<Range<u64>, String> {
    let number = |digits: &str, default: u64| match digits {
        "" => Some(default),
        _ => digits.parse().ok(),
    };
    let ends = text.split_once("..").and_then(|(from, to)| Some(number(from, 0)?..number(to, u64::MAX)?));
    match ends {
        None => Err("two numbers with .. between are expected, as in 1000..2000".to_owned()),
        Some(range) if range.is_empty() => {
            Err("no repetition is in it: the second number must be greater than the first".to_owned())
        }
        Some(range) => Ok(range),
    }
}

/// The file's one name, by which it is found to be given twice; its own where it has no other.
pub fn canonical(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_owned())
}

/// The kind of the files: traces, or run times that another tool wrote.
#[derive(Clone, Copy, Debug, Args)]
pub struct FromOption {
    /// The files are not traces: csv (iteration id, MPI rank, metric name, value; runtime in ns), or ReproMPI's raw
    /// output
    #[arg(long = "from", value_name = "FORMAT")]
    pub format: Option<Format>,
}

/// The formats of other tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The four columns of Roth's thesis.
    Csv,
    /// ReproMPI's raw output.
    Reprompi,
}

#[cfg(test)]
mod tests {
    use super::repetitions;

    #[test]
    fn a_range_of_repetitions_has_two_ends_or_one() {
        assert_eq!(repetitions("5..10"), Ok(5..10));
        assert_eq!(repetitions("5.."), Ok(5..u64::MAX));
        assert_eq!(repetitions("..10"), Ok(0..10));
        assert!(repetitions("10..10").unwrap_err().contains("no repetition"));
        for text in ["", "5", "5..x", "-1..4", "1..2..3"] {
            assert!(repetitions(text).unwrap_err().contains("1000..2000"), "{text}");
        }
    }
}
