//! One operation on two sides: the averages of the runs, tested, and what comes of it.

use super::effect::both_logarithms;
use super::holm::levels;
use super::permutation::{self, Sample, Tested};
use super::{Alternative, CONFIDENCE, Crossing, Effect, Relative, Run, SIGNIFICANCE};
use super::{crossing, hodges_lehmann, holm, mean, rank_sum, relative, superiority, welch};
use crate::names::names;

/// Which test is made.
///
/// ```
/// use mpitrace_statistics::comparison::Test;
///
/// assert_eq!(Test::default().name(), "permutation");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Test {
    /// By permutation of the runs, of all operations together (`permutation`); with runs so few that it cannot
    /// find anything, that of Welch, whose p is then no less than the chance that runs of two equally likely levels
    /// separate.
    #[default]
    Permutation,
    /// The test of Wilcoxon, Mann and Whitney (Hunold & Carpen-Amarie 2016, 6.2): on the ranks, so it asks nothing of
    /// the distribution. With few runs a side it cannot find anything.
    Wilcoxon,
    /// Welch's test: on the means of the logarithms of the runs' averages.
    Welch,
}

names!(Test {
    Permutation => "permutation",
    Wilcoxon => "wilcoxon",
    Welch => "welch",
});

/// How the sides are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The test.
    pub test: Test,
    /// The alternative to "no difference".
    pub alternative: Alternative,
    /// So many pairs of sides are compared, each of which has its part of the level; 0 as 1.
    pub pairs: usize,
}

/// Which side is faster.
///
/// ```
/// use mpitrace_statistics::comparison::Verdict;
///
/// assert_eq!(Verdict::A.name(), "a");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A.
    A,
    /// B.
    B,
    /// One in the median, the other in the 95th percentile.
    Crossing,
    /// Neither: a difference of 5 % or more would contradict the runs.
    None,
    /// These runs do not decide.
    Undecided,
}

names!(Verdict {
    A => "a",
    B => "b",
    Crossing => "crossing",
    None => "none",
    Undecided => "undecided",
});

/// There is no difference if the interval holds none of this share or more, whichever side takes longer.
const NO_DIFFERENCE: f64 = 0.05;

/// The comparison of two sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    settings: Settings,
    /// The test that was made.
    pub made: Test,
    /// The averages of the runs of A and B, ns.
    pub averages_ns: [Vec<f64>; 2],
    /// The number of each run on its side.
    numbers: [Vec<usize>; 2],
    /// The p-value of the test. `None` where both sides have one run; with Welch's test where one has, or where neither
    /// scatters at all.
    pub p_raw: Option<f64>,
    /// The p-value, corrected for all operations and pairs of sides that were compared.
    pub p: Option<f64>,
    /// How much longer B takes: the shift of Hodges and Lehmann, with Welch's test the difference of the geometric
    /// means.
    pub effect: Effect,
    /// The effect as a share of what A takes: the median ratio, with Welch's test that of the geometric means. `None`
    /// where A or B take no time or less, as the run time from the last entry to the last exit may if clocks disagree.
    pub relative: Option<Relative>,
    /// The probability that a run of A is faster than one of B.
    pub superiority: f64,
    /// The median and the 95th percentile.
    pub crossing: Crossing,
}

/// Compares the runs of an operation on two sides, by itself. `None` where a side has none.
///
/// ```
/// use mpitrace_statistics::comparison::{Run, Settings, Verdict, compare};
///
/// // Ten runs a side; those of B take a tenth longer.
/// let side = |level: f64| -> Vec<Run> {
///     (0..10).map(|run| 1e3 * level * (1.0 + 0.001 * run as f64)).enumerate()
///         .filter_map(|(number, ns)| Run::new(number, &[ns; 5], &[ns; 5])).collect()
/// };
/// let compared = compare(&side(1.0), &side(1.1), Settings::default()).expect("runs on both sides");
/// assert_eq!(compared.verdict(), Verdict::A);
/// assert!(compared.p.is_some_and(|p| p < 0.001));
/// assert!((compared.effect.shift_ns - 100.0).abs() < 5.0);
/// let [a, _] = compared.welch_samples();
/// assert_eq!(a[0], 1e3_f64.ln());
/// assert!(compare(&[], &side(1.0), Settings::default()).is_none());
/// ```
pub fn compare(a: &[Run], b: &[Run], settings: Settings) -> Option<Comparison> {
    let mut comparison = measure(a, b, settings)?;
    test(std::iter::once(&mut comparison));
    Some(comparison)
}

