//! Writes the trace at Finalize: one file, each rank its own part of it, at offsets that the ranks agree on.
//!
//! The file is on disk before any rank removes its live records. A network file system says that a file does not fit
//! when it is synchronised or closed, so both are done, and asked for their errors. No rank reads what another node has
//! written: rank 0 gathers where the parts lie, and writes header and table by itself. The name under which the file is
//! written has the run's token in it, so that another node cannot have it in a cache, or have another file of the name.

use std::io;
use std::path::{Path, PathBuf};

use mpitrace_format::file;
use mpitrace_format::layout::{FinalizeTimes, PartEntry, state};
use mpitrace_format::part::Content;

use crate::base::allocator::{self, Held};
use crate::base::lock::lock;
use crate::base::own_file::OwnFile;
use crate::base::{first_on_node, log, own_file, system};
use crate::clocks;
use crate::job::node_writers::{NodeWriters, Rank};
use crate::job::output_name::{make_folder_of, path_of, with_name};
use crate::job::run::{Run, World};
use crate::job::writers::{Lost, Writers, WrittenPart};

/// The trace as this rank writes its part of it.
struct Trace<'r> {
    run: &'r Run,
    world: &'r World,
    /// `None`: nothing was recorded, or it cannot be read.
    content: Option<Content<'r>>,
    /// Files that this rank has begun to write together with others: as many as those of its node have.
    files: u32,
}

/// Writes this rank's part, together with the other ranks of the world. Where that fails on any rank there is no file,
/// the segments stay, and one line says why. Where not all ranks come any more, each writes a file of its own.
pub fn write(run: &Run, world: &World) {
    run.live.get().inspect(|live| live.pack_all());
    let held = memory_for(run);
    let content = held.as_ref().and_then(|_| all_of(run));
    let mut trace = Trace { run, world, content, files: 0 };
    let path = path_of(&run.settings, &run.folder, run.process);
    let all = Writers::of_world(run, world);
    if all.size == 1 && run.world_size > 1 {
        let speaks = world.traced_ranks.speaks();
        return trace.write_alone(path, speaks, "; each traced rank has written such a file");
    }
    match trace.write_all(&all, path.clone()) {
        Ok((written, files)) => {
            say_result(run, run.rank == 0, written, files);
            all.free_unless(clocks::has_unreceived());
        }
        Err(Lost) => {
            let files = format!("; {}, each other rank has written such a file", why_lost(run, world));
            trace.write_alone(path, first_on_node::is_first("lost"), &files);
        }
    }
}

fn why_lost(run: &Run, world: &World) -> String {
    match world.meeting.and_then(|meeting| meeting.missing()) {
        Some((rank, true)) => {
            let folder = run.live.get().and_then(|live| live.folder()).unwrap_or(Path::new("the segment folder"));
            let recover = format!("`mpitrace recover {} -o FILE` makes a trace of its records", folder.display());
            format!("rank {rank} ended before the trace was written ({recover})")
        }
        Some((rank, false)) => format!("rank {rank} does not go on"),
        None => "an MPI call between the ranks failed".to_owned(),
    }
}

