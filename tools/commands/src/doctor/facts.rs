//! The results of `doctor`.

use std::ffi::OsStr;
use std::path::PathBuf;

use anyhow::Result;
use mpitrace_job::mpi::{self, Family, Request, Setup};
use serde::Serialize;

use super::clock::Clock;
use super::counters::Counters;

#[derive(Debug, Serialize)]
pub struct Facts {
    pub works: bool,
    pub reason: Option<String>,
    /// The library that `run` preloads; null where there is none.
    pub tracer: Option<PathBuf>,
    /// The MPI libraries, the one that belongs to the first compiler or launcher on the PATH first.
    pub mpi: Vec<Mpi>,
    pub clock: Clock,
    pub counters: Counters,
    /// LD_PRELOAD as it is set here.
    pub preloaded: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Mpi {
    pub path: PathBuf,
    pub library: String,
    pub abi: Option<Family>,
    /// True if its calls are traced; null where a process by itself cannot use it, traced or not.
    pub traced: Option<bool>,
    pub problem: Option<String>,
}

const FEW: Request = Request { turns: 1, calls: 10 };

impl Facts {
    /// Finds out. `tracer` is the library that `run` preloads, or why there is none.
    pub fn find(tracer: Result<&OsStr, String>, libraries: Vec<PathBuf>) -> Result<Facts> {
        let mpi = libraries.into_iter().map(|path| Mpi::new(path, tracer.as_ref().ok().copied()));
        let mpi: Vec<Mpi> = mpi.collect::<Result<_>>()?;
        let failed = mpi.iter().find(|mpi| mpi.traced == Some(false));
        let reason = match (&tracer, failed) {
            (Err(reason), _) => Some(reason.clone()),
            (Ok(_), _) if mpi.is_empty() => {
                Some("no MPI library was found: put its mpirun on the PATH, or name the library with --mpi".to_owned())
            }
            (Ok(_), Some(mpi)) => {
                let problem = mpi.problem.as_deref().unwrap_or_default();
                Some(format!("calls of {} are not traced: {problem}", mpi.path.display()))
            }
            // Not one of them can be loaded.
            (Ok(_), None) if mpi.iter().all(|mpi| mpi.abi.is_none()) => mpi.first().map(|mpi| {
                let problem = mpi.problem.as_deref().unwrap_or_default();
                format!("{} cannot be used: {problem}", mpi.path.display())
            }),
            (Ok(_), None) => None,
        };
        Ok(Facts {
            works: reason.is_none(),
            reason,
            mpi,
            clock: Clock::of_machine(),
            counters: Counters::of_machine(),
            preloaded: preloaded(),
            tracer: tracer.ok().map(PathBuf::from),
        })
    }
}

impl Mpi {
    fn new(path: PathBuf, tracer: Option<&OsStr>) -> Result<Mpi> {
        let ending = mpi::about(&path)?;
        let about = ending.answer.unwrap_or_default();
        let mut problem = about.not_loaded.clone().or(ending.failure);
        let mut traced = None;
        if let Some(tracer) = tracer
            && about.not_loaded.is_none()
        {
            let setup = Setup { tracer: Some(tracer), library: &path, launcher: &[], events: None, request: FEW };
            match setup.run()?.times {
                Ok(_) => (traced, problem) = (Some(true), None),
                // The same without the tracer tells whose fault it is.
                Err(failure) => match (Setup { tracer: None, ..setup }).run()?.times {
                    Ok(_) => (traced, problem) = (Some(false), Some(failure)),
                    Err(failure) => {
                        problem = Some(format!("a process by itself, without a launcher, cannot use it: {failure}"));
                    }
                },
            }
        }
        Ok(Mpi { path, library: about.name(), abi: about.abi, traced, problem })
    }
}

/// The libraries in LD_PRELOAD; the loader splits it at blanks and colons.
fn preloaded() -> Vec<String> {
    let value = std::env::var("LD_PRELOAD").unwrap_or_default();
    value.split([' ', ':']).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
