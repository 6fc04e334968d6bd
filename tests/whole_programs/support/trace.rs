//! A trace as the companion shows it, by the keys of its JSON that others rely on.

use super::companion::{self, mpitrace};
use mpitrace_functions::{Function, Pattern};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;

pub struct Trace {
    pub path: PathBuf,
}

#[derive(Deserialize, Debug)]
pub struct Info {
    pub ranks: u64,
    pub records: u64,
    pub dropped: u64,
    pub lost: u64,
    pub failed: u64,
    pub failed_others: u64,
    pub complete: bool,
    /// Ranks that left nothing in the trace.
    pub missing: Vec<u64>,
    pub abi: String,
    pub library: String,
    pub counters: Vec<String>,
    /// By name, the reason.
    pub counters_limited: BTreeMap<String, String>,
    /// Of messages and their time, by name.
    pub counter_totals: BTreeMap<String, Total>,
    /// Counters whose values are scaled up in some calls.
    pub counters_scaled: Vec<String>,
    pub factors: BTreeMap<String, String>,
    /// The ranks of each.
    pub hosts: BTreeMap<String, Vec<u64>>,
    pub clock: Counter,
    pub operations: Vec<Operation>,
    /// Calls that do not belong together, as they are in JSON.
    pub mismatches: Vec<serde_json::Value>,
    /// Messages that were never received, and receives that no message came for, as they are in JSON.
    pub not_matched: Vec<serde_json::Value>,
    /// Messages whose data types differ from those of their receives, as they are in JSON.
    pub different_types: Vec<serde_json::Value>,
    /// Operations of which not all calls were kept.
    pub all_calls: Vec<AllCalls>,
}

/// The total of a counter of messages.
#[derive(Deserialize, Debug)]
pub struct Total {
    pub total: u64,
    ranks: BTreeMap<u64, u64>,
}

impl Total {
    /// On each rank.
    pub fn on_ranks(&self) -> Vec<u64> {
        self.ranks.values().copied().collect()
    }
}

/// The clock of the ranks' time stamps.
#[derive(Deserialize, Debug)]
pub struct Counter {
    pub source: Option<String>,
    pub frequency_hz: Option<f64>,
}

/// An operation with the calls that were not kept.
#[derive(Deserialize, Debug)]
pub struct AllCalls {
    pub function: String,
    pub communicator: String,
    pub calls: u64,
    pub kept: u64,
    pub timed: u64,
    pub per_rank: Vec<CallsOfRank>,
}

/// All calls of one rank, kept or not.
#[derive(Deserialize, Debug)]
pub struct CallsOfRank {
    pub calls: u64,
    pub kept: u64,
    pub timed: u64,
    pub sum_ns: f64,
    pub quantiles: Vec<Quantile>,
}

#[derive(Deserialize, Debug)]
pub struct Quantile {
    pub value_ns: f64,
}

#[derive(Deserialize, Debug, Clone)]
pub struct Operation {
    pub operation: u64,
    pub function: String,
    pub communicator: String,
    pub communicator_id: u64,
    /// u64::MAX: not known.
    #[serde(deserialize_with = "bytes_if_known")]
    pub bytes: u64,
    pub root: Option<i64>,
    pub datatype: Option<String>,
    pub reduction: Option<String>,
    pub ranks: u64,
    pub repetitions: u64,
    pub incomplete: u64,
    pub call_site: Option<CallSite>,
}

fn bytes_if_known<'de, D: Deserializer<'de>>(value: D) -> Result<u64, D::Error> {
    Ok(Option::deserialize(value)?.unwrap_or(u64::MAX))
}

/// The place in the program that calls.
#[derive(Deserialize, Debug, Clone)]
pub struct CallSite {
    pub symbol: Option<String>,
    pub file: Option<String>,
    pub line: Option<u64>,
}

/// A row of `dump`.
#[derive(Deserialize, Debug)]
pub struct DumpRow {
    pub rank: u64,
    pub thread: u64,
    pub operation: u64,
    pub repetition: u64,
    pub function: String,
    pub communicator: String,
    pub bytes: u64,
    pub enter_ns: f64,
    pub exit_ns: Option<f64>,
    pub error_ns: Option<f64>,
    pub perturbed: bool,
    pub init_ns: Option<f64>,
    pub test_ns: Option<f64>,
    pub wait_ns: Option<f64>,
    pub p2p_ns: Option<f64>,
    pub tests: Option<u64>,
    pub p2p_partner: Option<u64>,
    /// `None`: it could not be read.
    pub counters: BTreeMap<String, Option<u64>>,
}

#[derive(Deserialize, Debug)]
pub struct Categories {
    pub operation: u64,
    pub function: String,
    pub repetitions: u64,
    pub method: String,
    pub time: String,
    pub first_repetition: u64,
    pub median_ns: f64,
    pub warmup_end: Option<u64>,
    pub counts: Counts,
    pub category: Vec<String>,
    pub run_time_ns: Vec<f64>,
}

#[derive(Deserialize, Debug)]
pub struct Counts {
    pub first: u64,
    pub warmup: u64,
    pub outlier: u64,
    pub good: u64,
}

/// The output of `mpitrace clock`.
#[derive(Deserialize, Debug)]
pub struct Synchronised {
    pub method: String,
    pub domains: Vec<Vec<u64>>,
    pub sync_ns: f64,
    pub synchronisations: u64,
    pub error_ns: ClockError,
    pub causality: Causality,
    pub truth: Option<Truth>,
    pub steps: Vec<Step>,
}

#[derive(Deserialize, Debug)]
pub struct ClockError {
    pub max: Option<f64>,
}

