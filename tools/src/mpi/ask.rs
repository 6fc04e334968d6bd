//! The child that asks a library what it is and what it offers. It answers in steps, so that what was found out before
//! a crash or an exit of the library is kept.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::abi::Family;
use super::child::{Ending, child};
use super::library::{Finalize, Init, Library};
use super::variables::{Performance, ToolInterface};

/// The answer of a library.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct About {
    /// Why it cannot be loaded, or is of no use then.
    pub not_loaded: Option<String>,
    /// Its family.
    pub abi: Option<Family>,
    /// Its name and version.
    pub version: Option<String>,
    /// True if a process by itself, without a launcher, came through MPI_Init.
    pub runs_alone: bool,
    /// True if MPI_T can be initialised.
    pub tool_interface: bool,
    /// Its performance variables: after MPI_Init where that works, else before.
    pub performance: Vec<Performance>,
}

impl About {
    /// The first line of its version, without what fills it up; empty where it does not tell.
    pub fn name(&self) -> String {
        let line = self.version.as_deref().unwrap_or_default().lines().next().unwrap_or_default();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// MPI_Init of a process by itself takes less than 2 s wherever it works.
const LIMIT: Duration = Duration::from_secs(30);

/// The option with which the child calls MPI_Init.
const INIT: &str = "--init";

/// Asks the library at `path` in a child process: after MPI_Init, and where that does not work without. (MPI_T before
/// MPI_Init, and MPI_Init after it, ends Open MPI 4.1.4 with a segmentation fault, so one process does not do both.)
///
/// # Errors
/// No temporary folder.
pub fn about(path: &Path) -> Result<Ending<About>> {
    let folder = tempfile::Builder::new().prefix("mpitrace-probe-").tempdir().context("no temporary folder")?;
    let ask = |options: &[OsString]| child::<About>(&[], path, options, &[], folder.path(), LIMIT);
    let ending = ask(&[INIT.into()])?;
    if ending.answer.as_ref().is_some_and(|about| about.runs_alone || about.not_loaded.is_some()) {
        return Ok(ending);
    }
    let before = ask(&[])?;
    Ok(Ending { answer: before.answer.or(ending.answer), failure: ending.failure.or(before.failure), ..ending })
}

/// Asks the library, with MPI_Init or without, and writes what it answers to a file after each step.
///
/// # Errors
/// The file cannot be written.
pub fn ask(path: &Path, initialise: bool, answer: &Path) -> Result<()> {
    let write = |about: &About| -> Result<()> {
        fs::write(answer, serde_json::to_vec(about)?).with_context(|| answer.display().to_string())
    };
    let mut about = About::default();
    let library = match Library::open(path) {
        Ok(library) if library.symbol(c"MPI_Init").is_some() => library,
        Ok(_) => {
            about.not_loaded = Some("it is no MPI library: it has no MPI_Init".to_owned());
            return write(&about);
        }
        Err(error) => {
            about.not_loaded = Some(error);
            return write(&about);
        }
    };
    let family = Family::new(&library);
    about.abi = Some(family);
    write(&about)?;
    about.version = library.version();
    write(&about)?;
    // SAFETY: these are the functions' types.
    let (init, finalize): (Option<Init>, Option<Finalize>) =
        unsafe { (library.function(c"MPI_Init"), library.function(c"MPI_Finalize")) };
    if initialise {
        // SAFETY: MPI_Init may be given two null pointers.
        about.runs_alone = init.is_some_and(|init| unsafe { init(std::ptr::null_mut(), std::ptr::null_mut()) } == 0);
        write(&about)?;
    }
    if let Some(tools) = ToolInterface::start(&library, family) {
        about.tool_interface = true;
        about.performance = tools.performance();
        write(&about)?;
    }
    if let Some(finalize) = finalize.filter(|_| about.runs_alone) {
        // SAFETY: MPI is initialised, and not used afterwards.
        unsafe { finalize() };
    }
    Ok(())
}
