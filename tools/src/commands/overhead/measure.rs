//! The measurement: several processes for each case, in turn.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use mpitrace::statistics::median;
use serde::Serialize;

use super::machine::Machine;
use crate::mpi::{Family, Request, Setup, Tried};

/// Processes for each case: where a process' memory comes to lie makes a difference of some percent.
const PROCESSES: usize = 5;
/// Blocks in each, and calls a block: 0.1 ms a block and 40 ms in all, short beside what a machine's frequency takes to
/// change.
const REQUEST: Request = Request { turns: 300, calls: 500 };

/// The costs of tracing. The first three keys, and `with_counters`, are those that others rely on.
#[derive(Debug, Serialize)]
pub struct Costs {
    /// Two bare time stamps, ns.
    pub timestamp_pair_ns: f64,
    /// The time that a traced call takes beyond the same call untraced, ns.
    pub traced_call_ns: f64,
    /// The latter in pairs of time stamps.
    pub ratio: f64,
    /// With counters, by the value of MPITRACE_EVENTS.
    pub with_counters: BTreeMap<String, WithCounters>,
    /// The call untraced, ns.
    pub untraced_call_ns: f64,
    /// The MPI library.
    pub library: String,
    /// Its file.
    pub path: String,
    /// Its family.
    pub abi: Option<Family>,
    /// The machine, while it was measured on.
    pub machine: Machine,
}

/// The costs of tracing with counters.
#[derive(Debug, Serialize)]
pub struct WithCounters {
    /// The counters that were read.
    pub counters: Vec<String>,
    /// Two bare time stamps in these processes, ns.
    pub timestamp_pair_ns: f64,
    /// The time that a traced call takes beyond the same call untraced, ns.
    pub traced_call_ns: f64,
    /// The latter in pairs of time stamps.
    pub ratio: f64,
}

/// Measures under the first of the libraries that works.
///
/// # Errors
/// None of them works; events of which no counter comes.
pub fn costs(tracer: &OsStr, libraries: &[PathBuf], launcher: &[OsString], events: &[String]) -> Result<Costs> {
    let (machine, costs) = Machine::during(|| measured(tracer, libraries, launcher, events));
    Ok(Costs { machine, ..costs? })
}

fn measured(tracer: &OsStr, libraries: &[PathBuf], launcher: &[OsString], events: &[String]) -> Result<Costs> {
    let mut failures = Vec::new();
    for library in libraries {
        let setup = Setup { tracer: Some(tracer), library, launcher, events: None, request: REQUEST };
        match setup.run()?.times {
            Ok(_) => return of_library(&setup, library, events),
            Err(failure) => failures.push(format!("{}: {failure}", library.display())),
        }
    }
    bail!("no calls could be traced: {}", failures.join("; "))
}

fn of_library(setup: &Setup, library: &Path, events: &[String]) -> Result<Costs> {
    let mut cases: Vec<Case> = vec![Case { events: None, counters: Vec::new(), runs: Vec::new() }];
    cases.extend(events.iter().map(|events| Case { events: Some(events), counters: Vec::new(), runs: Vec::new() }));
    for process in 0..PROCESSES {
        for case in &mut cases {
            case.run(setup, process == 0)?;
        }
    }
    let (plain, with_counters) = cases.split_first().context("no case")?;
    let with_counters = with_counters.iter().map(|case| {
        let middle = case.middle();
        let row = WithCounters {
            counters: case.counters.clone(),
            timestamp_pair_ns: middle.timestamp_pair_ns,
            traced_call_ns: middle.traced_call_ns,
            ratio: middle.ratio,
        };
        (case.events.unwrap_or_default().to_owned(), row)
    });
    let plain = plain.middle();
    let about = crate::mpi::about(library)?.answer.unwrap_or_default();
    Ok(Costs {
        timestamp_pair_ns: plain.timestamp_pair_ns,
        traced_call_ns: plain.traced_call_ns,
        ratio: plain.ratio,
        with_counters: with_counters.collect(),
        untraced_call_ns: plain.untraced_call_ns,
        library: about.name(),
        path: library.display().to_string(),
        abi: about.abi,
        machine: Machine::default(),
    })
}

/// One value of MPITRACE_EVENTS.
struct Case<'e> {
    events: Option<&'e str>,
    counters: Vec<String>,
    runs: Vec<Tried>,
}

impl Case<'_> {
    fn run(&mut self, setup: &Setup, first: bool) -> Result<()> {
        let trial = Setup { events: self.events, ..*setup }.run()?;
        let times = trial.times.map_err(|failure| anyhow!("{}: {failure}", setup.library.display()))?;
        if let Some(events) = self.events.filter(|_| trial.counters.is_empty()) {
            let said = trial.said.first().map(|line| format!(": {line}")).unwrap_or_default();
            bail!("no counter of {events} can be read here{said}");
        }
        if first {
            trial.said.iter().for_each(|line| eprintln!("mpitrace: {line}"));
        }
        self.runs.push(times);
        self.counters = trial.counters;
        Ok(())
    }

    /// The medians over the processes.
    fn middle(&self) -> Tried {
        let of =
            |what: fn(&Tried) -> f64| median(&mut self.runs.iter().map(what).collect::<Vec<_>>()).unwrap_or(f64::NAN);
        Tried {
            intercepted: true,
            timestamp_pair_ns: of(|run| run.timestamp_pair_ns),
            untraced_call_ns: of(|run| run.untraced_call_ns),
            traced_call_ns: of(|run| run.traced_call_ns),
            ratio: of(|run| run.ratio),
        }
    }
}
