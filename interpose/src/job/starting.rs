//! Shows other processes that this one is inside `MPI_Init`: a segment of a header alone, which has no rank yet. By
//! these files the ranks of a job are counted ([`crate::job::traced_ranks`]). The trace buffer takes its place.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bytemuck::Zeroable;
use mpitrace_format::layout::{
    BYTE_ORDER_MARK, ColumnEntry, LIVE_COLUMNS, RankHeader, SEGMENT_MAGIC, SegmentHeader, VERSION, name_bytes,
};
use mpitrace_platform::node_files;

use crate::base::own_file::{self, OwnFile};
use crate::base::system;

/// The file. It goes when this is dropped.
pub struct Starting {
    /// Holds the lock that marks the file as being of a living process.
    file: OwnFile,
}

impl Starting {
    /// Makes the file in the first of the folders that takes it. No other process of the job has this name.
    pub fn announce(rank: RankHeader, run: u32, job_key: u64, name: &str, folders: &[PathBuf]) -> Option<Starting> {
        let header = header(RankHeader { job: bytemuck::cast([job_key, 0]), ..rank }, run);
        let file = format!("{}{name}-{job_key:016x}-{}{}", prefix(), std::process::id(), node_files::SEGMENT);
        let made = |folder: &PathBuf| OwnFile::create_private(&folder.join(&file)).ok();
        let mut starting = Starting { file: folders.iter().find_map(made)? };
        // In this order: a segment with a header and without a lock is one that was left behind. Where there is no room
        // for a header the file counts all the same.
        starting.file.mark();
        if system::check_size(size_of_val(&header) as u64).is_ok() {
            let _ = starting.file.write_all_at(bytemuck::bytes_of(&header), 0);
        }
        Some(starting)
    }

    pub fn folder(&self) -> Option<&Path> {
        self.file.path().parent()
    }

    /// Whose it is, as the file system shows it.
    pub fn owner(&self) -> Option<u32> {
        self.file.metadata().ok().map(|made| made.uid())
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.file.path());
    }
}

fn prefix() -> String {
    format!("{}init-", node_files::prefix(system::user()))
}

/// How many processes of a job have announced themselves in a folder by files of this owner, under names that begin so.
pub fn count(folder: &Path, job_key: u64, owner: Option<u32>, beginning: &str) -> u32 {
    let (prefix, job) = (prefix() + beginning, format!("{job_key:016x}"));
    let is_of_job = |name: &str| {
        let mut ends = name.strip_suffix(node_files::SEGMENT).unwrap_or_default().rsplit('-').skip(1);
        name.starts_with(&prefix) && ends.next() == Some(&job)
    };
    let is_ours = |name: &OsString| folder.join(name).symlink_metadata().ok().map(|found| found.uid()) == owner;
    let names = own_file::names_in(folder).unwrap_or_default();
    names.iter().filter(|name| is_of_job(&name.to_string_lossy()) && is_ours(name)).count() as u32
}

fn header(rank: RankHeader, run: u32) -> SegmentHeader {
    let mut header = SegmentHeader {
        magic: SEGMENT_MAGIC,
        version: VERSION,
        byte_order: BYTE_ORDER_MARK,
        rank: RankHeader { columns: LIVE_COLUMNS.len() as u32, ..rank },
        run,
        ..SegmentHeader::zeroed()
    };
    for (entry, (name, element_size)) in header.columns.iter_mut().zip(LIVE_COLUMNS) {
        *entry = ColumnEntry { name: name_bytes(name), element_size, ..ColumnEntry::default() };
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_format::layout::{NO_RANK, state};
    use mpitrace_format::segment;

    #[test]
    fn a_process_in_init_has_a_segment_without_a_rank_and_without_records() {
        let rank = RankHeader { rank: NO_RANK, state: state::STARTING, pid: 7, ..RankHeader::zeroed() };
        let folder = std::env::temp_dir().join(format!("mpitrace-starting-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let announce = || Starting::announce(rank, 12, 0xab, "name", std::slice::from_ref(&folder));
        let starting = announce().unwrap();
        assert!(announce().is_none(), "the name is taken");
        let (path, owner) = (starting.file.path().to_owned(), starting.owner());
        assert_eq!(
            mpitrace_format::live::Segment::open(&path, Some(system::user())).unwrap().job_key(),
            Some(&*format!("{:016x}", 0xab))
        );
        let words: Vec<u64> = std::fs::read(&path).unwrap().chunks_exact(8).map(bytemuck::pod_read_unaligned).collect();
        let bytes: &[u8] = bytemuck::cast_slice(&words);
        let found = segment::header(&path, bytes).unwrap();
        assert_eq!((found.rank.rank, found.rank.pid, found.run), (NO_RANK, 7, 12));
        let content = segment::read(&path, bytes, false).unwrap();
        assert_eq!((content.records(), content.incomplete), (0, true));
        let counts =
            [(0xab, owner, ""), (0xab, owner, "name"), (0xab, owner, "other"), (0xa, owner, ""), (0xab, None, "")];
        assert_eq!(counts.map(|(job, owner, name)| count(&folder, job, owner, name)), [1, 1, 0, 0, 0]);
        drop(starting);
        assert!(!path.exists());
        std::fs::remove_dir(&folder).unwrap();
    }
}
