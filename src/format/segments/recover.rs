//! Makes a trace out of the segments that a killed job left in node-local memory.
//!
//! ```
//! use mpitrace_format::metadata::encode;
//! use mpitrace_format::recover::{by_job, leftovers, publish, recover_job, segments, write_parts};
//! use mpitrace_testing::synthetic::SyntheticRank;
//!
//! let folder = tempfile::tempdir()?;
//! let (folders, output) = ([folder.path().to_owned()], folder.path().join("app.mpitrace"));
//! // No job was killed here: there is nothing to recover, and nothing to remove.
//! let jobs = by_job(leftovers(&folders, None)?);
//! assert!(jobs.is_empty() && recover_job(&[], &output)?.is_none());
//! for segment in segments(&folders, None)? {
//!     assert!(segment.block_files().len() < 9 && segment.content()?.records() > 0);
//!     segment.remove()?;
//! }
//! // The content of a rank becomes a trace.
//! let rank = SyntheticRank::new(0, 1);
//! let metadata = encode(&rank.metadata);
//! let joined = publish(&[rank.content(&metadata)], 1, &output)?;
//! assert_eq!((&joined.path, joined.parts), (&output, 1));
//! let file = tempfile::tempfile()?;
//! write_parts(&file, &[rank.content(&metadata)], 1)?;
//! assert_eq!(file.metadata()?.len(), output.metadata()?.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;

use crate::block_file::BlockFileHeader;
use crate::join::Joined;
use crate::layout::*;
use crate::live::{self, Holder, Segment, now};
use crate::metadata::{self, Metadata};
use crate::{TraceError, file, join, part, segment, token};

/// A segment, in most cases of a process that has ended.
#[derive(Debug)]
pub struct Leftover {
    /// The file.
    pub path: PathBuf,
    /// When it was last written to, s since 1970.
    pub modified: i64,
    /// Memory that it takes, bytes.
    pub bytes: u64,
    /// The facts that the process knew of itself.
    pub rank: RankHeader,
    /// The number that `mpitrace run` gave the job; 0: none.
    pub run: u32,
    /// True if the process still runs: then no more than this may be looked at.
    pub lives: bool,
    /// The entries that the run metadata of the rank gets in addition.
    pub added: Metadata,
    /// When its process ended, where that was seen: of the true clock.
    pub end: Option<Anchor>,
    /// The user that it is of.
    uid: u32,
    map: Mmap,
}

/// The result of [`recover_job`].
#[derive(Debug)]
pub struct Recovered {
    /// The trace.
    pub path: PathBuf,
    /// The ranks that were recovered.
    pub ranks: u32,
    /// The ranks in the trace: those, and those that were recovered on other nodes before.
    pub ranks_in_trace: u32,
    /// The size of the job's MPI_COMM_WORLD.
    pub world_size: u32,
    /// The calls that were recovered.
    pub records: u64,
    /// Segments that cannot be read, and why: they were left where they are.
    pub damaged: Vec<TraceError>,
    /// Block files that segments name and that do not exist.
    pub missing: Vec<PathBuf>,
}

/// The segments in these folders that jobs left behind of which no process lives any more; of the user `uid`, or of
/// any. A folder that does not exist holds none; what is not a segment is passed over.
///
/// # Errors
/// A folder that exists and cannot be read.
pub fn leftovers(folders: &[PathBuf], uid: Option<u32>) -> Result<Vec<Leftover>, TraceError> {
    let mut found = segments(folders, uid)?;
    let living: Vec<[u8; 16]> = found.iter().filter(|found| found.lives).map(|living| living.rank.job).collect();
    found.retain(|leftover| !living.contains(&leftover.rank.job));
    Ok(found)
}

