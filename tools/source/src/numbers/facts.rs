//! All numbers of one operation.

use std::collections::BTreeMap;

use anyhow::Result;
use mpitrace_show::progress::Progress;
use mpitrace_show::text;
use mpitrace_statistics as statistics;
use mpitrace_statistics::categories::{Category, Remarks, Rule};
use mpitrace_statistics::{Quantile, Sample, Summary};
use mpitrace_trace::calls::whole_run::AllCalls;
use mpitrace_trace::run_time::RunTime;
use mpitrace_words::description::Description;
use serde::Serialize;

use super::completion::{Completion, CompletionSummary};
use super::counters;
use super::non_blocking::{self, NonBlocking};
use super::ranks::{self, RankFacts};
use super::selection::{LeftOut, Selection, Wanted};
use crate::Source;
use crate::operation_time::{self, OperationTime};

/// Steps of progress for an operation.
pub const STEPS: u64 = 6;

/// Steps of this share of the median and more are told of.
const COARSE: f64 = 0.002;

/// All numbers of an operation; times in ns.
#[derive(Debug, Serialize)]
pub struct Facts {
    /// The operation.
    #[serde(flatten)]
    pub operation: Description,
    /// The definition of the run time.
    pub time: &'static str,
    /// The rule of the categories.
    pub method: &'static str,
    /// The category of the repetitions that count.
    pub category: String,
    /// How many repetitions are in each category.
    pub counts: BTreeMap<&'static str, usize>,
    /// The number of the first repetition behind the warm-up; `None`: there is none, or none that ends.
    pub warmup_end: Option<u64>,
    /// On the order and the levels of the repetitions.
    #[serde(flatten)]
    pub remarks: Remarks,
    /// Repetitions that all that follows is of.
    pub used: usize,
    /// Complete repetitions that it is not of.
    pub left_out: LeftOut,
    /// Sentences on what limits the numbers.
    pub notes: Vec<String>,
    /// The statistics of the run times.
    #[serde(flatten)]
    pub summary: Summary,
    /// `None` for run times that were not traced.
    pub account: Option<OperationTime>,
    /// `None` without time stamps.
    pub completion: Option<Completion>,
    /// `None` for a blocking operation.
    pub non_blocking: Option<NonBlocking>,
    /// With the calls that are not kept; `None` where all are, or nothing is known of them.
    pub all_calls: Option<AllCalls>,
    /// The values of each counter in each category.
    pub counters: BTreeMap<String, BTreeMap<&'static str, counters::Values>>,
    /// Where they are asked for, the numbers of each rank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_rank: Option<Vec<RankFacts>>,
}

/// The numbers that are asked for.
pub struct Asked {
    /// The definition of the run time.
    pub time: RunTime,
    /// The rule of the categories.
    pub rule: Rule,
    /// Which repetitions count.
    pub category: Wanted,
    /// True if the numbers of each rank are wanted.
    pub per_rank: bool,
}

impl Facts {
    /// The numbers of the operation with this number.
    ///
    /// # Errors
    /// Run times that need time stamps where there are none, or that the rule cannot sort.
    pub fn new(asked: &Asked, source: &Source, number: usize, progress: &Progress) -> Result<Facts> {
        let operation = source.operations()[number].clone();
        let (time, rule) = (asked.time, asked.rule);
        let mut selection = Selection::new(source, number, time, rule, asked.category)?;
        // The account goes by the categories of the local run times.
        let category = (time == RunTime::Local).then_some(selection.categories.category.as_slice());
        let account = operation_time::of_operation(source, number, rule, category);
        progress.step();
        let of_ranks = source.ranks(number);
        let summary = CompletionSummary::new(&of_ranks, &selection);
        progress.step();
        let sample = Sample::new(&selection.run_time_ns);
        progress.step();
        let repetition = std::mem::take(&mut selection.repetition).into_owned();
        let repetition = selection.only(repetition);
        let values = &selection.run_time_ns;
        let warmup_end = selection.categories.warmup_end;
        let enter_ns = summary.as_ref().map(|summary| summary.begin_ns.as_slice());
        let series = statistics::Series { repetition: &repetition, run_time_ns: values, enter_ns };
        let of_series = Summary::new(series, &sample);
        progress.step();
        let facts = Facts {
            time: time.name(),
            method: rule.name(),
            category: asked.category.name(),
            counts: Category::ALL.map(|of| (of.name(), selection.categories.count(of))).into_iter().collect(),
            warmup_end,
            remarks: selection.remarks,
            used: values.len(),
            left_out: selection.left_out,
            notes: Vec::new(),
            summary: of_series,
            account,
            completion: summary.as_ref().map(|summary| summary.facts),
            non_blocking: non_blocking::costs(source, number, &selection)?,
            counters: counters::by_name(source, number, &selection),
            all_calls: source.all_calls().iter().find(|all| all.operation == number).cloned(),
            per_rank: asked.per_rank.then(|| ranks::each(&of_ranks, summary.as_ref(), &selection)),
            operation,
        };
        progress.step();
        let notes = facts.notes(source, number);
        progress.step();
        Ok(Facts { notes, ..facts })
    }

