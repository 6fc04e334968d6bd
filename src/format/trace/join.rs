//! Joins traces of one run into one file: each process adds the parts of its node to the trace of the others, in any
//! order and at the same time.
//!
//! No lock is used, since locks do not exclude each other between the nodes of some network file systems. Two things do
//! on all of them: a name is given once (link), and taken away once (rename). A process has its parts in a file of its
//! own, and gives it the name of the trace. If a trace of the same run has that name, the process takes the name away,
//! adds the parts of the smaller file to the larger one, and tries again. It is done when its file has the name. So no
//! process waits for another one, and a part is copied at most log2(parts) times. A process that is killed leaves its
//! file, which is a trace like any other.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytemuck::{Pod, Zeroable};

use crate::file;
use crate::layout::*;
use crate::part::copy;
use crate::token;

/// How long a name that is taken, but leads to no file, is tried again: a network file system may remember old names
/// for half a minute.
const PATIENCE: Duration = Duration::from_secs(60);
/// The shortest and the longest pause between two attempts.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(200)];

/// Nothing takes longer between two writes: a file that is being joined and was not written for so long has been left
/// by a process that was killed.
const ABANDONED: Duration = Duration::from_secs(600);

/// Bytes of two parts that are held in memory to be compared.
const COMPARED_AT_ONCE: usize = 1 << 16;

/// A trace that has its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Its name: the one that was asked for, or one with a number where that is another file's.
    pub path: PathBuf,
    /// The parts in it.
    pub parts: u32,
}

/// A trace that is open.
struct Stored {
    path: PathBuf,
    file: File,
    header: FileHeader,
    parts: Vec<PartEntry>,
}

/// Gives the trace in the file `given` the name `output`, joined with the trace of the same run that has this name.
/// Where the name is another file's, the first free one of `NAME.2.ENDING`, `NAME.3.ENDING`, ... is taken, or the one
/// that a trace of the same run has.
///
/// `given` must have room for an entry of each rank of its world ([`file::parts_start`]), and lie in the folder of
/// `output`. `token` is that of `process_token`.
///
/// # Errors
/// The error that the file system reports. The parts are then in `given`, or in a file `NAME.TOKEN.N.joining.ENDING`.
///
/// ```
/// use mpitrace_format::join::publish;
/// use mpitrace_testing::synthetic::{self, SyntheticRank};
///
/// // Two nodes wrote a rank each; both traces are to have one name.
/// let folder = tempfile::tempdir()?;
/// let output = folder.path().join("app.mpitrace");
/// for number in 0..2 {
///     let part = folder.path().join(format!("node{number}"));
///     synthetic::write(&part, &[SyntheticRank::new(number, 2)])?;
///     let joined = publish(&part, &output, "token")?;
///     assert_eq!((joined.path, joined.parts), (output.clone(), number + 1));
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn publish(given: &Path, output: &Path, token: &str) -> io::Result<Joined> {
    let mut given = Stored::open(given)?;
    let mut claims = 0;
    let mut pauses = Pauses::new();
    for abandoned in abandoned(output, &given) {
        let claim = claim_name(output, token, claims);
        claims += 1;
        if take_away(&abandoned, &claim)? {
            given = merge(given, Stored::open(&claim)?)?;
        }
    }
    let mut number = 1;
    loop {
        let candidate = file::numbered(output, number);
        if file::give_name(&given.path, &candidate, &file::settle_folder)? {
            return Ok(Joined { path: candidate, parts: given.header.parts });
        }
        let relation = match Stored::open(&candidate) {
            Ok(other) if other.is_foreign_to(&given)? => None,
            Ok(other) => Some((other.has_all_of(&given), other.header.parts)),
            // Another process has taken it away, to join it with its own.
            Err(error) if is_gone(&error) => {
                number += u32::from(!pauses.pause());
                continue;
            }
            Err(_) => None,
        };
        match relation {
            None => {
                number += 1;
                continue;
            }
            Some((true, parts)) => {
                std::fs::remove_file(&given.path)?;
                return Ok(Joined { path: candidate, parts });
            }
            Some((false, _)) => {}
        }
        let claim = claim_name(output, token, claims);
        if !take_away(&candidate, &claim)? {
            pauses.pause();
            continue;
        }
        claims += 1;
        let other = Stored::open(&claim)?;
        if other.is_foreign_to(&given)? {
            // Another run's trace came there in between.
            give_back(&claim, output)?;
            continue;
        }
        given = merge(given, other).inspect_err(|_| drop(give_back(&claim, output)))?;
        pauses = Pauses::new();
        number = 1;
    }
}

