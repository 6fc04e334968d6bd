//! The outcome of a gate.

use anyhow::{Context, Result};
use mpitrace_analysis::account::{Because, RankPart};
use mpitrace_changes::{Breakdown, Identity, pair};
use mpitrace_show::text;
use mpitrace_statistics::comparison::{self, Comparison, Decision, Gate, runs_for_gate};
use mpitrace_words::changes::{JobFacts, Subject};
use mpitrace_words::share::percent as signed;
use mpitrace_words::summary::percent;
use serde::Serialize;

use super::baseline::Baseline;
use crate::compare::identity::JOB;
use crate::compare::side::{OfOperation, Side};
use crate::compare::{factors, job};

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
    /// So many runs of each would decide, if all scatter as these do; `null`: more than 200, or not known.
    pub runs_needed: Option<usize>,
    /// So long do the runs take that these are more than there are, s; `null`: there are enough.
    pub more_s: Option<f64>,
    /// The runs, of all, in which ranks were ready to run without a processor for 2 % of the time or more, or were
    /// waited for in that state.
    pub preempted_runs: usize,
    /// The change of the time of the job; `null`: not known.
    pub job: Option<JobFacts>,
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
    /// How much longer it takes now, as of [`Outcome::difference`]; `null`: it takes no time in some run.
    pub change: Option<f64>,
}

/// The share of the ranks' time from which on it is worth a word that they lacked a processor.
const LACKING: f64 = 0.02;

