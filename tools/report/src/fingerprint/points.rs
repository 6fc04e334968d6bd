//! The data that are drawn: points, counters, and the maps of ranks by repetition.

use mpitrace_statistics::categories::Category;
use serde::{Serialize, Serializer};

/// The repetitions that are drawn: all, or as many as a page can carry.
#[derive(Debug, Default, Serialize)]
pub struct Points {
    /// The number of points among which these were chosen.
    pub of: usize,
    /// How they were chosen; empty where all are there.
    pub chosen: String,
    /// The numbers of the repetitions, ascending.
    pub repetition: Vec<u64>,
    /// For each of [`Fingerprint::times`](super::Fingerprint::times) the run times, ns.
    pub run_time_ns: Vec<Vec<f64>>,
    /// For each of [`Fingerprint::times`](super::Fingerprint::times) the categories.
    #[serde(serialize_with = "letters_each")]
    pub category: Vec<Vec<Category>>,
    /// The algorithms of the MPI library, the most frequent first, and for each repetition the place of its own; empty
    /// where they are not several.
    pub algorithms: Vec<String>,
    /// For each repetition its algorithm: an index into `algorithms`; empty where none is known.
    pub algorithm: Vec<usize>,
    /// The world rank that was in the call longest.
    pub slowest: Vec<u32>,
    /// The world rank that came last.
    pub last_in: Vec<u32>,
    /// The counters.
    pub counters: Vec<Counter>,
    /// For pictures: each rank in the repetitions that are drawn, or in as many of them as a picture can carry.
    #[serde(skip)]
    pub dots: Vec<Dot>,
    /// For pictures: for each of [`Fingerprint::times`](super::Fingerprint::times) the metrics of the thesis.
    #[serde(skip)]
    pub metrics: Vec<Vec<MetricLine>>,
}

/// A rank in a repetition.
#[derive(Clone, Debug)]
pub struct Dot {
    /// The repetition's place among those that are drawn.
    pub row: usize,
    /// How long the rank was in the call, ns.
    pub run_time_ns: f64,
    /// Its counters, in their order; not a number where there is none.
    pub counters: Vec<f64>,
}

/// A metric along the repetitions, thinned so that no extreme is lost.
#[derive(Clone, Debug)]
pub struct MetricLine {
    /// Its name.
    pub name: &'static str,
    /// The number of a repetition, and the metric there, ns.
    pub values: Vec<(f64, f64)>,
    /// The number of a repetition, and its metric less that of the one before over the median of all run times.
    pub differences: Vec<(f64, f64)>,
}

/// A counter's values in the repetitions that are drawn.
#[derive(Debug, Serialize)]
pub struct Counter {
    /// The counter's name.
    pub name: String,
    /// The unit that it counts in; empty where nothing tells.
    pub unit: String,
    /// On the rank that was in the call longest.
    pub slowest: Vec<f64>,
    /// The largest of all ranks.
    pub largest: Vec<f64>,
    /// The sum of all ranks.
    pub sum: Vec<f64>,
    /// For pictures: Pearson's and Spearman's coefficient with the run time of the same rank, over all ranks and
    /// repetitions.
    #[serde(skip)]
    pub correlation: [Option<f64>; 2],
}

/// The greatest value of each cell of rank by repetition, ns.
#[derive(Debug, Default, Serialize)]
pub struct Heat {
    /// The lowest and the highest world rank of each row.
    pub ranks: Vec<(u32, u32)>,
    /// The first repetition of each column, and the last of all.
    pub repetitions: Vec<u64>,
    /// How much later than the first the rank came; row by row.
    pub arrival_ns: Vec<Vec<f64>>,
    /// How much later than the first the rank left.
    pub departure_ns: Vec<Vec<f64>>,
    /// How long the rank was in the call.
    pub run_time_ns: Vec<Vec<f64>>,
}

/// A letter for each repetition, the first of the category's name: `f`, `w`, `o`, `g`.
fn letters_each<S: Serializer>(lists: &[Vec<Category>], serializer: S) -> Result<S::Ok, S::Error> {
    let letters = |list: &Vec<Category>| list.iter().map(|category| &category.name()[..1]).collect::<String>();
    serializer.collect_seq(lists.iter().map(letters))
}
