//! Which metrics are to be named, and in which order.

use super::examine::{Examination, Examined};
use super::groups::Group;
use super::metric::{Metric, Quantity};
use super::separation::smallest_p;
use crate::categories::Category;
use crate::comparison::holm;

/// What counts as found: this or less, after the correction for the number of tests.
pub const LEVEL: f64 = 0.05;
/// Cliff's delta from which on a difference is more than small (Romano et al. 2006).
pub const MEDIUM: f64 = 0.33;
/// A rank whose median is longer by this share of the extra time spends some of it.
pub const NOTABLE: f64 = 0.1;
/// Spearman's coefficient from which on a relation is named: it explains a quarter of the variance of the ranks.
pub const RELATED: f64 = 0.5;

/// All that is known about an operation's slow repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// The groups of repetitions.
    pub groups: Vec<Group>,
    /// Every metric that was tried.
    pub metrics: Vec<Examined>,
    /// What tells the groups from the others, in the order in which it is to be named.
    pub findings: Vec<Finding>,
    /// What the run time follows within a category, the strongest first.
    pub relations: Vec<Relation>,
}

/// A metric that tells a group of repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Index of the group.
    pub group: usize,
    /// Index of the metric: the strongest of its name.
    pub metric: usize,
    /// The ranks on which the metric of this name tells the group as well, the strongest's own included.
    pub ranks: Vec<u32>,
}

/// A metric that the run time follows within a category.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relation {
    /// Index of the metric: the strongest of its name.
    pub metric: usize,
    /// The category.
    pub within: Category,
}

impl Examination<'_> {
    /// Draws the conclusions out of all metrics: corrects for their number, names the strongest of each name first, and
    /// those groups first that have something that may be a cause, of these the ones that cost most time.
    pub fn conclude(self, mut metrics: Vec<Examined>) -> Diagnosis {
        correct(&mut metrics);
        explain(&mut metrics, &self.groups);
        let mut found: Vec<Vec<Finding>> = (0..self.groups.len()).map(|group| findings(&metrics, group)).collect();
        let has_cause = |findings: &[Finding]| {
            findings.iter().any(|finding| metrics[finding.metric].metric.quantity.may_be_cause())
        };
        let extra = |findings: &[Finding]| findings.first().map_or(0.0, |first| self.groups[first.group].extra_ns);
        found.sort_by(|one, other| has_cause(other).cmp(&has_cause(one)).then(extra(other).total_cmp(&extra(one))));
        let relations = relations(&metrics);
        Diagnosis { groups: self.groups, findings: found.into_iter().flatten().collect(), metrics, relations }
    }
}

impl Diagnosis {
    /// The findings of a group that may be causes.
    pub fn causes(&self, group: usize) -> impl Iterator<Item = &Finding> {
        let may_be_cause = |finding: &&Finding| self.metrics[finding.metric].metric.quantity.may_be_cause();
        self.findings.iter().filter(move |finding| finding.group == group).filter(may_be_cause)
    }

    /// Whether a group has too few repetitions to be told by anything, so many metrics were tried.
    pub fn too_few(&self, group: usize) -> bool {
        let tests = self.metrics.iter().flat_map(|examined| &examined.separations).flatten().count();
        let Group { count, others, .. } = self.groups[group];
        smallest_p(count as f64, others as f64) * tests as f64 > LEVEL
    }
}

fn correct(metrics: &mut [Examined]) {
    let separations = || metrics.iter().flat_map(|examined| examined.separations.iter().flatten());
    let p: Vec<f64> = separations().map(|separated| separated.separation.p).collect();
    let mut corrected = holm(&p).into_iter();
    let separations = metrics.iter_mut().flat_map(|examined| examined.separations.iter_mut().flatten());
    separations.zip(&mut corrected).for_each(|(separated, p)| separated.p_corrected = p);

    let known = |examined: &Examined| {
        examined.correlations.iter().filter_map(|correlation| Some(correlation.spearman?.p)).collect::<Vec<f64>>()
    };
    let p: Vec<f64> = metrics.iter().flat_map(known).collect();
    let mut corrected = holm(&p).into_iter();
    for correlation in metrics.iter_mut().flat_map(|examined| &mut examined.correlations) {
        if correlation.spearman.is_some() {
            correlation.p_corrected = corrected.next().unwrap_or(1.0);
        }
    }
}

