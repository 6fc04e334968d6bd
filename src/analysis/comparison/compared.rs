//! One operation on two sides: the averages of the runs, tested, and what comes of it.

use super::effect::logarithms;
use super::{Alternative, Crossing, Effect, Relative, Run, SIGNIFICANCE};
use super::{crossing, hodges_lehmann, holm, mean, rank_sum, relative, superiority, welch};
use crate::names::names;

/// Which test is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Test {
    /// Of Wilcoxon, Mann and Whitney (Hunold & Carpen-Amarie 2016, 6.2): on the ranks, so it asks nothing of the
    /// distribution. With few runs a side it cannot find anything.
    Wilcoxon,
    /// Of Welch: on the means of the logarithms of the runs' averages. These are nearly normal as medians of many
    /// repetitions, and few runs suffice.
    #[default]
    Welch,
}

names!(Test {
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
}

/// Which side is faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A.
    A,
    /// B.
    B,
    /// One in the median, the other in the 95th percentile.
    Crossing,
    /// Neither, as far as these runs tell.
    None,
}

names!(Verdict {
    A => "a",
    B => "b",
    Crossing => "crossing",
    None => "none",
});

/// The comparison of two sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    settings: Settings,
    /// The averages of the runs of A and B, ns.
    pub averages_ns: [Vec<f64>; 2],
    /// The p-value of the test. `None` where both sides have one run; with Welch's test where one has, or where neither
    /// scatters at all.
    pub p_raw: Option<f64>,
    /// The same after [`correct`]: Holm's correction for all operations that were compared.
    pub p: Option<f64>,
    /// How much longer B takes: the shift of Hodges and Lehmann, with Welch's test the difference of the geometric
    /// means.
    pub effect: Effect,
    /// The same as a share of what A takes: the median ratio, with Welch's test that of the geometric means. `None`
    /// where A or B take no time or less, as the run time from the last entry to the last exit may if clocks disagree.
    pub relative: Option<Relative>,
    /// The probability that a run of A is faster than one of B.
    pub superiority: f64,
    /// The median and the 95th percentile.
    pub crossing: Crossing,
}

/// Compares the runs of an operation on two sides. `None` where a side has none.
pub fn compare(a: &[Run], b: &[Run], settings: Settings) -> Option<Comparison> {
    let averages_ns = [a, b].map(|runs| runs.iter().map(|run| run.median_ns).collect::<Vec<_>>());
    let [of_a, of_b] = &averages_ns;
    let crossing = crossing(a, b)?;
    // Of one run against one there is nothing to know.
    let enough = of_a.len().max(of_b.len()) > 1;
    let (p_raw, effect, relative) = match settings.test {
        Test::Wilcoxon => {
            let tested = rank_sum(of_a, of_b, settings.alternative).filter(|_| enough);
            (tested.map(|tested| tested.p), hodges_lehmann(of_a, of_b)?, relative(of_a, of_b))
        }
        Test::Welch => compare_by_welch(of_a, of_b, settings.alternative),
    };
    let superiority = superiority(of_a, of_b);
    Some(Comparison { settings, averages_ns, p_raw, p: p_raw, effect, relative, superiority, crossing })
}

/// p-value, effect and relative effect by Welch's test of the logarithms: their means differ by the logarithm of the
/// ratio of the geometric means, so that no end of an interval is below -1. Of the run times themselves, and without a
/// relative effect, where one is 0 or less.
fn compare_by_welch(a: &[f64], b: &[f64], alternative: Alternative) -> (Option<f64>, Effect, Option<Relative>) {
    let Some([log_a, log_b]) = both_logarithms(a, b) else {
        let tested = welch(a, b, alternative);
        let effect = Effect { shift_ns: mean(b) - mean(a), interval_ns: tested.map(|tested| tested.interval) };
        return (tested.map(|tested| tested.p), effect, None);
    };
    let tested = welch(&log_a, &log_b, alternative);
    let share = (mean(&log_b) - mean(&log_a)).exp_m1();
    let interval = tested.map(|tested| tested.interval.map(f64::exp_m1));
    let in_ns = |share: f64| share * mean(&log_a).exp();
    let effect = Effect { shift_ns: in_ns(share), interval_ns: interval.map(|ends| ends.map(in_ns)) };
    (tested.map(|tested| tested.p), effect, Some(Relative { share, interval }))
}

fn both_logarithms(a: &[f64], b: &[f64]) -> Option<[Vec<f64>; 2]> {
    Some([logarithms(a)?, logarithms(b)?])
}

/// Corrects the p-values of all operations for their number, by Holm's method.
pub fn correct<'c>(comparisons: impl Iterator<Item = &'c mut Comparison>) {
    let (mut tested, mut raw): (Vec<&mut Comparison>, Vec<f64>) =
        comparisons.filter_map(|comparison| comparison.p_raw.map(|p| (comparison, p))).unzip();
    raw = holm(&raw);
    for (comparison, p) in tested.iter_mut().zip(raw) {
        comparison.p = Some(p);
    }
}

impl Comparison {
    /// The values of A and B that Welch's test takes for normally distributed: the logarithms of the averages, or the
    /// averages where one is 0 or less.
    pub fn welch_samples(&self) -> [Vec<f64>; 2] {
        let [a, b] = &self.averages_ns;
        both_logarithms(a, b).unwrap_or_else(|| self.averages_ns.clone())
    }

    /// Which side is faster. A crossing goes before what the test says of the averages.
    pub fn verdict(&self) -> Verdict {
        if self.crossing.crosses() == Some(true) {
            return Verdict::Crossing;
        }
        if self.p.is_none_or(|p| p > SIGNIFICANCE) {
            return Verdict::None;
        }
        // Two-sided: the side on which the test saw the extreme.
        let a_is_lower = match (self.settings.alternative, self.settings.test) {
            (Alternative::Less, _) => true,
            (Alternative::Greater, _) => false,
            (Alternative::TwoSided, Test::Wilcoxon) => self.superiority > 0.5,
            (Alternative::TwoSided, Test::Welch) => self.effect.shift_ns > 0.0,
        };
        if a_is_lower { Verdict::A } else { Verdict::B }
    }
}

/// The stars of a p-value (Hunold & Carpen-Amarie 2016, 6.2): * at most 0.05, ** 0.01, *** 0.001.
pub fn stars(p: Option<f64>) -> &'static str {
    match p {
        Some(p) if p <= 0.001 => "***",
        Some(p) if p <= 0.01 => "**",
        Some(p) if p <= SIGNIFICANCE => "*",
        _ => "",
    }
}
