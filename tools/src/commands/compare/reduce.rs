//! From the repetitions of a run to what stands for it: what is left out, by which rule, and how much.

use std::ops::AddAssign;

use anyhow::{Result, bail};
use mpitrace::categories::{Category, Rule};
use mpitrace::comparison::Run;
use serde::Serialize;

use super::runs::Measured;

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
pub fn reduce(measured: &Measured, rule: Rule, keep_series: bool) -> Result<Reduced> {
    let Measured { times, incomplete } = measured;
    let (repetition, run_time_ns) = (&*times.repetition, &*times.run_time_ns);
    if let Some(row) = run_time_ns.iter().position(|run_time| !run_time.is_finite()) {
        bail!("repetition {}: a run time of {} ns is no finite number", repetition[row], run_time_ns[row]);
    }
    let category = rule.apply(repetition, run_time_ns)?.categories.category;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::RunTimes;

    fn rule(name: &str) -> Rule {
        Rule::named(name).unwrap()
    }

    fn measured(run_time_ns: Vec<f64>) -> Measured<'static> {
        let repetition = (0..run_time_ns.len() as u64).collect();
        Measured { times: RunTimes { repetition, run_time_ns }, incomplete: 2 }
    }

    #[test]
    fn each_rule_leaves_out_what_it_names() {
        let mut x: Vec<f64> = (0..100).map(|i| 100.0 + f64::from(i % 10)).collect();
        x[..20].fill(150.0);
        (x[50], x[60]) = (300.0, 10.0);
        let of = |name| reduce(&measured(x.clone()), rule(name), true).unwrap();
        let roth = of("roth");
        assert_eq!(roth.left_out, LeftOut { first: 1, warmup: 19, outlier: 1, incomplete: 2 });
        assert_eq!((roth.good, roth.series.unwrap().0[0]), (79, 20));
        let robust = of("robust");
        assert_eq!(robust.left_out, LeftOut { first: 1, warmup: 19, outlier: 1, incomplete: 2 });
        let tukey = of("tukey");
        assert_eq!((tukey.left_out, tukey.good), (LeftOut { outlier: 22, incomplete: 2, ..LeftOut::default() }, 78));
        assert_eq!((of("none").good, of("none").left_out.total()), (100, 2));
    }

    #[test]
    fn nothing_and_nothing_good_make_no_run() {
        assert!(reduce(&measured(vec![]), rule("tukey"), false).unwrap().run.is_none());
        assert!(reduce(&measured(vec![5.0]), rule("roth"), false).unwrap().run.is_none());
    }

    #[test]
    fn what_is_no_number_is_refused_by_its_repetition() {
        for wrong in [f64::NAN, f64::INFINITY] {
            let error = reduce(&measured(vec![1.0, wrong]), rule("roth"), false).err().unwrap();
            assert!(error.to_string().contains("repetition 1"), "{error}");
        }
    }
}
