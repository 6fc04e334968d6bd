//! What was found, in sentences.

use mpitrace::categories::Category;
use mpitrace::causes::{self, Causes};
use mpitrace::diagnosis::{
    Correlation, Diagnosis, Examined, Finding, Group, Kind, Metric, Quantity, Relation, Separated,
};

use super::Diagnosed;
use crate::text;

/// A group with its article: `the 12 outliers`.
pub fn group(group: &Group) -> String {
    let count = group.count;
    match group.kind {
        Kind::Warmup => format!("the {} of the warm-up", text::count(count as u64, "repetition")),
        Kind::Outlier => format!("the {}", text::count(count as u64, "outlier")),
        Kind::Mode(peak) => format!("the {} around {}", text::count(count as u64, "repetition"), text::time(peak)),
    }
}

/// The group's name in tables.
pub fn short(group: &Group) -> String {
    match group.kind {
        Kind::Warmup => "warmup".to_owned(),
        Kind::Outlier => "outlier".to_owned(),
        Kind::Mode(peak) => format!("mode {}", text::time(peak)),
    }
}

/// What the group is compared with.
fn others(group: &Group) -> String {
    match group.kind {
        Kind::Warmup | Kind::Outlier => "the good ones".to_owned(),
        Kind::Mode(_) => format!("those around {}", text::time(group.median_others_ns)),
    }
}

/// A value of a metric.
pub fn value(metric: &Metric, value: f64) -> String {
    match metric.unit == "ns" {
        true => text::time(value),
        false => text::number(value),
    }
}

/// Where the metric was taken: `on rank 3`, `on all ranks together`.
fn place(metric: &Metric) -> String {
    match metric.rank {
        Some(rank) => format!("on rank {rank}"),
        None => "on all ranks together".to_owned(),
    }
}

/// All sentences about an operation: causes, in the order of the time that they cost; counters that differ; what the run
/// time follows; what has no cause.
pub fn sentences(diagnosed: &Diagnosed<'_>) -> Vec<String> {
    let (diagnosis, causes) = (&diagnosed.diagnosis, &diagnosed.causes);
    let of_groups = |group: usize| of_group(causes, &diagnosis.groups[group]);
    let has_cause = |group: usize| of_groups(group).any(|cause| cause.p.is_none());
    let is_explained = |group: usize| diagnosis.causes(group).next().is_some();
    // What happens to a rank has its sentence among the causes, with the time that it costs.
    let is_said = |finding: &&Finding| {
        let metric = &diagnosis.metrics[finding.metric].metric;
        match metric.quantity {
            Quantity::Lateness => of_groups(finding.group).any(|cause| cause.p.is_none() && cause.rank == metric.rank),
            Quantity::Disturbed => of_groups(finding.group).any(|cause| cause.kind == causes::Kind::Perturbed),
            _ => false,
        }
    };
    let findings = diagnosis.findings.iter().filter(|finding| !is_said(finding));
    let (mut explained, other): (Vec<&Finding>, Vec<&Finding>) =
        findings.partition(|finding| is_explained(finding.group));
    let (mut sentences, mut said) = (Vec::new(), Vec::new());
    for cause in &causes.causes {
        let of_cause = |one: &&&Finding| {
            let metric = &diagnosis.metrics[one.metric].metric;
            cause.counter.as_ref() == Some(&metric.name)
                && repetitions(&diagnosis.groups[one.group]) == cause.repetitions
        };
        // A counter has its sentence with its test.
        match explained.iter().find(of_cause) {
            Some(one) => {
                said.push(*one);
                sentences.extend(finding(diagnosis, one));
            }
            None => sentences.push(super::causes::sentence(causes, cause)),
        }
    }
    explained.retain(|one| !said.contains(one));
    sentences.extend(explained.into_iter().filter_map(|one| finding(diagnosis, one)));
    sentences.extend(diagnosis.relations.iter().filter_map(|one| relation(diagnosis, one)));
    let unexplained = super::causes::unexplained(causes);
    for group in (0..diagnosis.groups.len()).filter(|&group| !is_explained(group)) {
        if !has_cause(group) {
            sentences.push(nothing(diagnosis, group));
        }
        let of_group = other.iter().filter(|finding| finding.group == group);
        sentences.extend(of_group.filter_map(|one| finding(diagnosis, one)));
    }
    sentences.extend(unexplained);
    match diagnosed.not_one_level {
        Some(not_one_level) if diagnosis.groups.is_empty() => {
            sentences.push(format!("{not_one_level}; no warm-up, outlier or mode was found among them to compare"));
        }
        Some(not_one_level) => sentences.push(not_one_level.to_string()),
        None if diagnosis.groups.is_empty() => sentences
            .push("there is no warm-up, no outlier and one mode: nothing to compare with the good ones".to_owned()),
        None => {}
    }
    sentences
}

fn repetitions(group: &Group) -> causes::Repetitions {
    match group.kind {
        Kind::Warmup => causes::Repetitions::Warmup,
        Kind::Outlier => causes::Repetitions::Outlier,
        Kind::Mode(peak) => causes::Repetitions::Mode(peak),
    }
}

/// The causes of a group.
fn of_group<'c>(causes: &'c Causes, group: &Group) -> impl Iterator<Item = &'c causes::Cause> {
    let wanted = repetitions(group);
    causes.causes.iter().filter(move |cause| cause.repetitions == wanted)
}