/// All segments in these folders, also those of jobs that still run.
///
/// # Errors
/// A folder that exists and cannot be read.
pub fn segments(folders: &[PathBuf], uid: Option<u32>) -> Result<Vec<Leftover>, TraceError> {
    let mut found = Vec::new();
    for folder in folders {
        match live::paths(folder, uid) {
            Ok(paths) => found.extend(paths.iter().filter_map(|path| look_at(path, uid))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(TraceError::io(folder, error)),
        }
    }
    adopt(&mut found);
    sort(&mut found, |leftover| (leftover.rank.job, leftover.rank.rank.into(), leftover.modified));
    Ok(found)
}

/// Gives ranks that were killed before they agreed on the run's token that of the others.
fn adopt(found: &mut [Leftover]) {
    for index in 0..found.len() {
        let rank = found[index].rank;
        let adopter = found.iter().find(|other| token::joins(&rank, &other.rank)).map(|other| other.rank.job);
        found[index].rank.job = adopter.unwrap_or(rank.job);
    }
}

/// The jobs that leftovers are of, the one last written to first.
///
/// Ranks of a job that was traced in part have a token out of what its launcher calls it, which a later job may be
/// called again: where a rank is there as two processes, the earlier one starts a job of its own.
pub fn by_job(mut leftovers: Vec<Leftover>) -> Vec<Vec<Leftover>> {
    sort(&mut leftovers, |leftover| (leftover.rank.job, leftover.rank.first_anchor.realtime_ns, 0));
    let mut jobs: Vec<Vec<Leftover>> = Vec::new();
    for leftover in leftovers {
        let is_of = |job: &Vec<Leftover>| {
            // Copies of one segment may lie in several folders.
            let process = |of: &Leftover| (of.rank.pid, of.rank.first_anchor);
            let is_same_rank =
                |other: &Leftover| leftover.rank.rank != NO_RANK && leftover.rank.rank == other.rank.rank;
            let other_process = |other: &Leftover| is_same_rank(other) && process(&leftover) != process(other);
            job[0].rank.job == leftover.rank.job && !job.iter().any(other_process)
        };
        match jobs.last_mut().filter(|job| is_of(job)) {
            Some(job) => job.push(leftover),
            None => jobs.push(vec![leftover]),
        }
    }
    jobs.iter_mut()
        .for_each(|job| sort(job, |leftover| (leftover.rank.job, leftover.rank.rank.into(), leftover.modified)));
    let last = |job: &Vec<Leftover>| job.iter().map(|leftover| leftover.modified).max().unwrap_or(0);
    sort(&mut jobs, |job| ([0; 16], 0, -last(job)));
    jobs
}

/// Sorts by keys of one type: the preloaded library has one sort of leftovers and jobs.
fn sort<T>(all: &mut [T], key: impl Fn(&T) -> ([u8; 16], u64, i64)) {
    all.sort_by_cached_key(key);
}

/// Writes the trace of one job and, when it is safe on disk, removes the segments. If `output` is a trace of the same
/// job, as it is where the ranks of another node were recovered before, the ranks are added to it ([`join::publish`]);
/// any other file there stays as it is. `None`: the job was killed before any of its ranks had finished `MPI_Init`; the
/// segments are removed.
///
/// # Errors
/// The trace cannot be written, or no segment can be read; the segments stay.
pub fn recover_job(job: &[Leftover], output: &Path) -> Result<Option<Recovered>, TraceError> {
    let known: Vec<&Leftover> = job.iter().filter(|leftover| leftover.rank.rank != NO_RANK).collect();
    let recovered = if known.is_empty() { None } else { Some(write(&known, output)?) };
    let damaged = recovered.iter().flat_map(|recovered| &recovered.damaged);
    let kept: Vec<&Path> = damaged
        .filter_map(|error| match error {
            TraceError::Damaged { path, .. } => Some(path.as_path()),
            _ => None,
        })
        .collect();
    for leftover in job.iter().filter(|leftover| !kept.contains(&leftover.path.as_path())) {
        leftover.remove()?;
    }
    Ok(recovered)
}

fn write(leftovers: &[&Leftover], output: &Path) -> Result<Recovered, TraceError> {
    let mut contents: Vec<part::Content<'_>> = Vec::new();
    let mut damaged = Vec::new();
    for leftover in leftovers {
        match leftover.content() {
            // A copy of the same rank's segment, from another folder: it may have been made before the end, or have
            // what lay in private memory.
            Ok(content) if contents.last().is_some_and(|last| last.rank.rank == content.rank.rank) => {
                let kept = |content: &part::Content<'_>| (calls_of(content), content.records());
                if let Some(last) = contents.last_mut().filter(|last| kept(last) < kept(&content)) {
                    *last = content;
                }
            }
            Ok(content) if contents.first().is_some_and(|one| one.rank.world_size != content.rank.world_size) => {
                damaged.push(TraceError::damaged(&leftover.path, "has another size of MPI_COMM_WORLD than the others"));
            }
            Ok(content) => {
                let missing = leftover.block_files().iter().filter(|path| !path.exists()).count();
                if content.lost.block_files as usize > missing {
                    damaged.push(leftover.unused_blocks());
                }
                contents.push(content);
            }
            Err(error) => damaged.push(error),
        }
    }
    let Some(&RankHeader { world_size, .. }) = contents.first().map(|content| &content.rank) else {
        return Err(damaged.swap_remove(0));
    };
    let all_metadata: Vec<Option<Vec<u8>>> = contents.iter().map(|content| with_added(content, leftovers)).collect();
    for (content, metadata) in contents.iter_mut().zip(&all_metadata) {
        content.metadata = metadata.as_deref().unwrap_or(content.metadata);
        content.rank.job = leftovers[0].rank.job;
        let of_rank = leftovers.iter().filter(|leftover| leftover.rank.rank == content.rank.rank);
        if let Some((leftover, end)) = of_rank.filter_map(|leftover| Some((leftover, leftover.end?))).next() {
            segment::end_at(&leftover.path, &leftover.map, content, end)?;
        }
    }
    let missing = leftovers.iter().flat_map(|leftover| leftover.block_files()).filter(|path| !path.exists()).collect();
    let joined = publish(&contents, world_size, output).map_err(|error| TraceError::io(output, error))?;
    Ok(Recovered {
        path: joined.path,
        ranks: contents.len() as u32,
        ranks_in_trace: joined.parts,
        world_size,
        records: contents.iter().map(part::Content::records).sum(),
        damaged,
        missing,
    })
}

/// The run metadata of a rank with what is added to it; `None`: nothing is.
fn with_added(content: &part::Content<'_>, leftovers: &[&Leftover]) -> Option<Vec<u8>> {
    let of_rank = || leftovers.iter().filter(|leftover| leftover.rank.rank == content.rank.rank);
    let added = of_rank().map(|leftover| &leftover.added).find(|added| !added.is_empty());
    let is_dated = content.rank.state == state::FINALIZED || of_rank().any(|leftover| leftover.end.is_some());
    let dead_by = (!is_dated).then(|| (metadata::DEAD_BY_NS.to_owned(), since_init(&content.rank).to_string()));
    if added.is_none() && dead_by.is_none() {
        return None;
    }
    let mut all = metadata::decode(content.metadata).unwrap_or_default();
    all.extend(added.into_iter().flatten().cloned().chain(dead_by));
    Some(metadata::encode(&all))
}

/// The time from the entry of MPI_Init to now, ns, or more: where the machine was started again meanwhile the
/// difference of one clock says nothing, where the time of day was set that of the other.
fn since_init(rank: &RankHeader) -> u64 {
    let first = rank.first_anchor;
    let raw = now::nanoseconds(libc::CLOCK_MONOTONIC_RAW).saturating_sub(first.raw_ns);
    raw.max(now::nanoseconds(libc::CLOCK_REALTIME).saturating_sub(first.realtime_ns))
}

/// The collective calls that a rank has begun.
fn calls_of(content: &part::Content<'_>) -> u64 {
    let operations: &[OperationEntry] = bytemuck::try_cast_slice(content.operations).unwrap_or_default();
    operations.iter().map(|operation| operation.calls).fold(0, u64::saturating_add)
}

/// Writes parts of one run into a trace of this name, which may have other parts of it ([`join::publish`]). They are on
/// disk when this returns.
///
/// # Errors
/// The error that the file system reports.
pub fn publish(contents: &[part::Content<'_>], world_size: u32, output: &Path) -> std::io::Result<Joined> {
    let token = join::process_token();
    let partial = file::partial_name(output, &token);
    let mode = file::mode_in(output.parent());
    let create = || File::options().read(true).write(true).create_new(true).mode(mode).open(&partial);
    let written = create().and_then(|trace| {
        write_parts(&trace, contents, world_size)?;
        file::settle(trace)
    });
    let joined = written.and_then(|()| join::publish(&partial, output, &token));
    // After a failure the segments are still there, and hold the same.
    let _ = std::fs::remove_file(&partial);
    joined
}

/// Writes the parts, their table and the header.
///
/// # Errors
/// The file cannot be written.
pub fn write_parts(trace: &File, contents: &[part::Content<'_>], world_size: u32) -> std::io::Result<()> {
    let job = contents.first().map_or([0; 16], |content| content.rank.job);
    let parts = contents.len() as u32;
    let complete = parts == world_size && contents.iter().all(|content| !content.incomplete);
    let mut offset = file::parts_start(world_size.max(parts));
    let mut entries = Vec::with_capacity(contents.len());
    for content in contents {
        let length = content.length();
        content.write_at(trace, offset)?;
        entries.push(PartEntry { offset, length, rank: content.rank.rank, padding: 0 });
        offset += length;
    }
    trace.write_all_at(bytemuck::cast_slice(&entries), file::part_entry_offset(0))?;
    file::write_header(trace, job, world_size, parts, offset, complete)
}

impl Leftover {
    /// The content of the leftover.
    ///
    /// # Errors
    /// It is damaged.
    pub fn content(&self) -> Result<part::Content<'_>, TraceError> {
        let mut files = Vec::new();
        for path in self.block_files() {
            match open_own(&path, self.uid) {
                Ok(file) => files.push((path, Arc::new(file))),
                // What it held is gone; the rest is here.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(self.unreadable(&TraceError::io(&path, error))),
            }
        }
        segment::read_with(&self.path, &self.map, false, files).map_err(|error| match error {
            TraceError::Damaged { ref path, .. } if *path == self.path => error,
            of_block_file => self.unreadable(&of_block_file),
        })
    }

    /// Records that were written to a file cannot be read: it stays where it is, as a damaged segment does.
    fn unreadable(&self, why: &TraceError) -> TraceError {
        TraceError::damaged(&self.path, format!("has a block file that cannot be read: {why}"))
    }

    /// Some of what was written to a file cannot be used now: it stays where it is.
    fn unused_blocks(&self) -> TraceError {
        let what = "lacks tables that records in its block files refer to, for which the folder had no room: those \
                    records are not in the trace";
        TraceError::damaged(&self.path, what)
    }

    /// The files that its records were written to, if any were.
    pub fn block_files(&self) -> Vec<PathBuf> {
        segment::block_files(&self.path, &self.map).unwrap_or_default()
    }

    /// The block files that can be removed: they are this segment's, and its user's.
    fn own_block_files(&self) -> Vec<PathBuf> {
        let is_own = |path: &PathBuf| {
            let Ok(file) = open_own(path, self.uid) else { return false };
            let Ok(header) = segment::header(&self.path, &self.map) else { return false };
            BlockFileHeader::is_in(&file, &header.rank)
        };
        self.block_files().into_iter().filter(is_own).collect()
    }

    /// Removes it, with its block files.
    ///
    /// # Errors
    /// The system's, of the first file that cannot be removed.
    pub fn remove(&self) -> Result<(), TraceError> {
        // First what the segment names.
        for path in self.own_block_files().iter().chain([&self.path]) {
            match std::fs::remove_file(path) {
                // Another process has recovered it at the same time.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                removed => removed.map_err(|error| TraceError::io(path, error))?,
            }
        }
        Ok(())
    }
}

/// Opens a block file for reading. The segment names it: what is another user's is not opened, so that no user has a
/// file read or removed by another user that recovers the segment.
fn open_own(path: &Path, uid: u32) -> Result<File, std::io::Error> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.uid() != uid {
        return Err(std::io::ErrorKind::PermissionDenied.into());
    }
    Ok(file)
}

/// A segment of the user `uid`, or of any.
fn look_at(path: &Path, uid: Option<u32>) -> Option<Leftover> {
    let Segment { path, rank, run, holder, file } = Segment::open(path, uid)?;
    let metadata = file.metadata().ok()?;
    // A file that another user cuts short while it is mapped would end this process with SIGBUS, and a traced program
    // looks for leftovers too. SAFETY: read-only and private to this process. Nothing is looked at before it is known
    // that the process that wrote the segment has ended.
    let map = unsafe { Mmap::map(&file) }.ok()?;
    Some(Leftover {
        path,
        modified: metadata.mtime(),
        bytes: metadata.blocks() * 512,
        rank,
        run,
        lives: holder != Holder::Nobody,
        added: Metadata::new(),
        end: None,
        uid: metadata.uid(),
        map,
    })
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;
    use mpitrace_platform::node_files;

    use super::*;

    /// A leftover of a process that began at this time.
    fn leftover(folder: &Path, job: u8, rank: u32, began: u64) -> Leftover {
        let path = folder.join(format!("{job}-{rank}-{began}"));
        std::fs::write(&path, "x").unwrap();
        let file = File::open(&path).unwrap();
        // SAFETY: nothing else knows this file.
        let map = unsafe { Mmap::map(&file) }.unwrap();
        let first_anchor = Anchor { realtime_ns: began, ..Anchor::default() };
        let rank = RankHeader { job: [job; 16], rank, pid: began as u32, first_anchor, ..RankHeader::zeroed() };
        Leftover {
            path,
            modified: began as i64,
            bytes: 0,
            rank,
            run: 0,
            lives: false,
            added: Metadata::new(),
            end: None,
            uid: 0,
            map,
        }
    }

    /// Each user may put a file of any name into a folder that all users share.
    #[test]
    fn a_link_and_another_user_s_file_are_no_leftovers() {
        let folder = std::env::temp_dir().join(format!("mpitrace-owner-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut header = SegmentHeader {
            magic: SEGMENT_MAGIC,
            version: VERSION,
            byte_order: BYTE_ORDER_MARK,
            ..SegmentHeader::zeroed()
        };
        header.rank.columns = LIVE_COLUMNS.len() as u32;
        for (entry, (name, element_size)) in header.columns.iter_mut().zip(LIVE_COLUMNS) {
            (entry.name, entry.element_size) = (name_bytes(name), element_size);
        }
        let uid = folder.metadata().unwrap().uid();
        let named =
            |uid: u32, name: &str| folder.join(format!("{}{name}{}", node_files::prefix(uid), node_files::SEGMENT));
        let own = named(uid, "1");
        std::fs::write(&own, bytemuck::bytes_of(&header)).unwrap();
        std::os::unix::fs::symlink(&own, named(uid, "2")).unwrap();
        std::fs::copy(&own, named(uid + 1, "3")).unwrap();
        let found = |uid| -> Vec<PathBuf> {
            let found = leftovers(std::slice::from_ref(&folder), uid).unwrap();
            found.into_iter().map(|leftover| leftover.path).collect()
        };
        assert_eq!(found(Some(uid)), std::slice::from_ref(&own));
        assert_eq!(found(Some(uid + 1)), Vec::<PathBuf>::new(), "it has the name, not the owner");
        assert_eq!(found(None).len(), 2);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_segment_that_cannot_be_read_stays_and_those_in_the_trace_go() {
        let folder = std::env::temp_dir().join(format!("mpitrace-stays-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let uid = folder.metadata().unwrap().uid();
        let written = |rank: u32| {
            let rank = RankHeader {
                job: [1; 16],
                rank,
                world_size: 2,
                state: state::RUNNING,
                columns: LIVE_COLUMNS.len() as u32,
                ..RankHeader::zeroed()
            };
            let mut header = SegmentHeader {
                magic: SEGMENT_MAGIC,
                version: VERSION,
                byte_order: BYTE_ORDER_MARK,
                rank,
                chunk_records: 16,
                chunk_bytes: PAGE,
                records_offset: PAGE,
                chunks: Region { offset: PAGE, capacity: 0, used: 0 },
                ..SegmentHeader::zeroed()
            };
            let mut offset = 0;
            for (entry, (name, element_size)) in header.columns.iter_mut().zip(LIVE_COLUMNS) {
                *entry = ColumnEntry { name: name_bytes(name), element_size, on_demand: 0, offset };
                offset += 16 * u64::from(element_size);
            }
            if header.rank.rank == 1 {
                header.strings = Region { offset: 0, capacity: u64::MAX, used: u64::MAX };
            }
            let path = folder.join(format!("{}{}{}", node_files::prefix(uid), header.rank.rank, node_files::SEGMENT));
            let mut bytes = vec![0; 2 * PAGE as usize];
            bytes[..size_of::<SegmentHeader>()].copy_from_slice(bytemuck::bytes_of(&header));
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let [read, damaged] = [0, 1].map(written);
        let mut job = leftovers(std::slice::from_ref(&folder), Some(uid)).unwrap();
        job.sort_by_key(|leftover| leftover.rank.rank);
        let recovered = recover_job(&job, &folder.join("a.mpitrace")).unwrap().unwrap();
        assert_eq!(recovered.damaged.len(), 1);
        assert!(damaged.exists() && !read.exists());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_rank_that_had_not_agreed_on_a_token_is_of_the_job_of_the_others() {
        let folder = std::env::temp_dir().join(format!("mpitrace-adopt-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let agreed = token::of_one_run(5, 1000, 77);
        let with_token = |rank, token| {
            let mut leftover = leftover(&folder, 0, rank, 100 + u64::from(rank));
            leftover.rank.job = token;
            leftover
        };
        let others = [(1, token::before_agreement(5)), (0, agreed), (2, agreed), (3, token::before_agreement(6))];
        let mut found: Vec<Leftover> = others.into_iter().map(|(rank, token)| with_token(rank, token)).collect();
        adopt(&mut found);
        let ranks: Vec<Vec<u32>> =
            by_job(found).iter().map(|job| job.iter().map(|leftover| leftover.rank.rank).collect()).collect();
        assert!(ranks.contains(&vec![0, 1, 2]) && ranks.contains(&vec![3]), "{ranks:?}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn runs_whose_token_is_the_same_by_chance_are_jobs_of_their_own() {
        let folder = std::env::temp_dir().join(format!("mpitrace-by-job-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        // The second run began at 200; the last one is a copy of one of its segments, in another folder.
        let began = [(1, 0, 100), (1, 1, 101), (2, 0, 150), (1, 1, 201), (1, 0, 202), (1, 0, 202)];
        let leftovers = began.map(|(job, rank, began)| leftover(&folder, job, rank, began)).into_iter().collect();
        let found: Vec<Vec<(u8, u32, i64)>> = by_job(leftovers)
            .iter()
            .map(|job| job.iter().map(|left| (left.rank.job[0], left.rank.rank, left.modified)).collect())
            .collect();
        let expected = [vec![(1, 0, 202), (1, 0, 202), (1, 1, 201)], vec![(2, 0, 150)], vec![(1, 0, 100), (1, 1, 101)]];
        assert_eq!(found, expected);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
