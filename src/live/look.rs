//! A look at a running job: its segments, copied and opened as a trace of the last calls.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::{Path, PathBuf};

use mpitrace_format::TraceError;
use mpitrace_format::layout::{NO_RANK, ThreadEntry};
use mpitrace_format::live::{self, Holder, Segment};
use mpitrace_format::part::Content;
use mpitrace_format::{metadata, recover};
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;

use super::copy::{Copied, copy};
use super::place::{self, Seen};
use super::process::Process;
use super::snapshot::Snapshot;
use super::starting::Starting;

/// A job that has live records on this node.
#[derive(Debug)]
pub struct Job {
    /// The key by which the ranks of one launch know each other, in the names of their files.
    pub key: String,
    /// The segments of its ranks on this node, one for each rank, in the order of the ranks.
    pub segments: Vec<Segment>,
    /// The processes that have not left `MPI_Init`.
    pub starting: Vec<Starting>,
    /// True if one of its processes lives on this node.
    pub lives: bool,
}

/// A job at one moment.
#[derive(Debug)]
pub struct Look {
    /// The last calls of each rank that has left `MPI_Init`.
    pub trace: Trace,
    /// The calls of the trace, matched.
    pub operations: Operations,
    /// The clock of the trace.
    pub clock: Clock,
    /// The process of each part, as it was seen.
    pub seen: Vec<Seen>,
    /// The processes that have not left `MPI_Init`.
    pub starting: Vec<Starting>,
    /// A process is known to live.
    pub lives: bool,
    /// Segments that cannot be read, and why.
    pub unreadable: Vec<String>,
    /// True if there are earlier calls of some rank that were not looked at.
    pub is_partial: bool,
}

/// The jobs of the user `uid` that have records on this node, by their keys: their processes may live on other nodes.
pub fn with_records(folders: &[PathBuf], uid: u32) -> Vec<Job> {
    let mut by_key: BTreeMap<String, Vec<Segment>> = BTreeMap::new();
    for segment in live::segments(folders, uid) {
        by_key.entry(segment.job_key().unwrap_or_default().to_owned()).or_default().push(segment);
    }
    let job = |(key, segments): (String, Vec<Segment>)| {
        let lives = segments.iter().any(|segment| pid_of(segment).is_some());
        let (segments, in_init) = one_of_each_rank(segments);
        Job { key, segments, starting: Starting::all(&in_init), lives }
    };
    by_key.into_iter().map(job).collect()
}

/// One segment of each rank: an earlier job of the same key may have left others. It is the one of the living process,
/// else the youngest. Also the living processes that have no rank yet.
fn one_of_each_rank(segments: Vec<Segment>) -> (Vec<Segment>, Vec<u32>) {
    let mut of_rank: BTreeMap<u32, Segment> = BTreeMap::new();
    let mut without_rank = Vec::new();
    for segment in segments {
        let pid = pid_of(&segment);
        if segment.rank.rank == NO_RANK {
            without_rank.extend(pid);
            continue;
        }
        let age = |segment: &Segment| (pid_of(segment).is_some(), segment.rank.first_anchor.realtime_ns);
        match of_rank.get(&segment.rank.rank) {
            Some(other) if age(other) >= age(&segment) => {}
            _ => {
                of_rank.insert(segment.rank.rank, segment);
            }
        }
    }
    // What is left of an earlier run of the same key does not belong to the ranks that live.
    let living = of_rank.values().filter(|segment| pid_of(segment).is_some());
    let token = living.map(|segment| segment.rank.job).next();
    of_rank.retain(|_, segment| token.is_none_or(|token| segment.rank.job == token) || pid_of(segment).is_some());
    (of_rank.into_values().collect(), without_rank)
}

/// The process of a segment, as this process numbers it; `None`: it has ended.
fn pid_of(segment: &Segment) -> Option<u32> {
    match segment.holder {
        Holder::Process(pid) => Some(pid),
        Holder::Unseen => Some(segment.rank.pid),
        Holder::Nobody => Some(segment.rank.pid).filter(|&pid| Process::has_mapped(pid, &segment.path)),
    }
}

impl Job {
    /// How many ranks MPI_COMM_WORLD has; `None`: not known in `MPI_Init`.
    pub fn world_size(&self) -> Option<u32> {
        let first = self.segments.first().map(|segment| segment.rank.world_size);
        first.or_else(|| self.starting.iter().find_map(|starting| Some(starting.place?.1)))
    }

