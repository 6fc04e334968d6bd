//! Files whose numbers are made up, with checksums that fit.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytemuck::{Pod, Zeroable};
use mpitrace_format::layout::*;
use mpitrace_format::{file, part};

use super::Trace;
use mpitrace_testing::synthetic::{self, SyntheticRank};

/// A trace of two ranks.
fn trace(folder: &Path) -> (PathBuf, File) {
    let path = folder.join("a.mpitrace");
    synthetic::write(&path, &[SyntheticRank::new(0, 2), SyntheticRank::new(1, 2)]).unwrap();
    let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    (path, file)
}

fn read<T: Pod + Zeroable>(file: &File, offset: u64) -> T {
    let mut value = T::zeroed();
    file.read_exact_at(bytemuck::bytes_of_mut(&mut value), offset).unwrap();
    value
}

/// The error message about the file, without its name.
fn refused(path: &Path) -> String {
    let error = Trace::open(&[path]).expect_err("a file whose numbers are made up").to_string();
    error.strip_prefix(&format!("{}: ", path.display())).expect("the file is named").to_owned()
}

#[test]
fn a_number_of_ranks_that_no_run_has_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, file) = trace(folder.path());
    assert!(Trace::open(&[&path]).unwrap().complete);
    let length = file.metadata().unwrap().len();
    file::write_header(&file, [0; 16], u32::MAX, 2, length, false).unwrap();
    assert_eq!(refused(&path), "claims 4294967295 ranks, above the maximum of 16777216");
    file::write_header(&file, [0; 16], 5, 2, length, false).unwrap();
    assert!(Trace::open(&[&path]).unwrap().missing.into_iter().flatten().eq(2..5));
}

#[test]
fn a_part_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let (path, file) = trace(folder.path());
    let first: PartEntry = read(&file, file::part_entry_offset(0));
    file::write_part_entries(&file, 1, &[first]).unwrap();
    assert_eq!(refused(&path), "lists rank 0 twice, or it is out of range");
    file::write_part_entries(&file, 1, &[PartEntry { rank: NO_RANK, ..first }]).unwrap();
    assert_eq!(refused(&path), "lists rank 4294967295 twice, or it is out of range");
}

#[test]
fn a_part_has_no_more_sections_than_there_are_kinds_and_columns() {
    let folder = tempfile::tempdir().unwrap();
    let (path, file) = trace(folder.path());
    let entry: PartEntry = read(&file, file::part_entry_offset(1));
    let mut header: PartHeader = read(&file, entry.offset);
    // The directory goes on with the bytes of the sections, as if they were entries.
    header.sections = 200;
    let length = header.sections as usize * size_of::<SectionEntry>();
    file.set_len(file.metadata().unwrap().len() + length as u64 + PAGE).unwrap();
    let (moved, more) = (file.metadata().unwrap().len() - PAGE, round_up(length as u64 + PAGE, PAGE));
    let start = round_up(moved, PAGE);
    file.set_len(start + more).unwrap();
    let directory = vec![SectionEntry::zeroed(); header.sections as usize];
    header.length = more;
    header.crc = part::checksum(&header, &directory);
    file.write_all_at(bytemuck::bytes_of(&header), start).unwrap();
    file.write_all_at(bytemuck::cast_slice(&directory), start + size_of::<PartHeader>() as u64).unwrap();
    file::write_part_entries(&file, 1, &[PartEntry { offset: start, length: more, ..entry }]).unwrap();
    let opened = Trace::open(&[&path]).unwrap();
    let expected = format!("{}: the part of rank 1 has too many sections", path.display());
    assert_eq!((opened.parts.len(), &opened.problems[0]), (1, &expected));
}