impl Trace<'_> {
    /// One of several ranks that cannot agree on anything: each takes a name of its own.
    fn write_alone(&mut self, path: PathBuf, speaks: bool, files: &str) {
        if let Ok(written) = self.write_own(&path) {
            say_result(self.run, speaks, written, files);
        }
    }

    fn write_own(&mut self, path: &Path) -> Result<Written, Lost> {
        self.write_together(&Writers::alone(), &with_name(path, &format!("rank{}", self.run.rank)))
    }

    /// The file that all ranks have written together, and the remarks on it.
    fn write_all(&mut self, all: &Writers, path: PathBuf) -> Result<(Written, &'static str), Lost> {
        let mut written = self.write_together(all, &path)?;
        let mut files = "";
        if matches!(written, Written::NotShared) {
            (written, files) = self.write_by_node(all, &all.agree_on(path)?)?;
        }
        if let (Written::Failed { all_kept, .. }, "") = (&mut written, files) {
            *all_kept = all.all(*all_kept)?;
        }
        Ok((written, files))
    }

    /// The folder is another one on some node: a file for each node, and where not even the ranks of a node share it,
    /// for each rank.
    fn write_by_node(&mut self, all: &Writers, path: &Path) -> Result<(Written, &'static str), Lost> {
        let of_rank = "; the folder is not one for all ranks: some have written a file of their own";
        if let Some(by_node) = all.of_node()? {
            let path = by_node.agree_on(with_name(path, &system::host()))?;
            let written = self.write_together(&by_node, &path)?;
            by_node.free();
            if all.all(!matches!(written, Written::NotShared))? {
                return Ok((written, "; the folder is not one for all nodes: each node has written such a file"));
            }
            if !matches!(written, Written::NotShared) {
                return Ok((written, of_rank));
            }
        }
        Ok((self.write_own(path)?, of_rank))
    }

    fn write_together(&mut self, writers: &Writers, path: &Path) -> Result<Written, Lost> {
        let token: String = self.world.token().iter().map(|byte| format!("{byte:02x}")).collect();
        let mut created = None;
        let mut why = None;
        if writers.rank == 0 {
            let create = || file::create_new_by(path, &token, &create_partial);
            // A folder on another node than rank 0's, or with the time in its name.
            let made =
                writers.at_files(|| make_folder_of(path, &self.run.settings, &self.run.folder).and_then(|()| create()));
            match made {
                Ok(made) => created = Some(made),
                Err(error) => why = Some((self.run.rank, error)),
            }
        }
        let partial = created.as_ref().map(|(taken, _)| file::partial_name(taken, &token));
        let written = self.write_into(writers, (path, &token), created, why);
        if let (Err(Lost), Some(partial)) = (&written, partial) {
            let _ = std::fs::remove_file(partial);
        }
        written
    }

    /// Writes the rank's part, once the first rank has made the file, or failed to.
    fn write_into(
        &mut self,
        writers: &Writers,
        (path, token): (&Path, &str),
        created: Option<(PathBuf, OwnFile)>,
        why: Option<(u32, io::Error)>,
    ) -> Result<Written, Lost> {
        let run = self.run;
        let length = self.content.as_ref().map_or(0, Content::length);
        let made = created.as_ref().map(|(_, file)| file);
        let mut node = match writers.size {
            1 => NodeWriters::Alone(Rank { number: run.rank, length }),
            _ => {
                self.files += 1;
                let name = format!("mpitrace-{token}-{}", self.files);
                NodeWriters::meet(&name, Rank { number: run.rank, length }, made)
            }
        };
        let taken = writers.agree_on(created.as_ref().map_or_else(PathBuf::new, |(taken, _)| taken.clone()))?;
        if taken.as_os_str().is_empty() {
            return Ok(Written::failed(run, path.to_owned(), why));
        }
        let partial = file::partial_name(&taken, token);
        let created = created.map(|(_, file)| file);
        // The first rank synchronises what its node has written together with header and table.
        let of_first_rank = created.or_else(|| node.take_up(&partial));
        let settles = node.opens() && of_first_rank.is_none();
        let opened = match settles {
            true => writers.at_files(|| open_partial(&partial)).ok(),
            false => of_first_rank,
        };
        let take_part = opened.is_some() || !node.opens();
        let progress = || writers.progress();
        let before = writers.bytes_before(take_part, || node.bytes(&partial, &progress))?;
        let Some(before) = before else {
            if writers.rank == 0 {
                let _ = std::fs::remove_file(&partial);
            }
            return Ok(Written::NotShared);
        };
        let start = file::parts_start(writers.size) + before;
        let place = (&node, start, &*partial);
        let (part, mut file) = writers.at_files(|| self.write_part(place, (opened, settles), &progress));
        let parts = writers.gather(part)?;
        let mut published = Err(None);
        if writers.rank == 0 {
            published = match parts.iter().find_map(|part| Some((part.rank as u32, part.failure()?))) {
                Some(failed) => Err(Some(failed)),
                None => writers
                    .at_files(|| {
                        self.finish_file(file.as_mut().ok_or(io::ErrorKind::NotFound)?, &parts)?;
                        file::publish_by(path, &taken, token, &own_file::settle_folder)
                    })
                    .map_err(|error| Some((run.rank, error))),
            };
            if published.is_err() {
                let _ = std::fs::remove_file(&partial);
            }
        }
        match writers.all(published.is_ok() || writers.rank != 0) {
            Ok(false) => return Ok(Written::failed(run, taken, published.err().flatten())),
            // Where the file has its name it is whole, whatever has become of the first rank since.
            Err(Lost) if !taken.exists() => return Err(Lost),
            _ => {}
        }
        let records = parts.iter().map(|part| part.records).sum();
        let path = published.unwrap_or(taken);
        let times = self.content.as_ref().and_then(Content::finalize_times_offset);
        if let Some((file, times)) = file.zip(times) {
            *lock(&run.unfinished) = Some((file.renamed(&path), part.offset + times));
        }
        Ok(Written::Whole { path, ranks: writers.size, records })
    }

    /// Writes this rank's part, and leaves it to the rank that has opened the file to see it on disk. `opened`: this
    /// rank has, and if it `settles`, it sees on disk what its node has written.
    fn write_part(
        &mut self,
        (node, start, partial): (&NodeWriters, u64, &Path),
        (opened, settles): (Option<OwnFile>, bool),
        progress: &dyn Fn(),
    ) -> (WrittenPart, Option<OwnFile>) {
        // The ranks have met behind the last test of the clocks.
        if let Some((content, error)) = self.content.as_mut().zip(clocks::settle_error()) {
            content.rank.domain_error = error;
        }
        let (offset, given) = node.share(start, opened.as_ref(), partial, progress).unwrap_or_default();
        let (mut file, settles) = match given.or(opened) {
            Some(file) => (Ok(file), settles),
            // No other rank synchronises what this one writes.
            None => (open_partial(partial), true),
        };
        let (run, content) = (self.run, self.content.as_ref());
        let length = content.map_or(0, Content::length);
        let mut wrote = match (&mut file, content) {
            _ if offset == 0 => Err(io::Error::from_raw_os_error(libc::EPIPE)),
            (_, None) if run.live.get().is_some() => {
                Err(io::Error::from_raw_os_error(if allocator::is_exhausted() { libc::ENOMEM } else { libc::EIO }))
            }
            (_, None) => Ok(()),
            (Ok(file), Some(content)) => system::check_size(offset + length)
                .and_then(|()| file.current())
                .and_then(|file| content.write_at(file, offset)),
            (Err(error), Some(_)) => Err(io::Error::from_raw_os_error(error.raw_os_error().unwrap_or(libc::EIO))),
        };
        node.have_written(progress);
        if settles {
            wrote = wrote.and_then(|()| file.as_mut().map_or(Ok(()), OwnFile::settle));
        }
        let part = WrittenPart {
            rank: run.rank.into(),
            offset,
            length,
            records: content.map_or(0, Content::records),
            finalized: content.is_some_and(|content| content.rank.state == state::FINALIZED).into(),
            error: wrote.err().map_or(0, |error: io::Error| error.raw_os_error().unwrap_or(libc::EIO) as u64),
        };
        (part, file.ok())
    }

    /// Writes header and table of a file whose parts are there.
    fn finish_file(&self, file: &mut OwnFile, parts: &[WrittenPart]) -> io::Result<()> {
        let entry = |part: &WrittenPart| PartEntry {
            offset: part.offset,
            length: part.length,
            rank: part.rank as u32,
            padding: 0,
        };
        let entries: Vec<PartEntry> = parts.iter().map(entry).collect();
        let start = file::parts_start(entries.len() as u32);
        let end = parts.iter().map(|part| part.offset + part.length).max().unwrap_or(start);
        system::check_size(start)?;
        let complete = parts.iter().all(|part| part.finalized == 1);
        let open = file.current()?;
        file::write_part_entries(open, 0, &entries)?;
        file::write_header(open, self.world.token(), self.run.world_size, entries.len() as u32, end, complete)?;
        file.settle()
    }
}

