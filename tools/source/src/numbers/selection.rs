//! Which repetitions of an operation count, and how many do not, and why.

use std::borrow::Cow;

use anyhow::Result;
use clap::ValueEnum;
use mpitrace_statistics::categories::{Categories, Category, Remarks, Rule};
use mpitrace_trace::run_time::RunTime;
use serde::Serialize;

use crate::Source;

/// The repetitions that count.
pub struct Selection<'s> {
    /// The numbers of all complete ones.
    pub repetition: Cow<'s, [u64]>,
    /// The categories of all complete ones.
    pub categories: Categories,
    /// On the order and the levels of all complete ones.
    pub remarks: Remarks,
    /// For each complete one whether it counts.
    pub kept: Vec<bool>,
    /// The run times of those that count, in order; all finite, ns.
    pub run_time_ns: Vec<f64>,
    /// The repetitions that do not count.
    pub left_out: LeftOut,
}

/// Complete repetitions that do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Repetitions of another category than the one asked for.
    pub category: usize,
    /// Infinite, or not a number.
    pub not_finite: usize,
}

impl<'s> Selection<'s> {
    /// Selects them: those of the wanted categories, by this rule for these run times.
    ///
    /// # Errors
    /// Run times that need time stamps where there are none; run times that the rule cannot sort.
    pub fn new(source: &'s Source, number: usize, time: RunTime, rule: Rule, wanted: Wanted) -> Result<Selection<'s>> {
        let times = source.run_times(number, time)?;
        let found = rule.apply(&times.repetition, &times.run_time_ns)?;
        let remarks = found.remarks(&times.repetition, &times.run_time_ns);
        let categories = found.categories;
        let mut left_out = LeftOut::default();
        let kept: Vec<bool> = categories
            .category
            .iter()
            .zip(&times.run_time_ns)
            .map(|(&category, run_time)| {
                let wanted = wanted.holds(category);
                left_out.category += usize::from(!wanted);
                left_out.not_finite += usize::from(wanted && !run_time.is_finite());
                wanted && run_time.is_finite()
            })
            .collect();
        let run_time_ns = only(&kept, times.run_time_ns);
        Ok(Selection { repetition: times.repetition, categories, remarks, kept, run_time_ns, left_out })
    }

    /// The values of a column that belong to repetitions that count.
    pub fn only<T>(&self, column: Vec<T>) -> Vec<T> {
        only(&self.kept, column)
    }
}

fn only<T>(kept: &[bool], mut column: Vec<T>) -> Vec<T> {
    let mut kept = kept.iter();
    column.retain(|_| kept.next().is_some_and(|kept| *kept));
    column
}

/// Which repetitions are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Wanted {
    /// All repetitions
    All,
    /// The first
    First,
    /// Repetitions before the end of the warm-up
    Warmup,
    /// Repetitions that take far longer than the others
    Outlier,
    /// All others
    Good,
    /// All after the warm-up: outlier and good
    Steady,
}

impl Wanted {
    /// The name that the option's value has.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn holds(self, category: Category) -> bool {
        match self {
            Wanted::All => true,
            Wanted::First => category == Category::First,
            Wanted::Warmup => category == Category::Warmup,
            Wanted::Outlier => category == Category::Outlier,
            Wanted::Good => category == Category::Good,
            Wanted::Steady => category.is_steady(),
        }
    }
}
