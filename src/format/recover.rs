//! Makes a trace out of the segments that a killed job left in node-local memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use mpitrace_platform::node_files;

use crate::layout::*;
use crate::{TraceError, file, part, segment};

/// A segment whose process has ended.
#[derive(Debug)]
pub struct Leftover {
    /// The file.
    pub path: PathBuf,
    /// When it was last written to, s since 1970.
    pub modified: i64,
    /// What the process knew of itself.
    pub rank: RankHeader,
    map: Mmap,
}

/// What [`recover_job`] did.
#[derive(Debug)]
pub struct Recovered {
    /// The trace.
    pub path: PathBuf,
    /// The ranks in it.
    pub ranks: u32,
    /// The size of the job's MPI_COMM_WORLD.
    pub world_size: u32,
    /// The calls in it.
    pub records: u64,
    /// Segments that cannot be read, and why: they were left where they are.
    pub damaged: Vec<TraceError>,
}

/// The segments in these folders that jobs left behind of which no process lives any more; of the user `uid`, or of
/// any. A folder that does not exist holds none; what is not a segment is passed over.
pub fn leftovers(folders: &[PathBuf], uid: Option<u32>) -> Result<Vec<Leftover>, TraceError> {
    let prefix = uid.map_or_else(|| node_files::ANY_PREFIX.to_owned(), node_files::prefix);
    let mut found = Vec::new();
    let mut living = Vec::new();
    for folder in folders {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(TraceError::io(folder, error)),
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(&prefix) && name.ends_with(node_files::SEGMENT) {
                match look_at(&entry.path()) {
                    Some((leftover, false)) => found.push(leftover),
                    Some((of_living, true)) => living.push(of_living.rank.job),
                    None => {}
                }
            }
        }
    }
    found.retain(|leftover| !living.contains(&leftover.rank.job));
    found.sort_by_key(|leftover| (leftover.rank.job, leftover.rank.rank, leftover.modified));
    Ok(found)
}

/// The jobs that leftovers are of, the one last written to first.
pub fn by_job(leftovers: Vec<Leftover>) -> Vec<Vec<Leftover>> {
    let mut jobs: BTreeMap<[u8; 16], Vec<Leftover>> = BTreeMap::new();
    for leftover in leftovers {
        jobs.entry(leftover.rank.job).or_default().push(leftover);
    }
    let mut jobs: Vec<_> = jobs.into_values().collect();
    jobs.sort_by_key(|job| std::cmp::Reverse(job.iter().map(|leftover| leftover.modified).max()));
    jobs
}

/// Writes the trace of one job and, when it is safe on disk, removes the segments. `None`: the job was killed before
/// any of its ranks had finished `MPI_Init`; the segments are removed.
pub fn recover_job(job: &[Leftover], output: &Path) -> Result<Option<Recovered>, TraceError> {
    let known: Vec<&Leftover> = job.iter().filter(|leftover| leftover.rank.rank != NO_RANK).collect();
    let recovered = match known.first() {
        None => None,
        Some(first) => Some(write(&known, first, output)?),
    };
    let damaged = recovered.iter().flat_map(|recovered| &recovered.damaged);
    let kept: Vec<&Path> = damaged
        .filter_map(|error| match error {
            TraceError::Damaged { path, .. } => Some(path.as_path()),
            _ => None,
        })
        .collect();
    for leftover in job.iter().filter(|leftover| !kept.contains(&leftover.path.as_path())) {
        std::fs::remove_file(&leftover.path).map_err(|error| TraceError::io(&leftover.path, error))?;
    }
    Ok(recovered)
}

fn write(job: &[&Leftover], first: &Leftover, output: &Path) -> Result<Recovered, TraceError> {
    let mut contents: Vec<part::Content<'_>> = Vec::new();
    let mut damaged = Vec::new();
    for leftover in job {
        match segment::read(&leftover.path, &leftover.map, false) {
            // A copy of the same rank's segment, from another folder.
            Ok(content) if contents.last().is_some_and(|last| last.rank.rank == content.rank.rank) => {}
            Ok(content) => contents.push(content),
            Err(error) => damaged.push(error),
        }
    }
    if contents.is_empty() {
        return Err(damaged.swap_remove(0));
    }
    let token: String = first.rank.job.iter().map(|byte| format!("{byte:02x}")).collect();
    let (taken, trace) = file::create_new(output, &token).map_err(|error| TraceError::io(output, error))?;
    let parts = contents.len() as u32;
    let world_size = first.rank.world_size;
    let complete = parts == world_size && contents.iter().all(|content| !content.incomplete);
    let written = (|| {
        let mut offset = file::parts_start(parts);
        for (index, content) in (0..).zip(&contents) {
            let length = content.length();
            let entry = PartEntry { offset, length, rank: content.rank.rank, padding: 0 };
            content.write_at(&trace, offset)?;
            file::write_part_entries(&trace, index, &[entry])?;
            offset += length;
        }
        file::write_header(&trace, first.rank.job, world_size, parts, offset, complete)?;
        file::settle(trace)?;
        file::publish(output, &taken, &token)
    })();
    match written {
        Ok(path) => {
            let records = contents.iter().map(part::Content::records).sum();
            Ok(Recovered { path, ranks: parts, world_size, records, damaged })
        }
        Err(error) => {
            let _ = std::fs::remove_file(file::partial_name(&taken, &token));
            Err(TraceError::io(output, error))
        }
    }
}

/// A segment, and whether its process lives.
fn look_at(path: &Path) -> Option<(Leftover, bool)> {
    let file = File::options().read(true).write(true).open(path).ok()?;
    let metadata = file.metadata().ok()?;
    // SAFETY: read-only and private to this process. Only the header is looked at before it is known that the process
    // that wrote the segment has ended.
    let map = unsafe { Mmap::map(&file) }.ok()?;
    let rank = segment::header(path, &map).ok()?.rank;
    // Asked after the header was found: a process takes the lock before it writes one.
    let lives = is_locked(&file);
    Some((Leftover { path: path.to_owned(), modified: metadata.mtime(), rank, map }, lives))
}

/// Whether a living process holds the lock that it takes on its segment. The lock ends with its process, however that
/// ended, which a process number in the file could not tell across containers.
fn is_locked(file: &File) -> bool {
    // SAFETY: a flock of zeros is a valid value; l_start = l_len = 0 means the whole file.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as _;
    lock.l_whence = libc::SEEK_SET as _;
    // SAFETY: the descriptor is open and `lock` outlives the call.
    let answered = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &raw mut lock) } == 0;
    answered && lock.l_type != libc::F_UNLCK as libc::c_short
}
