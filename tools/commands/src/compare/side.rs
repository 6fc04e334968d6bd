//! One of the two sides: its operations, each with what its runs come to.

use std::collections::HashMap;

use anyhow::{Context, Result};
use mpitrace_changes::{Breakdown, Identity};
use mpitrace_show::progress::Progress;
use mpitrace_statistics::comparison::{Reproducibility, Run, reproducibility};

use super::factors::Recorded;
use super::identity;
use super::question::Question;
use super::reduce::{LeftOut, Shape, reduce};
use super::runs::{Files, Opened};

/// How many operations are named that some runs do not have.
const NAMED: usize = 4;

#[derive(Default)]
pub struct Side {
    /// The whole job, and MPI as a whole.
    pub whole: Vec<OfOperation>,
    /// In the order in which they first come up.
    pub operations: Vec<OfOperation>,
    runs: usize,
    pub recorded: Vec<Recorded>,
    /// The time of each run in its parts; fewer than there are runs, if some were not traced.
    pub breakdowns: Vec<Breakdown>,
    notes: Vec<String>,
}

pub struct OfOperation {
    pub identity: Identity,
    /// The runs that have good repetitions, reduced.
    pub runs: Vec<Run>,
    /// All runs, those without a good repetition too.
    pub shapes: Vec<Shape>,
    /// Repetitions that stand for them.
    pub good: u64,
    pub left_out: LeftOut,
    /// Runs without a good repetition, and those that do not have it at all.
    pub runs_without: usize,
    /// Its time and calls in each run that has it; none of runs that were not traced.
    pub totals: Vec<Total>,
}

/// An operation in one run.
#[derive(Clone, Copy, Debug)]
pub struct Total {
    /// The number of the run on its side.
    pub number: usize,
    /// The time and the calls of a rank of the job, in the mean.
    pub ns: f64,
    pub calls: f64,
}

impl Side {
    /// Reads the runs, one after the other: what stays of each is a few numbers for each operation.
    ///
    /// # Errors
    /// A file that cannot be used; the message names it.
    pub fn read(runs: &[Files], question: &Question, progress: &Progress) -> Result<Side> {
        let mut side = Side { runs: runs.len(), ..Side::default() };
        let mut places: HashMap<Identity, usize> = HashMap::new();
        for files in runs {
            side.read_one(files, question, &mut places)?;
            progress.step();
        }
        for operation in &mut side.operations {
            operation.runs_without = runs.len() - operation.runs.len();
        }
        Ok(side)
    }

    fn read_one(&mut self, files: &Files, question: &Question, places: &mut HashMap<Identity, usize>) -> Result<()> {
        let opened = Opened::open(files, question.from, question.time)?;
        let number = self.recorded.len();
        self.recorded.push(opened.recorded());
        self.notes.extend(opened.notes(question.time, &files[0]));
        for (identity, ns) in opened.whole() {
            let known = self.whole.iter().position(|whole| whole.identity.function == identity.function);
            let place = known.unwrap_or(self.whole.len());
            if place == self.whole.len() {
                self.whole.push(OfOperation::new(identity));
            }
            self.whole[place].runs.extend(Run::new(number, &[ns], &[ns]));
        }
        let (identities, spent) = (opened.identities(), opened.spent());
        self.breakdowns.extend(opened.breakdown(&identities)?);
        for (operation, identity) in identities.into_iter().enumerate() {
            let measured = opened.measured(operation, question.time)?;
            let reduced = reduce(&measured, number, question.rule)
                .with_context(|| format!("{}: operation {operation}", files[0].display()))?;
            let place = *places.entry(identity.clone()).or_insert(self.operations.len());
            if place == self.operations.len() {
                self.operations.push(OfOperation::new(identity));
            }
            let found = &mut self.operations[place];
            found.good += reduced.good;
            found.left_out += reduced.left_out;
            found.runs.extend(reduced.run);
            found.shapes.push(reduced.shape);
            let total = spent.get(operation).filter(|spent| spent.calls > 0.0);
            found.totals.extend(total.map(|spent| Total { number, ns: spent.run_time_ns, calls: spent.calls }));
        }
        Ok(())
    }

