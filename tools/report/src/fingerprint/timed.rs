//! The run times by one definition, and all that is known of them.

use mpitrace_statistics::{BoxPlot, Course, Sample, Summary};
use mpitrace_trace::run_time::RunTime;
use serde::Serialize;

use crate::histogram::Histogram;
use mpitrace_statistics::categories::Remarks;

/// The run times by one definition.
#[derive(Debug, Serialize)]
pub struct Timed {
    /// The definition of the run time.
    pub time: RunTime,
    /// In the order of [`Category::ALL`](mpitrace_statistics::categories::Category::ALL).
    pub counts: [usize; 4],
    /// Where the warm-up ends by each rule, the one that colours first.
    pub cuts: Vec<Cut>,
    /// On the order and the levels of the repetitions.
    #[serde(flatten)]
    pub remarks: Remarks,
    /// The numbers of all finite run times, as `stats` has them.
    pub all: Summary,
    /// The numbers of the good run times.
    pub good: Summary,
    /// One for each category that has repetitions, and one for all.
    pub boxes: Vec<NamedBox>,
    /// All, over a logarithmic axis where they reach far.
    pub histogram: Histogram,
    /// Without first and outliers.
    pub histogram_good: Histogram,
    /// All finite run times by bins.
    pub course: Course,
    /// The distribution of all repetitions.
    pub ecdf: Ecdf,
    /// The distribution of the good repetitions.
    pub ecdf_good: Ecdf,
    /// Run times that are infinite or not a number, and in no number.
    pub not_finite: usize,
}

/// The end of the warm-up by one rule.
#[derive(Debug, Serialize)]
pub struct Cut {
    /// The name of the rule.
    pub method: &'static str,
    /// The first repetition after it; `None`: there is none.
    pub warmup_end: Option<u64>,
    /// The class of the whole series, where the rule has one.
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

/// The box plot of some of the run times, with its name.
#[derive(Clone, Debug, Serialize)]
pub struct NamedBox {
    /// A category, or `all`.
    pub name: &'static str,
    /// How many run times these are.
    pub count: usize,
    /// The least of them, ns.
    pub min_ns: f64,
    /// The greatest of them, ns.
    pub max_ns: f64,
    /// The numbers of the box plot, ns.
    #[serde(flatten)]
    pub plot: BoxPlot,
}

impl NamedBox {
    /// The box of a sample; `None` where it is empty.
    pub fn new(name: &'static str, sample: &Sample) -> Option<NamedBox> {
        let (min_ns, max_ns) = (sample.minimum()?, sample.maximum()?);
        Some(NamedBox { name, count: sample.len(), min_ns, max_ns, plot: sample.box_plot()? })
    }
}

/// The empirical distribution function at some of its steps.
#[derive(Debug, Default, Serialize)]
pub struct Ecdf {
    /// ns, ascending.
    pub at_ns: Vec<f64>,
    /// The share of repetitions that take no longer.
    pub share: Vec<f64>,
}

impl Ecdf {
    /// At about so many even steps, and ever closer to both ends.
    pub fn new(sample: &Sample, even: usize) -> Ecdf {
        let sorted = sample.sorted();
        let mut steps = sample.distribution(even);
        let mut distance = 1;
        while distance < sorted.len() / even {
            for value in [sorted[distance], sorted[sorted.len() - 1 - distance]] {
                let until = sorted.partition_point(|&other| other <= value);
                steps.push((value, until as f64 / sorted.len() as f64));
            }
            distance *= 2;
        }
        steps.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        steps.dedup_by(|a, b| a.0 == b.0);
        let (at_ns, share) = steps.into_iter().unzip();
        Ecdf { at_ns, share }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distribution_function_keeps_both_ends() {
        let x: Vec<f64> = (0..1_000_000).map(f64::from).collect();
        let found = Ecdf::new(&Sample::new(&x), 240);
        assert!(found.at_ns.len() < 300);
        assert_eq!((found.at_ns[0], found.at_ns[found.at_ns.len() - 1]), (0.0, 999_999.0));
        assert_eq!((found.share[0], found.share[found.share.len() - 1]), (1e-6, 1.0));
        assert!(found.at_ns.contains(&999_998.0), "the slowest but one");
        assert_eq!(Ecdf::new(&Sample::new(&[3.0, 5.0]), 240).share, [0.5, 1.0]);
        assert!(Ecdf::new(&Sample::new(&[]), 240).at_ns.is_empty());
    }
}