    fn notes(&self, source: &Source, number: usize) -> Vec<String> {
        let mut notes: Vec<String> = source.notes(number).to_vec();
        let mut note = |text: String| notes.push(text);
        let traced = source.traced().map(|traced| &traced.run.operations.operations[number]);
        if traced.is_some_and(|operation| operation.sampled.is_some()) {
            let of = self.operation.repetitions as u64 + self.operation.incomplete;
            note(format!("a sample: {} of {of} repetitions", self.operation.repetitions));
        } else if self.operation.incomplete > 0 {
            let incomplete = text::count(self.operation.incomplete, "repetition");
            note(format!("left out: {incomplete} that some rank did not finish or keep"));
        }
        if self.left_out.not_finite > 0 {
            let not_finite = text::count(self.left_out.not_finite as u64, "run time");
            note(format!("left out: {not_finite}, infinite or not a number"));
        }
        let perturbed = source.perturbed(number).map_or(0, |all| all.iter().filter(|perturbed| **perturbed).count());
        if perturbed > 0 {
            note(format!("the tracer itself may have delayed {perturbed} of the repetitions"));
        }
        self.remarks.sentences().for_each(&mut note);
        match self.used {
            0 => note("no repetition is left: there is nothing to describe".to_owned()),
            1 => note("one repetition has neither a spread nor intervals".to_owned()),
            2..6 => note("fewer than 6 repetitions: no interval of the median".to_owned()),
            _ => {}
        }
        if self.used > 1 && self.summary.description.min_ns == self.summary.description.max_ns {
            note("all run times are equal: dependence and modes are not defined".to_owned());
        }
        let coarse = |step: &f64| self.summary.description.median_ns.is_some_and(|median| step / median >= COARSE);
        if let (Some(step), Some(median)) = (self.summary.step_ns.filter(coarse), self.summary.description.median_ns) {
            let share = 100.0 * step / median;
            note(format!(
                "the run times come in steps of {} ({share:.1} % of the median): no interval can be narrower",
                text::time(step)
            ));
        }
        if self.summary.dependent {
            let worth = |effective: Option<f64>| effective.unwrap_or(self.used as f64);
            note(format!(
                "the repetitions depend on each other: effective sample size {:.0} for the mean, {:.0} for the median; \
                 the intervals allow for it",
                worth(self.summary.effective_repetitions),
                worth(self.summary.effective_repetitions_median)
            ));
            if self.summary.settled == Some(false) {
                note(
                    "the dependence lasts as long as the series (long memory, a drift, or too few repetitions): the \
                     intervals may hold less often than stated"
                        .to_owned(),
                );
            }
        }
        let without = |quantile: &&Quantile| quantile.interval.is_none() && quantile.p >= 0.5;
        let without: Vec<String> = self
            .summary
            .quantiles
            .iter()
            .filter(without)
            .map(|quantile| format!("{:.0} %", 100.0 * quantile.p))
            .collect();
        if self.used >= 6 && !without.is_empty() {
            note(format!("too few independent repetitions for an interval of the quantile at {}", without.join(", ")));
        }
        if let Some(Completion { ordering, .. }) = &self.completion {
            if ordering.violated > 0 {
                let violated = text::count(ordering.violated as u64, "repetition");
                note(format!("last <= local <= global is violated in {violated}"));
            }
            if ordering.split > 0 {
                note(format!("a clock stepped within {}", text::count(ordering.split as u64, "repetition")));
            }
        }
        notes
    }
}
