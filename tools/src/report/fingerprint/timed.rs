//! What is made of the run times by one definition.

use mpitrace::run_time::RunTime;
use serde::Serialize;

use super::serialize::{fine, tenth_pair, tenths, tenths_one, thousandths, time_name};
use crate::report::histogram::Histogram;
use crate::text;
use mpitrace::categories::NotOneLevel;

/// The run times by one definition.
#[derive(Debug, Serialize)]
pub struct Timed {
    #[serde(serialize_with = "time_name")]
    pub time: RunTime,
    /// In the order of [`Category::ALL`].
    pub counts: [usize; 4],
    /// Where the warm-up ends by each rule, the one that colours first.
    pub cuts: Vec<Cut>,
    /// `None` where the good repetitions are one level.
    pub not_one_level: Option<NotOneLevel>,
    /// Names and values: of all repetitions, and of the good ones.
    pub numbers: Vec<Number>,
    /// One for each category that has repetitions, and one for all.
    pub boxes: Vec<BoxPlot>,
    /// All, over a logarithmic axis where they reach far.
    pub histogram: Histogram,
    /// Without first and outliers.
    pub histogram_good: Histogram,
    /// Of all repetitions.
    pub ecdf: Ecdf,
    /// Of the good ones.
    pub ecdf_good: Ecdf,
    /// Of the good repetitions in their order.
    pub autocorrelation: Autocorrelation,
    /// The clusters of the good run times.
    pub modes: Vec<Mode>,
    /// The metrics of the thesis' figure 4.8.
    pub metrics: Metrics,
    /// What else is to be said, for people.
    pub remarks: Vec<String>,
}

/// The end of the warm-up by one rule.
#[derive(Debug, Serialize)]
pub struct Cut {
    pub method: &'static str,
    /// The first repetition after it; `None`: there is none.
    pub warmup_end: Option<u64>,
    /// What the rule says of the whole series, where it does.
    pub class: Option<String>,
    /// Repetitions at which the level changes.
    pub change_points: Vec<u64>,
}

impl Cut {
    /// The end of the warm-up and the class, for people.
    pub fn to_text(&self) -> String {
        let end = self.warmup_end.map(|end| format!("the warm-up ends at repetition {end}"));
        let class = self.class.as_ref().map_or_else(String::new, |class| format!(", {class}"));
        end.unwrap_or("no warm-up".to_owned()) + &class
    }
}

/// A row of the table of numbers.
#[derive(Debug, Serialize)]
pub struct Number {
    pub name: &'static str,
    /// `ns`, or empty for a plain number.
    pub unit: &'static str,
    pub all: Option<Estimate>,
    pub good: Option<Estimate>,
}

impl Number {
    /// A value of this row, for people.
    pub fn text_of(&self, value: f64) -> String {
        if self.unit == "ns" { text::time(value) } else { value.to_string() }
    }
}

/// A number, with the 95 % interval that it lies in where one is known.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Estimate {
    #[serde(serialize_with = "thousandths")]
    pub value: f64,
    #[serde(serialize_with = "tenth_pair", skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
}

/// Five numbers and the whiskers, ns.
#[derive(Clone, Debug, Serialize)]
pub struct BoxPlot {
    /// A category, or `all`.
    pub of: &'static str,
    pub count: usize,
    #[serde(serialize_with = "tenths_one")]
    pub min: f64,
    /// The least value no further than 1.5 interquartile ranges below the lower quartile (Tukey).
    #[serde(serialize_with = "tenths_one")]
    pub low: f64,
    #[serde(serialize_with = "tenths_one")]
    pub lower: f64,
    #[serde(serialize_with = "tenths_one")]
    pub median: f64,
    #[serde(serialize_with = "tenths_one")]
    pub upper: f64,
    /// The greatest value no further than 1.5 interquartile ranges above the upper quartile.
    #[serde(serialize_with = "tenths_one")]
    pub high: f64,
    #[serde(serialize_with = "tenths_one")]
    pub max: f64,
}

/// The empirical distribution function at some of its steps.
#[derive(Debug, Default, Serialize)]
pub struct Ecdf {
    /// ns, ascending.
    #[serde(serialize_with = "tenths")]
    pub at_ns: Vec<f64>,
    /// The share of repetitions that take no longer.
    #[serde(serialize_with = "fine")]
    pub share: Vec<f64>,
}

/// How much a repetition tells of the one so many repetitions later.
#[derive(Debug, Default, Serialize)]
pub struct Autocorrelation {
    /// At lag 1, 2, ...
    #[serde(serialize_with = "fine")]
    pub at_lag: Vec<f64>,
    /// Of independent run times 95 % lie within plus and minus this.
    pub band: f64,
}

/// A cluster of run times.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Mode {
    #[serde(serialize_with = "tenths_one")]
    pub at_ns: f64,
    /// Of the good repetitions.
    pub share: f64,
    /// Repetitions between which the middle half of it lies.
    pub occurs: (u64, u64),
}

/// Statistics that run along the repetitions (thesis, equations 4.2 to 4.6), at some of them, ns.
#[derive(Debug, Default, Serialize)]
pub struct Metrics {
    pub repetition: Vec<u64>,
    #[serde(serialize_with = "tenths")]
    pub cumulative_minimum: Vec<f64>,
    #[serde(serialize_with = "tenths")]
    pub cumulative_mean: Vec<f64>,
    #[serde(serialize_with = "tenths")]
    pub cumulative_median: Vec<f64>,
    #[serde(serialize_with = "tenths")]
    pub running_mean: Vec<f64>,
    #[serde(serialize_with = "tenths")]
    pub running_median: Vec<f64>,
}