#[derive(Deserialize, Debug)]
pub struct Causality {
    pub checked: u64,
    pub violated: u64,
}

#[derive(Deserialize, Debug)]
pub struct Truth {
    pub rms_ns: f64,
    pub hard_bounds_held: Option<bool>,
}

#[derive(Deserialize, Debug)]
pub struct Step {
    pub domain: u64,
    pub after_s: f64,
    pub before_s: f64,
    pub size_ns: f64,
}

/// True if a function makes, changes or frees a communicator, a window or a file, or reads or writes one.
pub fn is_management(function: &str) -> bool {
    let pattern = Function::named(function).map(|function| function.pattern);
    matches!(pattern, Some(Pattern::UsuallyAllToAll | Pattern::None))
}

impl Trace {
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Without the operations that manage handles, and without their records: each trace has those beside what most
    /// tests are about.
    #[track_caller]
    pub fn info(&self) -> Info {
        let mut info = self.info_of_all();
        let (management, rest): (Vec<_>, Vec<_>) =
            info.operations.into_iter().partition(|operation| is_management(&operation.function));
        info.operations = rest;
        info.records -= management.iter().map(|operation| operation.ranks * operation.repetitions).sum::<u64>();
        info
    }

    #[track_caller]
    pub fn info_of_all(&self) -> Info {
        let (code, info) = self.json::<Info>("info", &[]);
        // Messages that were never received are no defect.
        let receives = info.not_matched.iter().any(|found| found["direction"] == "receive");
        let messages = receives || !info.different_types.is_empty();
        let is_finding = !info.complete || !info.mismatches.is_empty() || messages;
        assert_eq!(code, i32::from(is_finding), "info's exit code for {info:?}");
        info
    }

    /// Without the calls that manage handles.
    #[track_caller]
    pub fn dump(&self, options: &[&str]) -> Vec<DumpRow> {
        let mut rows = self.dump_of_all(options);
        rows.retain(|row| !is_management(&row.function));
        rows
    }

    #[track_caller]
    pub fn dump_of_all(&self, options: &[&str]) -> Vec<DumpRow> {
        self.json("dump", options).1
    }

    /// The exit code, and what was told.
    #[track_caller]
    pub fn clock(&self) -> (i32, Synchronised) {
        self.json("clock", &[])
    }

    /// The exit code, and what was told by another method than the run's.
    #[track_caller]
    pub fn clock_by(&self, method: &str) -> (i32, Synchronised) {
        self.json("clock", &["--method", method])
    }

    #[track_caller]
    pub fn categorize(&self, options: &[&str]) -> Vec<Categories> {
        self.json("categorize", options).1
    }

    /// The numbers of the repetitions whose call returned on this rank, and of those whose call did not.
    #[track_caller]
    pub fn repetitions(&self, operation: u64, rank: u64) -> (Vec<u64>, Vec<u64>) {
        let (operation, rank) = (operation.to_string(), rank.to_string());
        let rows = self.dump(&["--operation", &operation, "--rank", &rank]);
        let (returned, not): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.exit_ns.is_some());
        let numbers = |rows: Vec<&DumpRow>| rows.iter().map(|row| row.repetition).collect();
        (numbers(returned), numbers(not))
    }

    /// Operations of which not all calls were kept, by `stats` (a list with one of each) or `summary`.
    #[track_caller]
    pub fn all_calls(&self, command: &str) -> Vec<AllCalls> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Shown {
            List(Vec<OfOne>),
            Summary { all_calls: Vec<AllCalls> },
        }
        #[derive(Deserialize)]
        struct OfOne {
            all_calls: Option<AllCalls>,
        }
        match self.json(command, &[]).1 {
            Shown::List(list) => list.into_iter().filter_map(|one| one.all_calls).collect(),
            Shown::Summary { all_calls } => all_calls,
        }
    }

    #[track_caller]
    fn json<T: DeserializeOwned>(&self, command: &str, options: &[&str]) -> (i32, T) {
        let mut arguments: Vec<&OsStr> = vec![command.as_ref(), self.path.as_ref(), "--json".as_ref()];
        arguments.extend(options.iter().map(OsStr::new));
        let finished = mpitrace(&arguments);
        let context = || format!("mpitrace {arguments:?}: exit code {}\n{}", finished.code, finished.stderr);
        assert!(matches!(finished.code, 0 | 1), "{}", context());
        let value = serde_json::from_value(companion::json(&finished))
            .unwrap_or_else(|error| panic!("{error} in the output of {}{:.2000}", context(), finished.stdout));
        (finished.code, value)
    }
}

impl DumpRow {
    /// A non-blocking call was found complete, and the calls that started, tested for and waited for it lie within it.
    #[track_caller]
    pub fn assert_followed(&self) {
        let took = self.exit_ns.unwrap_or_else(|| panic!("never found complete: {self:?}")) - self.enter_ns;
        let [init, test, wait] = [self.init_ns, self.test_ns, self.wait_ns].map(|time| time.unwrap_or(0.0));
        // Times are divided by a rounded frequency.
        assert!(init > 0.0 && init + test + wait <= took + 1.0, "more time in calls than it took: {self:?}");
        assert!(self.tests > Some(0) || wait > 0.0, "neither tested for nor waited for: {self:?}");
    }
}

impl Info {
    /// The one operation of this function.
    #[track_caller]
    pub fn only(&self, function: &str) -> &Operation {
        let mut found = self.operations.iter().filter(|operation| operation.function == function);
        match (found.next(), found.next()) {
            (Some(operation), None) => operation,
            _ => panic!("not exactly one operation {function} in {:#?}", self.operations),
        }
    }
}
