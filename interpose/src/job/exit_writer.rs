//! The end of a rank that has sessions: there is no call that says that none will follow, and no rank can be asked any
//! more. So the trace is written when the process ends: each rank adds its part to that of the others.
//!
//! A trace made in this way is a whole one at any time, of the ranks that have ended so far.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::Ordering;

use mpitrace_format::join::Joined;
use mpitrace_format::layout::state;
use mpitrace_format::part::Content;
use mpitrace_format::{file, recover};

use crate::base::{allocator, first_on_node, log, mode, system};
use crate::counters::{kinds, per_call};
use crate::job::output::{self, Written};
use crate::job::run::{self, Run};
use crate::job::{launcher, output_name, stuck};
use crate::mpi::world;
use crate::record::{thread, ticks};

/// Reads the counters for the last time, while the library can be asked.
pub fn close_counters(run: &Run) {
    if run.live.get().is_some() && !allocator::is_exhausted() {
        // What came after the last call is in the totals.
        per_call::skipped();
        let found = kinds::finish();
        if !found.is_empty() && first_on_node::is_first("counters") {
            found.into_iter().for_each(log::warn);
        }
    }
}

/// How far this rank got, at this tick.
pub fn mark(run: &Run, reached: u32) {
    if let Some(live) = run.live.get() {
        let is_whole = reached != state::FINALIZED || !allocator::is_exhausted();
        let reached = if is_whole { reached } else { state::OUT_OF_MEMORY };
        live.change_rank(|rank| {
            rank.last_anchor = ticks::anchor();
            rank.state = reached;
        });
    }
}

/// Has the trace written when this process ends by `exit` or by returning from `main`.
pub fn write_at_exit() {
    static REGISTERED: Once = Once::new();
    extern "C" fn at_exit() {
        thread::catch_panic(write);
    }
    REGISTERED.call_once(|| system::at_exit(at_exit));
}

fn write() -> Option<()> {
    let run = run::own()?;
    // A process that ends in the middle of MPI leaves its records for `mpitrace recover`.
    let in_mpi = world::any_session() || world::is_inside();
    if in_mpi || run.ended.swap(true, Ordering::AcqRel) {
        return None;
    }
    mode::stop();
    stuck::stop();
    // No rank can be asked for rank 0's number: the launcher's stands for it.
    let process = if run.world_size > 1 { launcher::process() } else { run.process };
    let path = output_name::path_of(&run.settings, &run.folder, process);
    run.live.get().inspect(|live| live.pack_all());
    let Some(_held) = output::memory_for(run) else {
        let error = io::Error::from_raw_os_error(libc::ENOMEM);
        output::say_result(run, true, Written::failed(run, path, Some((run.rank, error))), "");
        return None;
    };
    let content = output::all_of(run)?;
    let _ = output_name::make_folder_of(&path, &run.settings, &run.folder);
    let (speaks, written) = match system::without_file_size_signal(|| add(&path, run.world_size, content)) {
        Ok((Joined { path, parts }, records)) => {
            (parts == run.world_size, Written::Whole { path, ranks: run.world_size, records })
        }
        Err(error) => (run.rank == 0, Written::failed(run, path, Some((run.rank, error)))),
    };
    output::say_result(run, speaks, written, "");
    Some(())
}

/// Adds this rank's part to the trace of its job at `path`, or begins one. Once all ranks are in it: how many records
/// they have kept.
fn add(path: &Path, world_size: u32, content: Content<'_>) -> io::Result<(Joined, u64)> {
    let joined = recover::publish(&[content], world_size, path)?;
    let all =
        if joined.parts == world_size { file::parts(&File::open(&joined.path)?, world_size)? } else { Vec::new() };
    let records = all.iter().map(|part| part.records).sum();
    Ok((joined, records))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::path::PathBuf;

    use bytemuck::Zeroable;
    use mpitrace_format::layout::{FileHeader, RankHeader};
    use mpitrace_format::packed::{Numbering, Rows};
    use mpitrace_format::part::{Blocks, Times};

    const JOB: [u8; 16] = [7; 16];

    /// The content that a rank has to write: so many records.
    fn content(rank: u32, records: u64, reached: u32) -> Content<'static> {
        let zeros = vec![0; records as usize];
        let (enter, exit, position, repetition) = (zeros.clone(), zeros.clone(), zeros.clone(), zeros);
        let operation = vec![0; records as usize];
        let rows = Rows { enter, exit, position, repetition, operation, others: Vec::new() };
        let mut blocks = Blocks::default();
        blocks.add(&rows, &Numbering::new(vec![0]), 1, 0);
        Content {
            rank: RankHeader { job: JOB, rank, world_size: 3, state: reached, ..RankHeader::zeroed() },
            incomplete: reached != state::FINALIZED,
            metadata: &[],
            strings: &[],
            communicators: &[],
            operations: &[],
            threads: &[],
            times: Times::default(),
            partners: Vec::new(),
            counters: &[],
            syncs: &[],
            probes: &[],
            interruptions: Vec::new(),
            histograms: Vec::new(),
            columns: Vec::new(),
            blocks,
            messages: &[],
            message_blocks: Blocks::default(),
        }
    }

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("mpitrace-exit-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn header(path: &Path) -> FileHeader {
        let mut bytes = [0; size_of::<FileHeader>()];
        File::open(path).unwrap().read_exact(&mut bytes).unwrap();
        bytemuck::pod_read_unaligned(&bytes)
    }

    fn written(name: &str, reached: [u32; 3]) -> FileHeader {
        let folder = Folder::new(name);
        let path = folder.0.join("a.mpitrace");
        for (rank, reached) in (0..).zip(reached) {
            let (joined, records) = add(&path, 3, content(rank, 10 + u64::from(rank), reached)).unwrap();
            assert_eq!((joined.path.as_path(), joined.parts), (path.as_path(), rank + 1));
            assert_eq!(records, if rank == 2 { 33 } else { 0 });
        }
        assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1, "nothing else is left");
        header(&path)
    }

    #[test]
    fn ranks_one_after_the_other_make_one_trace() {
        let header = written("all", [state::FINALIZED; 3]);
        assert_eq!((header.parts, header.complete), (3, 1));
    }

    #[test]
    fn a_rank_that_did_not_finalize_is_remembered() {
        let header = written("incomplete", [state::FINALIZED, state::ABORTED, state::FINALIZED]);
        assert_eq!((header.parts, header.complete), (3, 0));
    }
}
