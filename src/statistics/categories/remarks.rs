//! Remarks on the repetitions of an operation, beside their categories: each is one sentence.

use serde::Serialize;

use super::one_level::not_one_level;
use super::slow_every::slow_every;
use super::{NotOneLevel, RuleFindings, SlowEvery};

/// The remarks; `None` where there is nothing to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Remarks {
    /// The good repetitions are not one level.
    pub not_one_level: Option<NotOneLevel>,
    /// One of so many repetitions is slow.
    pub slow_every: Option<SlowEvery>,
}

impl Remarks {
    /// As sentences.
    pub fn sentences(&self) -> impl Iterator<Item = String> + use<> {
        let of_level = self.not_one_level.map(|found| found.to_string());
        of_level.into_iter().chain(self.slow_every.map(|found| found.to_string()))
    }
}

impl RuleFindings {
    /// The remarks on the repetitions and run times that the rule was applied to.
    pub fn remarks(&self, repetition: &[u64], run_time_ns: &[f64]) -> Remarks {
        let (category, levels) = (&self.categories.category, self.levels.as_ref());
        Remarks {
            not_one_level: not_one_level(repetition, run_time_ns, category, levels),
            slow_every: slow_every(repetition, run_time_ns, category, levels),
        }
    }
}
