//! Whether a job on the nodes of this allocation gives a trace: asked of the nodes, and tried with two ranks.

mod batch_system;
mod launchers;
mod node;
pub mod page;
pub mod rank;

use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, Result};
use mpitrace::clock::Clock;
use mpitrace::reader::Trace;
use serde::Serialize;

use crate::mpi::{Family, Said, child};
use node::{Node, Wanted};

/// A launcher starts a job within seconds; beyond this the allocation is not free.
const LIMIT: Duration = Duration::from_secs(60);
/// Calls that each rank makes.
const CALLS: u32 = 10;
/// Clocks of two nodes that differ by more are worth a line.
const APART_S: i64 = 2;

/// What was found.
#[derive(Debug, Serialize)]
pub struct Allocation {
    /// The batch system; null: a launcher was named without one.
    pub system: Option<&'static str>,
    /// The job's number.
    pub job: Option<String>,
    /// How many nodes the job has, where the batch system says it.
    pub job_nodes: Option<usize>,
    /// Where the trace would go.
    pub folder: PathBuf,
    /// The launchers that were tried.
    pub launchers: Vec<Tried>,
}

/// A launcher that was tried.
#[derive(Debug, Serialize)]
pub struct Tried {
    /// Its command line, up to the program.
    pub command: String,
    /// What it reaches.
    pub nodes: Vec<Node>,
    /// The trace of two ranks; null: there is none.
    pub trace: Option<Found>,
    /// Why there is no trace of all ranks, and what to do.
    pub problem: Option<String>,
}

/// A trace of two ranks.
#[derive(Debug, Serialize)]
pub struct Found {
    pub ranks: u32,
    pub hosts: Vec<String>,
    /// Clock domains, and how they were synchronised.
    pub clock_domains: usize,
    pub clock_method: &'static str,
}

/// With what it is tried.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'s> {
    pub tracer: &'s OsStr,
    pub library: &'s Path,
    pub family: Family,
    /// The launcher that the user named; empty: those that belong to the batch system and to the library.
    pub launcher: &'s [OsString],
    /// The folder of the trace buffers.
    pub live: &'s Path,
}

impl Allocation {
    /// Tries it. `None`: this is no batch job, and no launcher was named.
    ///
    /// # Errors
    /// No folder for the trace, or no temporary folder.
    pub fn find(setup: &Setup<'_>) -> Result<Option<Allocation>> {
        let job = batch_system::find();
        if job.is_none() && setup.launcher.is_empty() {
            return Ok(None);
        }
        let launchers = match setup.launcher {
            [] => launchers::all(job.as_ref(), setup.library, setup.family),
            named => vec![named.to_vec()],
        };
        let folder = output_folder()?;
        let tried: Vec<Tried> =
            launchers.iter().map(|launcher| setup.attempt(launcher, &folder)).collect::<Result<_>>()?;
        Ok(Some(Allocation {
            system: job.as_ref().map(|job| job.system.name()),
            job_nodes: job.as_ref().and_then(|job| job.nodes),
            job: job.map(|job| job.job),
            folder,
            launchers: tried,
        }))
    }

    /// Why no launcher gives a trace; `None`: one of them does.
    pub fn problem(&self) -> Option<String> {
        match self.launchers.iter().find_map(|tried| tried.problem.as_ref().map(|problem| (tried, problem))) {
            _ if self.launchers.iter().any(|tried| tried.trace.is_some()) => None,
            Some((tried, problem)) => Some(format!("{}: {problem}", tried.command)),
            None => Some("no launcher was found for this allocation: name one behind --".to_owned()),
        }
    }
}

