//! All that was found, for programs.

use mpitrace::diagnosis::{Coefficient, Correlation, Examined, Finding, Group, Kind, Relation, Separated};
use serde::Serialize;

use super::causes::{self, CauseFacts, GroupTimeFacts};
use super::{Diagnosed, words};
use crate::source::Description;
use mpitrace::categories::NotOneLevel;

/// An operation.
#[derive(Serialize)]
pub struct Operation<'d> {
    #[serde(flatten)]
    description: &'d Description,
    method: &'static str,
    time: &'static str,
    warmup_end: Option<u64>,
    /// `None` where the good repetitions are one level.
    not_one_level: Option<NotOneLevel>,
    /// What was left out or skipped.
    notes: &'d [String],
    sentences: Vec<String>,
    /// The most time first.
    causes: Vec<CauseFacts<'d>>,
    /// The time of the groups that causes are of.
    times: Vec<GroupTimeFacts>,
    groups: Vec<GroupFacts>,
    findings: Vec<FindingFacts<'d>>,
    relations: Vec<RelationFacts<'d>>,
    metrics: Vec<MetricFacts<'d>>,
}

#[derive(Serialize)]
struct GroupFacts {
    group: &'static str,
    peak_ns: Option<f64>,
    repetitions: usize,
    others: usize,
    median_ns: f64,
    median_others_ns: f64,
    extra_ns: f64,
}

#[derive(Serialize)]
struct FindingFacts<'d> {
    /// Index into `groups`.
    group: usize,
    /// Index into `metrics`.
    metric: usize,
    name: &'d str,
    quantity: &'static str,
    rank: Option<u32>,
    ranks: &'d [u32],
    /// Of the group's extra time, 0 to 1.
    share: Option<f64>,
}

#[derive(Serialize)]
struct RelationFacts<'d> {
    metric: usize,
    name: &'d str,
    rank: Option<u32>,
    within: &'static str,
}

#[derive(Serialize)]
struct MetricFacts<'d> {
    name: &'d str,
    quantity: &'static str,
    unit: &'d str,
    rank: Option<u32>,
    missing: usize,
    correlations: Vec<CorrelationFacts>,
    /// One for each of `groups`; null where there is no value to compare.
    separations: Vec<Option<SeparationFacts>>,
}

#[derive(Serialize)]
struct CorrelationFacts {
    within: &'static str,
    repetitions: usize,
    pearson: Option<f64>,
    pearson_p: Option<f64>,
    spearman: Option<f64>,
    spearman_p: Option<f64>,
    spearman_p_corrected: Option<f64>,
}

#[derive(Serialize)]
struct SeparationFacts {
    repetitions: usize,
    others: usize,
    median: f64,
    median_others: f64,
    above_zero: f64,
    above_zero_others: f64,
    auc: f64,
    delta: f64,
    p: f64,
    p_corrected: f64,
    inflation: f64,
    explained: Option<f64>,
}

impl<'d> Operation<'d> {
    pub fn of(diagnosed: &'d Diagnosed<'_>) -> Self {
        let diagnosis = &diagnosed.diagnosis;
        let metrics = &diagnosis.metrics;
        let finding = |finding: &'d Finding| {
            let metric = &metrics[finding.metric].metric;
            FindingFacts {
                group: finding.group,
                metric: finding.metric,
                name: &metric.name,
                quantity: metric.quantity.name(),
                rank: metric.rank,
                ranks: &finding.ranks,
                share: metrics[finding.metric].separations[finding.group].and_then(|separated| separated.explained),
            }
        };
        let relation = |relation: &'d Relation| {
            let metric = &metrics[relation.metric].metric;
            RelationFacts {
                metric: relation.metric,
                name: &metric.name,
                rank: metric.rank,
                within: relation.within.name(),
            }
        };
        Operation {
            description: diagnosed.description,
            method: diagnosed.rule.name(),
            time: diagnosed.time.name(),
            warmup_end: diagnosed.categories.warmup_end,
            not_one_level: diagnosed.not_one_level,
            notes: diagnosed.notes,
            sentences: words::sentences(diagnosed),
            causes: causes::facts(&diagnosed.causes),
            times: causes::times(&diagnosed.causes),
            groups: diagnosis.groups.iter().map(GroupFacts::of).collect(),
            findings: diagnosis.findings.iter().map(finding).collect(),
            relations: diagnosis.relations.iter().map(relation).collect(),
            metrics: metrics.iter().map(MetricFacts::of).collect(),
        }
    }
}

impl GroupFacts {
    fn of(group: &Group) -> Self {
        let (name, peak_ns) = match group.kind {
            Kind::Warmup => ("warmup", None),
            Kind::Outlier => ("outlier", None),
            Kind::Mode(peak) => ("mode", Some(peak)),
        };
        GroupFacts {
            group: name,
            peak_ns,
            repetitions: group.count,
            others: group.others,
            median_ns: group.median_ns,
            median_others_ns: group.median_others_ns,
            extra_ns: group.extra_ns,
        }
    }
}

impl<'d> MetricFacts<'d> {
    fn of(examined: &'d Examined) -> Self {
        let metric = &examined.metric;
        MetricFacts {
            name: &metric.name,
            quantity: metric.quantity.name(),
            unit: &metric.unit,
            rank: metric.rank,
            missing: examined.missing,
            correlations: examined.correlations.iter().map(CorrelationFacts::of).collect(),
            separations: examined.separations.iter().map(|one| one.as_ref().map(SeparationFacts::of)).collect(),
        }
    }
}

impl CorrelationFacts {
    fn of(correlation: &Correlation) -> Self {
        let r = |coefficient: Option<Coefficient>| coefficient.map(|one| one.r);
        let p = |coefficient: Option<Coefficient>| coefficient.map(|one| one.p);
        CorrelationFacts {
            within: correlation.within.map_or("all", |category| category.name()),
            repetitions: correlation.count,
            pearson: r(correlation.pearson),
            pearson_p: p(correlation.pearson),
            spearman: r(correlation.spearman),
            spearman_p: p(correlation.spearman),
            spearman_p_corrected: correlation.spearman.map(|_| correlation.p_corrected),
        }
    }
}

impl SeparationFacts {
    fn of(separated: &Separated) -> Self {
        let found = &separated.separation;
        SeparationFacts {
            repetitions: found.count,
            others: found.others,
            median: found.median,
            median_others: found.median_others,
            above_zero: found.above_zero,
            above_zero_others: found.above_zero_others,
            auc: found.auc,
            delta: found.delta,
            p: found.p,
            p_corrected: separated.p_corrected,
            inflation: found.inflation,
            explained: separated.explained,
        }
    }
}
