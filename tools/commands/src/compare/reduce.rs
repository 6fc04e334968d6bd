//! From the repetitions of a run to what stands for it: what is left out, by which rule, and how much.

use std::ops::AddAssign;

use anyhow::{Result, bail};
use mpitrace_source::RunTimes;
use mpitrace_statistics::categories::{Category, Rule};
use mpitrace_statistics::comparison::Run;
use mpitrace_statistics::{BINS, Sample, moments};
use serde::Serialize;

/// Repetitions that do not stand for a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    pub first: u64,
    pub warmup: u64,
    pub outlier: u64,
    /// Not finished or not kept by every rank.
    pub incomplete: u64,
}

impl LeftOut {
    pub fn total(self) -> u64 {
        self.first + self.warmup + self.outlier + self.incomplete
    }
}

impl AddAssign for LeftOut {
    fn add_assign(&mut self, other: LeftOut) {
        self.first += other.first;
        self.warmup += other.warmup;
        self.outlier += other.outlier;
        self.incomplete += other.incomplete;
    }
}

pub struct Reduced {
    /// `None` where no repetition is good.
    pub run: Option<Run>,
    pub shape: Shape,
    /// Repetitions that stand for it.
    pub good: u64,
    pub left_out: LeftOut,
}

/// How the run times of a run are distributed and go on, for pictures. ns.
pub struct Shape {
    /// All of them, of many as many quantiles.
    pub values: Vec<f64>,
    /// The means of as many bins, in the order of time.
    pub bins: Vec<f64>,
}

/// Values that stand for all of a run.
const VALUES: usize = 1000;

impl Shape {
    fn new(run_time_ns: &[f64]) -> Shape {
        let sample = Sample::new(run_time_ns);
        let values = match sample.len() {
            few if few <= VALUES => sample.sorted().to_vec(),
            _ => (0..VALUES).filter_map(|at| sample.quantile((at as f64 + 0.5) / VALUES as f64)).collect(),
        };
        let n = run_time_ns.len();
        let count = BINS.min(n);
        let bin = |bin: usize| Some(moments(&run_time_ns[n * bin / count..n * (bin + 1) / count])?.mean);
        Shape { values, bins: (0..count).filter_map(bin).collect() }
    }
}

/// Reduces the repetitions of an operation in the run of this number.
///
/// # Errors
/// A run time that is no finite number.
pub fn reduce((times, incomplete): &(RunTimes, u64), number: usize, rule: Rule) -> Result<Reduced> {
    let (repetition, run_time_ns) = (&*times.repetition, &*times.run_time_ns);
    if let Some(row) = run_time_ns.iter().position(|run_time| !run_time.is_finite()) {
        bail!("repetition {}: a run time of {} ns is no finite number", repetition[row], run_time_ns[row]);
    }
    let categories = rule.apply(repetition, run_time_ns)?.categories;
    let count = |wanted: Category| categories.count(wanted) as u64;
    let left_out = LeftOut {
        first: count(Category::First),
        warmup: count(Category::Warmup),
        outlier: count(Category::Outlier),
        incomplete: *incomplete,
    };
    let of = |wanted: fn(Category) -> bool| -> Vec<f64> {
        let rows = categories.category.iter().zip(run_time_ns).filter(|(category, _)| wanted(**category));
        rows.map(|(_, &run_time)| run_time).collect()
    };
    let good = of(|category| category == Category::Good);
    let settled = of(|category| matches!(category, Category::Good | Category::Outlier));
    let shape = Shape::new(run_time_ns);
    Ok(Reduced { run: Run::new(number, &good, &settled), shape, good: good.len() as u64, left_out })
}
