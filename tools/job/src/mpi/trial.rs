//! A trial with a process of one rank: are calls of a library traced here, and at what cost.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use anyhow::{Context, Result};
use mpitrace_trace::reader::Trace;

use super::child;
use super::try_calls::{Request, Times, Tried};

/// The conditions under which a library is tried.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'s> {
    /// libmpitrace.so; `None` tries the library by itself.
    pub tracer: Option<&'s OsStr>,
    /// The MPI library.
    pub library: &'s Path,
    /// The words before the program; none: it runs without a launcher.
    pub launcher: &'s [OsString],
    /// The value of MPITRACE_EVENTS; `None`: no events are counted.
    pub events: Option<&'s str>,
    /// The calls that are made.
    pub request: Request,
}

#[derive(Debug)]
pub struct Trial {
    /// With the counters in the trace; or why there are none.
    pub times: Result<(Times, Vec<String>), String>,
    /// The tracer's lines, but for those on the trace and on leftovers of earlier jobs.
    pub said: Vec<String>,
}

impl Setup<'_> {
    /// Runs the trial.
    ///
    /// # Errors
    /// It cannot be started, or its answer cannot be read.
    pub fn run(&self) -> Result<Trial> {
        // A rank on another host sees the working directory, if anything of this one's.
        let place = match self.launcher.is_empty() {
            true => std::env::temp_dir(),
            false => std::env::current_dir()?,
        };
        let folder = tempfile::Builder::new().prefix("mpitrace-trial-").tempdir_in(&place);
        let folder = folder.with_context(|| format!("no temporary folder in {}", place.display()))?;
        let trace = folder.path().join("trial.mpitrace");
        let mut variables: Vec<(OsString, OsString)> = Vec::new();
        if let Some(tracer) = self.tracer {
            variables.push(("LD_PRELOAD".into(), tracer.to_owned()));
            variables.push(("MPITRACE_OUTPUT".into(), trace.clone().into_os_string()));
            variables.push(("MPITRACE_CAPACITY".into(), self.request.recorded().to_string().into()));
            variables.extend(self.events.map(|events| ("MPITRACE_EVENTS".into(), events.into())));
        }
        let Request { turns, calls } = self.request;
        let options = ["--turns".into(), turns.to_string().into(), "--calls".into(), calls.to_string().into()];
        let ending =
            child::child::<Tried>(self.launcher, self.library, &options, &variables, folder.path(), child::LIMIT)?;
        let lines = ending.stderr.lines().filter_map(|line| line.strip_prefix("mpitrace: "));
        let of_trial = |line: &&str| ![" traced into ", "mpitrace recover"].iter().any(|other| line.contains(other));
        let said: Vec<String> = lines.filter(of_trial).map(str::to_owned).collect();
        let times = match (ending.failure, ending.answer) {
            (Some(failure), _) => Err(failure),
            (None, None) => Err("it ended without an answer".to_owned()),
            (None, Some(tried)) if self.tracer.is_none() => Ok((tried.times, Vec::new())),
            (None, Some(tried)) => self.check(tried, &trace).map(|counters| (tried.times, counters)),
        };
        Ok(Trial { times, said })
    }

    /// The counters of the trace, which must hold every call: times of calls that were not recorded would be none of
    /// ours.
    fn check(&self, tried: Tried, trace: &Path) -> Result<Vec<String>, String> {
        if !tried.intercepted {
            return Err("the loader did not preload the tracer".to_owned());
        }
        if !trace.exists() {
            return Err("no trace was written".to_owned());
        }
        let trace = Trace::open(&[trace]).map_err(|error| format!("the trace cannot be read: {error}"))?;
        let (records, expected) = (trace.records(), self.request.recorded());
        if !trace.complete || records != expected {
            return Err(format!("{records} of {expected} calls were recorded"));
        }
        let counters = trace.parts.iter().flat_map(|part| part.counter_columns().map(|(name, _)| name));
        Ok(counters.collect())
    }
}