fn finding(diagnosis: &Diagnosis, finding: &Finding) -> Option<String> {
    let examined = &diagnosis.metrics[finding.metric];
    let of_group = &diagnosis.groups[finding.group];
    let separated = examined.separations[finding.group].as_ref()?;
    let (metric, whom) = (&examined.metric, group(of_group));
    let sentence = match metric.quantity {
        Quantity::Lateness => format!(
            "{} late in {whom}: {}{}",
            arrives(&finding.ranks, metric),
            against(metric, separated, of_group),
            share(separated)
        ),
        Quantity::Disturbed => format!(
            "the tracer itself may have delayed {} of {whom}, and {} of {}",
            percent(separated.separation.above_zero),
            percent(separated.separation.above_zero_others),
            others(of_group)
        ),
        Quantity::System => {
            format!("{} in {whom}: {}{}", happens(metric), how_often(metric, separated, of_group), share(separated))
        }
        Quantity::Duration => return where_it_is(diagnosis, finding),
        Quantity::Elapsed => format!(
            "{} {} grows with the time of {whom}, {}(a rank that computes or spins is not asleep)",
            text::printable(&metric.name),
            place(metric),
            against(metric, separated, of_group)
        ),
        Quantity::Counter | Quantity::Timer | Quantity::Request => {
            let (more, pairs) = match separated.separation.delta > 0.0 {
                true => ("more", separated.separation.auc),
                false => ("less", 1.0 - separated.separation.auc),
            };
            format!(
                "{} differs between {whom} and {}: {} {}, {more} in {} of all pairs{}",
                text::printable(&metric.name),
                others(of_group),
                against(metric, separated, of_group),
                place(metric),
                percent(pairs),
                share(separated)
            )
        }
    };
    Some(sentence)
}

/// `rank 1 arrives`; where several do, the one with the largest difference.
fn arrives(ranks: &[u32], metric: &Metric) -> String {
    match (ranks, metric.rank) {
        ([_, _, ..], Some(best)) => format!("{} arrive (rank {best} most clearly)", text::named_ranks(ranks)),
        _ => format!("{} arrives", text::named_ranks(ranks)),
    }
}

fn against(metric: &Metric, separated: &Separated, group: &Group) -> String {
    let found = &separated.separation;
    let after = if metric.quantity == Quantity::Lateness { " after the first" } else { "" };
    format!(
        "{}{after} against {} in {} (medians)",
        value(metric, found.median),
        value(metric, found.median_others),
        others(group)
    )
}

/// How much of the extra time it is, where it can be some.
fn share(separated: &Separated) -> String {
    match separated.explained.filter(is_share) {
        Some(share) => format!(", {} of their extra time", percent(share.min(1.0))),
        None => String::new(),
    }
}

/// Whether it is a share of the extra time that means something: beyond, what the metric holds passed while other ranks
/// were at something else.
pub fn is_share(share: &f64) -> bool {
    (0.05..1.5).contains(share)
}

fn how_often(metric: &Metric, separated: &Separated, group: &Group) -> String {
    let found = &separated.separation;
    match found.above_zero_others < 0.5 {
        true => format!(
            "{} {} in {} of them, in {} of {}",
            text::printable(&metric.name),
            place(metric),
            percent(found.above_zero),
            percent(found.above_zero_others),
            others(group)
        ),
        false => format!("{} {} {}", text::printable(&metric.name), against(metric, separated, group), place(metric)),
    }
}

/// What the system does, in plain words.
fn happens(metric: &Metric) -> &'static str {
    let name = &metric.name;
    if name.contains("migration") {
        "ranks are moved to other processors"
    } else if name.contains("fault") {
        "page faults occur"
    } else {
        "ranks are descheduled"
    }
}

/// Which ranks spend the extra time, where not all do.
fn where_it_is(diagnosis: &Diagnosis, finding: &Finding) -> Option<String> {
    let durations = diagnosis.metrics.iter().filter(|examined| examined.metric.quantity == Quantity::Duration).count();
    let some = finding.ranks.len() < durations;
    let whom = group(&diagnosis.groups[finding.group]);
    some.then(|| format!("the extra time of {whom} is spent on {}", text::named_ranks(&finding.ranks)))
}

fn relation(diagnosis: &Diagnosis, relation: &Relation) -> Option<String> {
    let Examined { metric, correlations, .. } = &diagnosis.metrics[relation.metric];
    let of_category = |one: &&Correlation| one.within == Some(relation.within);
    let r = correlations.iter().find(of_category)?.spearman?.r;
    let within = match relation.within {
        Category::First => "first",
        Category::Warmup => "warm-up",
        Category::Outlier => "outlier",
        Category::Good => "good",
    };
    let follows = if r > 0.0 { "rises" } else { "falls" };
    let name = match metric.quantity {
        Quantity::Lateness => format!("how late rank {} arrives", metric.rank.unwrap_or_default()),
        _ => format!("{} {}", text::printable(&metric.name), place(metric)),
    };
    Some(format!("within the {within} repetitions the run time {follows} with {name} (Spearman {r:.2})"))
}

fn nothing(diagnosis: &Diagnosis, index: usize) -> String {
    let of_group = &diagnosis.groups[index];
    match diagnosis.metrics.iter().any(|examined| examined.metric.quantity.may_be_cause()) {
        false => {
            format!("no metric was recorded that could differ between {} and {}", group(of_group), others(of_group))
        }
        true if diagnosis.too_few(index) => {
            format!("{} are too few to compare with {} by so many metrics", group(of_group), others(of_group))
        }
        true => format!("no recorded metric differs between {} and {}", group(of_group), others(of_group)),
    }
}

/// A share, with as many digits as it needs to be neither 0 nor 100 %.
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        _ if percent == 0.0 || percent == 100.0 => format!("{percent:.0} %"),
        _ if !(1.0..=99.0).contains(&percent) => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}
