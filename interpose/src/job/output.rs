//! Writes the trace at Finalize: one file, each rank its own part of it, at offsets that the ranks agree on.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use mpitrace_format::file;
use mpitrace_format::layout::{PartEntry, state};
use mpitrace_format::part::Content;

use crate::boundary::mpi::Comm;
use crate::boundary::system;
use crate::job::run::{Run, World};
use crate::job::settings::Settings;
use crate::job::{log, metadata};

/// The ranks that write one file together.
struct Writers {
    /// `None`: this rank alone.
    comm: Option<Comm>,
    rank: u32,
    size: u32,
}

/// Writes this rank's part, together with the other ranks of the world. Where that fails on any rank there is no file,
/// the segments stay, and one line says why.
pub fn write(run: &Run, world: &World) {
    let content = content_of(run);
    let path = path_of(&run.settings, &run.folder, run.process);
    let Some(comm) = world.comm else {
        // One of several ranks that cannot agree on anything: each takes a name of its own.
        let path = if run.world_size > 1 { with_name(&path, &format!("rank{}", run.rank)) } else { path };
        let alone = Writers { comm: None, rank: 0, size: 1 };
        say_result(
            run,
            run.rank == 0 || run.world_size > 1,
            write_together(run, world, &alone, &path, content.as_ref()),
        );
        return;
    };
    let all = Writers { comm: Some(comm), rank: run.rank, size: run.world_size };
    let path = all.agree_on(path);
    let result = match write_together(run, world, &all, &path, content.as_ref()) {
        Written::NotShared => {
            // The folder is another one on some node: a file for each node.
            let by_node = all.of_node();
            let path = by_node.agree_on(with_name(&path, &system::host()));
            let written = write_together(run, world, &by_node, &path, content.as_ref());
            by_node.free();
            written
        }
        other => other,
    };
    say_result(run, run.rank == 0, result);
    all.free();
}

/// Whether it is so on any rank of the world; where the ranks cannot be asked, on this one.
pub fn any_rank(run: &Run, world: &World, here: bool) -> bool {
    match world.comm {
        Some(comm) => !Writers { comm: Some(comm), rank: run.rank, size: run.world_size }.all(!here),
        None => here,
    }
}

/// Whether it is so on all ranks of the world; where the ranks cannot be asked, on this one.
pub fn all_ranks(run: &Run, world: &World, here: bool) -> bool {
    !any_rank(run, world, !here)
}

/// Gives the tracer's own communicator back where the trace is not written together.
pub fn free_world(world: &World) {
    Writers { comm: world.comm, rank: 0, size: 1 }.free();
}

/// What this rank has recorded.
pub fn content_of(run: &Run) -> Option<Content<'static>> {
    let live = run.live.get()?;
    let read = live.content();
    read.inspect_err(|error| log::warn(&error.to_string())).ok()
}

/// What became of a file.
pub enum Written {
    /// It is whole.
    Whole { path: PathBuf, records: u64 },
    /// Not all ranks see the folder.
    NotShared,
    /// It could not be written; why, on the first rank where it failed.
    Failed { path: PathBuf, why: Option<io::Error> },
}

/// Says how it went, and lets the live records go where they are safe.
pub fn say_result(run: &Run, speaks: bool, written: Written) {
    match written {
        Written::Whole { path, records } => {
            run.live.get().inspect(|live| live.remove());
            if speaks {
                let shown = path.strip_prefix(&run.folder).unwrap_or(&path);
                // Where this rank had to leave calls out, the others are likely to have had to.
                let full = match run.live.get().is_some_and(|live| live.is_full()) {
                    true => "; the arrays were full before the end (MPITRACE_CAPACITY makes them larger)",
                    false => "",
                };
                let (ranks, path) = (run.world_size, shown.display());
                log::line(&format!("{records} calls of {ranks} ranks traced into {path}{full}"));
            }
        }
        Written::Failed { path, why } => {
            let keeps = match run.live.get().and_then(|live| live.folder()) {
                Some(folder) => format!("the records are kept: mpitrace recover {} -o FILE", folder.display()),
                None => "the records are lost".to_owned(),
            };
            match why {
                Some(why) => log::warn(&format!("{}: {why}; {keeps}", path.display())),
                None if speaks => log::line(&format!("{}: another rank could not write; {keeps}", path.display())),
                None => {}
            }
        }
        Written::NotShared => {}
    }
}

fn write_together(run: &Run, world: &World, writers: &Writers, path: &Path, content: Option<&Content<'_>>) -> Written {
    let fail = |why| Written::Failed { path: path.to_owned(), why };
    // The first rank makes the file and marks it with the run's token.
    let mut created = None;
    let mut why = None;
    if writers.rank == 0 {
        let made = file::create_new(path).and_then(|(taken, file)| {
            file.write_all_at(&world.job, 0)?;
            Ok((taken, file))
        });
        match made {
            Ok(made) => created = Some(made),
            Err(error) => why = Some(error),
        }
    }
    let taken = writers.agree_on(created.as_ref().map_or_else(PathBuf::new, |(taken, _)| taken.clone()));
    if taken.as_os_str().is_empty() {
        return fail(why);
    }
    let opened = match created {
        Some((_, file)) => Some(file),
        None => open(&taken, &world.job),
    };
    if !writers.all(opened.is_some()) {
        if writers.rank == 0 {
            let _ = std::fs::remove_file(file::partial_name(&taken));
        }
        return if writers.size == 1 { fail(why) } else { Written::NotShared };
    }

    let length = content.map_or(0, Content::length);
    let before = writers.sum_before(length);
    let total = writers.sum(length);
    let records = writers.sum(content.map_or(0, Content::records));
    let complete = writers.all(content.is_some_and(|content| content.rank.state == state::FINALIZED));
    let start = file::parts_start(writers.size);
    let mut wrote = Ok(());
    if let Some(file) = &opened {
        let offset = start + before;
        let entry = PartEntry { offset, length, rank: run.rank, padding: 0 };
        wrote = check_size(offset + length)
            .and_then(|()| content.map_or(Ok(()), |content| content.write_at(file, offset)))
            .and_then(|()| file::write_part_entry(file, writers.rank, &entry));
    }
    if let Some(first) = writers.first_without(wrote.is_ok()) {
        if writers.rank == 0 {
            let _ = std::fs::remove_file(file::partial_name(&taken));
        }
        return fail(wrote.err().filter(|_| first == writers.rank));
    }

    let mut published = Ok(taken.clone());
    if let (0, Some(file)) = (writers.rank, &opened) {
        published = file::write_header(file, world.job, run.world_size, writers.size, start + total, complete)
            .and_then(|()| file::publish(path, &taken));
    }
    if !writers.all(published.is_ok()) {
        return fail(published.err());
    }
    Written::Whole { path: published.unwrap_or(taken), records }
}