    /// The parts that are no operation and that both sides have.
    pub fn common<'s>(&'s self, other: &'s Side) -> Vec<[&'s OfOperation; 2]> {
        let of_other = |function: &str| other.whole.iter().find(|whole| whole.identity.function == function);
        self.whole.iter().filter_map(|whole| Some([whole, of_other(&whole.identity.function)?])).collect()
    }

    pub fn identities(&self) -> Vec<&Identity> {
        self.operations.iter().map(|operation| &operation.identity).collect()
    }

    /// The keys of its operations, a few of them; `None` where there are none.
    pub fn keys(&self) -> Option<String> {
        let keys: Vec<String> = self.operations.iter().take(4).map(|operation| operation.identity.key()).collect();
        let more = if self.operations.len() > keys.len() { ", ..." } else { "" };
        (!keys.is_empty()).then(|| format!("{}{more}", keys.join(", ")))
    }

    pub fn notes(&self, name: char) -> Vec<String> {
        let mut notes = self.notes.clone();
        let without: Vec<&OfOperation> =
            self.operations.iter().filter(|operation| operation.runs_without > 0).collect();
        let in_runs = |one: &&OfOperation| format!("{} in {} of {} runs", one.identity, one.runs_without, self.runs);
        let named: Vec<String> = without.iter().take(NAMED).map(in_runs).collect();
        if !named.is_empty() {
            let more = without.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(", nor of {more} more operations in some runs") } else { String::new() };
            notes.push(format!("{name}: no good repetition of {}{more}", named.join(", of ")));
        }
        notes
    }
}

impl OfOperation {
    fn new(identity: Identity) -> Self {
        OfOperation {
            identity,
            runs: Vec::new(),
            shapes: Vec::new(),
            good: 0,
            left_out: LeftOut::default(),
            runs_without: 0,
            totals: Vec::new(),
        }
    }

    /// The median over the runs of the time of a rank in it, s, and of its calls; `None`: not known.
    pub fn typical(&self) -> Option<(f64, f64)> {
        let median =
            |of: fn(&Total) -> f64| mpitrace_statistics::median(&mut self.totals.iter().map(of).collect::<Vec<_>>());
        Some((median(|total| total.ns)? / 1e9, median(|total| total.calls)?))
    }

    /// The means (ns) of the runs of each of so many trials, the runs in their order; `None`: each run is one.
    pub fn trials(&self, trials: Option<usize>) -> Option<Reproducibility> {
        let means: Vec<f64> = self.runs.iter().map(|run| run.mean_ns).collect();
        let trials = trials.unwrap_or(means.len());
        if trials == 0 || means.len() < trials {
            return None;
        }
        let range = |trial: usize| means.len() * trial / trials..means.len() * (trial + 1) / trials;
        reproducibility(&(0..trials).map(|trial| &means[range(trial)]).collect::<Vec<_>>())
    }
}

/// All of these operations as one, each by the values of its runs: of each run the geometric mean of its values. `None`
/// where they are fewer than two, or where a run takes no time.
fn as_one(ranks: u32, operations: &[Vec<Run>]) -> Option<OfOperation> {
    let mut all = OfOperation::new(Identity::whole(identity::OPERATIONS, ranks));
    let first = operations.first()?;
    for (at, run) in first.iter().enumerate() {
        let logarithms = operations.iter().map(|runs| runs[at].median_ns.ln());
        let ns = (logarithms.sum::<f64>() / operations.len() as f64).exp();
        all.runs.extend(Run::new(run.number, &[ns], &[ns]).filter(|_| ns.is_finite() && ns > 0.0));
    }
    (operations.len() > 1 && all.runs.len() == first.len()).then_some(all)
}

/// Calls of two sides that differ by no more than this ratio are as many.
const AS_MANY: f64 = 1.1;

/// The time in all calls of each run, where one side makes more calls: a call may be shorter since there are more of
/// them. `None`: they are as many, or not counted in some run.
pub fn totals(a: &OfOperation, b: &OfOperation) -> Option<[Vec<Run>; 2]> {
    let is_known =
        |one: &OfOperation| one.totals.len() >= one.runs.len() && one.totals.iter().all(|total| total.ns > 0.0);
    let ((_, calls_a), (_, calls_b)) = (a.typical()?, b.typical()?);
    let ratio = (calls_b / calls_a).max(calls_a / calls_b);
    let run = |total: &Total| Run::new(total.number, &[total.ns], &[total.ns]);
    (is_known(a) && is_known(b) && ratio > AS_MANY)
        .then(|| [a, b].map(|one| one.totals.iter().filter_map(run).collect()))
}

/// The operations that all runs of two sides have, as one, by what is compared of each.
pub fn overall(common: &[[&OfOperation; 2]]) -> Option<[OfOperation; 2]> {
    let whole: Vec<&[&OfOperation; 2]> =
        common.iter().filter(|both| both.iter().all(|one| one.runs_without == 0)).collect();
    let ranks = whole.first()?.map(|one| one.identity.ranks);
    let values = whole.iter().map(|&&[a, b]| totals(a, b).unwrap_or_else(|| [a.runs.clone(), b.runs.clone()]));
    let (a, b): (Vec<_>, Vec<_>) = values.map(|[a, b]| (a, b)).unzip();
    Some([as_one(ranks[0], &a)?, as_one(ranks[1], &b)?])
}
