//! The end of a rank that has sessions: there is no call that says that none will follow, and no rank can be asked any
//! more. So the trace is written when the process ends, each rank its part, one after the other.
//!
//! A trace made in this way is a whole one at any time, of the ranks that have ended so far.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::Ordering;

use mpitrace_format::file;
use mpitrace_format::layout::{FileHeader, PAGE, PartEntry, round_up, state};
use mpitrace_format::part::Content;

use crate::boundary::system;
use crate::counters::per_call;
use crate::job::output::{self, Written};
use crate::job::run::{RUN, Run};
use crate::job::{launcher, log, output_name, world};
use crate::record::{mode, thread, ticks};

/// How far this rank got, at this tick.
pub fn mark(run: &Run, reached: u32) {
    if let Some(live) = run.live.get() {
        if reached == state::FINALIZED {
            // What came after the last call is in the totals.
            per_call::skipped();
            per_call::finish().into_iter().for_each(log::warn_on_node);
        }
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
    let run = RUN.get()?;
    // Who ends in the middle of MPI leaves its records for `mpitrace recover`; so does a child that was forked off.
    let in_mpi = world::any_session() || world::is_in(run);
    if in_mpi || run.process != std::process::id() || run.ended.swap(true, Ordering::AcqRel) {
        return None;
    }
    mode::stop();
    let content = output::content_of(run)?;
    // No rank can be asked for rank 0's number: the launcher's stands for it.
    let process = if run.world_size > 1 { launcher::process() } else { run.process };
    let path = output_name::path_of(&run.settings, &run.folder, process);
    let job = content.rank.job;
    let written = match append(&path, job, run.world_size, &content) {
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
        Err(error) => Written::Failed { path, why: Some((run.rank, error)) },
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
        let mut file = match OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(&candidate) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => match begin(&candidate, job, world_size) {
                // Another rank, or another run, was faster: it is looked at again.
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => OpenOptions::new().read(true).write(true).open(&candidate)?,
            },
            Err(error) => return Err(error),
        };
        if !file.metadata()?.is_file() {
            continue;
        }
        // Waits until no other rank is writing. The lock goes with the descriptor.
        system::lock(&file, true)?;
        let mut bytes = [0; size_of::<FileHeader>()];
        if file.read_exact(&mut bytes).is_err() {
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

/// Makes a trace without parts, whole from the moment on at which it has its name.
fn begin(path: &Path, job: [u8; 16], world_size: u32) -> io::Result<()> {
    let partial = file::partial_name(path, &format!("{}-{}", system::host(), std::process::id()));
    let file = OpenOptions::new().write(true).create_new(true).mode(0o666).open(&partial)?;
    let start = file::parts_start(world_size);
    let made = output::check_size(start)
        .and_then(|()| file.set_len(start))
        .and_then(|()| file::write_header(&file, job, world_size, 0, start, false))
        .and_then(|()| std::fs::hard_link(&partial, path));
    let _ = std::fs::remove_file(&partial);
    made
}

/// Adds a part behind those that are there: what the header says is true at any time. Returns how many parts there are,
/// and how many records they hold.
fn add_part(file: &File, header: &FileHeader, content: &Content<'_>) -> io::Result<(u32, u64)> {
    let offset = round_up(header.length, PAGE);
    let length = content.length();
    output::check_size(offset + length)?;
    let entry = PartEntry { offset, length, rank: content.rank.rank, padding: 0 };
    if let Err(error) =
        content.write_at(file, offset).and_then(|()| file::write_part_entries(file, header.parts, &[entry]))
    {
        let _ = file.set_len(header.length);
        return Err(error);
    }
    let parts = file::parts(file, header.parts + 1)?;
    let whole = parts.iter().all(|part| part.incomplete == 0 && part.rank.state == state::FINALIZED);
    let complete = whole && parts.len() == header.world_size as usize;
    file::write_header(file, header.job, header.world_size, header.parts + 1, offset + length, complete)?;
    Ok((header.parts + 1, parts.iter().map(|part| part.records).sum()))
}
