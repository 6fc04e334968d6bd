//! What a fingerprint holds: everything that is known of one operation's run times, thinned to what can be looked at.
//!
//! Numbers come from all repetitions; only the points of the plots are fewer than there are (see [`super::thin`]). The page, the
//! pictures, the terminal and the JSON show one and the same [`Report`].

use std::collections::BTreeMap;

use mpitrace::categories::Category;
use mpitrace::run_time::RunTime;
use serde::{Serialize, Serializer};

use super::histogram::Histogram;

/// The fingerprints of a run.
#[derive(Debug, Serialize)]
pub struct Report {
    /// What it is of: the name of the trace.
    pub name: String,
    /// The program that made it, with its version.
    pub generator: String,
    /// Whether every rank finished and all was kept.
    pub complete: bool,
    /// The run time that is shown first.
    pub time: &'static str,
    /// The rule of the categories.
    pub method: &'static str,
    /// What is known of the run.
    pub run: Run,
    /// All operations.
    pub overview: Vec<Overview>,
    /// Those that are shown, by number.
    pub fingerprints: Vec<Fingerprint>,
    /// What is left out of this report, and why.
    pub notes: Vec<String>,
}

/// What the operations of a run have in common.
#[derive(Debug, Default, Serialize)]
pub struct Run {
    /// Title and text, in order, for people.
    pub facts: Vec<(String, String)>,
    /// What the tracer itself cost, for people.
    pub tracer: Vec<(String, String)>,
    /// Everything that the run recorded about itself, by name.
    pub factors: BTreeMap<String, String>,
}

/// What the ranks agreed on in the calls of an operation.
#[derive(Clone, Debug, Serialize)]
pub struct Subject {
    /// Its number in the trace.
    pub operation: usize,
    /// The plain C name.
    pub function: String,
    /// The communicator's name.
    pub communicator: String,
    /// The message size as benchmarks count it.
    pub bytes: Option<u64>,
    /// The root's rank, where there is one.
    pub root: Option<i32>,
    /// The data type, where there is one.
    pub datatype: Option<String>,
    /// The reduction operator, where there is one.
    pub reduction: Option<String>,
    /// The ranks of the communicator.
    pub ranks: u32,
    /// The file, where it was not traced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The world ranks on each node; empty where that is not known.
    pub nodes: Vec<(String, Vec<u32>)>,
}

/// An operation's row among all of them.
#[derive(Debug, Serialize)]
pub struct Overview {
    #[serde(flatten)]
    pub subject: Subject,
    /// Complete ones.
    pub repetitions: usize,
    /// Begun, but not finished or not kept by every rank.
    pub incomplete: u64,
    /// Of all complete repetitions.
    #[serde(serialize_with = "tenth")]
    pub median_ns: Option<f64>,
    /// 95 % take no longer.
    #[serde(serialize_with = "tenth")]
    pub p95_ns: Option<f64>,
    /// Where the warm-up ends.
    pub warmup_end: Option<u64>,
    /// In the order of [`Category::ALL`].
    pub counts: [usize; 4],
    /// Whether there is a fingerprint of it.
    pub shown: bool,
}

/// One operation.
#[derive(Debug, Serialize)]
pub struct Fingerprint {
    #[serde(flatten)]
    pub subject: Subject,
    /// Complete repetitions.
    pub repetitions: usize,
    /// Begun, but not finished or not kept by every rank.
    pub incomplete: u64,
    /// For each definition of the run time that there is.
    pub times: Vec<Timed>,
    /// What is drawn.
    pub points: Points,
    /// Rank by repetition; `None` for one rank, and where only run times are known.
    pub heat: Option<Heat>,
    /// How wrong a time across ranks may be; `None`: not known.
    pub clock_error: Option<ClockError>,
}

/// The half widths of the 95 % intervals of the entries' global times, ns.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ClockError {
    #[serde(serialize_with = "tenths_one")]
    pub median_ns: f64,
    #[serde(serialize_with = "tenths_one")]
    pub max_ns: f64,
}

