//! One metric against the groups of slow repetitions.

use std::borrow::Cow;

use super::contrast::{Contrast, Contrasted};
use super::groups::{Group, Repetitions, groups};
use super::metric::Metric;
use super::sample;
use super::separation::{Separation, separation};
use super::whiten::normal_scores;

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
    /// The share of the group's extra time that lies in the repetitions which a named metric marks; for a time no more
    /// than it is longer itself.
    pub explained: Option<f64>,
}

/// An operation's repetitions, ready to hold metrics against.
#[derive(Debug)]
pub struct Examination<'r> {
    pub(super) groups: Vec<Group>,
    /// The rows of the repetitions in which metrics are looked at; `None`: all.
    rows: Option<Vec<u32>>,
    /// The run times of these, ns.
    pub(super) run_time_ns: Cow<'r, [f64]>,
    /// The groups among these.
    pub(super) looked_at: Vec<Group>,
    /// One for each group; `None` where it has too few repetitions.
    pub(super) contrasts: Vec<Option<Contrast>>,
}

/// A group of fewer repetitions is none that anything can be said of.
pub(super) const FEWEST_MEMBERS: usize = 3;

impl<'r> Examination<'r> {
    /// Sorts the repetitions into groups.
    pub fn new(repetitions: Repetitions<'r>) -> Self {
        let Repetitions { run_time_ns, category } = repetitions;
        assert!(run_time_ns.len() == category.len(), "columns of one length");
        let groups = groups(&repetitions);
        let rows = sample::rows(run_time_ns.len());
        let run_time_ns: Cow<[f64]> = match &rows {
            None => run_time_ns.into(),
            Some(rows) => rows.iter().map(|&row| run_time_ns[row as usize]).collect(),
        };
        let looked_at = sample::restricted(&groups, rows.as_deref());
        let stretch = rows.as_ref().map_or(run_time_ns.len(), |_| sample::LENGTH);
        let of_group = |group: &Group| {
            let enough = group.count >= FEWEST_MEMBERS && group.others > 0;
            enough.then(|| Contrast::of_group(run_time_ns.len(), stretch, &group.rows, &group.member))
        };
        let contrasts = looked_at.iter().map(of_group).collect();
        Examination { groups, rows, run_time_ns, looked_at, contrasts }
    }

    /// The groups of repetitions that are told apart.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The places of the repetitions in which metrics are looked at, ascending; `None`: all. Of more than 131072 these
    /// are a sample: stretches of repetitions in a row, from all along the series.
    pub fn rows(&self) -> Option<&[u32]> {
        self.rows.as_deref()
    }

    /// Holds a metric, a value for each of these repetitions (not a number: none), against the groups.
    pub fn examine(&self, metric: Metric, values: &[f64]) -> Examined {
        assert_eq!(values.len(), self.run_time_ns.len(), "a value for each repetition that is looked at");
        let scores = normal_scores(values);
        Examined {
            metric,
            separations: self.looked_at.iter().map(|group| separated(group, values)).collect(),
            contrasted: self.contrasts.iter().map(|contrast| contrast.as_ref()?.contrasted(&scores)).collect(),
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
