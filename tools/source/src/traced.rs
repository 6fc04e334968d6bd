//! Operations of a trace: its columns are read where they lie, on all processors.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use mpitrace_analysis::account::OperationAccount;
use mpitrace_analysis::run::{Need, Run};
use mpitrace_format::layout::{DISTURBED, counter_flags};
use mpitrace_statistics::categories::{Category, Rule};
use mpitrace_trace::calls::samples::RunSamples;
use mpitrace_trace::clock::RankClock;
use mpitrace_trace::operations::Operation;
use mpitrace_trace::reader::Part;
use mpitrace_trace::run_time::RunTime;

use super::columns::{Counter, Ranks, RunTimes, Times, ValueKind, Values};
use super::members::{MemberColumn, MemberTimes, Rows};
use super::{opened, trace_files};

/// A run that was traced, with its files.
#[derive(Debug)]
pub struct Traced {
    /// The run.
    pub run: Run,
    files: Vec<PathBuf>,
    /// The accounts that were asked for last, by operation, and the rule of their categories.
    accounts: Mutex<HashMap<usize, (Rule, OperationAccount)>>,
}

impl Traced {
    /// Opens the trace, its file or those that stand for it ([`trace_files::named`]), and makes what is needed of it.
    ///
    /// # Errors
    /// As of [`opened::open`].
    pub fn open(files: &[PathBuf], need: Need) -> Result<Traced> {
        let files = trace_files::named(files)?;
        Ok(Traced { run: opened::open(&files, need)?, files, accounts: Mutex::default() })
    }

    /// Leaves out all repetitions but those with these numbers.
    pub(super) fn limited_to(self, repetitions: &Range<u64>) -> Traced {
        Traced { run: self.run.limited_to(repetitions), ..self }
    }

    /// Its files.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The samples beside it, where the run has taken some.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn samples(&self) -> Result<Option<RunSamples>> {
        Ok(RunSamples::open(&self.run.trace, &self.files)?)
    }

    /// A note beside run times of several ranks whose clocks nothing has synchronised; `of` names them.
    pub fn note_on_clocks(&self, time: RunTime, of: &str) -> Option<String> {
        let unsynchronised = time != RunTime::Local && !self.run.clock.is_synchronised();
        unsynchronised.then(|| {
            let clocks = self.run.clock.domains.len();
            format!("the ranks{of} read {clocks} clocks that nothing has synchronised: only --time local is reliable")
        })
    }

    /// Where the ranks' time in an operation went. `category`: those of the local run times by this rule, where they
    /// are known.
    pub fn account(&self, number: usize, rule: Rule, category: Option<&[Category]>) -> OperationAccount {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = accounts.get(&number).filter(|(of, _)| *of == rule) {
            return known.clone();
        }
        let (trace, clock, operation) = (&self.run.trace, &self.run.clock, self.operation(number));
        let account = match category {
            Some(category) => OperationAccount::knowing(trace, clock, operation, category),
            None => OperationAccount::new(trace, clock, operation, rule),
        };
        accounts.insert(number, (rule, account.clone()));
        account
    }

    fn operation(&self, number: usize) -> &Operation {
        &self.run.operations.operations[number]
    }

    fn parts(&self, number: usize) -> impl Iterator<Item = (&Part, &RankClock)> {
        self.operation(number).parts.iter().map(|&part| (&self.run.trace.parts[part], self.run.clock.of_part(part)))
    }

    fn members(&self, number: usize) -> Vec<MemberTimes<'_>> {
        let member = |(index, (part, clock)): (usize, (_, _))| {
            let part: &Part = part;
            MemberTimes { index, part, clock }
        };
        self.parts(number).enumerate().map(member).collect()
    }

    pub(super) fn run_times(&self, number: usize, time: RunTime) -> RunTimes<'_> {
        let (repetition, run_time_ns) = self.operation(number).run_times(&self.run.trace, &self.run.clock, time);
        RunTimes { repetition: repetition.into(), run_time_ns }
    }

    pub(super) fn ranks(&self, number: usize) -> Ranks<'_> {
        let rows = Arc::new(Rows::new(self.operation(number)));
        let numbers = self.parts(number).map(|(part, _)| part.rank()).collect();
        Ranks { numbers, times: Times::Traced { rows, members: self.members(number) } }
    }

    pub(super) fn counters(&self, number: usize) -> Vec<Counter<'_>> {
        let rows = Arc::new(Rows::new(self.operation(number)));
        let parts: Vec<(&Part, &RankClock)> = self.parts(number).collect();
        let mut counters: Vec<Counter<'_>> = Vec::new();
        for (index, (part, _)) in parts.iter().enumerate() {
            for entry in part.counters().iter().filter(|entry| entry.flags & counter_flags::BEFORE == 0) {
                let (Some(name), Some(values)) = (part.text(entry.name), part.counter_column(entry)) else { continue };
                // Ranks may differ in which counters could be had.
                let known = counters.iter().position(|counter| counter.name == name);
                let place = known.unwrap_or_else(|| {
                    let unit = part.text(entry.unit).unwrap_or_default();
                    let kind = if unit == "ns" { ValueKind::Timer } else { ValueKind::Counter };
                    let values = Values::Traced { rows: rows.clone(), members: vec![None; parts.len()] };
                    counters.push(Counter { name, kind, unit, values });
                    counters.len() - 1
                });
                if let Values::Traced { members, .. } = &mut counters[place].values {
                    members[index] = Some(MemberColumn::Numbers(values));
                }
            }
        }
        if self.operation(number).key.has_request() {
            counters.extend(requests(&rows, &parts));
        }
        counters
    }

    pub(super) fn perturbed(&self, number: usize) -> Vec<bool> {
        let parts: Vec<&Part> = self.parts(number).map(|(part, _)| part).collect();
        let is_perturbed = |(part, record): (&&Part, u32)| part.operation_of(record as usize) & DISTURBED != 0;
        Rows::new(self.operation(number)).map(None, |records| parts.iter().zip(records.iter()).any(is_perturbed))
    }
}

/// The costs of the requests of a non-blocking operation (Hoefler et al. 2010, 2: overhead = init + sum of test +
/// wait).
fn requests<'s>(rows: &Arc<Rows<'s>>, parts: &[(&'s Part, &'s RankClock)]) -> Vec<Counter<'s>> {
    let times = |part: &'s Part, clock: &'s RankClock, index: usize| {
        let column = part.request_columns()?[index];
        Some(if index < 3 { MemberColumn::Ticks(column, clock) } else { MemberColumn::Numbers(column) })
    };
    let column = |(index, (name, unit)): (usize, (&str, &str))| Counter {
        name: name.to_owned(),
        kind: ValueKind::Request,
        unit: unit.to_owned(),
        values: Values::Traced {
            rows: rows.clone(),
            members: parts.iter().map(|&(part, clock)| times(part, clock, index)).collect(),
        },
    };
    [("init", "ns"), ("test", "ns"), ("wait", "ns"), ("tests", "")].into_iter().enumerate().map(column).collect()
}
