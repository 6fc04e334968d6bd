//! One metric against the groups of slow repetitions.

use super::contrast::{Contrast, Contrasted};
use super::groups::{Group, Repetitions, groups};
use super::metric::Metric;
use super::separation::{Separation, separation};

/// How a metric differs between the groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Examined {
    /// The metric.
    pub metric: Metric,
    /// How well it tells each group from the repetitions that the group is compared with; `None` where it has no value
    /// there.
    pub separations: Vec<Option<Separated>>,
    /// Under each contrast of [`Examination`]; `None` where it has no value, or where it is constant.
    pub(super) contrasted: Vec<Option<Contrasted>>,
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
    /// One for each group; `None` where it has too few repetitions.
    pub(super) contrasts: Vec<Option<Contrast>>,
}

/// A group of fewer repetitions is none that anything can be said of.
pub(super) const FEWEST_MEMBERS: usize = 3;

impl<'r> Examination<'r> {
    /// The run times, ns.
    pub(super) fn run_time_ns(&self) -> &'r [f64] {
        self.repetitions.run_time_ns
    }

    /// Sorts the repetitions into groups.
    pub fn new(repetitions: Repetitions<'r>) -> Self {
        let count = repetitions.run_time_ns.len();
        assert!(count == repetitions.category.len(), "columns of one length");
        let groups = groups(&repetitions);
        let of_group = |group: &Group| {
            let enough = group.count >= FEWEST_MEMBERS;
            enough.then(|| Contrast::of_group(count, &group.rows, &group.member))
        };
        let contrasts = groups.iter().map(of_group).collect();
        Examination { repetitions, groups, contrasts }
    }

    /// The groups of repetitions that are told apart.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Holds a metric, a value for each repetition (not a number: none), against the groups.
    pub fn examine(&self, metric: Metric, values: &[f64]) -> Examined {
        assert_eq!(values.len(), self.repetitions.run_time_ns.len(), "a value for each repetition");
        Examined {
            metric,
            separations: self.groups.iter().map(|group| separated(group, values)).collect(),
            contrasted: self.contrasts.iter().map(|contrast| contrast.as_ref()?.of(values)).collect(),
        }
    }
}

fn separated(group: &Group, values: &[f64]) -> Option<Separated> {
    let known = || group.rows.iter().zip(&group.member).filter(|(row, _)| !values[**row as usize].is_nan());
    let of_group: Vec<f64> = known().map(|(row, _)| values[*row as usize]).collect();
    let member: Vec<bool> = known().map(|(_, member)| *member).collect();
    let separation = separation(&of_group, &member)?;
    Some(Separated { separation, p_corrected: 1.0, explained: None })
}