/// The comparison of two sides before its [`test()`]. `None` where a side has no run.
///
/// ```
/// use mpitrace_statistics::comparison::{Run, Settings, measure, test};
///
/// let runs = |ns: f64| (0..4).filter_map(|run| Run::new(run, &[ns + run as f64], &[ns])).collect::<Vec<Run>>();
/// let mut operations = [(1e3, 2e3), (1e3, 1e3)].map(|(a, b)| measure(&runs(a), &runs(b), Settings::default()));
/// assert!(operations.iter().flatten().all(|operation| operation.p.is_none()), "no test so far");
/// test(operations.iter_mut().flatten());
/// assert!(operations.iter().flatten().all(|operation| operation.p.is_some()));
/// ```
pub fn measure(a: &[Run], b: &[Run], settings: Settings) -> Option<Comparison> {
    let averages_ns = [a, b].map(|runs| runs.iter().map(|run| run.median_ns).collect::<Vec<_>>());
    let [of_a, of_b] = &averages_ns;
    Some(Comparison {
        settings,
        made: settings.test,
        numbers: [a, b].map(|runs| runs.iter().map(|run| run.number).collect()),
        p_raw: None,
        p: None,
        effect: hodges_lehmann(of_a, of_b, CONFIDENCE)?,
        relative: relative(of_a, of_b, CONFIDENCE),
        superiority: superiority(of_a, of_b),
        crossing: crossing(a, b)?,
        averages_ns,
    })
}

/// Tests all operations of two sides, corrected for their number: by permutation together, else by Holm's method. Their
/// intervals leave "no difference" out exactly where the two-sided test finds one.
///
/// ```
/// use mpitrace_statistics::comparison::{Run, Settings, measure, test};
///
/// let runs = |ns: f64| (0..6).filter_map(|run| Run::new(run, &[ns + run as f64], &[ns])).collect::<Vec<Run>>();
/// let mut one = measure(&runs(1e3), &runs(2e3), Settings::default()).expect("runs on both sides");
/// test(std::iter::once(&mut one));
/// assert!(one.p.is_some_and(|p| p < 0.01));
/// ```
pub fn test<'c>(comparisons: impl Iterator<Item = &'c mut Comparison>) {
    let mut all: Vec<&mut Comparison> = comparisons.collect();
    let Some(settings) = all.first().map(|comparison| comparison.settings) else { return };
    let level = SIGNIFICANCE / settings.pairs.max(1) as f64;
    let runs = |side: usize| all.iter().map(|one| one.averages_ns[side].len()).max().unwrap_or(0);
    let (a, b) = (runs(0), runs(1));
    if settings.test == Test::Permutation && permutation_suffices(a, b, settings.alternative) {
        let sample = |one: &&mut Comparison| Sample::new(&one.averages_ns[0], &one.averages_ns[1], &one.numbers);
        let samples: Vec<Sample> = all.iter().map(sample).collect();
        let tested = permutation::test(&samples, settings.alternative, settings.pairs);
        all.iter_mut().zip(tested).for_each(|(one, tested)| one.take(&tested));
        return;
    }
    let by_permutation = settings.test == Test::Permutation;
    for one in &mut all {
        one.made = if by_permutation { Test::Welch } else { settings.test };
        one.test_at(level);
    }
    all.retain(|one| one.p_raw.is_some());
    let raw: Vec<f64> = all.iter().filter_map(|one| one.p_raw).collect();
    let corrected = holm(&raw);
    for ((one, p), level) in all.iter_mut().zip(corrected).zip(levels(&raw, level)) {
        one.test_at(level);
        let floor = if by_permutation { levels_by_chance(a + b) } else { 0.0 };
        one.p = Some((p * settings.pairs.max(1) as f64).min(1.0).max(floor));
        if floor > SIGNIFICANCE {
            one.effect.interval_ns = None;
            one.relative.iter_mut().for_each(|relative| relative.interval = None);
        }
    }
}

/// p-value, effect and relative effect by Welch's test of the logarithms: their means differ by the logarithm of the
/// ratio of the geometric means, so that no end of an interval is below -1. Of the run times themselves, and without a
/// relative effect, where one is 0 or less.
fn compare_by_welch(
    a: &[f64],
    b: &[f64],
    alternative: Alternative,
    confidence: f64,
) -> (Option<f64>, Effect, Option<Relative>) {
    let Some([log_a, log_b]) = both_logarithms(a, b) else {
        let tested = welch(a, b, alternative, confidence);
        let effect = Effect { shift_ns: mean(b) - mean(a), interval_ns: tested.map(|tested| tested.interval) };
        return (tested.map(|tested| tested.p), effect, None);
    };
    let tested = welch(&log_a, &log_b, alternative, confidence);
    let share = (mean(&log_b) - mean(&log_a)).exp_m1();
    let interval = tested.map(|tested| tested.interval.map(f64::exp_m1));
    let in_ns = |share: f64| share * mean(&log_a).exp();
    let effect = Effect { shift_ns: in_ns(share), interval_ns: interval.map(|ends| ends.map(in_ns)) };
    (tested.map(|tested| tested.p), effect, Some(Relative { share, interval }))
}

