//! The comparison of one operation.

use mpitrace_show::text;
use mpitrace_statistics::comparison::{
    self, Comparison, Settings, Test, detectable, enough_runs, runs_needed, shapiro_wilk,
};

use mpitrace_changes::{Identity, Names};

use super::question::Question;
use super::side::{OfOperation, totals};

/// An operation that one side alone has.
pub struct OneSided<'s> {
    /// The place of that side: 0 of A, which no longer has it in B.
    pub side: usize,
    pub operation: &'s OfOperation,
}

/// The times that were tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// The time of a call.
    Call,
    /// The time of a rank in all calls of a run, since one side makes more of them.
    Total,
}

pub struct Compared<'s> {
    pub names: Names,
    pub basis: Basis,
    pub identity: &'s Identity,
    pub comparison: Comparison,
    pub sides: [OfSide<'s>; 2],
    /// The fewest runs on each side with which the test could reach 0.05 for so many operations.
    pub runs_needed: usize,
    /// True if the runs there are can reach it.
    pub enough: bool,
    /// The smallest relative difference that would probably have been found; `None`: with these runs none can be.
    pub detectable: Option<f64>,
}

pub struct OfSide<'s> {
    pub operation: &'s OfOperation,
    /// Over the runs, the median of their medians and the mean of their means, ns.
    pub median_ns: f64,
    pub mean_ns: f64,
}

/// Compares each operation on the two sides and corrects for their number. One of which a side has no run is left out:
/// the sides' notes name it.
pub fn compare<'s>(operations: &[[&'s OfOperation; 2]], names: Names, question: &Question) -> Vec<Compared<'s>> {
    let mut compared: Vec<Compared> = operations
        .iter()
        .filter_map(|&[of_a, of_b]| {
            let (basis, runs) = match totals(of_a, of_b) {
                Some(totals) => (Basis::Total, totals),
                None => (Basis::Call, [of_a.runs.clone(), of_b.runs.clone()]),
            };
            let comparison = comparison::measure(&runs[0], &runs[1], question.settings)?;
            // Both have a median only if they have good repetitions.
            if of_a.runs.is_empty() || of_b.runs.is_empty() {
                return None;
            }
            let sides = [OfSide::new(of_a), OfSide::new(of_b)];
            Some(Compared {
                names,
                basis,
                identity: &of_a.identity,
                comparison,
                sides,
                runs_needed: 0,
                enough: true,
                detectable: None,
            })
        })
        .collect();
    comparison::test(compared.iter_mut().map(|compared| &mut compared.comparison));
    let operations = compared.len();
    let Settings { test, alternative, pairs } = question.settings;
    let needed = runs_needed(test, alternative, operations, pairs);
    for compared in &mut compared {
        let runs = [0, 1].map(|side| compared.sides[side].operation.runs.len());
        compared.runs_needed = needed;
        compared.enough = enough_runs(test, alternative, runs, operations, pairs);
        let Comparison { averages_ns: [of_a, of_b], made, .. } = &compared.comparison;
        let tests = operations * pairs.max(1);
        compared.detectable = detectable(of_a, of_b, *made, alternative, tests).filter(|_| compared.enough);
    }
    compared
}

/// How many operations are named in a note.
const NAMED: usize = 8;

pub fn notes(compared: &[Compared], question: &Question) -> Vec<String> {
    let mut notes = Vec::new();
    let alone = |compared: &Compared| compared.sides.iter().any(|side| side.operation.runs.len() < 2);
    if compared.iter().any(alone) {
        notes.push(
            "one run does not show how much runs differ: make 3 runs or more of each side, in random order".to_owned(),
        );
    }
    let too_few = compared.iter().filter(|compared| !compared.enough).count();
    if let Some(one) = compared.first().filter(|_| too_few > 0) {
        let corrected = match compared.len() {
            1 => String::new(),
            operations => format!(", corrected for {operations} operations,"),
        };
        notes.push(format!(
            "too few runs to compare {too_few} of {}: the test can reach 0.05{corrected} with {} runs on each side",
            text::count(compared.len() as u64, "operation"),
            one.runs_needed
        ));
    }
    if question.settings.test == Test::Welch {
        let skewed = |compared: &&Compared| {
            let tests = compared.comparison.welch_samples().into_iter().filter_map(|values| shapiro_wilk(&values));
            tests.into_iter().any(|test| test.p <= comparison::SIGNIFICANCE)
        };
        let skewed: Vec<String> = compared.iter().filter(skewed).map(|compared| compared.identity.key()).collect();
        if !skewed.is_empty() {
            let more = if skewed.len() > NAMED { format!(" and {} more", skewed.len() - NAMED) } else { String::new() };
            let names = skewed[..skewed.len().min(NAMED)].join(", ");
            notes.push(format!(
                "Welch's test assumes normally distributed logarithms of the runs' numbers; Shapiro and Wilk's test \
                 rejects that for {names}{more}: the other tests do not assume it"
            ));
        }
    }
    notes
}

impl<'s> OfSide<'s> {
    pub fn new(operation: &'s OfOperation) -> Self {
        let medians: Vec<f64> = operation.runs.iter().map(|run| run.median_ns).collect();
        let means: f64 = operation.runs.iter().map(|run| run.mean_ns).sum();
        OfSide {
            operation,
            median_ns: comparison::quantile(&medians, 0.5).map_or(f64::NAN, |median| median.value_ns),
            mean_ns: means / medians.len() as f64,
        }
    }
}

impl Compared<'_> {
    /// How much longer B takes, as a share of what A takes.
    pub fn effect(&self) -> Option<f64> {
        self.comparison.relative.map(|relative| relative.share)
    }

    pub fn effect_interval(&self) -> Option<[f64; 2]> {
        self.comparison.relative.and_then(|relative| relative.interval)
    }
}
