//! Two fingerprints of one operation laid over each other, with how far they are apart.

use mpitrace::categories::Category;
use mpitrace::comparison::{self, Run as Side, Verdict};
use mpitrace::run_time::RunTime;
use serde::{Serialize, Serializer};

use super::distance::{kolmogorov_smirnov, wasserstein};
use super::fingerprint::{Fingerprint, Run};
use super::make::Made;
use crate::text;

/// The operations that two runs have in common.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// What they are called.
    pub names: [String; 2],
    /// The program that made it, with its version.
    pub generator: String,
    /// Whether all was kept on both sides.
    pub complete: bool,
    /// The run time that is shown first.
    pub time: &'static str,
    /// The rule of the categories.
    pub method: &'static str,
    /// What is known of either run.
    pub runs: [Run; 2],
    /// In the order of A.
    pub pairs: Vec<Pair>,
    /// What is left out, and why.
    pub notes: Vec<String>,
}

/// An operation on both sides.
#[derive(Debug, Serialize)]
pub struct Pair {
    /// `function/bytes/ranks/root`.
    pub operation_key: String,
    pub sides: [Fingerprint; 2],
    /// For each definition of the run time that both have, in the order of both.
    pub distances: Vec<Distance>,
}

/// How far the run times of two sides are apart.
#[derive(Debug, Serialize)]
pub struct Distance {
    #[serde(serialize_with = "name")]
    pub time: RunTime,
    /// Of the good repetitions, ns; `None` where a side has none.
    pub wasserstein_ns: Option<f64>,
    /// The same as a share of A's median.
    pub relative: Option<f64>,
    /// Of the good repetitions, 0 to 1.
    pub kolmogorov_smirnov: Option<f64>,
    /// `a`, `b`, `crossing` or `none`, as `compare` has it.
    pub verdict: &'static str,
    /// The same for people, then the numbers that it stands on, a line each.
    pub words: Vec<String>,
}

impl Pair {
    /// The distance by this definition of the run time, else by the first that both sides have.
    pub fn distance_by(&self, time: RunTime) -> Option<&Distance> {
        self.distances.iter().find(|distance| distance.time == time).or(self.distances.first())
    }
}

impl Distance {
    /// The distance, for people.
    pub fn to_text(&self) -> String {
        let (Some(wasserstein), Some(kolmogorov_smirnov)) = (self.wasserstein_ns, self.kolmogorov_smirnov) else {
            return "distance not known".to_owned();
        };
        let share = self.relative.map_or_else(String::new, |share| format!(" ({:.1} % of A's median)", share * 100.0));
        format!(
            "distance of the good repetitions: {}{share} by Wasserstein, \
             {kolmogorov_smirnov:.4} by Kolmogorov and Smirnov",
            text::time(wasserstein)
        )
    }
}

/// Compares the two sides by every definition that both have.
pub fn pair(operation_key: String, a: Made, b: Made) -> Pair {
    let distances = a.fingerprint.times.iter().enumerate().filter_map(|(of_a, timed)| {
        let of_b = b.fingerprint.times.iter().position(|other| other.time == timed.time)?;
        Some(distance(timed.time, [a.of_time(of_a), b.of_time(of_b)]))
    });
    Pair { operation_key, distances: distances.collect(), sides: [a.fingerprint, b.fingerprint] }
}

fn distance(time: RunTime, sides: [(&[f64], &[Category]); 2]) -> Distance {
    let of = |side: usize, wanted: fn(Category) -> bool| -> Vec<f64> {
        let (run_times, category) = sides[side];
        let each = run_times.iter().zip(category).filter(|(x, category)| x.is_finite() && wanted(**category));
        let mut values: Vec<f64> = each.map(|(&x, _)| x).collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let good = [0, 1].map(|side| of(side, |category| category == Category::Good));
    let settled = [0, 1].map(|side| of(side, |category| matches!(category, Category::Good | Category::Outlier)));
    let found = wasserstein(&good[0], &good[1]);
    let runs = [0, 1].map(|side| Side::of(&good[side], &settled[side]));
    let compared = match &runs {
        [Some(a), Some(b)] => comparison::compare(&[*a], &[*b], comparison::Settings::default()),
        _ => None,
    };
    let verdict = compared.as_ref().map_or(Verdict::None, comparison::Comparison::verdict);
    Distance {
        time,
        wasserstein_ns: found,
        relative: found.zip(runs[0]).filter(|(_, a)| a.median_ns > 0.0).map(|(found, a)| found / a.median_ns),
        kolmogorov_smirnov: kolmogorov_smirnov(&good[0], &good[1]),
        verdict: verdict.name(),
        words: compared
            .map_or_else(|| vec!["one side has no good repetition".to_owned()], |compared| words(verdict, &compared)),
    }
}

/// The verdict with the quantiles that it stands on; one run on each side allows no test of more.
fn words(verdict: Verdict, compared: &comparison::Comparison) -> Vec<String> {
    let of = |name: &str, [a, b]: &[comparison::Quantile; 2]| {
        let meet = match (a.interval_ns, b.interval_ns) {
            (Some([a_low, a_high]), Some([b_low, b_high])) if a_high < b_low || b_high < a_low => "apart",
            (Some(_), Some(_)) => "not apart",
            _ => "of too few repetitions",
        };
        format!("{name} {} in A, {} in B ({meet})", text::time(a.value_ns), text::time(b.value_ns))
    };
    let (median, p95) = (of("median", &compared.crossing.median), of("95 % quantile", &compared.crossing.p95));
    let start = match verdict {
        Verdict::Crossing => "crossing: one is faster in the middle, the other in the tail",
        Verdict::A => "A is faster",
        Verdict::B => "B is faster",
        Verdict::None => "one run a side names no winner: `mpitrace compare` tests several",
    };
    vec![start.to_owned(), median, p95]
}

fn name<S: Serializer>(time: &RunTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(time.name())
}
