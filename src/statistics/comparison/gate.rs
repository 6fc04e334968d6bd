//! The decision of a gate: is a program slower than its baseline, and would a difference that matters have been seen?

use super::detectable::{detectable_at, runs_for};
use super::permutation::{Sample, p_value};
use super::{Alternative, Test};
use crate::names::names;

/// The level: a gate is passed many times a day, and each false alarm costs trust. At most one in 200 comparisons of a
/// program with itself is to be red.
const LEVEL: f64 = 0.003;

/// A gate decides only if it would have found a program that takes so much longer,
const MATTERS: f64 = 0.05;

/// with this probability.
const POWER: f64 = 0.9;

/// So many runs a side say how much runs scatter.
const LEAST_RUNS: usize = 3;

/// Nobody makes more runs of a gate.
const MOST_RUNS: usize = 200;

/// The decision.
///
/// ```
/// use mpitrace_statistics::comparison::Decision;
///
/// assert_eq!(Decision::NotDecided.name(), "not-decided");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is not slower, as far as [`Gate::visible`] says.
    Passed,
    /// It is slower.
    Slower,
    /// It was not found slower, and 5 % may not have been seen.
    NotDecided,
}

names!(Decision {
    Passed => "passed",
    Slower => "slower",
    NotDecided => "not-decided",
});

/// The result of a gate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    /// The decision.
    pub decision: Decision,
    /// The p-value of "slower".
    pub p: f64,
    /// The smallest difference that is found with a probability of 90 %, as a share of the baseline. `None`: with these
    /// runs none can be found.
    pub visible: Option<f64>,
}

/// Compares the run times of a program with those of its baseline: one value for each run, in any unit of time, above
/// 0.
///
/// ```
/// use mpitrace_statistics::comparison::{Decision, gate};
///
/// let runs = |level: f64| -> Vec<f64> { (0..10).map(|run| 1e9 * level * (1.0 + 0.002 * f64::from(run))).collect() };
/// assert_eq!(gate(&runs(1.0), &runs(1.1)).decision, Decision::Slower);
/// assert_eq!(gate(&runs(1.0), &runs(1.0)).decision, Decision::Passed);
/// // Three runs a side prove nothing.
/// assert_eq!(gate(&runs(1.0)[..3], &runs(1.1)[..3]).decision, Decision::NotDecided);
/// ```
pub fn gate(baseline: &[f64], now: &[f64]) -> Gate {
    let numbers = [baseline, now].map(|side| (0..side.len()).collect());
    let p = p_value(&Sample::new(baseline, now, &numbers), Alternative::Less);
    let reaches = super::permutation::smallest_p(baseline.len(), now.len(), Alternative::Less) <= LEVEL;
    let visible = detectable_at(baseline, now, Test::Permutation, Alternative::Less, [LEVEL, POWER]);
    let visible = visible.filter(|_| reaches);
    let decision = match visible {
        _ if reaches && p <= LEVEL => Decision::Slower,
        Some(visible) if visible <= MATTERS => Decision::Passed,
        _ => Decision::NotDecided,
    };
    Gate { decision, p, visible }
}

/// So many runs of each are needed for a decision, if all scatter as these do. `None`: more than 200, or not known: of
/// two runs a side the scatter is known to a factor of 30 only.
///
/// ```
/// use mpitrace_statistics::comparison::{Decision, gate, runs_for_gate};
///
/// let runs: Vec<f64> = (0..10).map(|run| 1e9 * (1.0 + 0.04 * f64::from(run % 3))).collect();
/// assert_eq!(gate(&runs, &runs).decision, Decision::NotDecided);
/// assert!(runs_for_gate(&runs, &runs).is_some_and(|needed| (11..60).contains(&needed)));
/// let wild: Vec<f64> = (0..10).map(|run| 1e9 * (1.0 + f64::from(run))).collect();
/// assert_eq!(runs_for_gate(&wild, &wild), None);
/// ```
pub fn runs_for_gate(baseline: &[f64], now: &[f64]) -> Option<usize> {
    if baseline.len().min(now.len()) < LEAST_RUNS {
        return None;
    }
    runs_for(baseline, now, Alternative::Less, [LEVEL, POWER], (MATTERS, MOST_RUNS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::Random;

    fn runs(random: &mut Random, level: f64, scatter: f64) -> Vec<f64> {
        (0..10).map(|_| 1e9 * level * (scatter * random.normal()).exp()).collect()
    }

    /// How many of 200 gates decide so.
    fn counts(level: f64, scatter: f64) -> [usize; 3] {
        let mut random = Random::new(3);
        let mut counts = [0; 3];
        for _ in 0..200 {
            let (baseline, now) = (runs(&mut random, 1.0, scatter), runs(&mut random, level, scatter));
            counts[gate(&baseline, &now).decision as usize] += 1;
        }
        counts
    }

    #[test]
    fn five_percent_are_red_where_they_can_be_seen_and_else_nothing_is_decided() {
        assert!(counts(1.05, 0.01)[Decision::Slower as usize] >= 198);
        assert!(counts(1.0, 0.01)[Decision::Passed as usize] >= 197);
        assert!(counts(1.0, 0.1)[Decision::NotDecided as usize] >= 197);
        // Faster is not slower.
        assert!(counts(0.9, 0.01)[Decision::Passed as usize] == 200);
    }

    /// Where so many runs are made, 5 % are found.
    #[test]
    fn so_many_runs_decide_as_are_said_to() {
        let mut random = Random::new(5);
        let (mut decided, mut told) = (0, 0);
        for _ in 0..200 {
            let [baseline, now] = [0, 1].map(|_| runs(&mut random, 1.0, 0.06));
            let Some(needed) = runs_for_gate(&baseline, &now).filter(|needed| *needed > 10) else { continue };
            told += 1;
            let [baseline, now] =
                [0, 1].map(|_| (0..needed).map(|_| 1e9 * (0.06 * random.normal()).exp()).collect::<Vec<f64>>());
            decided += usize::from(gate(&baseline, &now).decision != Decision::NotDecided);
        }
        // The scatter of ten runs is known to a quarter, so that half of the forecasts are too small.
        assert!(told > 150 && decided * 10 > told * 4, "{decided} of {told}");
    }

    #[test]
    fn too_few_runs_decide_nothing() {
        let (one, other) = ([1.0, 1.01, 1.02], [2.0, 2.01, 2.02]);
        assert_eq!(gate(&one, &other).decision, Decision::NotDecided);
        assert_eq!(gate(&one, &other).visible, None);
        assert_eq!(gate(&[1.0; 10], &[1.0; 10]).decision, Decision::NotDecided);
        assert_eq!(runs_for_gate(&one[..2], &other[..2]), None);
        assert!(runs_for_gate(&one, &other).is_some());
    }
}
