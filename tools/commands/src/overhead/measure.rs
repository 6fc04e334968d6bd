//! The measurement: several processes for each case, in turn.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use mpitrace_job::mpi::{Family, Request, Setup, Times};
use mpitrace_statistics::median;
use serde::Serialize;

use super::machine::Machine;

/// Processes for each case: where a process' memory comes to lie makes a difference of some percent.
const PROCESSES: usize = 5;
/// Blocks in each, and calls a block: 0.1 ms a block and 40 ms in all, short beside what a machine's frequency takes to
/// change.
const REQUEST: Request = Request { turns: 300, calls: 500 };

/// The costs of tracing. The first three keys, and `with_counters`, are those that others rely on.
#[derive(Debug, Serialize)]
pub struct Costs {
    #[serde(flatten)]
    pub cost: Cost,
    /// With counters, by the value of MPITRACE_EVENTS.
    pub with_counters: BTreeMap<String, Cost>,
    pub library: String,
    pub path: String,
    pub abi: Option<Family>,
    /// The machine before the measurement.
    pub machine: Machine,
}

/// The cost of tracing a call: medians over the processes.
#[derive(Debug, Serialize)]
pub struct Cost {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<Vec<String>>,
    #[serde(flatten)]
    pub times: Times,
}

pub fn costs(tracer: &OsStr, libraries: &[PathBuf], launcher: &[OsString], events: &[String]) -> Result<Costs> {
    let mut failures = Vec::new();
    for library in libraries {
        let setup = Setup { tracer: Some(tracer), library, launcher, events: None, request: REQUEST };
        match setup.run()?.times {
            Ok(_) => return of_library(&setup, events),
            Err(failure) => failures.push(format!("{}: {failure}", library.display())),
        }
    }
    bail!("no calls could be traced: {}", failures.join("; "))
}

fn of_library(setup: &Setup, events: &[String]) -> Result<Costs> {
    let machine = Machine::looked_at();
    let of_events = events.iter().map(|events| Some(events.as_str()));
    let case = |events| Case { events, counters: Vec::new(), runs: Vec::new() };
    let mut cases: Vec<Case> = [None].into_iter().chain(of_events).map(case).collect();
    for process in 0..PROCESSES {
        for case in &mut cases {
            case.run(setup, process == 0)?;
        }
    }
    let mut costs = cases.into_iter().map(|case| (case.events.unwrap_or_default().to_owned(), case.cost()));
    let (_, cost) = costs.next().context("no case")?;
    let about = mpitrace_job::mpi::about(setup.library)?.answer.unwrap_or_default();
    Ok(Costs {
        cost: Cost { counters: None, ..cost },
        with_counters: costs.collect(),
        library: about.name(),
        path: setup.library.display().to_string(),
        abi: about.abi,
        machine,
    })
}

struct Case<'e> {
    events: Option<&'e str>,
    counters: Vec<String>,
    runs: Vec<Times>,
}

impl Case<'_> {
    fn run(&mut self, setup: &Setup, first: bool) -> Result<()> {
        let trial = Setup { events: self.events, ..*setup }.run()?;
        let (times, counters) = trial.times.map_err(|failure| anyhow!("{}: {failure}", setup.library.display()))?;
        if let Some(events) = self.events.filter(|_| counters.is_empty()) {
            let said = trial.said.first().map(|line| format!(": {line}")).unwrap_or_default();
            bail!("no counter of {events} can be read here{said}");
        }
        if first {
            trial.said.iter().for_each(|line| eprintln!("mpitrace: {line}"));
        }
        self.runs.push(times);
        self.counters = counters;
        Ok(())
    }

    fn cost(self) -> Cost {
        let middle =
            |of: fn(&Times) -> f64| median(&mut self.runs.iter().map(of).collect::<Vec<_>>()).unwrap_or(f64::NAN);
        let times = Times {
            timestamp_pair_ns: middle(|run| run.timestamp_pair_ns),
            untraced_call_ns: middle(|run| run.untraced_call_ns),
            traced_call_ns: middle(|run| run.traced_call_ns),
            ratio: middle(|run| run.ratio),
        };
        Cost { times, counters: Some(self.counters) }
    }
}