/// Opens the file that the first rank made; `None` where this rank sees another folder under the same name.
fn open(taken: &Path, job: &[u8; 16]) -> Option<File> {
    let mut file = OpenOptions::new().read(true).write(true).open(file::partial_name(taken)).ok()?;
    let mut token = [0; 16];
    file.read_exact(&mut token).ok()?;
    (token == *job).then_some(file)
}

/// Beyond RLIMIT_FSIZE the kernel would send SIGXFSZ, which ends the program.
pub fn check_size(end: u64) -> io::Result<()> {
    match system::file_size_limit() {
        Some(limit) if end > limit => Err(io::Error::from_raw_os_error(libc::EFBIG)),
        _ => Ok(()),
    }
}

impl Writers {
    /// The ranks of this node, by shared memory.
    fn of_node(&self) -> Writers {
        let node = self.comm.and_then(|comm| comm.split_by_memory(self.rank));
        let ranks = node.and_then(|node| node.rank().zip(node.size()));
        let (rank, size) = ranks.unwrap_or((0, 1));
        Writers { comm: node.filter(|_| ranks.is_some()), rank, size }
    }

    /// Gives the communicator back.
    fn free(self) {
        if let Some(comm) = self.comm {
            comm.free();
        }
    }

    /// The first rank's path, on all ranks.
    fn agree_on(&self, path: PathBuf) -> PathBuf {
        let Some(comm) = self.comm else { return path };
        let mut bytes = path.into_os_string().into_encoded_bytes();
        let mut length = [bytes.len() as u64];
        comm.broadcast(&mut length);
        bytes.resize(length[0] as usize, 0);
        comm.broadcast(&mut bytes);
        PathBuf::from(std::ffi::OsString::from_vec(bytes))
    }

    /// Whether it is so on all ranks.
    fn all(&self, here: bool) -> bool {
        self.min(here.into()) != 0
    }

    /// The first rank on which it is not so.
    fn first_without(&self, here: bool) -> Option<u32> {
        let size = i64::from(self.size);
        let first = self.min(if here { size } else { self.rank.into() });
        (first < size).then_some(first as u32)
    }

    fn min(&self, here: i64) -> i64 {
        self.comm.map_or(here, |comm| comm.min(here).unwrap_or(0))
    }

    fn sum(&self, here: u64) -> u64 {
        self.comm.map_or(here, |comm| comm.sum(here as i64).unwrap_or(0) as u64)
    }

    /// The sum over the ranks before this one.
    fn sum_before(&self, here: u64) -> u64 {
        let Some(comm) = self.comm else { return 0 };
        let sum = comm.sum_before(here as i64);
        // What the first rank receives is not defined.
        if self.rank == 0 { 0 } else { sum as u64 }
    }
}

/// `MPITRACE_OUTPUT` with its `%` signs replaced, absolute; `process` stands for `%p`.
pub fn path_of(settings: &Settings, folder: &Path, process: u32) -> PathBuf {
    let job = ["SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "OAR_JOB_ID", "JOB_ID", "FLUX_JOB_ID"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    let pid = process.to_string();
    let job = job.unwrap_or_else(|| pid.clone());
    let pattern = settings.output.as_deref().unwrap_or("mpitrace-%j.mpitrace");
    let mut path = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match (character, if character == '%' { characters.clone().next() } else { None }) {
            ('%', Some(sign @ ('h' | 'p' | 'j' | 't' | '%'))) => {
                characters.next();
                match sign {
                    'h' => path.push_str(&system::host()),
                    'p' => path.push_str(&pid),
                    'j' => path.push_str(&job.replace('/', "_")),
                    't' => path.push_str(&metadata::local_time(c"%Y%m%d-%H%M%S")),
                    _ => path.push('%'),
                }
            }
            _ => path.push(character),
        }
    }
    folder.join(path)
}

/// `a.mpitrace` -> `a.NAME.mpitrace`.
fn with_name(path: &Path, name: &str) -> PathBuf {
    let ending = path.extension().map_or_else(String::new, |ending| format!(".{}", ending.to_string_lossy()));
    path.with_extension(format!("{name}{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signs_of_an_output_name_are_replaced() {
        let mut settings = Settings::read();
        settings.output = Some("a%%b-%p-%x%".to_owned());
        assert_eq!(path_of(&settings, Path::new("/x"), 7), Path::new("/x/a%b-7-%x%"));
    }

    #[test]
    fn a_name_goes_before_the_ending() {
        assert_eq!(with_name(Path::new("x/a.b.mpitrace"), "node1"), Path::new("x/a.b.node1.mpitrace"));
        assert_eq!(with_name(Path::new("a"), "rank1"), Path::new("a.rank1"));
    }
}
