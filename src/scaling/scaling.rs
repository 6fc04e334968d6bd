//! Runs of one program on several numbers of ranks become efficiencies, growing parts and a prediction.

use std::collections::BTreeMap;

use mpitrace_statistics::models::Estimate;
use serde::Serialize;

use crate::facts::{PartKey, RunFacts};
use crate::growth::GrowingPart;
use crate::levels::{self, Level};
use crate::mode::{self, Mode, ModeFound};
use crate::parts::{Matrix, Simulated};
use crate::prediction::{Limit, Prediction};

/// The scaling of a program.
#[derive(Clone, Debug, Serialize)]
pub struct Scaling {
    /// Strong or weak.
    #[serde(flatten)]
    pub mode: ModeFound,
    /// By the number of ranks, ascending.
    pub levels: Vec<Level>,
    /// The parts of the time; those that take most beyond the ideal on the most ranks come first.
    pub parts: Vec<GrowingPart<PartKey>>,
    /// The regions of the program that all runs have: labels over the time of these parts.
    pub regions: Vec<GrowingPart<String>>,
    /// `null`: there is none, for the reason below.
    pub prediction: Option<Prediction>,
    /// Why nothing is predicted.
    pub prediction_unknown: Option<&'static str>,
}

/// Why runs say nothing of scaling.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// All are on so many ranks.
    OneNumber(u32),
    /// The work of all ranks together grows by this power: neither strong nor weak.
    BetweenModes(Estimate),
}

/// Why there is no prediction.
const TOO_FEW: &str = "a prediction takes repeated runs on one number of ranks, or runs on three";

/// A limit that is less likely is left out.
const LIKELY: f64 = 0.05;

impl Scaling {
    /// The scaling that runs show. `given`: strong or weak, where the work is not to tell; `at`: the number of ranks to
    /// predict, twice the largest where there is none.
    ///
    /// # Errors
    /// The runs are on one number of ranks, or neither strong nor weak scaling.
    pub fn new(runs: &[RunFacts], given: Option<Mode>, at: Option<u32>) -> Result<Scaling, Refusal> {
        let mut by_ranks: BTreeMap<u32, Vec<&RunFacts>> = BTreeMap::new();
        runs.iter().for_each(|run| by_ranks.entry(run.ranks).or_default().push(run));
        let groups: Vec<Vec<&RunFacts>> = by_ranks.into_values().collect();
        if groups.len() < 2 {
            return Err(Refusal::OneNumber(runs.first().map_or(0, |run| run.ranks)));
        }
        let are_counted = runs.iter().all(|run| run.counted.is_some());
        let work = |run: &RunFacts| run.counted.filter(|_| are_counted).map_or(run.work_s(), |of| of.instructions);
        let work: Vec<(f64, f64)> = runs.iter().map(|run| (f64::from(run.ranks), work(run))).collect();
        let mode = mode::mode(&work, given).map_err(Refusal::BetweenModes)?;
        let levels = levels::levels(&groups, mode.mode);
        let target = at.unwrap_or_else(|| groups[groups.len() - 1][0].ranks.saturating_mul(2));
        let simulated = Matrix::of_parts(&groups).simulate(mode.mode, f64::from(target));
        let prediction = simulated.all.as_ref().map(|all| {
            let [fewest, most] = [f64::from(levels[0].ranks), f64::from(target)];
            let reference = levels[0].seconds.value;
            let over = |of: f64| Estimate {
                value: of / all.value,
                interval: all.interval.map(|[low, high]| [of / high, of / low]),
            };
            let work = match mode.mode {
                Mode::Strong => 1.0,
                Mode::Weak => most / fewest,
            };
            Prediction {
                ranks: target,
                seconds: *all,
                speedup: over(reference * work),
                efficiency: over(reference * mode.mode.ideal(fewest, most)),
                limits: limits(&simulated),
            }
        });
        let prediction_unknown = prediction.is_none().then_some(TOO_FEW);
        let of_regions = Matrix::of_regions(&groups).simulate(mode.mode, f64::from(target));
        Ok(Scaling { mode, levels, parts: simulated.parts, regions: of_regions.parts, prediction, prediction_unknown })
    }
}

fn limits<K>(simulated: &Simulated<K>) -> Vec<Limit> {
    let mut limits: Vec<Limit> = simulated.limits.clone();
    limits.retain(|limit| limit.probability >= LIKELY && limit.excess_s.value > 0.0);
    limits.sort_by(|one, other| other.probability.total_cmp(&one.probability));
    limits
}
