//! The change of the time of the job between two sides.

use mpitrace_changes::{Changes, Identity, JobChange, Names};
use mpitrace_statistics::comparison::Comparison;
use mpitrace_words::changes::{JobFacts, Subject};

use super::factors::Factor;
use super::runs::ALGORITHM;
use super::side::Side;

/// The facts of it; `job`: the comparison of its times. `None`: some run of a side was not traced.
pub fn facts(
    sides: [&Side; 2],
    same: &[(&Identity, &Identity)],
    job: &Comparison,
    factors: &[Factor],
    names: Names,
    subject: &Subject,
) -> Option<JobFacts> {
    let is_traced = |side: &&Side| side.breakdowns.len() == side.recorded.len();
    if !sides.iter().all(is_traced) {
        return None;
    }
    let typical = |side: usize| mpitrace_statistics::median(&mut job.averages_ns[side].clone());
    let times = JobChange { seconds: [typical(0)? / 1e9, typical(1)? / 1e9], change_s: job.effect.shift_ns / 1e9 };
    let changes = Changes::between(&sides[0].breakdowns, &sides[1].breakdowns, same, times)?;
    let algorithms = |key: &str| {
        let factor = factors.iter().find(|factor| factor.name.strip_prefix(ALGORITHM) == Some(key))?;
        Some([factor.a.clone()?, factor.b.clone()?])
    };
    Some(JobFacts::new(&changes, job, names, subject, algorithms))
}