    /// The processes of its ranks on this node.
    pub fn processes(&self) -> impl Iterator<Item = u32> + '_ {
        let starting = self.starting.iter().map(|starting| starting.process.pid);
        self.segments.iter().map(|segment| segment.rank.pid).chain(starting)
    }

    /// The value of this name in the run metadata of its lowest rank here.
    pub fn metadata(&self, name: &str) -> Option<String> {
        let copied = copy(self.segments.first()?, 0).ok()?;
        let content = copied.content().ok()?;
        let known = metadata::decode(content.metadata)?;
        metadata::get(&known, name).filter(|value| *value != metadata::UNKNOWN).map(str::to_owned)
    }
}

fn tids(threads: &[u8]) -> Vec<u32> {
    threads
        .chunks_exact(size_of::<ThreadEntry>())
        .map(|entry| bytemuck::pod_read_unaligned::<ThreadEntry>(entry).tid)
        .collect()
}

impl Look {
    /// A look at the ranks of a job on this node, if it has some: at their tables and about so many of the last records
    /// of each.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn new(job: Option<&Job>, records: u64) -> Result<Look, TraceError> {
        let mut unreadable = Vec::new();
        let copy = |segment: &Segment| {
            let copied = copy(segment, records).map_err(|error| unreadable.push(error.to_string())).ok()?;
            let tids = copied.content().ok().map(|content| tids(content.threads)).unwrap_or_default();
            let seen = match pid_of(segment) {
                // It cannot be looked at, but the kernel says that it lives.
                Some(_) if segment.holder == Holder::Unseen => Seen::Lives(Process::default()),
                Some(pid) => Process::read(pid, &tids).map_or(Seen::Ended, Seen::Lives),
                None => Seen::Ended,
            };
            Some((copied, seen))
        };
        let copies: Vec<(Copied, Seen)> = job.into_iter().flat_map(|job| &job.segments).filter_map(copy).collect();
        let (mut contents, mut seen) = (Vec::new(), HashMap::new());
        for (copied, of_rank) in &copies {
            match copied.content() {
                Ok(content) => {
                    seen.insert(content.rank.rank, of_rank);
                    contents.push(content);
                }
                Err(error) => unreadable.push(error.to_string()),
            }
        }
        let name = Path::new("the copies of the live records");
        let file = in_memory(&contents).map_err(|error| TraceError::io(name, error))?;
        let trace = if contents.is_empty() {
            Trace { parts: Vec::new(), world_size: 0, complete: false, missing: Vec::new(), problems: Vec::new() }
        } else {
            Trace::open(&[format!("/proc/self/fd/{}", file.as_raw_fd())])?
        };
        let operations = Operations::new(&trace);
        let clock = Clock::new(&trace);
        let seen = trace.parts.iter().map(|part| seen[&part.rank()].clone()).collect();
        let starting = job.map(|job| job.starting.clone()).unwrap_or_default();
        let lives = !starting.is_empty() || copies.iter().any(|(_, seen)| matches!(seen, Seen::Lives(_)));
        let is_partial = copies.iter().any(|(copied, _)| copied.left_out > 0);
        Ok(Look { trace, operations, clock, seen, starting, lives, unreadable, is_partial })
    }

    /// Where the ranks are.
    pub fn snapshot(&self) -> Snapshot {
        let mut snapshot = place::snapshot(&self.trace, &self.operations, &self.clock, &self.seen);
        let size = self.starting.iter().find_map(|starting| Some(starting.place?.1)).unwrap_or(0);
        if snapshot.ranks.is_empty() {
            snapshot.world_size = size;
        }
        // Of another world, as one that a rank has spawned, the ranks are not these.
        if snapshot.world_size == size {
            for now in self.starting.iter().filter_map(Starting::now) {
                if let Err(index) = snapshot.ranks.binary_search_by_key(&now.rank, |known| known.rank) {
                    snapshot.ranks.insert(index, now);
                }
            }
        }
        snapshot
    }
}

/// Writes a trace of these parts into memory of this process. The file has no name but that of its descriptor.
fn in_memory(contents: &[Content<'_>]) -> std::io::Result<File> {
    // Not by the C library's function: glibc before 2.27 lacks it.
    // SAFETY: the name is a C string; the descriptor that comes back has no other owner.
    let file = unsafe {
        let descriptor = libc::syscall(libc::SYS_memfd_create, c"mpitrace-look".as_ptr(), libc::MFD_CLOEXEC);
        if descriptor < 0 {
            return Err(std::io::Error::last_os_error());
        }
        File::from_raw_fd(descriptor as i32)
    };
    if let Some(first) = contents.first() {
        recover::write_parts(&file, contents, first.rank.world_size)?;
    }
    Ok(file)
}
