//! One metric against the run times: everywhere, within each category, and group by group.

use super::contrast::{Contrast, Contrasted};
use super::correlation::{Coefficient, pearson};
use super::dependence;
use super::groups::{Group, Repetitions, groups};
use super::metric::Metric;
use super::ranks::mid_ranks;
use super::separation::{Separation, separation};
use crate::categories::Category;

/// What a metric has to do with the run times.
#[derive(Clone, Debug, PartialEq)]
pub struct Examined {
    /// The metric.
    pub metric: Metric,
    /// Repetitions without a value.
    pub missing: usize,
    /// The correlations: over all repetitions, then within each category that has three or more.
    pub correlations: Vec<Correlation>,
    /// How well it tells each group from the repetitions that the group is compared with; `None` where it has no value
    /// there.
    pub separations: Vec<Option<Separated>>,
    /// Under each contrast of [`Examination`]; `None` where it has no value, or where it is constant.
    pub(super) contrasted: Vec<Option<Contrasted>>,
}

/// A metric's correlation with the run time. No coefficient where one of the two is constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correlation {
    /// Within which category; `None`: all repetitions.
    pub within: Option<Category>,
    /// Repetitions.
    pub count: usize,
    /// Of the values.
    pub pearson: Option<Coefficient>,
    /// Of the ranks.
    pub spearman: Option<Coefficient>,
    /// The probability of a relation as close by chance, whatever memory the metric and the run times have, corrected for
    /// the number of all tests of the operation; 1 where it is not tested.
    pub p_corrected: f64,
}

/// How well a metric tells a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Separated {
    /// The test.
    pub separation: Separation,
    /// The probability of a difference as large by chance, whatever memory the metric has, corrected for the number of
    /// all tests of the operation; 1 where it is not tested.
    pub p_corrected: f64,
    /// Of a time of one rank: by how much its median is higher in the group, as a share of the run time's. Of another
    /// metric that is named: the share of the group's extra time that lies in the repetitions which it marks.
    pub explained: Option<f64>,
}

/// An operation's repetitions, ready to hold metrics against.
#[derive(Debug)]
pub struct Examination<'r> {
    repetitions: Repetitions<'r>,
    pub(super) groups: Vec<Group>,
    subsets: Vec<Subset>,
    /// One for each group; then, for each subset but the first, that of its run times where it has enough repetitions.
    pub(super) contrasts: Vec<Option<Contrast>>,
}

/// Some of the repetitions, with what is needed of their run times.
#[derive(Debug)]
struct Subset {
    within: Option<Category>,
    rows: Vec<u32>,
}

/// A group of fewer repetitions is none that anything can be said of.
pub(super) const FEWEST_MEMBERS: usize = 3;
/// Fewer repetitions have no relation: all orders of seven are 5040, and forty metrics find one of them.
const FEWEST_RELATED: usize = 8;

impl<'r> Examination<'r> {
    /// The run times, ns.
    pub(super) fn run_time_ns(&self) -> &'r [f64] {
        self.repetitions.run_time_ns
    }

    /// Sorts the repetitions into groups.
    pub fn new(repetitions: Repetitions<'r>) -> Self {
        let count = repetitions.number.len();
        assert!(count == repetitions.run_time_ns.len() && count == repetitions.category.len(), "columns of one length");
        let all = Subset { within: None, rows: (0..count as u32).collect() };
        let of_category = |category: Category| Subset {
            within: Some(category),
            rows: (0..)
                .zip(repetitions.category)
                .filter(|(_, found)| **found == category)
                .map(|(row, _)| row)
                .collect(),
        };
        let subsets = std::iter::once(all).chain(Category::ALL.map(of_category));
        let subsets: Vec<Subset> = subsets.filter(|subset| subset.rows.len() >= 3).collect();
        let groups = groups(&repetitions);
        let of_group = |group: &Group| {
            let enough = group.count >= FEWEST_MEMBERS;
            enough.then(|| Contrast::of_group(count, &group.rows, &group.member))
        };
        let of_subset = |subset: &Subset| {
            let enough = subset.within.is_some() && subset.rows.len() >= FEWEST_RELATED;
            enough.then(|| Contrast::of_run_times(count, &subset.rows, repetitions.run_time_ns))
        };
        let contrasts = groups.iter().map(of_group).chain(subsets.iter().map(of_subset)).collect();
        Examination { repetitions, groups, subsets, contrasts }
    }

    /// The groups of repetitions that are told apart.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Holds a metric, a value for each repetition (not a number: none), against the run times. A metric of which all
    /// values are the same tells nothing, and has no correlation.
    pub fn examine(&self, metric: Metric, values: &[f64]) -> Examined {
        assert_eq!(values.len(), self.repetitions.number.len(), "a value for each repetition");
        Examined {
            metric,
            missing: values.iter().filter(|value| value.is_nan()).count(),
            correlations: self.subsets.iter().map(|subset| self.correlation(subset, values)).collect(),
            separations: self.groups.iter().map(|group| separated(&self.repetitions, group, values)).collect(),
            contrasted: self.contrasts.iter().map(|contrast| contrast.as_ref()?.of(values)).collect(),
        }
    }

    fn correlation(&self, subset: &Subset, values: &[f64]) -> Correlation {
        let known = || subset.rows.iter().map(|&row| row as usize).filter(|&row| !values[row].is_nan());
        let x: Vec<f64> = known().map(|row| values[row]).collect();
        let y: Vec<f64> = known().map(|row| self.repetitions.run_time_ns[row]).collect();
        let numbers: Vec<u64> = known().map(|row| self.repetitions.number[row]).collect();
        let (ranks_x, ranks_y) = (mid_ranks(&x).0, mid_ranks(&y).0);
        let mean = (x.len() as f64 + 1.0) / 2.0;
        let weights: Vec<f64> = ranks_y.iter().map(|rank| rank - mean).collect();
        let rho = dependence::memory(&ranks_x, &numbers, |_| true);
        let n = x.len() as f64 / dependence::inflation(&weights, &numbers, rho);
        Correlation {
            within: subset.within,
            count: x.len(),
            pearson: pearson(&x, &y, n),
            spearman: pearson(&ranks_x, &ranks_y, n),
            p_corrected: 1.0,
        }
    }
}

fn separated(repetitions: &Repetitions<'_>, group: &Group, values: &[f64]) -> Option<Separated> {
    let known = || group.rows.iter().zip(&group.member).filter(|(row, _)| !values[**row as usize].is_nan());
    let of_group: Vec<f64> = known().map(|(row, _)| values[*row as usize]).collect();
    let member: Vec<bool> = known().map(|(_, member)| *member).collect();
    let numbers: Vec<u64> = known().map(|(row, _)| repetitions.number[*row as usize]).collect();
    let separation = separation(&of_group, &member, &numbers)?;
    Some(Separated { separation, p_corrected: 1.0, explained: None })
}
