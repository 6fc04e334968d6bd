//! How a job is started with the tracer in its ranks, and in nothing but its ranks where the launcher can do that.

mod flavour;
mod library;
mod rewrite;
mod slurm;
mod words;

pub use flavour::{Flavour, ask, find};
pub use library::locate;
pub use rewrite::job;

use std::ffi::{OsStr, OsString};

const PRELOAD: &str = "LD_PRELOAD";

/// The environment by which the ranks of a job are traced.
#[derive(Clone, Debug)]
pub struct Tracer {
    /// The path of libmpitrace.so.
    pub library: OsString,
    /// The value of LD_PRELOAD in the environment of `mpitrace` itself, which the library is added to.
    pub preloaded: Option<OsString>,
    /// Further variables of the ranks: names and values.
    pub variables: Vec<(OsString, OsString)>,
    /// The value of SLURM_EXPORT_ENV, which srun exports where it is not told otherwise.
    pub slurm_export: Option<OsString>,
}

impl Tracer {
    /// The value of LD_PRELOAD: the tracer before all else, so that it sees the calls that other tools see.
    fn preload(&self) -> OsString {
        self.preload_before(self.preloaded.as_deref())
    }

    fn preload_before(&self, others: Option<&OsStr>) -> OsString {
        let mut value = self.library.clone();
        if let Some(others) = others.filter(|others| !others.is_empty() && *others != self.library) {
            value.push(":");
            value.push(others);
        }
        value
    }
}
