//! The segments of processes that run: found, and read without disturbing them.
//!
//! A segment is read by pread, never mapped: the file may be cut short at any time, which would end a process that has
//! it mapped with SIGBUS. No lock is taken; what may change meanwhile is read under the words that
//! [`crate::publication`] describes (`src/live/copy.rs`).

pub mod now;

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bytemuck::Zeroable;
use mpitrace_platform::node_files;

use crate::layout::{RankHeader, SegmentHeader};
use crate::{TraceError, segment};

/// The segment of a process, living or not.
///
/// ```
/// use mpitrace_format::live::Segment;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("notes.txt");
/// std::fs::write(&path, "text")?;
/// // It is no segment. Of one, the key of the job is asked for by its name.
/// assert_eq!(Segment::open(&path, None).as_ref().and_then(Segment::job_key), None);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Segment {
    /// The file.
    pub path: PathBuf,
    /// The facts that the process knows of itself.
    pub rank: RankHeader,
    /// The number that `mpitrace run` gave the job; 0: none.
    pub run: u32,
    /// The process that holds the file's lock, as this process numbers it.
    pub holder: Holder,
    /// The segment's file, open for reading.
    pub file: File,
}

/// Which process holds the lock of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// None: the process has ended, or has closed the file.
    Nobody,
    /// A process that cannot be seen from here, in another namespace of process numbers.
    Unseen,
    /// The process with this number.
    Process(u32),
}

/// The segments of the user `uid` in these folders, of processes that live and of others. A folder that does not exist
/// or cannot be read holds none; what is not a segment is passed over.
///
/// ```
/// use mpitrace_format::live::segments;
///
/// let folder = tempfile::tempdir()?;
/// assert!(segments(&[folder.path().to_owned(), "/nowhere".into()], 0).is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn segments(folders: &[PathBuf], uid: u32) -> Vec<Segment> {
    let paths = folders.iter().flat_map(|folder| paths(folder, Some(uid)).unwrap_or_default());
    paths.filter_map(|path| Segment::open(&path, Some(uid))).collect()
}

/// The files in a folder that have the name of a segment of the user `uid`, or of any.
pub(crate) fn paths(folder: &Path, uid: Option<u32>) -> std::io::Result<Vec<PathBuf>> {
    let prefix = uid.map_or_else(|| node_files::ANY_PREFIX.to_owned(), node_files::prefix);
    let is_named = |name: &str| name.starts_with(&prefix) && name.ends_with(node_files::SEGMENT);
    let entries = std::fs::read_dir(folder)?.flatten();
    Ok(entries.filter(|entry| is_named(&entry.file_name().to_string_lossy())).map(|entry| entry.path()).collect())
}

impl Segment {
    /// `None`: not a segment of the user `uid`, or of any.
    pub fn open(path: &Path, uid: Option<u32>) -> Option<Segment> {
        let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
        let file = File::options().read(true).custom_flags(flags).open(path).ok()?;
        let metadata = file.metadata().ok()?;
        // The name says nothing of the owner.
        if !metadata.is_file() || uid.is_some_and(|uid| metadata.uid() != uid) {
            return None;
        }
        let SegmentHeader { rank, run, .. } = read_header(path, &file).ok()?;
        // Asked after the header was found: a process takes the lock before it writes one.
        let holder = holder(&file);
        Some(Segment { path: path.to_owned(), rank, run, holder, file })
    }

    /// The key of the job in the file's name, by which the ranks of one launch know each other.
    pub fn job_key(&self) -> Option<&str> {
        let name = self.path.file_name()?.to_str()?;
        name.strip_suffix(node_files::SEGMENT)?.rsplit('-').nth(1)
    }
}

/// The checked header.
///
/// # Errors
/// The file is no segment.
///
/// ```
/// use mpitrace_format::live::read_header;
///
/// let error = read_header("a".as_ref(), &tempfile::tempfile()?).expect_err("an empty file");
/// assert_eq!(error.to_string(), "a: is too short to be a segment");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read_header(path: &Path, file: &File) -> Result<SegmentHeader, TraceError> {
    let mut header = SegmentHeader::zeroed();
    file.read_exact_at(bytemuck::bytes_of_mut(&mut header), 0)
        .map_err(|_| TraceError::damaged(path, "is too short to be a segment"))?;
    segment::header(path, bytemuck::bytes_of(&header)).copied()
}

/// Which process holds the lock that a traced process takes on its segment. It ends with the process, however that
/// ended, which a process number in the file could not tell across containers.
fn holder(file: &File) -> Holder {
    // SAFETY: a flock of zeros is a valid value; l_start = l_len = 0 means the whole file.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as _;
    lock.l_whence = libc::SEEK_SET as _;
    // SAFETY: the descriptor is open and `lock` outlives the call.
    let answered = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLK, &raw mut lock) } == 0;
    match (answered && lock.l_type != libc::F_UNLCK as libc::c_short, u32::try_from(lock.l_pid)) {
        (false, _) => Holder::Nobody,
        (true, Ok(pid)) if pid > 0 => Holder::Process(pid),
        (true, _) => Holder::Unseen,
    }
}