impl Setup<'_> {
    fn attempt(&self, launcher: &[OsString], folder: &Path) -> Result<Tried> {
        let mut tried = self.attempt_once(launcher, folder)?;
        // Slurm serves each family of libraries by another interface, and has one as the default.
        let names_interface = launcher.iter().any(|word| word.as_encoded_bytes().starts_with(b"--mpi"));
        let is_srun = launcher.first().is_some_and(|word| word == "srun") && !names_interface;
        if tried.trace.is_none() && is_srun && tried.is_about_ranks() {
            for interface in interfaces() {
                let mut other = launcher.to_vec();
                other.insert(1, format!("--mpi={interface}").into());
                let again = self.attempt_once(&other, folder)?;
                if again.trace.is_some() {
                    tried = again;
                    break;
                }
            }
        }
        Ok(tried)
    }

    fn attempt_once(&self, launcher: &[OsString], folder: &Path) -> Result<Tried> {
        let companion = std::env::current_exe().context("cannot find the file of this program")?;
        let words: Vec<String> = launcher.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let mut tried = Tried { command: words.join(" "), nodes: Vec::new(), trace: None, problem: None };
        let shared = match tempfile::Builder::new().prefix("mpitrace-doctor-").tempdir_in(folder) {
            Ok(shared) => shared,
            Err(error) => {
                let folder = folder.display();
                let problem = format!("this host cannot write to {folder}, where the trace goes ({error})");
                tried.problem = Some(format!("{problem}: name another folder with MPITRACE_OUTPUT"));
                return Ok(tried);
            }
        };
        let token = format!("{:016x}", RandomState::new().hash_one(std::process::id()));
        std::fs::write(shared.path().join("token"), &token).with_context(|| shared.path().display().to_string())?;
        let wanted = Wanted {
            tracer: Path::new(self.tracer),
            companion: &companion,
            mpi: self.library,
            folder: shared.path(),
            token: &token,
            live: self.live,
        };
        let began = seconds();
        let asked = launch(launcher, &node::command(&wanted))?;
        tried.nodes = node::all(&asked.stdout, began, seconds());
        tried.problem = tried.nodes.iter().find_map(|node| node.problem(&wanted));
        if tried.nodes.is_empty() {
            tried.problem = Some(asked.failure.unwrap_or_else(|| "it started nothing".to_owned()));
        }
        if tried.problem.is_none() {
            match self.ranks(launcher, &companion, shared.path())? {
                Ok(found) => tried.trace = Some(found),
                Err(problem) => tried.problem = Some(problem),
            }
        }
        Ok(tried)
    }

    /// Two ranks, traced; the error says why there is no trace of both.
    fn ranks(&self, launcher: &[OsString], companion: &Path, folder: &Path) -> Result<Result<Found, String>> {
        let trace = folder.join("trial.mpitrace");
        let assignment = |name: &str, value: &OsStr| [OsStr::new(name), value].into_iter().collect::<OsString>();
        // Every launcher starts env, and so the variables reach the ranks and not the launcher itself.
        let program: Vec<OsString> = vec![
            "env".into(),
            assignment("LD_PRELOAD=", self.tracer),
            assignment("MPITRACE_OUTPUT=", trace.as_os_str()),
            assignment("MPITRACE_SEGMENT_DIR=", self.live.as_os_str()),
            companion.into(),
            child::RANKS.into(),
            self.library.into(),
            "--calls".into(),
            CALLS.to_string().into(),
        ];
        let ran = launch(launcher, &program)?;
        let said = Said::all(&ran.stdout);
        if let Some(failure) = ran.failure {
            return Ok(Err(format!("two of its ranks fail: {failure}")));
        }
        if said.is_empty() {
            return Ok(Err("two of its ranks printed nothing".to_owned()));
        }
        if said.iter().any(|said| said.size == 1) {
            let number = said.len();
            return Ok(Err(format!(
                "it starts {number} jobs of one rank each: it does not serve this MPI library (srun --mpi=list shows \
                 what Slurm serves)"
            )));
        }
        if !said.iter().all(|said| said.intercepted) {
            return Ok(Err("the loader does not preload the tracer into its ranks".to_owned()));
        }
        let opened = match Trace::open(std::slice::from_ref(&trace)) {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(format!("no trace of both ranks: {error}; {}", last_word(&ran.stderr)))),
        };
        if !opened.complete || opened.records() != u64::from(CALLS) * u64::from(opened.world_size) {
            return Ok(Err(format!("the trace of two ranks is incomplete: {}", opened.problems.join(", "))));
        }
        let clock = Clock::of(&opened);
        let mut hosts: Vec<String> = Vec::new();
        for part in &opened.parts {
            let host = mpitrace_format::metadata::get(&part.metadata(), "host").unwrap_or_default().to_owned();
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        Ok(Ok(Found {
            ranks: opened.world_size,
            hosts,
            clock_domains: clock.domains.len(),
            clock_method: clock.method.name(),
        }))
    }
}

impl Tried {
    /// Whether the nodes were reached and have all that is needed.
    fn is_about_ranks(&self) -> bool {
        self.nodes.iter().all(|node| node.tracer && node.companion && node.mpi && node.shared && node.writable)
            && !self.nodes.is_empty()
    }
}

/// Runs a program by a launcher, in a folder that each node has.
fn launch(launcher: &[OsString], program: &[OsString]) -> Result<child::Finished> {
    let folder = tempfile::Builder::new().prefix("mpitrace-launch-").tempdir().context("no temporary folder")?;
    child::run(&[launcher, program].concat(), &[], folder.path(), Path::new("/"), LIMIT)
}

/// The folder of MPITRACE_OUTPUT, else the working directory.
fn output_folder() -> Result<PathBuf> {
    let named = std::env::var_os("MPITRACE_OUTPUT").filter(|name| !name.is_empty()).map(PathBuf::from);
    let folder = named.as_deref().and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.map_or_else(std::env::current_dir, std::path::absolute)?;
    anyhow::ensure!(folder.is_dir(), "{}: no such folder, where MPITRACE_OUTPUT puts the trace", folder.display());
    Ok(folder)
}

/// The interfaces for MPI libraries that Slurm has here.
fn interfaces() -> Vec<&'static str> {
    let listed = Command::new("srun").arg("--mpi=list").output();
    let listed = listed.map(|listed| [listed.stdout, listed.stderr].concat()).unwrap_or_default();
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let has = |name: &str| listed.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == name);
    ["pmix", "pmi2"].into_iter().filter(|name| has(name)).collect()
}

/// The last line of the tracer.
fn last_word(stderr: &str) -> &str {
    stderr.lines().rfind(|line| line.starts_with("mpitrace: ")).unwrap_or("the tracer printed nothing")
}

fn seconds() -> i64 {
    UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() as i64)
}
