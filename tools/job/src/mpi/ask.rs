//! The child that asks a library what it is and what it offers. It answers in steps, so that what was found out before
//! a crash or an exit of the library is kept.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::abi::Family;
use super::child::{Ending, LIMIT, child};
use super::library::{Finalize, Init, Library};
use super::variables::{Performance, performance};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct About {
    /// Why it cannot be loaded, or is of no use then.
    pub not_loaded: Option<String>,
    pub abi: Option<Family>,
    pub version: Option<String>,
    /// Its performance variables after MPI_Init of a process by itself, without a launcher.
    pub performance: Vec<Performance>,
}

impl About {
    /// The first line of its version, without what fills it up; empty where it does not tell.
    pub fn name(&self) -> String {
        let line = self.version.as_deref().unwrap_or_default().lines().next().unwrap_or_default();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// Asks the library at `path` in a child process.
pub fn about(path: &Path) -> Result<Ending<About>> {
    let folder = tempfile::Builder::new().prefix("mpitrace-probe-").tempdir().context("no temporary folder")?;
    child::<About>(&[], path, &[], &[], folder.path(), LIMIT)
}

/// Asks the library and writes what it answers to a file after each step. (MPI_T is asked after MPI_Init: MPI_Init
/// after it ends Open MPI 4.1.4 with a segmentation fault.)
pub fn ask(path: &Path, answer: &Path) -> Result<()> {
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
    // SAFETY: MPI_Init may be given two null pointers.
    let runs_alone = init.is_some_and(|init| unsafe { init(std::ptr::null_mut(), std::ptr::null_mut()) } == 0);
    about.performance = performance(&library, family);
    write(&about)?;
    if let Some(finalize) = finalize.filter(|_| runs_alone) {
        // SAFETY: MPI is initialised, and not used afterwards.
        unsafe { finalize() };
    }
    Ok(())
}
