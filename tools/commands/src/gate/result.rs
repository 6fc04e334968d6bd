//! The outcome of a gate.

use anyhow::{Context, Result};
use mpitrace_show::text;
use mpitrace_statistics::comparison::{self, Decision, Gate};
use mpitrace_words::summary::percent;
use serde::Serialize;

use super::baseline::Baseline;
use crate::compare::identity::JOB;
use mpitrace_words::share::percent as signed;
use crate::compare::side::{OfOperation, Side};

/// The decision, and what it stands on.
#[derive(Debug, Serialize)]
pub struct Outcome {
    pub decision: Decision,
    /// How much longer the job takes than the baseline, 0.05 for 5 %, and the interval of 95 %.
    pub difference: Option<f64>,
    pub interval: Option<[f64; 2]>,
    pub p: f64,
    /// The smallest difference that would have been found with a probability of 90 %.
    pub visible: Option<f64>,
    /// The runs of the baseline and of now.
    pub runs: [usize; 2],
    /// True if both were run here in turn.
    pub interleaved: bool,
    /// The whole job, its time in MPI, and the operations of both, by their keys.
    pub rows: Vec<GateRow>,
    pub sentence: String,
}

/// Medians over the runs of the baseline and of now, ns, and the lowest and highest run of now.
#[derive(Debug, Serialize)]
pub struct GateRow {
    pub key: String,
    pub baseline_ns: f64,
    pub now_ns: f64,
    pub lowest_ns: f64,
    pub highest_ns: f64,
}

impl Outcome {
    /// # Errors
    /// A side of which the time of the job is not known.
    pub fn new(before: &Side, now: &Side, baseline: &Baseline) -> Result<Outcome> {
        let whole = before.common(now);
        let job = whole.iter().find(|[one, _]| one.identity.function == JOB);
        let [of_before, of_now] = *job.context("the time of the job is not in the traces")?;
        let [before_ns, now_ns] = [of_before, of_now].map(medians);
        let Gate { decision, p, visible } = comparison::gate(&before_ns, &now_ns);
        let compared = comparison::compare(&of_before.runs, &of_now.runs, comparison::Settings::default());
        let relative = compared.and_then(|compared| compared.relative);
        let operations = before
            .operations
            .iter()
            .filter_map(|one| Some([one, now.operations.iter().find(|other| other.identity == one.identity)?]));
        let rows = whole.iter().copied().chain(operations).filter_map(GateRow::new).collect();
        let mut outcome = Outcome {
            decision,
            difference: relative.map(|relative| relative.share),
            interval: relative.and_then(|relative| relative.interval),
            p,
            visible,
            runs: [before_ns.len(), now_ns.len()],
            interleaved: matches!(baseline, Baseline::Command(_)),
            rows,
            sentence: String::new(),
        };
        outcome.sentence = outcome.words();
        Ok(outcome)
    }

    fn words(&self) -> String {
        let [before, now] = self.runs;
        let how = if self.interleaved { "in turn with" } else { "after" };
        let interval = self.interval.map(|[low, high]| format!(" ({} to {})", signed(low), signed(high)));
        let difference = self.difference.map_or_else(|| "an unknown difference".to_owned(), signed);
        let visible = match self.visible {
            Some(visible) => format!("a difference of {} is found with a probability of 90 %", percent(visible)),
            None => "so few runs show no difference".to_owned(),
        };
        let next = match self.decision {
            Decision::NotDecided => "; make more runs, or find out why they differ",
            _ => "",
        };
        format!(
            "{}: the time of the job changed by {difference}{}; p {}; {} {how} {before} of the baseline: {visible}{next}.",
            self.decision.name(),
            interval.unwrap_or_default(),
            text::number(self.p),
            text::count(now as u64, "run"),
        )
    }
}

fn medians(operation: &OfOperation) -> Vec<f64> {
    operation.runs.iter().map(|run| run.median_ns).collect()
}

impl GateRow {
    fn new([before, now]: [&OfOperation; 2]) -> Option<GateRow> {
        let [mut before_ns, mut now_ns] = [before, now].map(medians);
        Some(GateRow {
            key: now.identity.key(),
            baseline_ns: mpitrace_statistics::median(&mut before_ns)?,
            now_ns: mpitrace_statistics::median(&mut now_ns)?,
            lowest_ns: now_ns.iter().copied().fold(f64::INFINITY, f64::min),
            highest_ns: now_ns.iter().copied().fold(0.0, f64::max),
        })
    }

    pub fn difference(&self) -> f64 {
        self.now_ns / self.baseline_ns - 1.0
    }
}