/// A text that no other process has: the name of this host and a random number, since processes on different nodes may
/// have the same number, and nodes the same name.
pub(crate) fn process_token() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}-{:016x}", host.trim_end().replace('/', "_"), random())
}

/// The files of the same run that processes have left while they were joining them.
fn abandoned(output: &Path, given: &Stored) -> Vec<PathBuf> {
    let modified = |file: &File| file.metadata().and_then(|metadata| metadata.modified());
    let Ok(now) = modified(&given.file) else { return Vec::new() };
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (stem, ending) = (output.file_stem().unwrap_or_default(), joining_ending(output));
    let is_of = |name: &str| name.starts_with(&format!("{}.", stem.to_string_lossy())) && name.ends_with(&ending);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| is_of(&entry.file_name().to_string_lossy())).map(|entry| entry.path());
    let is_abandoned = |path: &PathBuf| {
        let Ok(other) = Stored::open(path) else { return false };
        // Both times are the file system's.
        let age = modified(&other.file).ok().and_then(|modified| now.duration_since(modified).ok());
        age.is_some_and(|age| age > ABANDONED) && other.is_foreign_to(given).is_ok_and(|foreign| !foreign)
    };
    named.filter(is_abandoned).collect()
}

/// True if the name leads nowhere, or to a file that a network file system still remembers under it.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::StaleNetworkFileHandle)
}

/// True if this process has taken the name away; `false`: another one was faster.
fn take_away(name: &Path, claim: &Path) -> io::Result<bool> {
    match std::fs::rename(name, claim) {
        Ok(()) => Ok(true),
        // As in `file::give_name`.
        Err(error) if is_gone(&error) => Ok(claim.symlink_metadata().is_ok()),
        Err(error) => Err(error),
    }
}

fn give_back(claim: &Path, output: &Path) -> io::Result<()> {
    for number in 1.. {
        if file::give_name(claim, &file::numbered(output, number), &file::settle_folder)? {
            break;
        }
    }
    Ok(())
}

/// `a.mpitrace` -> `a.TOKEN.N.joining.mpitrace`.
fn claim_name(output: &Path, token: &str, number: u32) -> PathBuf {
    let stem = output.file_stem().unwrap_or_default().to_string_lossy();
    output.with_file_name(format!("{stem}.{token}.{number}{}", joining_ending(output)))
}

fn joining_ending(output: &Path) -> String {
    let ending = output.extension().map_or_else(String::new, |ending| format!(".{}", ending.to_string_lossy()));
    format!(".joining{ending}")
}

/// Adds the parts of the smaller file to the larger one and removes the smaller one. The result has the name of
/// `other`, which shows in a listing of the folder.
fn merge(mut given: Stored, mut other: Stored) -> io::Result<Stored> {
    let all = given.parts.len() + other.parts.len();
    if other.has_room_for(all) && other.bytes() >= given.bytes() {
        other.add(&given)?;
        std::fs::remove_file(&given.path)?;
        Ok(other)
    } else {
        given.add(&other)?;
        std::fs::rename(&given.path, &other.path)?;
        given.path = other.path;
        Ok(given)
    }
}

