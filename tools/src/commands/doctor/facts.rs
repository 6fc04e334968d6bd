//! The results of `doctor`.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;

use super::clock::Clock;
use super::counters::Counters;
use super::interruptions::Interruptions;
use crate::mpi::{self, Family, Installed, Performance, Request, Setup};

/// All of it.
#[derive(Debug, Serialize)]
pub struct Facts {
    /// False where tracing is known not to work.
    pub works: bool,
    /// Why it does not.
    pub reason: Option<String>,
    /// The library that `run` preloads; null where there is none.
    pub tracer: Option<PathBuf>,
    /// The MPI libraries, the one that belongs to the first compiler or launcher on the PATH first.
    pub mpi: Vec<Mpi>,
    /// The clock.
    pub clock: Clock,
    /// The kernel's counters.
    pub counters: Counters,
    /// The detection of interruptions of calls.
    pub interruptions: Interruptions,
    /// Where the trace buffers lie.
    pub memory: Option<Memory>,
    /// LD_PRELOAD as it is set here.
    pub preloaded: Vec<String>,
    /// Other libraries named libmpitrace.so where the loader looks for libraries.
    pub namesakes: Vec<PathBuf>,
}

/// An MPI library.
#[derive(Debug, Serialize)]
pub struct Mpi {
    /// Its file, and what led there.
    #[serde(flatten)]
    pub installed: Installed,
    /// Its own name and version.
    pub library: String,
    /// Its family.
    pub abi: Option<Family>,
    /// True if its calls are traced; null where a process by itself cannot use it, traced or not.
    pub traced: Option<bool>,
    /// The problem with it, or with tracing it.
    pub problem: Option<String>,
    /// True if MPI_T can be initialised.
    pub tool_interface: bool,
    /// Its performance variables.
    pub performance_variables: Vec<Performance>,
}

/// A folder in memory.
#[derive(Debug, Serialize)]
pub struct Memory {
    /// The folder.
    pub folder: PathBuf,
    /// Its size, bytes.
    pub bytes: u64,
    /// Free bytes.
    pub free_bytes: u64,
}

/// How many calls show whether tracing works.
const FEW: Request = Request { turns: 1, calls: 10 };

impl Facts {
    /// Finds out. `tracer` is the library that `run` preloads, or why there is none.
    ///
    /// # Errors
    /// No temporary folder.
    pub fn find(tracer: Result<&OsStr, String>, libraries: Vec<Installed>) -> Result<Facts> {
        let mpi = libraries.into_iter().map(|installed| Mpi::new(installed, tracer.as_ref().ok().copied()));
        let mpi: Vec<Mpi> = mpi.collect::<Result<_>>()?;
        let failed = mpi.iter().find(|mpi| mpi.traced == Some(false));
        let reason = match (&tracer, failed) {
            (Err(reason), _) => Some(reason.clone()),
            (Ok(_), _) if mpi.is_empty() => {
                Some("no MPI library was found: put its mpirun on the PATH, or name the library with --mpi".to_owned())
            }
            (Ok(_), Some(mpi)) => {
                let problem = mpi.problem.as_deref().unwrap_or_default();
                Some(format!("calls of {} are not traced: {problem}", mpi.installed.path.display()))
            }
            // Not one of them can be loaded.
            (Ok(_), None) if mpi.iter().all(|mpi| mpi.abi.is_none()) => mpi.first().map(|mpi| {
                let problem = mpi.problem.as_deref().unwrap_or_default();
                format!("{} cannot be used: {problem}", mpi.installed.path.display())
            }),
            (Ok(_), None) => None,
        };
        let tracer = tracer.ok().map(PathBuf::from);
        Ok(Facts {
            works: reason.is_none(),
            reason,
            mpi,
            clock: Clock::of_machine(),
            counters: Counters::of_machine(),
            interruptions: Interruptions::of_machine(),
            memory: memory(),
            preloaded: preloaded(),
            namesakes: mpi::cached_namesakes(tracer.as_deref()),
            tracer,
        })
    }
}

impl Mpi {
    fn new(installed: Installed, tracer: Option<&OsStr>) -> Result<Mpi> {
        let ending = mpi::about(&installed.path)?;
        let about = ending.answer.unwrap_or_default();
        let mut problem = about.not_loaded.clone().or(ending.failure);
        let mut traced = None;
        if let Some(tracer) = tracer
            && about.not_loaded.is_none()
        {
            let setup =
                Setup { tracer: Some(tracer), library: &installed.path, launcher: &[], events: None, request: FEW };
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
        Ok(Mpi {
            library: about.name(),
            abi: about.abi,
            traced,
            problem,
            tool_interface: about.tool_interface,
            performance_variables: about.performance,
            installed,
        })
    }
}

/// The folder that the trace buffers go to: what MPITRACE_SEGMENT_DIR names, else /dev/shm.
fn live_folder() -> PathBuf {
    let folder = std::env::var_os("MPITRACE_SEGMENT_DIR").filter(|folder| !folder.is_empty());
    folder.map_or_else(|| PathBuf::from("/dev/shm"), PathBuf::from)
}

fn memory() -> Option<Memory> {
    let folder = live_folder();
    let (bytes, free_bytes) = size_and_free(&folder)?;
    Some(Memory { folder, bytes, free_bytes })
}

/// Bytes of the file system of a folder, and those that this user may take.
fn size_and_free(folder: &Path) -> Option<(u64, u64)> {
    let path = CString::new(folder.as_os_str().as_bytes()).ok()?;
    // SAFETY: zeros are a valid statvfs.
    let mut system: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path is a C string, and the structure outlives the call.
    let result = unsafe { libc::statvfs(path.as_ptr(), &raw mut system) };
    (result == 0).then(|| (system.f_blocks * system.f_frsize, system.f_bavail * system.f_frsize))
}

/// The libraries in LD_PRELOAD; the loader splits it at blanks and colons.
fn preloaded() -> Vec<String> {
    let value = std::env::var("LD_PRELOAD").unwrap_or_default();
    value.split([' ', ':']).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
