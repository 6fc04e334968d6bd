//! Opens a trace: the file is mapped, and its blocks are decoded as they are asked for.
//!
//! Nothing is believed before it is checked: magic, version, checksums, every offset against the bytes there are, and
//! every index in a table. A trace whose frame is damaged is refused; of one whose parts are partly damaged the whole
//! parts are used, and the trace counts as incomplete.

mod blocks;
mod decoded;
mod derived;
mod messages;
mod opening;
mod part;
#[cfg(test)]
mod shapes_tests;
#[cfg(test)]
mod tests;
mod thread_runs;
#[cfg(test)]
mod untrusted_tests;
mod values;

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use mpitrace_format::TraceError;
use mpitrace_format::layout::{FileHeader, state};

use decoded::Budget;

pub use blocks::Records;
pub use derived::ThreadRun;
pub use messages::MessageRecord;
pub use part::Part;
pub use values::{Column, Cursor, Request};

/// A run's trace: the parts of its ranks.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// # mpitrace_testing::synthetic::write_example(&path)?;
/// use mpitrace_trace::reader::Trace;
///
/// let trace = Trace::open(&[&path])?;
/// assert_eq!((trace.world_size, trace.complete, trace.problems.len()), (2, true, 0));
/// assert_eq!((trace.records(), trace.dropped(), trace.lost()), (22, 0, 0));
/// // The file is given twice, and then is no trace.
/// assert!(Trace::open(&[&path, &path]).is_err());
/// std::fs::write(&path, "text")?;
/// assert!(Trace::open(&[&path]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Trace {
    /// In the order of their ranks.
    pub parts: Vec<Part>,
    /// The size of MPI_COMM_WORLD.
    pub world_size: u32,
    /// True if every rank reached `MPI_Finalize` and every part is here and whole.
    pub complete: bool,
    /// The ranks that are not in it, in order: ranges, since a damaged trace may lack millions.
    pub missing: Vec<Range<u32>>,
    /// The problems of an incomplete trace, a line each.
    pub problems: Vec<String>,
}

impl Trace {
    /// Opens the file, or the files where one run left several: their parts are joined.
    ///
    /// # Errors
    /// A file that is no trace or cannot be read, files of different runs, a file or a rank that is there twice.
    pub fn open<P: AsRef<Path>>(paths: &[P]) -> Result<Trace, TraceError> {
        let mut parts: Vec<Part> = Vec::new();
        let mut problems = Vec::new();
        let budget = Budget::default();
        let mut first: Option<(PathBuf, FileHeader)> = None;
        let mut complete = true;
        // The file of each rank, by its index.
        let mut known: HashMap<u32, usize> = HashMap::new();
        for (index, path) in paths.iter().enumerate() {
            let path = path.as_ref();
            let (header, found) = opening::open_file(path, &budget, &mut problems)?;
            match &first {
                Some((first, expected)) if (expected.job, expected.world_size) != (header.job, header.world_size) => {
                    return Err(TraceError::Foreign { path: path.to_owned(), first: first.clone() });
                }
                Some(_) => {}
                None => first = Some((path.to_owned(), header)),
            }
            // A file that lacks ranks is no complete trace by itself; together they may be one.
            complete &= header.complete != 0 || header.parts < header.world_size;
            for part in found {
                if let Some(earlier) = known.insert(part.rank(), index) {
                    let earlier = paths[earlier].as_ref().display();
                    return Err(TraceError::damaged(path, format!("rank {} is in {earlier} too", part.rank())));
                }
                parts.push(part);
            }
        }
        // Where one file has no rank that can be read, the others are shown.
        if let (Some((path, _)), true, Some(what)) = (&first, parts.is_empty(), problems.first()) {
            return Err(TraceError::damaged(path, format!("no rank can be read ({what})")));
        }
        let world_size = first.map_or(0, |(_, header)| header.world_size);
        parts.sort_by_key(Part::rank);
        let mut missing: Vec<Range<u32>> = Vec::new();
        let mut next = 0;
        for rank in parts.iter().map(Part::rank).chain([world_size]) {
            missing.push(next..rank.min(world_size));
            next = rank.saturating_add(1);
        }
        missing.retain(|range| !range.is_empty());
        if !missing.is_empty() {
            problems.push(format!("{} of {world_size} left nothing in this trace", named_ranks(&missing)));
        }
        for (what, states) in ENDS {
            let ended_so = |part: &&Part| part.incomplete() && states.contains(&part.info().state);
            let ranks: Vec<u32> = parts.iter().filter(ended_so).map(Part::rank).collect();
            let ranges = ranks.chunk_by(|before, after| before + 1 == *after);
            let ranges: Vec<Range<u32>> = ranges.map(|range| range[0]..range[range.len() - 1] + 1).collect();
            if !ranges.is_empty() {
                problems.push(format!("{} {what}", named_ranks(&ranges)));
            }
        }
        complete &= problems.is_empty();
        Ok(Trace { parts, world_size, missing, complete, problems })
    }

    /// Calls kept on all ranks.
    pub fn records(&self) -> u64 {
        self.parts.iter().map(|part| part.header.records).sum()
    }

    /// True if a rank made more calls than it has records.
    pub(crate) fn lacks_calls(&self) -> bool {
        let calls = |part: &Part| part.operations().iter().fold(0u64, |sum, entry| sum.saturating_add(entry.calls));
        self.parts.iter().any(|part| calls(part) > part.header.records)
    }

    /// Calls whose records were lost when their process was killed, on all ranks ([`Part::lost`]).
    pub fn lost(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.lost()))
    }

    /// Calls not kept since the arrays were full, on all ranks.
    pub fn dropped(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.dropped()))
    }
}

/// How ranks that left an incomplete part have ended, by how far they got.
const ENDS: [(&str, &[u32]); 6] = [
    ("did not leave MPI_Init", &[state::STARTING]),
    ("did not reach MPI_Finalize", &[state::RUNNING, state::SESSION]),
    ("waited in MPI_Finalize", &[state::FINALIZING]),
    ("called MPI_Abort", &[state::ABORTED]),
    ("lost records", &[state::FINALIZED]),
    ("ran out of memory", &[state::OUT_OF_MEMORY]),
];

/// `rank 3`, `ranks 0-3, 5`; the ranges are in order, none empty.
fn named_ranks(ranges: &[Range<u32>]) -> String {
    let named = |range: &Range<u32>| match range.len() {
        1 => range.start.to_string(),
        _ => format!("{}-{}", range.start, range.end - 1),
    };
    let one = ranges.iter().map(ExactSizeIterator::len).sum::<usize>() == 1;
    format!("{} {}", if one { "rank" } else { "ranks" }, ranges.iter().map(named).collect::<Vec<_>>().join(", "))
}
