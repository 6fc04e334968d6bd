//! Run times that were not traced: what other tools have written as text.
//!
//! [`csv`] has the four columns of Roth's thesis (section 4.1), [`reprompi`] is what ReproMPI prints. Both come to the
//! same thing: the repetitions of an operation that all ranks have, with the run time, and where the file tells it the
//! times and counters of each rank. Nothing is guessed: a row that cannot be what it should be is named.

pub mod csv;
mod input;
pub mod reprompi;
mod series;

use std::ops::Range;
use std::path::{Path, PathBuf};

/// Why a file cannot be used: the file, the line where there is one, and the defect.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ForeignError(String);

/// The repetitions of one operation, as a file has them.
///
/// ```
/// use mpitrace_trace::import::csv;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("barrier.csv");
/// std::fs::write(&path, "0,0,runtime,10\n1,0,runtime,11\n2,0,runtime,12\n")?;
/// let mut measured = csv::read(&path)?;
/// measured.limit_to(&(1..3));
/// assert_eq!((measured.repetition, measured.run_time_ns), (vec![1, 2], vec![11.0, 12.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The file.
    pub path: PathBuf,
    /// The function's name, where the file tells it.
    pub function: Option<String>,
    /// The message size, bytes.
    pub bytes: Option<u64>,
    /// The root's rank, where the function has one.
    pub root: Option<i32>,
    /// The data type, where the function has one.
    pub datatype: Option<String>,
    /// The reduction operator, where the function has one.
    pub reduction: Option<String>,
    /// How many ranks took part; 0: the file does not tell.
    pub ranks: u32,
    /// The numbers of the repetitions that every rank has, ascending.
    pub repetition: Vec<u64>,
    /// The run time of each: as the file states it, else the longest on any rank, ns.
    pub run_time_ns: Vec<f64>,
    /// The times of each rank, in the order of the ranks; empty where the file has run times only.
    pub members: Vec<Member>,
    /// The counters.
    pub counters: Vec<Counter>,
    /// Repetitions between the first and the last that are not there on every rank.
    pub incomplete: u64,
    /// Notes on the file: lines that were skipped, repetitions that were left out.
    pub notes: Vec<String>,
}

/// One rank's times, an element for each repetition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Member {
    /// The rank.
    pub rank: u32,
    /// How long it was in the call, by its own clock, ns.
    pub duration_ns: Vec<f64>,
    /// When it entered and left the call, ns of global time, where the file has one.
    pub stamps: Option<Stamps>,
}

/// When a rank entered and left each repetition, ns of global time since the first entry of any rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stamps {
    /// s_r.
    pub enter_ns: Vec<f64>,
    /// e_r.
    pub exit_ns: Vec<f64>,
}

/// Values of one metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counter {
    /// Its name.
    pub name: String,
    /// For each of the members a value for each repetition, not a number where the file has none; `None`: a rank
    /// without this metric.
    pub values: Vec<Option<Vec<f64>>>,
}

impl Measured {
    /// Leaves out all repetitions but those with these numbers.
    pub fn limit_to(&mut self, numbers: &Range<u64>) {
        let place = |number: u64| self.repetition.partition_point(|&other| other < number);
        let rows = place(numbers.start)..place(numbers.end);
        let keep = |column: &mut Vec<f64>| {
            column.truncate(rows.end);
            column.drain(..rows.start);
        };
        keep(&mut self.run_time_ns);
        for member in &mut self.members {
            keep(&mut member.duration_ns);
            if let Some(stamps) = &mut member.stamps {
                keep(&mut stamps.enter_ns);
                keep(&mut stamps.exit_ns);
            }
        }
        self.counters.iter_mut().flat_map(|counter| &mut counter.values).flatten().for_each(keep);
        self.repetition.truncate(rows.end);
        self.repetition.drain(..rows.start);
    }
}

impl ForeignError {
    /// The operating system refused, or what is compressed is damaged.
    fn io(path: &Path, reason: &std::io::Error) -> Self {
        ForeignError(format!("{}: {reason}", path.display()))
    }

    /// The file as a whole is not what it should be; the words complete "the file ...".
    fn unusable(path: &Path, what: impl AsRef<str>) -> Self {
        ForeignError(format!("{}: {}", path.display(), shown(what.as_ref())))
    }

    /// A line, counted from 1, is not what it should be.
    fn line(path: &Path, line: u64, what: impl AsRef<str>) -> Self {
        ForeignError(format!("{}, line {line}: {}", path.display(), shown(what.as_ref())))
    }
}

/// A message with words out of a file as one short line, whatever they are: control characters are written out.
fn shown(what: &str) -> String {
    const LONGEST: usize = 300;
    let mut shown = String::new();
    for (number, character) in what.chars().enumerate() {
        match character {
            _ if number == LONGEST => {
                shown.push_str("...");
                break;
            }
            control if control.is_control() => shown.extend(control.escape_default()),
            other => shown.push(other),
        }
    }
    shown
}

/// A finite number.
fn number(text: &str, name: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err(format!("{name} '{text}' is not finite")),
        Err(_) => Err(format!("{name} '{text}' is not a number")),
    }
}

/// A whole number from 0 on.
fn whole<T: std::str::FromStr>(text: &str, name: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{name} '{text}' is not a whole number from 0 on"))
}
