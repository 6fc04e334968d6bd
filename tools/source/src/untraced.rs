//! Operations that another tool has measured.

use std::borrow::Cow;
use std::ops::Range;
use std::path::PathBuf;

use anyhow::Result;
use mpitrace_trace::import::{Measured, csv, reprompi};
use mpitrace_trace::run_time::{RunTime, Span};
use mpitrace_words::description::Description;

use super::columns::{Counter, Ranks, RunTimes, Times, ValueKind, Values};
use crate::options::Format;

#[derive(Debug)]
pub(super) struct Untraced {
    operations: Vec<Measured>,
    format: Format,
}

impl Untraced {
    pub(super) fn read(files: &[PathBuf], format: Format) -> Result<Untraced> {
        let mut operations = Vec::new();
        for path in files {
            match format {
                Format::Csv => operations.push(csv::read(path)?),
                Format::Reprompi => operations.extend(reprompi::read(path)?),
            }
        }
        Ok(Untraced { operations, format })
    }

    pub(super) fn limit_to(&mut self, repetitions: &Range<u64>) {
        self.operations.iter_mut().for_each(|measured| measured.limit_to(repetitions));
    }

    pub(super) fn measured(&self, number: usize) -> &Measured {
        &self.operations[number]
    }

    pub(super) fn has_stamps(&self, number: usize) -> bool {
        self.ranks(number).have_stamps()
    }

    /// Notes on the files, each once.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        let mut seen: Vec<(&PathBuf, &str)> = Vec::new();
        for measured in &self.operations {
            let notes = measured.notes.iter().map(|note| (&measured.path, note.as_str()));
            notes.for_each(|note| {
                if !seen.contains(&note) {
                    seen.push(note);
                }
            });
        }
        let incomplete = self.operations.iter().filter(|measured| measured.incomplete > 0).map(|measured| {
            let count = measured.incomplete;
            let verb = if count == 1 { "repetition is" } else { "repetitions are" };
            format!("{}: {count} {verb} missing on some rank and left out", measured.path.display())
        });
        let seen = seen.into_iter().map(|(path, note)| format!("{}: {note}", path.display()));
        seen.chain(incomplete)
    }

    pub(super) fn descriptions(&self) -> Vec<Description> {
        let unknown = || "unknown".to_owned();
        let communicator = match self.format {
            Format::Csv => unknown(),
            // It measures on no other.
            Format::Reprompi => "MPI_COMM_WORLD".to_owned(),
        };
        let of = |(number, measured): (usize, &Measured)| Description {
            operation: number,
            function: measured.function.clone().unwrap_or_else(unknown),
            communicator: communicator.clone(),
            communicator_label: communicator.clone(),
            communicator_id: None,
            bytes: measured.bytes,
            root: measured.root,
            datatype: measured.datatype.clone(),
            reduction: measured.reduction.clone(),
            ranks: measured.ranks,
            repetitions: measured.repetition.len(),
            incomplete: measured.incomplete,
            call_site: None,
            row: None,
            file: Some(measured.path.display().to_string()),
        };
        self.operations.iter().enumerate().map(of).collect()
    }

    pub(super) fn run_times(&self, number: usize, time: RunTime) -> RunTimes<'_> {
        let measured = self.measured(number);
        let run_time_ns = match time {
            RunTime::Local => measured.run_time_ns.clone(),
            RunTime::Global | RunTime::Last => {
                let span = |row: usize| {
                    measured.members.iter().filter_map(move |member| {
                        let stamps = member.stamps.as_ref()?;
                        Some(Span {
                            enter_ns: stamps.enter_ns[row],
                            exit_ns: stamps.exit_ns[row],
                            duration_ns: member.duration_ns[row],
                        })
                    })
                };
                (0..measured.repetition.len()).map(|row| time.value(span(row))).collect()
            }
        };
        RunTimes { repetition: Cow::Borrowed(&measured.repetition), run_time_ns }
    }

    pub(super) fn ranks(&self, number: usize) -> Ranks<'_> {
        let members = &self.measured(number).members;
        Ranks { numbers: members.iter().map(|member| member.rank).collect(), times: Times::Untraced(members) }
    }

    pub(super) fn counters(&self, number: usize) -> Vec<Counter<'_>> {
        let counters = self.measured(number).counters.iter();
        counters
            .map(|counter| Counter {
                name: counter.name.clone(),
                kind: ValueKind::Counter,
                unit: String::new(),
                values: Values::Untraced(&counter.values),
            })
            .collect()
    }
}
