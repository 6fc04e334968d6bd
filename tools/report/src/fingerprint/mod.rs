//! A fingerprint's content: everything that is known of one operation's run times, thinned to what can be looked at.
//!
//! Numbers come from all repetitions; only the points of the plots are fewer than there are (see [`super::thin`]). The
//! page, the pictures, the terminal and the JSON show one and the same [`Report`].

mod points;
mod timed;

pub use points::{Counter, Dot, Heat, MetricLine, Points};
pub use timed::{Cut, Ecdf, NamedBox, Timed};

use std::collections::BTreeMap;

use mpitrace_show::text;
use mpitrace_statistics::Quantile;
use mpitrace_trace::run_time::RunTime;
use mpitrace_words::description::Description;
use serde::Serialize;

use super::timeline::Timeline;

/// The fingerprints of a run, with what is shown above them.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The name of the trace that it is of.
    pub name: String,
    /// The program that made it, with its version.
    pub generator: String,
    /// True if every rank finished and all was kept.
    pub complete: bool,
    /// The run time that is shown first.
    pub time: &'static str,
    /// The name of the rule by which the warm-up ends.
    pub method: &'static str,
    /// The facts of the run.
    pub run: Run,
    /// All operations, a row each.
    pub overview: Vec<Overview>,
    /// The fingerprints that are shown, by number.
    pub fingerprints: Vec<Fingerprint>,
    /// The parts that are left out of this report, and why.
    pub notes: Vec<String>,
}

/// The data that the operations of a run have in common.
#[derive(Debug, Default, Serialize)]
pub struct Run {
    /// Where the ranks' time went, in lines for people; empty for what was not traced.
    pub summary: Vec<String>,
    /// The one of these lines that matters most.
    #[serde(skip)]
    pub verdict: String,
    /// The activity of each rank over time; `None`: not known, or not asked for.
    pub timeline: Option<Timeline>,
    /// Title and text, in order, for people.
    pub facts: Vec<(String, String)>,
    /// Everything that the run recorded about itself, by name.
    pub factors: BTreeMap<String, String>,
}

/// An operation, and where its ranks ran.
#[derive(Clone, Debug, Serialize)]
pub struct Subject {
    /// The operation.
    #[serde(flatten)]
    pub operation: Description,
    /// The world ranks on each node; empty where that is not known.
    pub nodes: Vec<(String, Vec<u32>)>,
}

/// An operation's row among all of them.
#[derive(Debug, Serialize)]
pub struct Overview {
    /// The operation.
    #[serde(flatten)]
    pub operation: Description,
    /// All its calls of all ranks in complete repetitions, ns; of a region, and of what was not traced, the sum of the
    /// run times.
    pub time_ns: f64,
    /// The median of all complete repetitions.
    pub median_ns: Option<f64>,
    /// The median of the good repetitions, with its interval.
    pub good_median: Option<Quantile>,
    /// 95 % take no longer.
    pub p95_ns: Option<f64>,
    /// The number of the first repetition after the warm-up; `None`: there is no warm-up, or none that ends.
    pub warmup_end: Option<u64>,
    /// In the order of [`Category::ALL`](mpitrace_statistics::categories::Category::ALL).
    pub counts: [usize; 4],
    /// True if there is a fingerprint of it.
    pub shown: bool,
}

/// The fingerprint of an operation.
#[derive(Debug, Serialize)]
pub struct Fingerprint {
    /// The operation, and where its ranks ran.
    #[serde(flatten)]
    pub subject: Subject,
    /// For each definition of the run time that there is.
    pub times: Vec<Timed>,
    /// The repetitions that are drawn.
    pub points: Points,
    /// Rank by repetition; `None` for one rank, and where only run times are known.
    pub heat: Option<Heat>,
    /// How wrong a time across ranks may be; `None`: not known.
    pub clock_error: Option<ClockError>,
    /// Where the ranks' time in its calls went, for people; `None`: not known.
    pub account: Option<String>,
}

/// The half widths of the 95 % intervals of the entries' global times, ns.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ClockError {
    /// The median of the half widths, ns.
    pub median_ns: f64,
    /// The largest of them, ns.
    pub max_ns: f64,
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
        title(&self.operation, self.operation.bytes.filter(|&bytes| bytes > 0))
    }

    /// `2 nodes x 16 ranks`, or with the numbers where they differ.
    pub fn layout(&self) -> String {
        let per_node: Vec<usize> = self.nodes.iter().map(|(_, ranks)| ranks.len()).collect();
        let (least, most) = (per_node.iter().min().copied().unwrap_or(0), per_node.iter().max().copied().unwrap_or(0));
        match (per_node.len(), self.operation.ranks) {
            (0, 0) => "not known".to_owned(),
            (0, ranks) => text::count(ranks.into(), "rank"),
            (nodes, _) if least == most => format!("{nodes}\u{d7}{most}"),
            (nodes, _) => format!("{nodes} nodes, {least} to {most} ranks each"),
        }
    }
}

/// `MPI_Bcast, 4096 B, root 0, MPI_COMM_WORLD`.
pub fn title(operation: &Description, bytes: Option<u64>) -> String {
    let Description { function, communicator_label: communicator, root, file, .. } = operation;
    let mut title = file.as_ref().map_or_else(String::new, |file| format!("{file}: "));
    title.push_str(function);
    if let Some(bytes) = bytes {
        title.push_str(&format!(", {bytes} B"));
    }
    if let Some(root) = root {
        title.push_str(&format!(", root {root}"));
    }
    if file.is_none() {
        title.push_str(&format!(", {communicator}"));
    }
    let line = operation.line();
    if !line.is_empty() {
        title.push_str(&format!(", {line}"));
    }
    title
}
