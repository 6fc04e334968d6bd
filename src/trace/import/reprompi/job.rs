//! The rows of each call and message size, put together to an operation.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use mpitrace_functions::{Function, Size as Bytes};

use super::Settings;
use super::titles::{PrintedRow, Size};
use crate::import::series::{self, Series};
use crate::import::{Measured, Member, Stamps};

/// The measurements, in the order in which they first come.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    jobs: Vec<Job>,
    places: HashMap<(String, Size), usize>,
    /// Where the row before has gone: the next one nearly always goes there too.
    last: usize,
}

#[derive(Debug)]
struct Job {
    test: String,
    size: Size,
    /// By rank; `None`: rows that are of no single rank.
    ranks: BTreeMap<Option<u32>, Series<Sample>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    seconds: f64,
    global: Option<(f64, f64)>,
    valid: bool,
}

const NONE: Sample = Sample { seconds: f64::NAN, global: None, valid: false };

impl Jobs {
    pub(super) fn push(&mut self, row: &PrintedRow<'_>) -> Result<(), String> {
        let is_last = self.jobs.get(self.last).is_some_and(|job| job.size == row.size && job.test == row.test);
        if !is_last {
            self.last = *self.places.entry((row.test.to_owned(), row.size)).or_insert_with(|| {
                self.jobs.push(Job { test: row.test.to_owned(), size: row.size, ranks: BTreeMap::new() });
                self.jobs.len() - 1
            });
        }
        let index = self.last;
        let sample = Sample { seconds: row.seconds, global: row.global, valid: row.valid };
        let pushed = self.jobs[index].ranks.entry(row.process).or_default().push(row.repetition, sample);
        pushed.map_err(|what| {
            let size = match row.size {
                Size::Unknown => String::new(),
                Size::Count(count) => format!(" with count {count}"),
                Size::Bytes(bytes) => format!(" with {bytes} bytes"),
            };
            let rank = row.process.map(|rank| format!(" on process {rank}")).unwrap_or_default();
            format!("{}{size}{rank} {what}", row.test)
        })
    }

    pub(super) fn measured(self, path: &Path, settings: &Settings) -> Vec<Measured> {
        self.jobs.into_iter().map(|job| job.measured(path, settings)).collect()
    }
}

impl Job {
    fn measured(self, path: &Path, settings: &Settings) -> Measured {
        let mut measured = Measured { path: path.to_owned(), ..Measured::default() };
        self.describe(settings, &mut measured);
        let series: Vec<&Series<Sample>> = self.ranks.values().collect();
        let mut common = series::common(&series);
        let of_ranks = self.ranks.keys().all(Option::is_some);
        measured.ranks = if of_ranks { self.ranks.len() as u32 } else { 0 };
        if let Some(processes) = settings.processes {
            if of_ranks && processes > measured.ranks {
                // Whole processes are missing: then no repetition has all of them.
                measured
                    .notes
                    .push(format!("rows of {} of {processes} processes are missing", processes - measured.ranks));
                common.incomplete += common.repetition.len() as u64;
                common.repetition.clear();
            }
            measured.ranks = processes.max(measured.ranks);
        }
        let columns: Vec<Vec<Sample>> = series.iter().map(|series| common.column(series, NONE)).collect();
        let rows = common.repetition.len();
        let kept: Vec<usize> = (0..rows).filter(|&row| columns.iter().all(|column| column[row].valid)).collect();
        if kept.len() < rows {
            let left_out = rows - kept.len();
            let what = format!("{left_out} of {rows} repetitions missed their window (errorcode) and are left out");
            measured.notes.push(what);
        }
        let ns = |seconds: f64| seconds * 1e9;
        let longest = |row: &usize| columns.iter().map(|column| ns(column[*row].seconds)).fold(f64::NAN, f64::max);
        measured.repetition = kept.iter().map(|&row| common.repetition[row]).collect();
        measured.run_time_ns = kept.iter().map(longest).collect();
        measured.incomplete = common.incomplete;
        if of_ranks {
            let of_row = |&row: &usize| columns.iter().filter_map(move |column| Some(column[row].global?.0));
            // Seconds since 1970 have no room for picoseconds; those since the first entry have.
            let origin = kept.iter().flat_map(of_row).fold(f64::INFINITY, f64::min);
            let member = |(rank, column): (&Option<u32>, &Vec<Sample>)| {
                let pick = |of: fn(&Sample) -> f64| kept.iter().map(|&row| of(&column[row])).collect::<Vec<f64>>();
                let has_stamps = column.iter().all(|sample| sample.global.is_some()) && !column.is_empty();
                let since = |seconds: Vec<f64>| seconds.into_iter().map(|at| ns(at - origin)).collect();
                Member {
                    rank: rank.unwrap_or_default(),
                    duration_ns: pick(|sample| sample.seconds).into_iter().map(ns).collect(),
                    stamps: has_stamps.then(|| Stamps {
                        enter_ns: since(pick(|sample| sample.global.map_or(f64::NAN, |(enter, _)| enter))),
                        exit_ns: since(pick(|sample| sample.global.map_or(f64::NAN, |(_, exit)| exit))),
                    }),
                }
            };
            measured.members = self.ranks.keys().zip(&columns).map(member).collect();
        } else if let Some(run_time) = settings.run_time.as_deref() {
            measured.notes.push(format!("run times are as ReproMPI has computed them (runtime_type {run_time})"));
        }
        measured
    }

    fn describe(&self, settings: &Settings, measured: &mut Measured) {
        let function = measured_function(&self.test);
        let barrier = function.is_some_and(|function| function.size == Bytes::Nothing);
        let is_reduction = function.is_some_and(|function| function.reduction.is_some());
        let is_rooted = function.is_some_and(|function| function.root.is_some());
        let name = function.filter(|function| function.reprompi == Some(&self.test)).map(|function| function.name);
        measured.function = Some(name.unwrap_or(&self.test).to_owned());
        measured.datatype = settings.datatype.clone().filter(|_| !barrier);
        measured.reduction = settings.reduction.clone().filter(|_| is_reduction);
        measured.root = settings.root.filter(|_| is_rooted);
        measured.bytes = match (self.size, settings.datatype_bytes) {
            _ if barrier => Some(0),
            (Size::Unknown, _) => None,
            (Size::Bytes(bytes), _) => Some(bytes),
            (Size::Count(count), Some(size)) => count.checked_mul(size),
            (Size::Count(count), None) => {
                measured.notes.push("the size of the data type is not stated: counts are taken as bytes".to_owned());
                Some(count)
            }
        };
    }
}

/// The function that a test measures: under ReproMPI's name for it, under its own where `mpitrace export` wrote it, and
/// the one that a mock-up of an earlier ReproMPI stands for (`GL_Allreduce_as_Reduce_Bcast`). Of any other test nothing
/// is known but what the settings state of all.
fn measured_function(test: &str) -> Option<&'static Function> {
    if let Some(mockup) = test.strip_prefix("GL_") {
        let name = mockup.split("_as_").next()?;
        return Function::named(&format!("MPI_{name}"));
    }
    Function::all().find(|function| function.reprompi == Some(test)).or_else(|| Function::named(test))
}