/// What share of a group's extra time a time of one rank is. That of several ranks together may be more than all of it.
fn explain(metrics: &mut [Examined], groups: &[Group]) {
    for examined in metrics {
        let Metric { quantity, unit, rank, .. } = &examined.metric;
        let is_time = matches!(quantity, Quantity::Lateness | Quantity::Duration) || unit == "ns";
        if !is_time || rank.is_none() {
            continue;
        }
        for (separated, group) in examined.separations.iter_mut().zip(groups) {
            let extra = group.median_ns - group.median_others_ns;
            if let Some(separated) = separated.as_mut().filter(|_| extra > 0.0) {
                let found = &separated.separation;
                separated.explained = Some((found.median - found.median_others) / extra);
            }
        }
    }
}

/// Whether a metric tells a group well enough to be named.
fn tells(examined: &Examined, group: usize) -> bool {
    let Some(separated) = &examined.separations[group] else { return false };
    let delta = separated.separation.delta;
    // A rank may be a little longer in each slow call, too, and still not be where the time goes.
    if examined.metric.quantity == Quantity::Duration && separated.explained.is_none_or(|share| share < NOTABLE) {
        return false;
    }
    let strong = if examined.metric.quantity.counts_when_lower() { delta.abs() } else { delta };
    separated.p_corrected <= LEVEL && strong >= MEDIUM
}

/// How the strongest come first: by delta, to two digits; of those that tell as much, what happened before what was
/// counted, the sum before its ranks, and the smaller p.
fn strength(examined: &Examined, group: usize) -> (bool, i64, Quantity, bool, f64) {
    let separated = examined.separations[group].as_ref();
    let delta = separated.map_or(0.0, |separated| separated.separation.delta.abs());
    let p = separated.map_or(1.0, |separated| separated.separation.p);
    let Metric { quantity, rank, .. } = examined.metric;
    (!quantity.may_be_cause(), -(delta * 100.0).round() as i64, quantity, rank.is_some(), p)
}

fn findings(metrics: &[Examined], group: usize) -> Vec<Finding> {
    let mut telling: Vec<usize> = (0..metrics.len()).filter(|&index| tells(&metrics[index], group)).collect();
    telling.sort_by(|&one, &other| {
        let (one, other) = (strength(&metrics[one], group), strength(&metrics[other], group));
        (one.0, one.1, one.2, one.3).cmp(&(other.0, other.1, other.2, other.3)).then(one.4.total_cmp(&other.4))
    });
    let mut findings: Vec<Finding> = Vec::new();
    for index in telling {
        let metric = &metrics[index].metric;
        let same = |finding: &&mut Finding| {
            let known = &metrics[finding.metric].metric;
            known.quantity == metric.quantity && known.name == metric.name
        };
        match findings.iter_mut().find(same) {
            Some(finding) => finding.ranks.extend(metric.rank),
            None => findings.push(Finding { group, metric: index, ranks: metric.rank.into_iter().collect() }),
        }
    }
    findings.iter_mut().for_each(|finding| finding.ranks.sort_unstable());
    findings
}

fn relations(metrics: &[Examined]) -> Vec<Relation> {
    let mut found: Vec<(f64, Relation)> = Vec::new();
    let is_measured = |examined: &Examined| {
        let quantity = examined.metric.quantity;
        quantity.may_be_cause() && quantity != Quantity::Disturbed
    };
    for (metric, examined) in metrics.iter().enumerate().filter(|(_, examined)| is_measured(examined)) {
        for correlation in &examined.correlations {
            let (Some(within), Some(spearman)) = (correlation.within, correlation.spearman) else { continue };
            if correlation.p_corrected <= LEVEL && spearman.r.abs() >= RELATED {
                found.push((spearman.r.abs(), Relation { metric, within }));
            }
        }
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut relations: Vec<Relation> = Vec::new();
    for (_, relation) in found {
        let name = |relation: &Relation| (&metrics[relation.metric].metric.name, relation.within);
        if !relations.iter().any(|known| name(known) == name(&relation)) {
            relations.push(relation);
        }
    }
    relations
}
