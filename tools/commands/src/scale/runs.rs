//! The runs of one program, read from their traces.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use mpitrace_analysis::run::Need;
use mpitrace_scaling::facts::RunFacts;
use mpitrace_scaling::{Shares, divide_computing, shares};
use mpitrace_show::progress::Progress;
use mpitrace_source::options::canonical;
use mpitrace_trace::calls::samples::RunSamples;
use mpitrace_words::names::{program, value_of};
use rayon::prelude::*;

/// The runs that finished.
pub struct Runs {
    pub program: String,
    pub facts: Vec<RunFacts>,
    /// Runs that were left out, and facts that may make the runs differ, a line each.
    pub notes: Vec<String>,
}

/// A run: its first file, the program, its build and its arguments.
struct Read {
    file: PathBuf,
    program: String,
    build: Option<String>,
    command: String,
    facts: Option<RunFacts>,
    /// The shares of the functions in its computing, where samples were taken.
    code: Option<Shares>,
    why_not: &'static str,
}

impl Runs {
    /// Reads them.
    ///
    /// # Errors
    /// A file that cannot be read or is given twice; runs of different programs; no run that finished.
    pub fn read(files: &[PathBuf]) -> Result<Runs> {
        let groups = group(files)?;
        let progress = Progress::new(groups.len() as u64);
        let all = groups.par_iter().map(|files| {
            let read = Read::new(files);
            progress.step();
            read
        });
        let all: Vec<Read> = all.collect::<Result<_>>()?;
        drop(progress);
        let programs: BTreeSet<&str> = all.iter().map(|read| read.program.as_str()).collect();
        let names: Vec<&str> = programs.into_iter().collect();
        ensure!(names.len() < 2, "these are runs of different programs ({}): give the runs of one", names.join(", "));
        let mut notes: Vec<String> = Vec::new();
        for read in all.iter().filter(|read| read.facts.is_none()) {
            notes.push(format!("{}: {}; left out", read.file.display(), read.why_not));
        }
        let builds: BTreeSet<&Option<String>> = all.iter().map(|read| &read.build).collect();
        if builds.len() > 1 {
            notes.push("the program was rebuilt between these runs".to_owned());
        }
        notes.extend(differing_commands(&all));
        let program = names.first().map_or_else(String::new, |name| (*name).to_owned());
        let known = all.into_iter().filter_map(|read| Some((read.facts?, read.code)));
        let (mut facts, code): (Vec<RunFacts>, Vec<Option<Shares>>) = known.unzip();
        if let Some(code) = code.into_iter().collect::<Option<Vec<Shares>>>() {
            divide_computing(&mut facts, &code);
        }
        ensure!(!facts.is_empty(), "no run finished: `mpitrace info` says how each ended");
        Ok(Runs { program, facts, notes })
    }
}

impl Read {
    fn new(files: &[PathBuf]) -> Result<Read> {
        let run = mpitrace_source::open(files, Need::Account)?;
        let known = run.trace.parts.first().map(|part| part.metadata()).unwrap_or_default();
        let command = value_of(&known, "command").unwrap_or_default();
        let why_not = match () {
            () if !run.trace.complete => "the run did not finish, or records are missing",
            () if run.trace.parts.len() < run.trace.world_size as usize => "some of the ranks are not in the trace",
            () => "no rank is outside of MPI",
        };
        let is_whole = run.trace.complete && run.trace.parts.len() == run.trace.world_size as usize;
        Ok(Read {
            file: files[0].clone(),
            program: program(&command).unwrap_or_else(|| "the program".to_owned()),
            build: value_of(&known, "program_build_id"),
            facts: if is_whole { RunFacts::new(&run) } else { None },
            command,
            code: RunSamples::open(&run.trace, files)?.and_then(|samples| shares(&samples.samples)),
            why_not,
        })
    }
}

/// A note if runs on one number of ranks had different arguments: they may be different work.
fn differing_commands(all: &[Read]) -> Option<String> {
    let mut of_ranks: HashMap<u32, BTreeSet<&str>> = HashMap::new();
    for read in all {
        let Some(facts) = &read.facts else { continue };
        of_ranks.entry(facts.ranks).or_default().insert(&read.command);
    }
    let ranks = of_ranks.iter().filter(|(_, commands)| commands.len() > 1).map(|(ranks, _)| *ranks).min()?;
    Some(format!("runs on {ranks} ranks have different arguments: is their work the same?"))
}

/// The files of each run: traces that lack ranks and are of one job are one run.
fn group(files: &[PathBuf]) -> Result<Vec<Vec<PathBuf>>> {
    let mut seen = BTreeSet::new();
    let mut runs: Vec<Vec<PathBuf>> = Vec::new();
    let mut lacking: HashMap<[u8; 16], usize> = HashMap::new();
    for file in files {
        if !seen.insert(canonical(file)) {
            bail!("{}: is given twice: each file is a separate run", file.display());
        }
        let trace = mpitrace_source::open_trace(std::slice::from_ref(file))?;
        let job = trace.parts.first().with_context(|| format!("{}: has no rank", file.display()))?.info().job;
        if trace.parts.len() < trace.world_size as usize {
            if let Some(&run) = lacking.get(&job) {
                runs[run].push(file.clone());
                continue;
            }
            lacking.insert(job, runs.len());
        }
        runs.push(vec![file.clone()]);
    }
    Ok(runs)
}
