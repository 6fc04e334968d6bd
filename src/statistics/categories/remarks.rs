//! Remarks on the repetitions of an operation, beside their categories: each is one sentence.

use serde::Serialize;

use super::late_change::late_change;
use super::one_level::not_one_level;
use super::slow_every::slow_every;
use super::{LateChange, NotOneLevel, RuleFindings, SlowEvery};

/// The remarks; `None` where there is nothing to say.
///
/// ```
/// use mpitrace_statistics::categories::Rule;
///
/// // Every tenth repetition takes twice as long.
/// let number: Vec<u64> = (0..2000).collect();
/// let slow = |i: u64| if i % 10 == 7 { 2.0 } else { 1.0 };
/// let run_time_ns: Vec<f64> = number.iter().map(|&i| slow(i) * (2000.0 + (i % 13) as f64)).collect();
/// let remarks = Rule::default().apply(&number, &run_time_ns)?.remarks(&number, &run_time_ns);
/// assert_eq!(remarks.slow_every.as_ref().map(|found| (found.every, found.first)), Some((10, 7)));
/// assert!(remarks.sentences().any(|sentence| sentence.contains("10")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Remarks {
    /// The good repetitions are not one level.
    pub not_one_level: Option<NotOneLevel>,
    /// One of so many repetitions is slow.
    pub slow_every: Option<SlowEvery>,
    /// The level changes near the end.
    pub late_change: Option<LateChange>,
}

impl Remarks {
    /// As sentences.
    pub fn sentences(&self) -> impl Iterator<Item = String> + use<> {
        let of_level = self.not_one_level.map(|found| found.to_string());
        let late = self.late_change.map(|found| found.to_string());
        of_level.into_iter().chain(self.slow_every.map(|found| found.to_string())).chain(late)
    }
}

impl RuleFindings {
    /// The remarks on the repetitions and run times that the rule was applied to.
    pub fn remarks(&self, repetition: &[u64], run_time_ns: &[f64]) -> Remarks {
        let (category, levels) = (&self.categories.category, self.levels.as_ref());
        Remarks {
            not_one_level: not_one_level(repetition, run_time_ns, category, levels),
            slow_every: slow_every(repetition, run_time_ns, category, levels),
            late_change: late_change(repetition, levels),
        }
    }
}
