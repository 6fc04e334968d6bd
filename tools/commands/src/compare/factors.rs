//! Recorded differences between the sides, which may be the reason of a difference.

use std::collections::{BTreeMap, BTreeSet};

use mpitrace_trace::call_site::built;
use mpitrace_trace::reader::Trace;
use serde::Serialize;

/// A recorded fact or setting that is the same in all runs of each side, and not the same on both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Factor {
    pub name: String,
    /// Its value in the runs of A; `None`: they have none.
    pub a: Option<String>,
    pub b: Option<String>,
}

/// The metadata of one run, by name.
pub type Recorded = BTreeMap<String, String>;

/// Facts that are another one in each run, or by chance, and say nothing of a side.
const OF_A_RUN: [&str; 14] = [
    "start_time",
    "process_started_ns",
    "end_error_ns",
    "still_ns",
    "dead_by_ns",
    "job_end_ns",
    "job",
    "job_step",
    "job_array_index",
    "job_restarts",
    "env.MPITRACE_OUTPUT",
    "env.MPITRACE_SEGMENT_DIR",
    "overhead",
    "frequency_khz",
];

const UNKNOWN: &str = "unknown";

/// The metadata of a run: of its first rank, and the hosts of all.
pub fn recorded(trace: &Trace) -> Recorded {
    let of_part = |part: &mpitrace_trace::reader::Part| part.metadata();
    let mut recorded: Recorded = trace.parts.first().map(built::metadata).unwrap_or_default().into_iter().collect();
    recorded.retain(|name, value| !OF_A_RUN.contains(&name.as_str()) && value != UNKNOWN);
    let hosts: BTreeSet<String> =
        trace.parts.iter().flat_map(of_part).filter_map(|(name, host)| (name == "host").then_some(host)).collect();
    if !hosts.is_empty() {
        recorded.insert("host".to_owned(), Vec::from_iter(hosts).join(", "));
    }
    recorded
}

pub fn between(a: &[Recorded], b: &[Recorded]) -> Vec<Factor> {
    // Runs that were not traced have recorded nothing.
    if [a, b].iter().any(|runs| runs.iter().all(Recorded::is_empty)) {
        return Vec::new();
    }
    let names: BTreeSet<&String> = a.iter().chain(b).flat_map(Recorded::keys).collect();
    let factor = |name: &String| {
        let (of_a, of_b) = (of_side(a, name)?, of_side(b, name)?);
        (of_a != of_b).then(|| Factor { name: name.clone(), a: of_a, b: of_b })
    };
    names.into_iter().filter_map(factor).collect()
}

/// The value that all runs of a side have. `None`: they differ.
#[allow(clippy::option_option, reason = "the outer one: the runs differ; the inner one: they have none")]
fn of_side(runs: &[Recorded], name: &str) -> Option<Option<String>> {
    let values: BTreeSet<Option<&String>> = runs.iter().map(|run| run.get(name)).collect();
    match values.len() {
        1 => values.into_iter().next().map(|value| value.cloned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(facts: &[(&str, &str)]) -> Recorded {
        facts.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn a_factor_is_the_same_within_a_side_and_not_between_them() {
        let a =
            [run(&[("library", "one"), ("host", "n1"), ("env.X", "1")]), run(&[("library", "one"), ("host", "n2")])];
        let b =
            [run(&[("library", "two"), ("host", "n3")]), run(&[("library", "two"), ("host", "n3"), ("tuned", "yes")])];
        let factor = |name: &str, a: Option<&str>, b: Option<&str>| Factor {
            name: name.to_owned(),
            a: a.map(str::to_owned),
            b: b.map(str::to_owned),
        };
        assert_eq!(between(&a, &b), [factor("library", Some("one"), Some("two"))]);
        assert_eq!(
            between(&a[..1], &b[1..]),
            [
                factor("env.X", Some("1"), None),
                factor("host", Some("n1"), Some("n3")),
                factor("library", Some("one"), Some("two")),
                factor("tuned", None, Some("yes")),
            ]
        );
        assert_eq!(between(&a, &a), []);
        assert_eq!(between(&[Recorded::new()], &b), [], "run times that were not traced");
    }
}
