//! The end of a rank that has sessions: there is no call that says that none will follow, and no rank can be asked any
//! more. So the trace is written when the process ends, each rank its part, one after the other.
//!
//! A trace made in this way is a whole one at any time, of the ranks that have ended so far.

use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::Ordering;

use mpitrace_format::layout::{FileHeader, PAGE, PartEntry, round_up, state};
use mpitrace_format::part::Content;
use mpitrace_format::{file, running_totals};

use crate::base::own_file::OwnFile;
use crate::base::ticks;
use crate::base::{allocator, first_on_node, log, mode, system};
use crate::counters::{kinds, per_call};
use crate::job::output::{self, Written};
use crate::job::run::{self, Run};
use crate::job::{launcher, output_name};
use crate::mpi::world;
use crate::record::thread;

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
        live.change_rank(|rank| {
            rank.last_anchor = ticks::anchor();
            rank.state = match reached {
                state::FINALIZED if allocator::is_exhausted() => state::OUT_OF_MEMORY,
                // MPICH 5's MPI_Abort can return.
                state::FINALIZING if rank.state == state::ABORTED => state::ABORTED,
                _ => reached,
            };
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
    let run = run::of_this_process()?;
    // A process that ends in the middle of MPI leaves its records for `mpitrace recover`.
    let in_mpi = world::any_session() || world::is_inside();
    if in_mpi || run.ended.swap(true, Ordering::AcqRel) {
        return None;
    }
    mode::stop();
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
    let job = content.rank.job;
    let made = output_name::make_folder_of(&path, &run.settings, &run.folder);
    let written = match made.and_then(|()| append(&path, job, run.world_size, &content)) {
        Ok(appended) => {
            let whole = appended.parts == run.world_size;
            output::say_result(
                run,
                whole,
                Written::Whole { path: appended.path, ranks: run.world_size, records: appended.records },
                "",
            );
            return Some(());
        }
        Err(error) => Written::failed(run, path, Some((run.rank, error))),
    };
    output::say_result(run, run.rank == 0, written, "");
    Some(())
}

struct Appended {
    path: PathBuf,
    /// Ranks that the trace holds now.
    parts: u32,
    /// Calls that they have kept.
    records: u64,
}

/// Adds this rank's part to the trace of its job at `path`, or begins one, under the next free number where a file of
/// another job has that name.
fn append(path: &Path, job: [u8; 16], world_size: u32, content: &Content<'_>) -> io::Result<Appended> {
    for number in 1.. {
        let candidate = file::numbered(path, number);
        let file = match open_trace(&candidate) {
            Ok(file) => file,
            // A link, wherever it leads, is no trace of this job.
            Err(error) if error.raw_os_error() == Some(libc::ELOOP) => continue,
            Err(error) if error.kind() == io::ErrorKind::NotFound => match begin(&candidate, job, world_size) {
                // Another rank, or another run, was faster: it is looked at again.
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => open_trace(&candidate)?,
            },
            Err(error) => return Err(error),
        };
        if !file.metadata()?.is_file() || !is_of_user(&file, &candidate) {
            continue;
        }
        // Waits until no other rank is writing. The lock goes with the descriptor.
        file.lock()?;
        let mut bytes = [0; size_of::<FileHeader>()];
        if file.ours()?.read_exact_at(&mut bytes, 0).is_err() {
            continue;
        }
        let header: FileHeader = bytemuck::pod_read_unaligned(&bytes);
        let ours = header.job == job && header.world_size == world_size && file::checksum(&header) == header.crc;
        if !ours || header.parts >= world_size {
            continue;
        }
        return add_part(&file, &header, content).map(|(parts, records)| Appended { path: candidate, parts, records });
    }
    unreachable!("the numbers have no end")
}

/// Opens what has the name of the trace. Not blocking: it may be a pipe.
fn open_trace(path: &Path) -> io::Result<OwnFile> {
    OwnFile::open(path, libc::O_RDWR | libc::O_NONBLOCK | libc::O_NOFOLLOW, 0)
}

/// True if a file that has the name of the trace is this user's. Where others can write to the folder they can guess
/// the name and the job's token, and would get the records.
fn is_of_user(file: &OwnFile, path: &Path) -> bool {
    let Ok(found) = file.metadata() else { return false };
    if found.uid() == system::user() {
        return true;
    }
    // A network file system may show another owner of all that this user makes.
    let probe = file::partial_name(path, &format!("{}-{}-owner", system::host(), std::process::id()));
    let made = OwnFile::create_private(&probe).and_then(|file| file.metadata());
    let _ = std::fs::remove_file(&probe);
    made.is_ok_and(|made| made.uid() == found.uid())
}

/// Makes a trace without parts, whole from the moment on at which it has its name.
fn begin(path: &Path, job: [u8; 16], world_size: u32) -> io::Result<()> {
    let partial = file::partial_name(path, &format!("{}-{}", system::host(), std::process::id()));
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL;
    let file = OwnFile::open(&partial, flags, file::mode_in(path.parent()))?;
    let start = file::parts_start(world_size);
    let made = system::check_size(start)
        .and_then(|()| file.ours()?.set_len(start))
        .and_then(|()| file::write_header(file.ours()?, job, world_size, 0, start, false))
        .and_then(|()| std::fs::hard_link(&partial, path));
    let _ = std::fs::remove_file(&partial);
    made
}

/// Adds a part behind those that are there: what the header says is true at any time. Returns how many parts there are,
/// and how many records they hold. However many ranks have written before, this one reads a few bytes.
fn add_part(file: &OwnFile, header: &FileHeader, content: &Content<'_>) -> io::Result<(u32, u64)> {
    let offset = round_up(header.length, PAGE);
    let length = content.length();
    system::check_size(offset + length)?;
    let before = running_totals::read(file.ours()?, header.parts)?;
    let is_complete = !content.incomplete && content.rank.state == state::FINALIZED;
    let totals = before.with(content.records(), is_complete);
    let entry = PartEntry { offset, length, rank: content.rank.rank, padding: 0 };
    let written = content
        .write_at(file.ours()?, offset)
        .and_then(|()| file::write_part_entries(file.ours()?, header.parts, &[entry]))
        .and_then(|()| running_totals::write(file.ours()?, &totals, header.world_size));
    if let Err(error) = written {
        let _ = file.ours().and_then(|file| file.set_len(header.length));
        return Err(error);
    }
    let complete = totals.complete == 1 && totals.parts == header.world_size;
    let end = offset + length;
    file::write_header(file.ours()?, header.job, header.world_size, totals.parts, end, complete)?;
    Ok((totals.parts, totals.records))
}

#[cfg(test)]
mod tests {
    use std::fs::{File, OpenOptions};
    use std::io::Read;

    use super::*;
    use bytemuck::Zeroable;
    use mpitrace_format::layout::{LostRecords, PartHeader, RankHeader};
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
            rank: RankHeader { job: JOB, rank, state: reached, ..RankHeader::zeroed() },
            incomplete: false,
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
            lost: LostRecords::default(),
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

    /// Bytes that this thread has read by system calls.
    fn bytes_read() -> u64 {
        let text = std::fs::read_to_string("/proc/thread-self/io").unwrap();
        text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
    }

    #[test]
    fn a_rank_reads_as_much_after_500_others_as_after_5() {
        const RANKS: u32 = 501;
        let folder = Folder::new("read");
        let path = folder.0.join("a.mpitrace");
        let mut read = Vec::new();
        for rank in 0..RANKS {
            let before = bytes_read();
            let appended = append(&path, JOB, RANKS, &content(rank, 3, state::FINALIZED)).unwrap();
            read.push(bytes_read() - before);
            assert_eq!((appended.parts, appended.records), (rank + 1, 3 * u64::from(rank + 1)));
            let header = header(&path);
            assert_eq!((header.parts, header.complete), (rank + 1, u32::from(rank + 1 == RANKS)));
        }
        // What /proc itself gave is in both.
        assert!(read[500] < read[5] + 16, "{} and {} bytes", read[5], read[500]);
        assert_eq!(file::parts(&File::open(&path).unwrap(), RANKS).unwrap().len(), 501);
    }

    #[test]
    fn totals_that_a_dying_rank_has_left_half_written_are_found_from_the_parts() {
        let folder = Folder::new("dying");
        let path = folder.0.join("a.mpitrace");
        for rank in 0..4 {
            append(&path, JOB, 6, &content(rank, 10, state::FINALIZED)).unwrap();
        }
        // It had written its entry, which lies where the totals were, and not the header.
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&[0; 24], file::part_entry_offset(4)).unwrap();
        let appended = append(&path, JOB, 6, &content(4, 1, state::FINALIZED)).unwrap();
        assert_eq!((appended.parts, appended.records), (5, 41));
        append(&path, JOB, 6, &content(5, 1, state::FINALIZED)).unwrap();
        assert_eq!(header(&path).complete, 1);
    }

    #[test]
    fn another_user_s_file_gets_no_records() {
        let folder = Folder::new("owner");
        let path = folder.0.join("a.mpitrace");
        begin(&path, JOB, 3).unwrap();
        let theirs = std::fs::read(&path).unwrap();
        if std::os::unix::fs::chown(&path, Some(4711), None).is_err() {
            return eprintln!("skipped: only root can give a file away");
        }
        let appended = append(&path, JOB, 3, &content(0, 1, state::FINALIZED)).unwrap();
        assert_eq!((appended.path, appended.parts), (folder.0.join("a.2.mpitrace"), 1));
        assert_eq!(std::fs::read(&path).unwrap(), theirs);
        assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 2, "nothing else is left");
    }

    #[test]
    fn a_rank_that_did_not_finalize_is_remembered() {
        let folder = Folder::new("incomplete");
        let path = folder.0.join("a.mpitrace");
        for (rank, reached) in [state::FINALIZED, state::ABORTED, state::FINALIZED].into_iter().enumerate() {
            append(&path, JOB, 3, &content(rank as u32, 1, reached)).unwrap();
        }
        let header = header(&path);
        assert_eq!((header.parts, header.complete), (3, 0));
        let parts: Vec<PartHeader> = file::parts(&File::open(&path).unwrap(), 3).unwrap();
        assert_eq!(parts.iter().map(|part| part.records).sum::<u64>(), 3);
    }
}