/// The run times by one definition.
#[derive(Debug, Serialize)]
pub struct Timed {
    #[serde(serialize_with = "time_name")]
    pub time: RunTime,
    /// In the order of [`Category::ALL`].
    pub counts: [usize; 4],
    /// Where the warm-up ends by each rule, the one that colours first.
    pub cuts: Vec<Cut>,
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

/// A row of the table of numbers.
#[derive(Debug, Serialize)]
pub struct Number {
    pub name: &'static str,
    /// `ns`, or empty for a plain number.
    pub unit: &'static str,
    pub all: Option<Estimate>,
    pub good: Option<Estimate>,
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

/// The repetitions that are drawn: all, or as many as a page can carry.
#[derive(Debug, Default, Serialize)]
pub struct Points {
    /// Of how many these are.
    pub of: usize,
    /// How they were chosen; empty where all are there.
    pub chosen: String,
    pub repetition: Vec<u64>,
    /// For each of [`Fingerprint::times`] the run times, ns.
    #[serde(serialize_with = "tenths_each")]
    pub run_time_ns: Vec<Vec<f64>>,
    /// For each of [`Fingerprint::times`] the categories.
    #[serde(serialize_with = "letters_each")]
    pub category: Vec<Vec<Category>>,
    /// The world rank that was in the call longest.
    pub slowest: Vec<u32>,
    /// The world rank that came last.
    pub last_in: Vec<u32>,
    pub counters: Vec<Counter>,
}

/// A counter's values in the repetitions that are drawn.
#[derive(Debug, Serialize)]
pub struct Counter {
    pub name: String,
    /// What it counts in; empty where nothing tells.
    pub unit: String,
    /// On the rank that was in the call longest.
    #[serde(serialize_with = "plain")]
    pub slowest: Vec<f64>,
    /// The largest of all ranks.
    #[serde(serialize_with = "plain")]
    pub largest: Vec<f64>,
    /// Of all ranks together.
    #[serde(serialize_with = "plain")]
    pub sum: Vec<f64>,
}

/// The greatest value of each cell of rank by repetition, ns.
#[derive(Debug, Default, Serialize)]
pub struct Heat {
    /// The lowest and the highest world rank of each row.
    pub ranks: Vec<(u32, u32)>,
    /// The first repetition of each column, and the last of all.
    pub repetitions: Vec<u64>,
    /// How much later than the first the rank came; row by row.
    #[serde(serialize_with = "whole_each")]
    pub arrival_ns: Vec<Vec<f64>>,
    /// How long the rank was in the call.
    #[serde(serialize_with = "whole_each")]
    pub run_time_ns: Vec<Vec<f64>>,
}

impl Fingerprint {
    /// The index into [`Self::times`] of this definition, else of the first that there is.
    pub fn index_of(&self, time: RunTime) -> usize {
        self.times.iter().position(|timed| timed.time == time).unwrap_or(0)
    }
}

impl Subject {
    /// `MPI_Bcast, 4096 B, root 0, MPI_COMM_WORLD`.
    pub fn title(&self) -> String {
        let mut title = self.file.as_ref().map_or_else(String::new, |file| format!("{file}: "));
        title.push_str(&self.function);
        if let Some(bytes) = self.bytes {
            title.push_str(&format!(", {bytes} B"));
        }
        if let Some(root) = self.root {
            title.push_str(&format!(", root {root}"));
        }
        if self.file.is_none() {
            title.push_str(&format!(", {}", self.communicator));
        }
        title
    }

    /// `2 nodes x 16 ranks`, or with the numbers where they differ.
    pub fn layout(&self) -> String {
        let per_node: Vec<usize> = self.nodes.iter().map(|(_, ranks)| ranks.len()).collect();
        let (least, most) = (per_node.iter().min().copied().unwrap_or(0), per_node.iter().max().copied().unwrap_or(0));
        match (per_node.len(), self.ranks) {
            (0, 0) => "not known".to_owned(),
            (0, ranks) => format!("{ranks} ranks"),
            (nodes, _) if least == most => format!("{nodes}\u{d7}{most}"),
            (nodes, _) => format!("{nodes} nodes, {least} to {most} ranks each"),
        }
    }
}

fn round(value: f64, per_unit: f64) -> Option<f64> {
    value.is_finite().then(|| (value * per_unit).round() / per_unit)
}

fn rounded<S: Serializer>(values: &[f64], per_unit: f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|&value| Short(round(value, per_unit))))
}

/// A number without the `.0` of a whole one.
struct Short(Option<f64>);

impl Serialize for Short {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            None => serializer.serialize_none(),
            // Whole numbers of this size are exact.
            Some(value) if value.fract() == 0.0 && value.abs() < 9e15 => serializer.serialize_i64(value as i64),
            Some(value) => serializer.serialize_f64(value),
        }
    }
}

fn tenths<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    rounded(values, 10.0, serializer)
}

fn fine<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    rounded(values, 1e5, serializer)
}

fn plain<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    rounded(values, 1e3, serializer)
}

fn tenths_each<S: Serializer>(lists: &[Vec<f64>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(lists.iter().map(|list| Rounded(list, 10.0)))
}

fn whole_each<S: Serializer>(lists: &[Vec<f64>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(lists.iter().map(|list| Rounded(list, 1.0)))
}

struct Rounded<'a>(&'a [f64], f64);

impl Serialize for Rounded<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        rounded(self.0, self.1, serializer)
    }
}

fn tenth<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    Short(value.and_then(|value| round(value, 10.0))).serialize(serializer)
}

fn tenths_one<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Short(round(*value, 10.0)).serialize(serializer)
}

fn thousandths<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Short(round(*value, 1000.0)).serialize(serializer)
}

fn tenth_pair<S: Serializer>(pair: &Option<(f64, f64)>, serializer: S) -> Result<S::Ok, S::Error> {
    let pair = pair.map(|(low, high)| (Short(round(low, 10.0)), Short(round(high, 10.0))));
    pair.serialize(serializer)
}

fn time_name<S: Serializer>(time: &RunTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(time.name())
}

/// A letter for each repetition: `f`, `w`, `o`, `g`.
fn letters_each<S: Serializer>(lists: &[Vec<Category>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(lists.iter().map(|list| list.iter().map(|&category| letter(category)).collect::<String>()))
}

/// The first letter of the category's name.
pub fn letter(category: Category) -> char {
    match category {
        Category::First => 'f',
        Category::Warmup => 'w',
        Category::Outlier => 'o',
        Category::Good => 'g',
    }
}