pub(super) fn permutation_suffices(a: usize, b: usize, alternative: Alternative) -> bool {
    permutation::smallest_p(a, b, alternative) <= SIGNIFICANCE
}

/// The chance that so many runs of two equally likely levels are on one level on either side.
pub(super) fn levels_by_chance(runs: usize) -> f64 {
    0.5f64.powi(runs as i32 - 1)
}

impl Comparison {
    fn take(&mut self, tested: &Tested) {
        // Of one run against one there is nothing to know.
        if self.averages_ns.iter().all(|side| side.len() < 2) {
            return;
        }
        (self.p_raw, self.p) = (Some(tested.p_raw), Some(tested.p));
        let [of_a, of_b] = &self.averages_ns;
        match both_logarithms(of_a, of_b) {
            Some([log_a, _]) => {
                let interval = tested.interval.map(|ends| ends.map(f64::exp_m1));
                self.relative.iter_mut().for_each(|relative| relative.interval = interval);
                let typical = mean(&log_a).exp();
                self.effect.interval_ns = interval.map(|ends| ends.map(|share| share * typical));
            }
            None => self.effect.interval_ns = tested.interval,
        }
    }

    fn test_at(&mut self, level: f64) {
        let alternative = self.settings.alternative;
        let [of_a, of_b] = &self.averages_ns;
        if self.made == Test::Wilcoxon {
            let tested = rank_sum(of_a, of_b, alternative);
            self.p_raw = tested.map(|tested| tested.p).filter(|_| of_a.len().max(of_b.len()) > 1);
            self.relative = relative(of_a, of_b, 1.0 - level);
            if let Some(effect) = hodges_lehmann(of_a, of_b, 1.0 - level) {
                self.effect = effect;
            }
        } else {
            (self.p_raw, self.effect, self.relative) = compare_by_welch(of_a, of_b, alternative, 1.0 - level);
        }
        self.p = self.p_raw;
    }

    /// The values of A and B that Welch's test takes for normally distributed: the logarithms of the averages, or the
    /// averages where one is 0 or less.
    pub fn welch_samples(&self) -> [Vec<f64>; 2] {
        let [a, b] = &self.averages_ns;
        both_logarithms(a, b).unwrap_or_else(|| self.averages_ns.clone())
    }

    /// Which side is faster. A crossing goes before what the test says of the averages. There is no difference if the
    /// interval of 95 % has none of 5 % or more (two one-sided tests, Schuirmann 1987).
    pub fn verdict(&self) -> Verdict {
        if self.crossing.crosses() == Some(true) {
            return Verdict::Crossing;
        }
        if self.p.is_none_or(|p| p > SIGNIFICANCE) {
            let interval = self.relative.and_then(|relative| relative.interval).filter(|_| self.p.is_some());
            let is_small =
                interval.is_some_and(|ends| ends.iter().all(|end| end.ln_1p().abs() < NO_DIFFERENCE.ln_1p()));
            let first = self.averages_ns[0].first();
            let no_run_differs = self.averages_ns.iter().all(|side| side.len() > 1)
                && self.averages_ns.iter().flatten().all(|ns| Some(ns) == first);
            let is_none = is_small || no_run_differs;
            return if is_none { Verdict::None } else { Verdict::Undecided };
        }
        // Two-sided: the side on which the test saw the extreme.
        let a_is_lower = match (self.settings.alternative, self.made) {
            (Alternative::Less, _) => true,
            (Alternative::Greater, _) => false,
            (Alternative::TwoSided, Test::Wilcoxon) => self.superiority > 0.5,
            (Alternative::TwoSided, _) => self.effect.shift_ns > 0.0,
        };
        if a_is_lower { Verdict::A } else { Verdict::B }
    }
}

/// The stars of a p-value (Hunold & Carpen-Amarie 2016, 6.2): * at most 0.05, ** 0.01, *** 0.001.
///
/// ```
/// use mpitrace_statistics::comparison::stars;
///
/// assert_eq!([0.2, 0.05, 0.01, 0.0001].map(|p| stars(Some(p))), ["", "*", "**", "***"]);
/// assert_eq!(stars(None), "");
/// ```
pub fn stars(p: Option<f64>) -> &'static str {
    match p {
        Some(p) if p <= 0.001 => "***",
        Some(p) if p <= 0.01 => "**",
        Some(p) if p <= SIGNIFICANCE => "*",
        _ => "",
    }
}