/// Sets the memory aside that reading and writing the records takes. `None`: there is none, or recording has ended for
/// want of it, and the records are left for `mpitrace recover`.
pub fn memory_for(run: &Run) -> Option<Held> {
    Held::bytes(run.live.get().map_or(1, |live| live.reading_takes()))
}

pub fn all_of(run: &Run) -> Option<Content<'static>> {
    run.live.get()?.whole_content().inspect_err(|error| log::warn(&error.to_string())).ok()
}

pub enum Written {
    Whole {
        path: PathBuf,
        ranks: u32,
        records: u64,
    },
    /// Not all ranks see the folder.
    NotShared,
    /// It could not be written; why, and of which rank of the world, on the first of the writers; and whether all live
    /// records lie in the folder.
    Failed {
        path: PathBuf,
        why: Option<(u32, io::Error)>,
        all_kept: bool,
    },
}

impl Written {
    pub fn failed(run: &Run, path: PathBuf, why: Option<(u32, io::Error)>) -> Written {
        Written::Failed { path, why, all_kept: run.live.get().is_none_or(|live| live.is_in_folder()) }
    }
}

/// Says how it went, and lets the live records go where they are safe. `files` is what else is to be said of a file
/// that is whole.
pub fn say_result(run: &Run, speaks: bool, written: Written, files: &str) {
    match written {
        Written::Whole { path, ranks, records } => {
            run.live.get().inspect(|live| live.remove());
            if speaks {
                let shown = path.strip_prefix(&run.folder).unwrap_or(&path);
                let whose = if ranks < run.world_size && ranks == 1 {
                    format!("rank {}", run.rank)
                } else {
                    format!("{ranks} ranks")
                };
                log::line(&format!("{records} calls of {whose} traced into {}{files}", shown.display()));
            }
        }
        Written::Failed { path, why: Some((rank, why)), all_kept } => {
            let keeps = match run.live.get().and_then(|live| live.folder()) {
                Some(folder) => format!(
                    "the records of all ranks are kept{}: run `mpitrace recover {} -o FILE` on each node",
                    if all_kept { "" } else { ", except those in private memory, which are lost" },
                    folder.display()
                ),
                None => "the records are lost".to_owned(),
            };
            log::failure(&format!("rank {rank} cannot write {}: {why}; {keeps}", path.display()));
        }
        Written::Failed { why: None, .. } | Written::NotShared => {}
    }
}

/// Opens the file that rank 0 has made; a link under its name is another's.
fn open_partial(partial: &Path) -> io::Result<OwnFile> {
    OwnFile::open(partial, libc::O_WRONLY | libc::O_NOFOLLOW, 0)
}

fn create_partial(partial: &Path, mode: u32) -> io::Result<OwnFile> {
    OwnFile::open(partial, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, mode)
}

/// MPI_Finalize has returned: its time is added to the trace, where this rank has written one. A kill before leaves it
/// unknown.
pub fn add_finalize_times(run: &Run, times: FinalizeTimes) {
    run.live.get().inspect(|live| live.header.set_finalize(times));
    if let Some((mut file, offset)) = lock(&run.unfinished).take() {
        let _ = file.write_all_at(bytemuck::bytes_of(&times), offset);
    }
}
