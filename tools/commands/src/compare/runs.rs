//! The runs of a side: which files they are, and their run times.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use mpitrace_analysis::account::RankPart;
use mpitrace_changes::{Breakdown, Identity, Place, Spent, spent};
use mpitrace_source::options::{Format, canonical};
use mpitrace_source::{RunTimes, Source};
use mpitrace_trace::run_time::RunTime;

use super::factors::{self, Recorded};
use super::identity;

/// The files of one run: one, but where a run left several.
pub type Files = Vec<PathBuf>;

/// The beginning of the name of a factor that is the algorithm of an operation.
pub const ALGORITHM: &str = "algorithm of ";

/// Makes runs of the files of a side. Traces that lack ranks and are of one job are one run, where no rank is in two of
/// them.
///
/// # Errors
/// A file that cannot be read, or that comes a second time: it would count as a run that was never made.
pub fn group(side: char, files: &[PathBuf], from: Option<Format>) -> Result<Vec<Files>> {
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut runs: Vec<Files> = Vec::new();
    // The run that lacks ranks of a job, and the ranks that it has.
    let mut lacking: HashMap<[u8; 16], (usize, Vec<u32>)> = HashMap::new();
    for file in files {
        let path = canonical(file);
        if seen.contains(&path) {
            bail!("{}: is given twice in --{}: each file is a separate run", file.display(), side.to_ascii_lowercase());
        }
        seen.push(path);
        if from.is_some() {
            runs.push(vec![file.clone()]);
            continue;
        }
        let trace = mpitrace_source::open_trace(std::slice::from_ref(file))?;
        let ranks: Vec<u32> = trace.parts.iter().map(|part| part.rank()).collect();
        let job = trace.parts.first().map(|part| part.info().job);
        if let Some(job) = job.filter(|_| ranks.len() < trace.world_size as usize) {
            match lacking.get_mut(&job) {
                Some((run, known)) if !ranks.iter().any(|rank| known.contains(rank)) => {
                    runs[*run].push(file.clone());
                    known.extend(ranks);
                    continue;
                }
                _ => lacking.insert(job, (runs.len(), ranks)),
            };
        }
        runs.push(vec![file.clone()]);
    }
    Ok(runs)
}

/// A line for each file that both sides have: it is compared with itself.
pub fn in_both((name_a, a): (char, &Vec<PathBuf>), (name_b, b): (char, &Vec<PathBuf>)) -> Vec<String> {
    let [name_a, name_b] = [name_a, name_b].map(|name| name.to_ascii_lowercase());
    let of_b: Vec<PathBuf> = b.iter().map(|file| canonical(file)).collect();
    a.iter()
        .filter(|file| of_b.contains(&canonical(file)))
        .map(|file| format!("{}: is in --{name_a} and in --{name_b}: it is compared with itself", file.display()))
        .collect()
}

pub struct Opened(Source);

impl Opened {
    /// # Errors
    /// Files that cannot be used, and run times that they do not have.
    pub fn open(files: &[PathBuf], from: Option<Format>, time: RunTime) -> Result<Opened> {
        let source = Source::read(files, from)?;
        source.check(None, time)?;
        Ok(Opened(source))
    }

    pub fn notes(&self, time: RunTime, file: &Path) -> Vec<String> {
        let file = file.display();
        let mut notes = Vec::new();
        if let Some(traced) = self.0.traced() {
            if !traced.run.trace.complete {
                notes.push(format!("{file} is incomplete; `mpitrace info` says why"));
            }
            notes.extend(traced.note_on_clocks(time, &format!(" of {file}")));
        }
        for operation in self.0.wanted(None) {
            notes.extend(self.0.notes(operation).iter().map(|note| format!("{file}: {note}")));
        }
        notes.dedup();
        notes
    }

    /// Its metadata; nothing, if it was not traced.
    pub fn recorded(&self) -> Recorded {
        let Some(traced) = self.0.traced() else { return Recorded::default() };
        let mut recorded = factors::recorded(&traced.run.trace);
        for (number, identity) in self.identities().into_iter().enumerate() {
            let algorithms = self.0.algorithms(number).unwrap_or_default();
            let names: BTreeSet<String> = algorithms.occurring().iter().flatten().map(ToString::to_string).collect();
            if !names.is_empty() {
                // One key stands for several operations of different places.
                let known = recorded.entry(format!("{ALGORITHM}{}", identity.key())).or_default();
                let known: BTreeSet<String> =
                    known.split(", ").filter(|name| !name.is_empty()).map(str::to_owned).collect();
                let all: Vec<String> = known.union(&names).cloned().collect();
                recorded.insert(format!("{ALGORITHM}{}", identity.key()), all.join(", "));
            }
        }
        recorded
    }

    /// The time of the longest rank, and that of a rank in MPI in the mean, ns; where only collectives are timed in
    /// those. Nothing, if it was not traced.
    pub fn whole(&self) -> Vec<(Identity, f64)> {
        let Some(traced) = self.0.traced() else { return Vec::new() };
        let ranks = &traced.run.account().ranks;
        let longest = ranks.iter().map(|rank| rank.wall_ns).fold(0.0, f64::max);
        let in_mpi: f64 = ranks.iter().map(|rank| rank.parts.sum_of(&RankPart::MPI)).sum();
        let calls = if ranks.iter().all(|rank| rank.is_timed) { identity::MPI } else { identity::COLLECTIVES };
        let times = [(identity::JOB, longest), (calls, in_mpi / ranks.len() as f64)];
        let times = times.into_iter().filter(|(_, ns)| *ns > 0.0);
        times.map(|(name, ns)| (Identity::whole(name, traced.run.trace.world_size), ns)).collect()
    }

    pub fn identities(&self) -> Vec<Identity> {
        let site =
            |number: usize| self.0.traced()?.run.operations.operations[number].key.call_site.as_ref().map(Place::new);
        identity::all(self.0.operations(), site)
    }

    /// The time of the run in its parts; `None`: it was not traced.
    ///
    /// # Errors
    /// Samples that cannot be read.
    pub fn breakdown(&self, identities: &[Identity]) -> Result<Option<Breakdown>> {
        let Some(traced) = self.0.traced() else { return Ok(None) };
        Ok(Some(Breakdown::new(&traced.run, identities, traced.samples()?.as_ref())))
    }

    /// The time and the calls of a rank in each operation, in the mean of all ranks; none, if it was not traced.
    pub fn spent(&self) -> Vec<Spent> {
        let Some(traced) = self.0.traced() else { return Vec::new() };
        let ranks = traced.run.account().ranks.len().max(1) as f64;
        spent(&traced.run).into_iter().map(|one| one.over(ranks)).collect()
    }

    /// The run times of an operation in the repetitions that every rank finished and kept, and how many it did not.
    pub fn measured(&self, operation: usize, time: RunTime) -> Result<(RunTimes<'_>, u64)> {
        Ok((self.0.run_times(operation, time)?, self.0.operations()[operation].incomplete))
    }
}
