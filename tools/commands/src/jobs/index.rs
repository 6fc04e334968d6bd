//! The index: rows of traces that were read before, kept in the reader's own cache, a file for each folder of traces.
//!
//! A line is a checksum and an entry as JSON. Lines are only added, each batch in one write, and the last of a trace
//! holds; so readers need no lock, and whatever is lost or damaged is computed again. What others could write is never
//! believed: nothing lies beside the traces.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, Metadata};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use flate2::Crc;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::row::RunRow;

/// The version of a row: one of another version is not looked at.
const VERSION: &str = "jobs-4";
/// Lines that do not hold any more are removed where they are more than this and more than the others.
const STALE: usize = 1000;

pub struct Index {
    /// `None`: there is no place for it, and every row is computed.
    file: Option<PathBuf>,
}

/// The properties that identify the content of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    size: u64,
    modified_s: i64,
    modified_ns: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub stamp: Stamp,
    pub row: RunRow,
}

impl Stamp {
    pub fn new(metadata: &Metadata) -> Stamp {
        Stamp { size: metadata.size(), modified_s: metadata.mtime(), modified_ns: metadata.mtime_nsec() }
    }
}

impl Index {
    /// The index of a folder, which is named by its canonical path.
    pub fn in_folder(folder: &Path) -> Index {
        let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
        // FNV-1a, which stays the same in all versions.
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        let number = folder.as_os_str().as_encoded_bytes().iter().fold(0xcbf2_9ce4_8422_2325, mix);
        Index { file: cache.map(|cache| cache.join("mpitrace").join(VERSION).join(format!("{number:016x}"))) }
    }

    /// The entries that hold, by the files of their rows.
    pub fn read(&self) -> HashMap<String, Entry> {
        let Some(bytes) = self.file.as_ref().and_then(|file| fs::read(file).ok()) else { return HashMap::new() };
        let lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect();
        let entries: Vec<Option<Entry>> = lines.par_iter().map(|line| entry(line)).collect();
        let entries = entries.into_iter().flatten().map(|entry| (entry.row.file.clone(), entry));
        let entries: HashMap<String, Entry> = entries.collect();
        let stale = lines.len() - entries.len();
        if stale > STALE.max(entries.len()) {
            self.replace(&entries);
        }
        entries
    }

    /// Adds entries. That they cannot be kept is no reason for a word: they are computed again.
    pub fn add(&self, entries: &[Entry]) {
        let Some(file) = self.file.as_ref().filter(|_| !entries.is_empty()) else { return };
        let folder = file.parent().unwrap_or(Path::new("."));
        let _ = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        // An earlier line may have been cut off.
        let mut bytes = b"\n".to_vec();
        entries.iter().filter_map(line).for_each(|line| bytes.extend(line));
        let _ = File::options().append(true).create(true).open(file).and_then(|mut file| file.write_all(&bytes));
    }

    /// Leaves these entries alone. What another reader adds meanwhile is lost, and computed again.
    fn replace(&self, entries: &HashMap<String, Entry>) {
        let Some((file, folder)) = self.file.as_ref().and_then(|file| Some((file, file.parent()?))) else { return };
        let bytes: Vec<u8> = entries.values().filter_map(line).flatten().collect();
        let written = tempfile::NamedTempFile::new_in(folder).and_then(|mut new| new.write_all(&bytes).map(|()| new));
        let _ = written.map(|new| new.persist(file));
    }
}

fn line(entry: &Entry) -> Option<Vec<u8>> {
    let json = serde_json::to_vec(entry).ok()?;
    let mut line = format!("{:08x} ", checksum(&json)).into_bytes();
    line.extend(json);
    line.push(b'\n');
    Some(line)
}

fn entry(line: &[u8]) -> Option<Entry> {
    let (sum, json) = line.split_at_checked(9)?;
    let sum = u32::from_str_radix(std::str::from_utf8(sum).ok()?.trim_end(), 16).ok()?;
    (sum == checksum(json)).then(|| serde_json::from_slice(json).ok())?
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    fn entry_of(name: &str, size: u64) -> Entry {
        let row = RunRow { file: name.to_owned(), seconds: size as f64, ..super::super::row::tests::row() };
        Entry { stamp: Stamp { size, modified_s: 5, modified_ns: 7 }, row }
    }

    fn index(folder: &Path) -> Index {
        Index { file: Some(folder.join("deep/index")) }
    }

    #[test]
    fn the_last_entry_of_a_trace_holds_and_damage_costs_only_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let index = index(folder.path());
        assert!(index.read().is_empty());
        index.add(&[entry_of("a", 1), entry_of("b", 2)]);
        index.add(&[entry_of("a", 3)]);
        let found = index.read();
        assert_eq!((found.len(), &found["a"], &found["b"]), (2, &entry_of("a", 3), &entry_of("b", 2)));
        let file = index.file.as_ref().unwrap();
        let mut bytes = fs::read(file).unwrap();
        // One bit of the first line, and the last line is cut off.
        bytes[40] ^= 1;
        bytes.truncate(bytes.len() - 5);
        fs::write(file, bytes).unwrap();
        index.add(&[entry_of("c", 4)]);
        let mut names: Vec<String> = index.read().into_keys().collect();
        names.sort();
        assert_eq!(names, ["b", "c"]);
    }

    #[test]
    fn lines_that_do_not_hold_are_removed_when_they_are_many() {
        let folder = tempfile::tempdir().unwrap();
        let index = index(folder.path());
        (0..=STALE as u64 + 1).for_each(|size| index.add(&[entry_of("a", size)]));
        let length = || fs::metadata(index.file.as_ref().unwrap()).unwrap().len();
        let before = length();
        assert_eq!(index.read()["a"].stamp.size, STALE as u64 + 1);
        assert!(length() < before / 900, "{} of {before}", length());
        assert_eq!(index.read().len(), 1);
    }

    #[test]
    fn readers_that_write_at_the_same_time_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let index = index(folder.path());
                scope.spawn(move || {
                    for number in 0..50 {
                        index.add(&[entry_of(&format!("{writer}.{number}"), number)]);
                        index.read();
                    }
                });
            }
        });
        assert_eq!(index(folder.path()).read().len(), 400);
    }
}
