//! Which repetitions of an operation count, and how many do not, and why.

use std::borrow::Cow;

use anyhow::Result;
use mpitrace::categories::{Categories, Category};
use mpitrace::statistics::schemes::Removal;
use mpitrace_format::layout::OPERATION_MASK;
use serde::Serialize;

use super::arguments::{Arguments, Timing, Wanted};
use crate::not_one_level::NotOneLevel;
use crate::source::{Source, Traced};

/// The repetitions that count.
pub struct Selection<'s> {
    /// The numbers of all complete ones.
    pub repetition: Cow<'s, [u64]>,
    /// The categories of all complete ones.
    pub categories: Categories,
    /// `None` where the good ones are one level.
    pub not_one_level: Option<NotOneLevel>,
    /// For each complete one whether it counts.
    pub kept: Vec<bool>,
    /// The run times of those that count, in order; all finite, ns.
    pub run_time_ns: Vec<f64>,
    /// What does not.
    pub left_out: LeftOut,
}

/// Complete repetitions that do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Of another category than the one asked for.
    pub category: usize,
    /// Outliers by the rule of --remove.
    pub removed: usize,
    /// Infinite, or not a number.
    pub not_finite: usize,
}

impl<'s> Selection<'s> {
    /// Selects them.
    pub fn of(arguments: &Arguments, source: &'s Source, number: usize) -> Result<Selection<'s>> {
        let mut selection = Selection::without_removal(arguments, source, number)?;
        selection.remove(arguments.removal());
        Ok(selection)
    }

    fn remove(&mut self, removal: Removal) {
        let [lower, upper] = removal.limits(&self.run_time_ns);
        let within = |value: &f64| (lower..=upper).contains(value);
        let counting = self.kept.iter_mut().filter(|kept| **kept);
        counting.zip(&self.run_time_ns).for_each(|(kept, value)| *kept = within(value));
        let before = self.run_time_ns.len();
        self.run_time_ns.retain(within);
        self.left_out.removed = before - self.run_time_ns.len();
    }

    /// Selects them by their category, and keeps outliers.
    pub fn without_removal(arguments: &Arguments, source: &'s Source, number: usize) -> Result<Selection<'s>> {
        let mut times = source.run_times(number, arguments.run_time())?;
        if arguments.timing == Some(Timing::Root) {
            times.run_time_ns = source.ranks(number).duration_ns(root_member(source, number));
        }
        let found = arguments.rule.rule.apply(&times.repetition, &times.run_time_ns)?;
        let not_one_level = found.not_one_level(&times.repetition, &times.run_time_ns).map(NotOneLevel::from);
        let categories = found.categories;
        let mut left_out = LeftOut::default();
        let kept: Vec<bool> = categories
            .category
            .iter()
            .zip(&times.run_time_ns)
            .map(|(&category, run_time)| {
                let wanted = arguments.category.holds(category);
                left_out.category += usize::from(!wanted);
                left_out.not_finite += usize::from(wanted && !run_time.is_finite());
                wanted && run_time.is_finite()
            })
            .collect();
        let run_time_ns = only(&kept, times.run_time_ns);
        Ok(Selection { repetition: times.repetition, categories, not_one_level, kept, run_time_ns, left_out })
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

impl Wanted {
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

/// Which of an operation's ranks is its root, by index; that of rank 0 of its communicator where it has none.
pub fn root_member(source: &Source, number: usize) -> usize {
    let root = source.operations()[number].root.unwrap_or(0);
    match source.traced() {
        Some(traced) => traced_member(traced, number, root).unwrap_or(0),
        // Their ranks are those of MPI_COMM_WORLD.
        None => source.ranks(number).numbers.iter().position(|&rank| i64::from(rank) == i64::from(root)).unwrap_or(0),
    }
}

/// The member that has this rank in the operation's communicator. Members come in the order of their world ranks, which
/// need not be that of their ranks in the communicator.
fn traced_member(traced: &Traced, number: usize, root: i32) -> Option<usize> {
    let operation = &traced.operations.operations[number];
    let records = operation.records(operation.complete_rows().next()?);
    operation.parts.iter().zip(records.iter()).position(|(&part, record)| {
        let part = &traced.trace.parts[part];
        let entry = &part.operations()[(part.operation_of(record as usize) & OPERATION_MASK) as usize];
        i64::from(part.communicators()[entry.communicator as usize].rank) == i64::from(root)
    })
}
