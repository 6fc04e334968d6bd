//! Shows other processes that this one is inside `MPI_Init`: a segment of a header alone, which has no rank yet. The
//! trace buffer takes its place.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use bytemuck::Zeroable;
use mpitrace_format::layout::{
    BYTE_ORDER_MARK, ColumnEntry, LIVE_COLUMNS, RankHeader, SEGMENT_MAGIC, SegmentHeader, VERSION, name_bytes,
};
use mpitrace_platform::node_files;

use crate::base::system;
use crate::job::startup::Prepared;

/// The file. It goes when this is dropped.
pub struct Starting {
    path: PathBuf,
    /// Holds the lock that marks the file as being of a living process.
    _file: File,
}

impl Starting {
    /// Makes the file in the first of the folders that takes it.
    pub fn announce(prepared: &Prepared, job_key: u64, folders: &[PathBuf]) -> Option<Starting> {
        let rank = RankHeader { job: bytemuck::cast([job_key, 0]), ..prepared.header };
        let header = header(rank, prepared.settings.run);
        system::check_size(size_of::<SegmentHeader>() as u64).ok()?;
        let prefix = node_files::prefix(system::user());
        let name = format!("{prefix}init-{job_key:016x}-{}{}", std::process::id(), node_files::SEGMENT);
        folders.iter().find_map(|folder| Starting::make(folder.join(&name), &header))
    }

    fn make(path: PathBuf, header: &SegmentHeader) -> Option<Starting> {
        let made = system::create_private(&path).ok()?;
        let mut starting = Starting { path, _file: system::out_of_the_way(made) };
        // In this order: a segment with a header and without a lock is one that was left behind.
        let _ = system::lock(&starting._file, false);
        starting._file.write_all(bytemuck::bytes_of(header)).ok()?;
        Some(starting)
    }

    /// Where it lies.
    #[cfg(test)]
    fn path(&self) -> &std::path::Path {
        &self.path
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A header without tables and chunks.
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
        let path = std::env::temp_dir().join(format!("mpitrace-starting-{}", std::process::id()));
        let starting = Starting::make(path.clone(), &header(rank, 12)).unwrap();
        assert!(Starting::make(path.clone(), &header(rank, 12)).is_none(), "the name is taken");
        let words: Vec<u64> =
            std::fs::read(starting.path()).unwrap().chunks_exact(8).map(bytemuck::pod_read_unaligned).collect();
        let bytes: &[u8] = bytemuck::cast_slice(&words);
        let found = segment::header(&path, bytes).unwrap();
        assert_eq!((found.rank.rank, found.rank.pid, found.run), (NO_RANK, 7, 12));
        let content = segment::read(&path, bytes, false).unwrap();
        assert_eq!((content.records(), content.incomplete), (0, true));
        drop(starting);
        assert!(!path.exists());
    }
}
