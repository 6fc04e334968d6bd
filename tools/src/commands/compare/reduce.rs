//! From the repetitions of a run to what stands for it: what is left out, by which rule, and how much.

use std::ops::AddAssign;

use anyhow::{Result, bail};
use clap::ValueEnum;
use mpitrace::categories::{Category, Robust, Roth};
use mpitrace::comparison::Run;
use mpitrace::statistics::{Sample, tukey_fences};
use serde::Serialize;

use super::runs::Measured;

/// What is left out of a run.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Method {
    /// First, warm-up and outliers by the rule of Roth's thesis
    Roth,
    /// First, warm-up and outliers by our own rule
    Robust,
    /// What lies 1.5 interquartile ranges or more beyond the quartiles, on either side, as Hunold and Carpen-Amarie have it
    Tukey,
    /// Nothing
    None,
}

impl Method {
    pub fn name(self) -> &'static str {
        match self {
            Method::Roth => "roth",
            Method::Robust => "robust",
            Method::Tukey => "tukey",
            Method::None => "none",
        }
    }
}

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

/// What one run of an operation comes to.
pub struct Reduced {
    /// `None` where no repetition is good.
    pub run: Option<Run>,
    /// Repetitions that stand for it.
    pub good: u64,
    pub left_out: LeftOut,
    /// The numbers and the run times (ns) of the good repetitions, where they are wanted.
    pub series: Option<(Vec<u64>, Vec<f64>)>,
}

/// Reduces the repetitions of an operation in one run.
///
/// # Errors
/// A run time that is no finite number.
pub fn reduce(measured: &Measured, method: Method, keep_series: bool) -> Result<Reduced> {
    let Measured { times, incomplete } = measured;
    let (repetition, run_time_ns) = (&*times.repetition, &*times.run_time_ns);
    if let Some(row) = run_time_ns.iter().position(|run_time| !run_time.is_finite()) {
        bail!("repetition {}: a run time of {} ns is no finite number", repetition[row], run_time_ns[row]);
    }
    let category = match method {
        Method::Roth => Roth::default().categorize(repetition, run_time_ns).category,
        Method::Robust => Robust::default().categorize(repetition, run_time_ns)?.categories.category,
        Method::Tukey => tukey(run_time_ns),
        Method::None => vec![Category::Good; run_time_ns.len()],
    };
    let count = |wanted: Category| category.iter().filter(|&&category| category == wanted).count() as u64;
    let left_out = LeftOut {
        first: count(Category::First),
        warmup: count(Category::Warmup),
        outlier: count(Category::Outlier),
        incomplete: *incomplete,
    };
    let rows = || category.iter().zip(repetition.iter().zip(run_time_ns));
    let settled = rows().filter(|(category, _)| matches!(category, Category::Good | Category::Outlier));
    let settled: Vec<f64> = settled.map(|(_, (_, &run_time))| run_time).collect();
    let good = rows().filter(|(category, _)| **category == Category::Good);
    let (numbers, good): (Vec<u64>, Vec<f64>) = good.map(|(_, (&number, &run_time))| (number, run_time)).unzip();
    let run = Run::of(&good, &settled);
    Ok(Reduced { run, good: good.len() as u64, left_out, series: keep_series.then_some((numbers, good)) })
}

/// Seed 000, section 3.5: outliers are smaller than Q1 - 1.5 IQR or larger than Q3 + 1.5 IQR.
fn tukey(run_time_ns: &[f64]) -> Vec<Category> {
    let [lower, upper] = tukey_fences(&Sample::new(run_time_ns)).unwrap_or_default();
    let category = |&x: &f64| if x < lower || x > upper { Category::Outlier } else { Category::Good };
    run_time_ns.iter().map(category).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::RunTimes;

    fn measured(run_time_ns: Vec<f64>) -> Measured<'static> {
        let repetition = (0..run_time_ns.len() as u64).collect();
        Measured { times: RunTimes { repetition, run_time_ns }, incomplete: 2 }
    }

    #[test]
    fn each_rule_leaves_out_what_it_names() {
        let mut x: Vec<f64> = (0..100).map(|i| 100.0 + f64::from(i % 10)).collect();
        x[..20].fill(150.0);
        (x[50], x[60]) = (300.0, 10.0);
        let of = |method| reduce(&measured(x.clone()), method, true).unwrap();
        let roth = of(Method::Roth);
        assert_eq!(roth.left_out, LeftOut { first: 1, warmup: 19, outlier: 1, incomplete: 2 });
        assert_eq!((roth.good, roth.series.unwrap().0[0]), (79, 20));
        let robust = of(Method::Robust);
        assert_eq!(robust.left_out, LeftOut { first: 1, warmup: 19, outlier: 1, incomplete: 2 });
        let tukey = of(Method::Tukey);
        assert_eq!((tukey.left_out, tukey.good), (LeftOut { outlier: 22, incomplete: 2, ..LeftOut::default() }, 78));
        assert_eq!((of(Method::None).good, of(Method::None).left_out.total()), (100, 2));
    }

    #[test]
    fn nothing_and_nothing_good_make_no_run() {
        assert!(reduce(&measured(vec![]), Method::Tukey, false).unwrap().run.is_none());
        assert!(reduce(&measured(vec![5.0]), Method::Roth, false).unwrap().run.is_none());
    }

    #[test]
    fn what_is_no_number_is_refused_by_its_repetition() {
        for wrong in [f64::NAN, f64::INFINITY] {
            let error = reduce(&measured(vec![1.0, wrong]), Method::Roth, false).err().unwrap();
            assert!(error.to_string().contains("repetition 1"), "{error}");
        }
    }
}
