//! Operations over the whole run, with the calls that were not kept: as JSON and as a table.

use mpitrace::clock::Clock;
use mpitrace::operations::Operations;
use mpitrace::reader::Trace;
use mpitrace::whole_run::{self, AllCalls, RankCalls};
use serde::Serialize;

use crate::table::{Table, number, text};
use crate::text;

/// The quantiles that are stated; the last one is the maximum.
const QUANTILES: [f64; 7] = [0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0];

/// All calls of an operation of which not all were kept.
#[derive(Clone, Debug, Serialize)]
pub struct AllCallsFacts {
    /// `null`: no rank kept a call of it.
    pub operation: Option<usize>,
    pub function: String,
    pub communicator: String,
    pub bytes: Option<u64>,
    /// A region of the program.
    #[serde(skip)]
    pub is_region: bool,
    /// Calls begun, on all ranks.
    pub calls: u64,
    pub kept: u64,
    /// Calls that are not kept and whose times were counted.
    pub timed: u64,
    /// What the kept and the timed calls took, ns.
    pub sum_ns: f64,
    /// Of the run times of single calls on all ranks, within 1 %; empty where they are not known.
    pub quantiles: Vec<QuantileFacts>,
    pub per_rank: Vec<RankFacts>,
}

/// A quantile.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct QuantileFacts {
    pub p: f64,
    pub value_ns: f64,
}

/// The same of one rank.
#[derive(Clone, Debug, Serialize)]
pub struct RankFacts {
    pub rank: u32,
    pub calls: u64,
    pub kept: u64,
    pub timed: u64,
    pub sum_ns: f64,
    pub quantiles: Vec<QuantileFacts>,
}

impl AllCallsFacts {
    /// Of what the analysis has found.
    pub fn of(all: &AllCalls, operations: &Operations) -> AllCallsFacts {
        let values = all.quantiles_ns(&QUANTILES).unwrap_or_default();
        let quantile = |(&p, value_ns): (&f64, f64)| QuantileFacts { p, value_ns };
        AllCallsFacts {
            operation: all.operation,
            function: all.function.clone(),
            communicator: operations.communicators[all.communicator].name.clone(),
            bytes: all.bytes,
            is_region: all.is_region,
            calls: all.calls(),
            kept: all.kept(),
            timed: all.timed(),
            sum_ns: all.sum_ns(),
            quantiles: QUANTILES.iter().zip(values).map(quantile).collect(),
            per_rank: all.ranks.iter().map(RankFacts::of).collect(),
        }
    }

    /// The run time at one of the quantiles.
    fn at(&self, p: f64) -> String {
        let found = self.quantiles.iter().find(|quantile| quantile.p == p);
        found.map(|quantile| text::time(quantile.value_ns)).unwrap_or_default()
    }

    /// All in one line.
    pub fn line(&self) -> String {
        let quantiles = match self.quantiles.is_empty() {
            true => String::new(),
            false => format!(
                "; of single calls: median {}, p95 {}, p99 {}, max {}, within 1 %",
                self.at(0.5),
                self.at(0.95),
                self.at(0.99),
                self.at(1.0)
            ),
        };
        let (calls, kept) = (self.calls, self.kept);
        format!("{} of {}, {kept} kept{quantiles}", text::time(self.sum_ns), text::count(calls, "call"))
    }
}

impl RankFacts {
    fn of(rank: &RankCalls) -> RankFacts {
        let quantile = |&p: &f64| Some(QuantileFacts { p, value_ns: rank.quantile_ns(p)? });
        RankFacts {
            rank: rank.rank,
            calls: rank.calls,
            kept: rank.kept,
            timed: rank.timed,
            sum_ns: rank.sum_ns,
            quantiles: QUANTILES.iter().filter_map(quantile).collect(),
        }
    }
}

/// Those of a trace.
pub fn facts(trace: &Trace, operations: &Operations, clock: &Clock) -> Vec<AllCallsFacts> {
    whole_run::of(trace, operations, clock).iter().map(|all| AllCallsFacts::of(all, operations)).collect()
}

/// A row for each of them.
pub fn table(all: &[AllCallsFacts]) -> Table<'static> {
    let mut table = Table::new(&[
        number("operation").optional(),
        text("all calls of"),
        text("communicator"),
        number("bytes"),
        number("calls"),
        number("kept"),
        number("time"),
        number("median"),
        number("p95"),
        number("p99"),
        number("max"),
    ]);
    for facts in all {
        table.row(vec![
            text::optional(facts.operation),
            text::printable(&facts.function).into_owned(),
            text::printable(&facts.communicator).into_owned(),
            text::optional(facts.bytes),
            facts.calls.to_string(),
            facts.kept.to_string(),
            text::time(facts.sum_ns),
            facts.at(0.5),
            facts.at(0.95),
            facts.at(0.99),
            facts.at(1.0),
        ]);
    }
    table
}