impl Outcome {
    /// # Errors
    /// A side of which the time of the job is not known.
    pub fn new(before: &Side, now: &Side, baseline: &Baseline, seconds_of_runs: f64) -> Result<Outcome> {
        let whole = before.common(now);
        let job = whole.iter().find(|[one, _]| one.identity.function == JOB);
        let [of_before, of_now] = *job.context("the time of the job is not in the traces")?;
        let [before_ns, now_ns] = [of_before, of_now].map(medians);
        let Gate { decision, p, visible } = comparison::gate(&before_ns, &now_ns);
        let compared = comparison::compare(&of_before.runs, &of_now.runs, comparison::Settings::default());
        let paired = pair(&before.identities(), &now.identities(), ['A', 'B']);
        let operations: Vec<[&OfOperation; 2]> =
            paired.pairs.iter().map(|&(one, other)| [&before.operations[one], &now.operations[other]]).collect();
        let changed = compared.as_ref().and_then(|compared| of_job([before, now], &operations, compared));
        let relative = compared.and_then(|compared| compared.relative);
        let needed = runs_for_gate(&before_ns, &now_ns);
        let more = needed.and_then(|needed| needed.checked_sub(now_ns.len())).filter(|more| *more > 0);
        let more_s = more.map(|more| more as f64 * seconds_of_runs / now_ns.len() as f64);
        let all_runs = before.breakdowns.iter().chain(&now.breakdowns);
        let rows = whole.iter().copied().chain(operations.iter().copied()).filter_map(GateRow::new).collect();
        let mut outcome = Outcome {
            decision,
            difference: relative.map(|relative| relative.share),
            interval: relative.and_then(|relative| relative.interval),
            p,
            visible,
            runs: [before_ns.len(), now_ns.len()],
            interleaved: matches!(baseline, Baseline::Command(_)),
            runs_needed: needed,
            more_s,
            preempted_runs: all_runs.filter(|run| lacks_processor(run)).count(),
            job: changed,
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
        let changed = match &self.job {
            Some(job) => job.sentence.clone(),
            None => format!("the time of the job changed by {difference}{}.", interval.unwrap_or_default()),
        };
        let visible = match self.visible {
            Some(visible) => format!("a difference of {} is found with a probability of 90 %", percent(visible)),
            None => "so few runs show no difference".to_owned(),
        };
        let next = if self.decision == Decision::NotDecided { self.next() } else { String::new() };
        format!(
            "{}: {changed} p {}; {} {how} {before} of the baseline: {visible}{next}.",
            self.decision.name(),
            text::number(self.p),
            text::count(now as u64, "run"),
        )
    }

    /// Why the runs do not decide, and what would.
    fn next(&self) -> String {
        let [before, now] = self.runs;
        let all = before + now;
        let preempted = match self.preempted_runs {
            0 => String::new(),
            runs => format!("; ranks were preempted in {runs} of {}", text::count(all as u64, "run")),
        };
        let more = match (self.runs_needed, self.more_s) {
            (Some(needed), Some(seconds)) => {
                let more = text::count((needed - now) as u64, "more run");
                let each = if self.interleaved { " of each" } else { "" };
                format!("; {more}{each} would decide, if these scatter alike: {}", duration(seconds))
            }
            (None, _) if before.min(now) > 2 => "; 200 runs would not decide: the runs differ too much".to_owned(),
            _ => "; make more runs".to_owned(),
        };
        format!("{more}{preempted}")
    }
}

/// `40 s`, `6 minutes`, `2.5 hours`.
fn duration(seconds: f64) -> String {
    match seconds {
        _ if seconds < 90.0 => format!("{:.0} s", seconds.max(1.0)),
        _ if seconds < 5400.0 => format!("{:.0} minutes", seconds / 60.0),
        _ => format!("{:.1} hours", seconds / 3600.0),
    }
}

/// The change of the time of the job.
fn of_job(sides: [&Side; 2], operations: &[[&OfOperation; 2]], compared: &Comparison) -> Option<JobFacts> {
    let same: Vec<(&Identity, &Identity)> = operations.iter().map(|[a, b]| (&a.identity, &b.identity)).collect();
    let factors = factors::between(&sides[0].recorded, &sides[1].recorded);
    let subject = Subject { this: "the job".to_owned(), other: "its baseline".to_owned() };
    job::facts(sides, &same, compared, &factors, ['A', 'B'], &subject)
}

/// True if ranks of a run were ready to run without a processor for a share of the time that matters.
fn lacks_processor(run: &Breakdown) -> bool {
    let parts = [RankPart::Preempted, RankPart::Throttled];
    let own: f64 = run.rest.iter().map(|(_, of)| of.sum_of(&parts)).sum();
    let off = |because: Option<Because>| matches!(because, Some(Because::Preempted | Because::Throttled));
    let waited: f64 = run.waiting.iter().filter(|waited| off(waited.because)).map(|waited| waited.ns).sum();
    own + waited >= LACKING * run.sum_ns()
}

fn medians(operation: &OfOperation) -> Vec<f64> {
    operation.runs.iter().map(|run| run.median_ns).collect()
}

impl GateRow {
    fn new([before, now]: [&OfOperation; 2]) -> Option<GateRow> {
        let [mut before_ns, mut now_ns] = [before, now].map(medians);
        let compared = comparison::compare(&before.runs, &now.runs, comparison::Settings::default());
        Some(GateRow {
            change: compared.and_then(|compared| compared.relative).map(|relative| relative.share),
            key: now.identity.key(),
            baseline_ns: mpitrace_statistics::median(&mut before_ns)?,
            now_ns: mpitrace_statistics::median(&mut now_ns)?,
            lowest_ns: now_ns.iter().copied().fold(f64::INFINITY, f64::min),
            highest_ns: now_ns.iter().copied().fold(0.0, f64::max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_do_not_decide_say_why_and_how_many_would() {
        let undecided = |runs: [usize; 2], runs_needed, more_s, preempted_runs| Outcome {
            decision: Decision::NotDecided,
            difference: Some(0.019),
            interval: Some([-0.032, 0.077]),
            p: 0.21,
            visible: Some(0.071),
            runs,
            interleaved: true,
            runs_needed,
            more_s,
            preempted_runs,
            job: None,
            rows: Vec::new(),
            sentence: String::new(),
        };
        let of = |outcome: Outcome| outcome.words();
        assert_eq!(
            of(undecided([6, 6], Some(14), Some(362.0), 9)),
            "not-decided: the time of the job changed by +1.9 % (-3.2 % to +7.7 %). p 0.210; 6 runs in turn with 6 of the \
             baseline: a difference of 7.1 % is found with a probability of 90 %; 8 more runs of each would decide, if \
             these scatter alike: 6 minutes; ranks were preempted in 9 of 12 runs."
        );
        let alone = Outcome { interleaved: false, ..undecided([6, 6], Some(7), Some(41.0), 0) };
        assert!(of(alone).ends_with("; 1 more run would decide, if these scatter alike: 41 s."));
        assert!(
            of(undecided([6, 6], None, None, 0)).ends_with("; 200 runs would not decide: the runs differ too much.")
        );
        assert!(of(undecided([2, 2], None, None, 0)).ends_with("; make more runs."));
        let passed = Outcome { decision: Decision::Passed, ..undecided([6, 6], None, None, 3) };
        assert!(of(passed).ends_with("with a probability of 90 %."), "no more is said of runs that decide");
    }
}