impl Stored {
    /// Reads the frame of a trace. What is no trace, or none that a reader takes, is an error of the kind
    /// `InvalidData`: a process removes its records when they are in a trace. So that a link is never written through,
    /// it is an error too. A file that lacks nothing but the last bytes behind its last section counts as if it had
    /// them.
    fn open(path: &Path) -> io::Result<Stored> {
        let invalid = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        let file =
            OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path)?;
        let header: FileHeader = read_at(&file, 0)?;
        let known = header.magic == FILE_MAGIC && header.version == VERSION;
        let known = known && header.byte_order == BYTE_ORDER_MARK && header.world_size <= MOST_RANKS;
        let known = known && file::checksum(&header) == header.crc;
        // The table is held in memory: a file that is shorter than it says must not have all of that allocated.
        let length = match file.metadata()?.len() {
            short if short < header.length && header.length - short < SECTION_ALIGNMENT => header.length,
            length => length,
        };
        let has_table = file::part_entry_offset(header.parts) <= length;
        if !known || header.parts > header.world_size || !has_table {
            return invalid("is no trace that can be joined: its header does not fit");
        }
        let mut parts = vec![PartEntry::default(); header.parts as usize];
        file.read_exact_at(bytemuck::cast_slice_mut(&mut parts), file::part_entry_offset(0))?;
        let is_within = |entry: &PartEntry| {
            entry.offset.checked_add(entry.length).is_some_and(|end| end <= header.length.min(length))
        };
        // Parts do not overlap: else a table of few bytes could have the disk filled with copies of one part. A file
        // without any may end before the place of the first.
        let of_parts = parts.iter().try_fold(0u64, |sum, entry| sum.checked_add(entry.length));
        let ends_at = length.max(file::parts_start(header.world_size));
        if header.length > ends_at
            || header.length < file::part_entry_offset(header.parts)
            || !parts.iter().all(is_within)
            || of_parts.is_none_or(|sum| sum > length)
        {
            return invalid("is no trace that can be joined: a part leads out of it");
        }
        // No reader takes a trace with a rank that is there twice, or that no run has.
        let mut ranks = HashSet::new();
        if !parts.iter().all(|entry| entry.rank < MOST_RANKS && ranks.insert(entry.rank)) {
            return invalid("is no trace that can be joined: a rank is in it twice, or is none");
        }
        Ok(Stored { path: path.to_owned(), file, header, parts })
    }

    /// True if it is another run's, another user's, or differs in a rank that both have: then that rank is another
    /// process, or is damaged in one of them. Where others can write to the folder they can guess names and tokens;
    /// whatever owners a file system shows, it shows the same one for all that a user makes.
    fn is_foreign_to(&self, other: &Stored) -> io::Result<bool> {
        if self.header.world_size != other.header.world_size {
            return Ok(true);
        }
        if self.header.job != other.header.job && !self.joins(other)? && !other.joins(self)? {
            return Ok(true);
        }
        if self.file.metadata()?.uid() != other.file.metadata()?.uid() {
            return Ok(true);
        }
        let known: HashMap<u32, &PartEntry> = self.parts.iter().map(|entry| (entry.rank, entry)).collect();
        for entry in &other.parts {
            if let Some(known) = known.get(&entry.rank)
                && !self.has_same(known, other, entry)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// True if no rank of it had agreed on the token of the run, which is that of the other ([`token::joins`]).
    fn joins(&self, other: &Stored) -> io::Result<bool> {
        if !token::may_join(self.header.job, other.header.job) {
            return Ok(false);
        }
        for entry in &other.parts {
            let Some(of_run) = other.part(entry)?.filter(|part| part.rank.job == other.header.job) else { continue };
            for entry in &self.parts {
                if !self.part(entry)?.is_some_and(|part| token::joins(&part.rank, &of_run.rank)) {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        Ok(false)
    }

    fn has_all_of(&self, other: &Stored) -> bool {
        let known = self.ranks();
        other.parts.iter().all(|entry| known.contains(&entry.rank))
    }

    fn ranks(&self) -> HashSet<u32> {
        self.parts.iter().map(|entry| entry.rank).collect()
    }

    /// `None`: the rank had no memory for records.
    fn part(&self, entry: &PartEntry) -> io::Result<Option<PartHeader>> {
        if entry.length == 0 { Ok(None) } else { read_at(&self.file, entry.offset).map(Some) }
    }

    /// True if a part is the same in both files, byte for byte.
    fn has_same(&self, part: &PartEntry, other: &Stored, entry: &PartEntry) -> io::Result<bool> {
        let mut blocks = [vec![0; COMPARED_AT_ONCE], vec![0; COMPARED_AT_ONCE]];
        let mut at = 0;
        while part.length == entry.length && at < part.length {
            let length = (part.length - at).min(COMPARED_AT_ONCE as u64);
            let [one, two] = blocks.each_mut().map(|block| &mut block[..length as usize]);
            read_padded_at(&self.file, one, part.offset + at)?;
            read_padded_at(&other.file, two, entry.offset + at)?;
            if one != two {
                return Ok(false);
            }
            at += length;
        }
        Ok(part.length == entry.length)
    }

    /// Bytes of its parts.
    fn bytes(&self) -> u64 {
        self.parts.iter().map(|entry| entry.length).sum()
    }

    fn has_room_for(&self, parts: usize) -> bool {
        let first = self.parts.iter().filter(|entry| entry.length > 0).map(|entry| entry.offset).min();
        file::part_entry_offset(parts as u32) <= first.unwrap_or(self.header.length)
    }

    /// Adds the parts that are not there, behind those that are: what the header says is true at any time. All of it is
    /// on disk when this returns.
    fn add(&mut self, other: &Stored) -> io::Result<()> {
        let job = if self.joins(other)? { other.header.job } else { self.header.job };
        let known = self.ranks();
        let old = self.parts.len();
        let mut end = self.header.length;
        for entry in other.parts.iter().filter(|entry| !known.contains(&entry.rank)) {
            let mut added = *entry;
            if entry.length > 0 {
                added.offset = round_up(end, PAGE);
                end = added.offset + added.length;
                let there = other.file.metadata()?.len().saturating_sub(entry.offset);
                copy(&other.file, entry.offset, &self.file, added.offset, entry.length.min(there))?;
            }
            self.parts.push(added);
        }
        // The padding of its last part.
        if self.file.metadata()?.len() < end {
            self.file.set_len(end)?;
        }
        self.file.write_all_at(bytemuck::cast_slice(&self.parts[old..]), file::part_entry_offset(old as u32))?;
        self.file.sync_data()?;
        let parts = self.parts.len() as u32;
        let complete = parts == self.header.world_size && self.is_whole()?;
        let header = FileHeader { job, parts, length: end, complete: complete.into(), ..self.header };
        file::write_checked_header(&self.file, &header)?;
        self.header = read_at(&self.file, 0)?;
        file::settle(self.file.try_clone()?)
    }

    /// True if all of its ranks reached `MPI_Finalize`, and no record was lost.
    fn is_whole(&self) -> io::Result<bool> {
        for entry in &self.parts {
            let part = self.part(entry)?;
            if !part.is_some_and(|part| part.incomplete == 0 && part.rank.state == state::FINALIZED) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn read_at<T: Pod + Zeroable>(file: &File, offset: u64) -> io::Result<T> {
    let mut value = T::zeroed();
    file.read_exact_at(bytemuck::bytes_of_mut(&mut value), offset)?;
    Ok(value)
}

/// Fills `bytes` with those of the file from this place on, and with zeros where the file has ended.
fn read_padded_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    let there = file.metadata()?.len().saturating_sub(offset).min(bytes.len() as u64);
    let (known, padding) = bytes.split_at_mut(there as usize);
    padding.fill(0);
    file.read_exact_at(known, offset)
}

/// Pauses of random length, so that processes that meet do not meet again.
struct Pauses {
    started: Instant,
    longest: Duration,
}

impl Pauses {
    fn new() -> Pauses {
        Pauses { started: Instant::now(), longest: PAUSES[0] }
    }

    /// Waits; `false`: there were pauses enough.
    fn pause(&mut self) -> bool {
        std::thread::sleep(self.longest.mul_f64(random() as u32 as f64 / f64::from(u32::MAX)));
        self.longest = (2 * self.longest).min(PAUSES[1]);
        self.started.elapsed() < PATIENCE
    }
}

/// A random number: that of the keys that a hash has by default.
fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

#[cfg(test)]
mod tests;
