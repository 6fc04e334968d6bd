//! Names of parts, and values with their intervals.

use mpitrace_scaling::facts::{Kind, PartKey};
use mpitrace_show::text::{self, Unit};
use mpitrace_statistics::models::Estimate;

use mpitrace_words::summary::{percent, seconds};

/// `waiting in MPI_Allreduce (main at solver.c:40)`.
pub fn part_label(part: &PartKey) -> String {
    let function = part.function.as_deref().unwrap_or("collective calls");
    let name = match part.kind {
        Kind::Computing => match &part.function {
            Some(function) => format!("computing in {function}"),
            None => "computing".to_owned(),
        },
        Kind::Preempted => "preempted".to_owned(),
        Kind::Asleep => "asleep".to_owned(),
        Kind::Throttled => "throttled".to_owned(),
        Kind::Waiting => format!("waiting in {function}"),
        Kind::Calls => function.to_owned(),
        Kind::PointToPoint => "point-to-point calls".to_owned(),
        Kind::OneSided => "one-sided calls".to_owned(),
        Kind::Io => "calls on files".to_owned(),
        Kind::OtherMpi => "other MPI calls".to_owned(),
        Kind::WaitingFinalize => "waiting in MPI_Finalize".to_owned(),
        Kind::Other => "the rest".to_owned(),
    };
    let site = part.call_site.as_deref().map_or_else(String::new, |site| format!(" ({site})"));
    text::printable(&format!("{name}{site}")).into_owned()
}

/// A time in seconds with its interval: `1.20 s (1.10 to 1.31)`.
pub(crate) fn amount(estimate: &Estimate) -> String {
    let unit = Unit::for_time(1e9 * estimate.value);
    let ends = estimate.interval.map(|ends| ends.map(|end| unit.number(1e9 * end)));
    format!("{}{}", seconds(estimate.value), in_brackets(ends))
}

/// A share with its interval: `93.1 % (91.0 to 95.2)`.
pub(crate) fn share(estimate: &Estimate) -> String {
    let ends = estimate.interval.map(|ends| ends.map(|end| format!("{:.1}", 100.0 * end)));
    format!("{}{}", percent(estimate.value), in_brackets(ends))
}

/// A plain number with its interval: `1.93 (1.90 to 1.96)`.
pub(crate) fn plain(estimate: &Estimate) -> String {
    let digits = if estimate.value.abs() < 0.1 { 3 } else { 2 };
    let ends = estimate.interval.map(|ends| ends.map(|end| format!("{end:.digits$}")));
    format!("{:.digits$}{}", estimate.value, in_brackets(ends))
}

fn in_brackets(ends: Option<[String; 2]>) -> String {
    // Of what is the same in all runs both are the value.
    ends.filter(|[low, high]| low != high).map_or_else(String::new, |[low, high]| format!(" ({low} to {high})"))
}
