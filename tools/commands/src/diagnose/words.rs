//! The causes of an operation, in sentences.

use mpitrace_analysis::diagnosis::{Diagnosis, Finding, Group, Metric, Quantity, Separated};
use mpitrace_show::text;

use super::diagnosed::Diagnosed;
use super::groups::{group, others, percent};
use super::switch::Switch;

fn value(metric: &Metric, value: f64) -> String {
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

/// All sentences about an operation: causes, in the order of the time that they cost; counters that differ; what has no
/// cause.
pub fn sentences(diagnosed: &Diagnosed<'_>) -> Vec<String> {
    let (diagnosis, causes) = (&diagnosed.diagnosis, &diagnosed.causes);
    let (mut sentences, mut said) = (Vec::from_iter(diagnosed.switch.as_ref().map(Switch::sentence)), Vec::new());
    for cause in &causes.causes {
        let of_cause = |one: &&Finding| {
            let metric = &diagnosis.metrics[one.metric].metric;
            cause.counter.as_ref() == Some(&metric.name) && diagnosis.groups[one.group].kind == cause.repetitions
        };
        // A counter has its sentence with its test.
        match diagnosis.findings.iter().find(of_cause) {
            Some(one) => {
                said.push(one);
                sentences.extend(finding(diagnosis, one));
            }
            None => sentences.push(super::causes::sentence(causes, cause)),
        }
    }
    let others = diagnosis.findings.iter().filter(|finding| !said.contains(finding));
    sentences.extend(others.filter_map(|one| finding(diagnosis, one)));
    sentences.extend(super::samples::sentences(&diagnosed.hot, &diagnosis.groups, diagnosed.sample_rate));
    sentences.extend(super::causes::typical(causes));
    sentences.extend(super::causes::unexplained(causes, &diagnosed.not_recorded));
    match diagnosed.remarks.not_one_level {
        Some(not_one_level) if diagnosis.groups.is_empty() => {
            sentences.push(format!("{not_one_level}; no warm-up, outlier or mode was found among them to compare"));
        }
        Some(not_one_level) => sentences.push(not_one_level.to_string()),
        None if !sentences.is_empty() || !diagnosis.groups.is_empty() => {}
        None if diagnosed.description.repetitions < 2 => {
            sentences.push("there is one repetition: nothing to compare it with".to_owned());
        }
        None => sentences
            .push("there is no warm-up, no outlier and one mode: nothing to compare with the good ones".to_owned()),
    }
    sentences.extend(diagnosed.remarks.slow_every.map(|found| found.to_string()));
    sentences.extend(diagnosed.remarks.late_change.map(|found| found.to_string()));
    sentences.extend(sample(diagnosed));
    sentences
}

fn sample(diagnosed: &Diagnosed<'_>) -> Option<String> {
    let all = diagnosed.description.repetitions;
    let looked_at = diagnosed.sampled_repetitions.filter(|&looked_at| looked_at < all)?;
    Some(format!(
        "counters and timers were looked at in {looked_at} of the {all} repetitions, in stretches over the whole run"
    ))
}

fn finding(diagnosis: &Diagnosis, finding: &Finding) -> Option<String> {
    let examined = &diagnosis.metrics[finding.metric];
    let of_group = &diagnosis.groups[finding.group];
    let separated = examined.separations[finding.group].as_ref()?;
    let (metric, whom) = (&examined.metric, group(of_group));
    let sentence = match metric.quantity {
        Quantity::System => {
            format!("{} in {whom}: {}{}", happens(metric), how_often(metric, separated, of_group), share(separated))
        }
        Quantity::Counter | Quantity::Timer | Quantity::Request => {
            let delta = separated.separation.delta;
            let (more, pairs) = (if delta > 0.0 { "more" } else { "less" }, (1.0 + delta.abs()) / 2.0);
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

fn against(metric: &Metric, separated: &Separated, group: &Group) -> String {
    let found = &separated.separation;
    format!(
        "{} against {} in {} (medians)",
        value(metric, found.median),
        value(metric, found.median_others),
        others(group)
    )
}

/// How much of the extra time it is, where it can be some.
fn share(separated: &Separated) -> String {
    match separated.explained.filter(|&share| share >= 0.05) {
        Some(share) => format!(", {} of their extra time", percent(share)),
        None => String::new(),
    }
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
