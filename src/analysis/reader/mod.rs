//! Opens a trace, in place: the file is mapped and its columns are used where they lie.
//!
//! Nothing is believed before it is checked: magic, version, checksums, every offset against the bytes there are, and
//! every index in a table. A trace whose frame is damaged is refused; of one whose parts are partly damaged the whole
//! parts are used, and the trace counts as incomplete.

mod opening;
mod part;

use std::path::{Path, PathBuf};

use mpitrace_format::TraceError;
use mpitrace_format::layout::{FileHeader, state};

pub use part::{Part, Requests};

/// A run's trace: the parts of its ranks.
#[derive(Debug)]
pub struct Trace {
    /// In the order of their ranks.
    pub parts: Vec<Part>,
    /// The size of MPI_COMM_WORLD.
    pub world_size: u32,
    /// Whether every rank reached `MPI_Finalize` and every part is here and whole.
    pub complete: bool,
    /// What is wrong with an incomplete trace, a line each.
    pub problems: Vec<String>,
}
impl Trace {
    /// Opens the file, or the files where one run left several.
    pub fn open<P: AsRef<Path>>(paths: &[P]) -> Result<Trace, TraceError> {
        let mut parts: Vec<Part> = Vec::new();
        let mut problems = Vec::new();
        let mut first: Option<(PathBuf, FileHeader)> = None;
        let mut complete = true;
        for path in paths {
            let path = path.as_ref();
            let (header, found) = opening::open_file(path, &mut problems)?;
            match &first {
                Some((first, expected)) if expected.job != header.job => {
                    return Err(TraceError::Foreign { path: path.to_owned(), first: first.clone() });
                }
                Some(_) => {}
                None => first = Some((path.to_owned(), header)),
            }
            complete &= header.complete != 0;
            for part in found {
                if parts.iter().any(|other| other.rank() == part.rank()) {
                    return Err(TraceError::damaged(path, format!("rank {} comes a second time", part.rank())));
                }
                parts.push(part);
            }
        }
        let world_size = first.map_or(0, |(_, header)| header.world_size);
        parts.sort_by_key(Part::rank);
        for part in &parts {
            if part.incomplete() {
                let how = if part.header.rank.state == state::ABORTED {
                    "called MPI_Abort"
                } else {
                    "did not reach MPI_Finalize"
                };
                problems.push(format!("rank {} {how}", part.rank()));
            }
        }
        let missing = u64::from(world_size) - (parts.len() as u64).min(u64::from(world_size));
        if missing > 0 {
            problems.push(format!("{missing} of {world_size} ranks have left nothing in this trace"));
        }
        complete &= problems.is_empty();
        Ok(Trace { parts, world_size, complete, problems })
    }

    /// Calls kept on all ranks.
    pub fn records(&self) -> u64 {
        self.parts.iter().map(|part| part.header.records).sum()
    }

    /// Calls not kept since the arrays were full, on all ranks.
    pub fn dropped(&self) -> u64 {
        self.parts.iter().map(Part::dropped).sum()
    }
}
