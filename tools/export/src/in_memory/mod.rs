//! A trace as JSON and as Arrow's record batches, in memory: what the Python package is made of.
//!
//! Everything comes from the code that the commands use, so the numbers are those that the commands print.

pub(crate) mod batches;

use std::io;
use std::path::PathBuf;

use anyhow::{Context, Result};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use mpitrace_format::TraceError;
use mpitrace_show::output;
use mpitrace_source::{Categorized, Source, Traced, trace_files};
use mpitrace_statistics::categories::{Rule, RuleFindings};
use mpitrace_statistics::names::Named;
use mpitrace_trace::run_time::RunTime;
use mpitrace_words::info;
use serde::Serialize;

use crate::columns::Batches;
use crate::rows::Calls;

/// A trace that is open, its calls matched and its clocks estimated.
#[derive(Debug)]
pub struct Opened {
    source: Source,
    /// The files of the trace.
    files: Vec<PathBuf>,
}

/// The result of a rule for a series of numbers.
#[derive(Debug, Serialize)]
struct OfNumbers {
    method: &'static str,
    #[serde(flatten)]
    found: RuleFindings,
}

impl Opened {
    /// Opens the files of one run.
    ///
    /// # Errors
    /// No file; a file that is not a trace or cannot be read, which the message names.
    pub fn open(files: &[PathBuf]) -> Result<Opened> {
        Ok(Opened { source: Source::read(files, None)?, files: trace_files::named(files)? })
    }

    /// The output of `info --json`.
    ///
    /// # Errors
    /// None that is known: the facts are made to be serialized.
    pub fn info(&self) -> Result<String> {
        let run = &self.traced()?.run;
        output::json_text("info", &info::Facts::new(run).with_samples(&run.trace, &self.files))
    }

    /// The missing parts of an incomplete trace, a line each; none of a complete one.
    pub fn problems(&self) -> Vec<String> {
        match self.source.traced().map(|traced| &traced.run.trace) {
            Some(trace) if !trace.complete && trace.problems.is_empty() => {
                vec!["its header says that it is incomplete".to_owned()]
            }
            Some(trace) if !trace.complete => trace.problems.clone(),
            _ => Vec::new(),
        }
    }

    /// The operations, one a row.
    ///
    /// # Errors
    /// As of [`Opened::info`].
    pub fn operations(&self) -> Result<RecordBatch> {
        batches::operations(self.source.operations())
    }

    /// The repetitions of an operation that every rank finished and kept, one a row: their run times by each
    /// definition, and their categories by local run times.
    ///
    /// # Errors
    /// As of [`Opened::categories`].
    pub fn repetitions(&self, operation: usize, method: &str) -> Result<RecordBatch> {
        let categorized = self.categories_of(operation, method, RunTime::Local.name())?;
        let run_times = RunTime::ALL.map(|time| self.source.run_times(operation, time));
        let [local, global, last] = run_times;
        let times = [local?.run_time_ns, global?.run_time_ns, last?.run_time_ns];
        let perturbed = self.source.perturbed(operation).unwrap_or_default();
        batches::repetitions(&categorized, times, perturbed)
    }

    /// The category and the run time of each of these repetitions. All else that `categorize --json` prints of the
    /// operation is in the schema's metadata, as JSON under the key `mpitrace`.
    ///
    /// # Errors
    /// No such operation, rule or run time; a run time that is not finite, where the rule needs all of them.
    pub fn categories(&self, operation: usize, method: &str, time: &str) -> Result<RecordBatch> {
        batches::categories(&self.categories_of(operation, method, time)?)
    }

    /// The account: a row for each rank of each operation, ns.
    ///
    /// # Errors
    /// As of [`Opened::info`].
    pub fn account(&self) -> Result<RecordBatch> {
        batches::account(self.traced()?.run.account())
    }

    /// The calls of all operations or of one, a row each, with the columns of `export --format parquet`.
    ///
    /// # Errors
    /// As of [`Opened::categories`].
    pub fn calls(&self, operation: Option<usize>, method: &str) -> Result<Box<dyn RecordBatchReader + Send>> {
        self.source.check(operation, RunTime::Local)?;
        let calls = Calls::new(self.traced()?).with_rule(rule(method)?);
        let (batches, mut all) = (Batches::new(&calls)?, Vec::new());
        batches.each(operation, |batch| {
            all.push(Ok(batch.clone()));
            Ok(())
        })?;
        Ok(Box::new(RecordBatchIterator::new(all, batches.schema.clone())))
    }

    fn traced(&self) -> Result<&Traced> {
        self.source.traced().context("not a trace")
    }

    fn categories_of(&self, operation: usize, method: &str, time: &str) -> Result<Categorized<'_>> {
        let (rule, time) = (rule(method)?, run_time(time)?);
        self.source.check(Some(operation), time)?;
        Categorized::new(&self.source, operation, rule, time)
    }
}

/// The categories of any numbers, of the repetitions from this one on, as JSON.
///
/// # Errors
/// No such rule; a number that is not finite, where the rule needs all of them.
pub fn categorize(numbers: &[f64], first_repetition: u64, method: &str) -> Result<String> {
    let rule = rule(method)?;
    let repetition: Vec<u64> = (first_repetition..).take(numbers.len()).collect();
    let found = rule.apply(&repetition, numbers)?;
    Ok(serde_json::to_string(&OfNumbers { method: rule.name(), found })?)
}

/// The kind of the error, where the operating system has refused something.
pub fn refused(error: &anyhow::Error) -> Option<io::ErrorKind> {
    error.chain().find_map(|cause| match (cause.downcast_ref(), cause.downcast_ref::<io::Error>()) {
        (Some(TraceError::Io { reason, .. }), _) | (None, Some(reason)) => Some(reason.kind()),
        _ => None,
    })
}

fn rule(name: &str) -> Result<Rule> {
    let known = || Rule::all().iter().map(Rule::name).collect::<Vec<_>>().join(", ");
    Rule::named(name).with_context(|| format!("method = {name:?}: expected {}", known()))
}

fn run_time(name: &str) -> Result<RunTime> {
    let known = || RunTime::ALL.map(|time| time.name()).join(", ");
    RunTime::named(name).with_context(|| format!("time = {name:?}: expected {}", known()))
}
