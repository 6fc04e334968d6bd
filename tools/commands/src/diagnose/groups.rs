//! The groups of repetitions, and shares of them, in words.

use mpitrace_analysis::diagnosis::{Group, GroupKind};
use mpitrace_show::text;

pub fn named(repetitions: GroupKind, count: usize) -> String {
    let count = |noun| text::count(count as u64, noun);
    match repetitions {
        GroupKind::First => "the first repetition".to_owned(),
        GroupKind::Warmup => format!("the {} of the warm-up", count("repetition")),
        GroupKind::Outlier => format!("the {}", count("outlier")),
        GroupKind::Mode(peak) => format!("the {} around {}", count("repetition"), text::time(peak)),
        GroupKind::Steady => format!("all {}", count("repetition")),
    }
}

/// A group with its article: `the 12 outliers`.
pub fn group(group: &Group) -> String {
    named(group.kind, group.count)
}

/// The repetitions with which a group is compared: `the good ones`.
pub fn others(group: &Group) -> String {
    match group.kind {
        GroupKind::Mode(_) => format!("those around {}", text::time(group.median_others_ns)),
        _ => "the good ones".to_owned(),
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
