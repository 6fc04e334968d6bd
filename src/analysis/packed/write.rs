//! Rewrites a trace: packed, or as the tracer wrote it.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use mpitrace_format::layout::*;
use mpitrace_format::packed::{Packer, bytes_of_section};
use mpitrace_format::{TraceError, file, metadata, part};

use super::{Columns, RECORDS};
use crate::parallel;
use crate::reader::opening::{self, MappedFile};
use crate::reader::{ColumnPlace, Part};

/// Why a trace cannot be packed or unpacked.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The trace cannot be read.
    #[error(transparent)]
    Unreadable(#[from] TraceError),
    /// A part of it is damaged: what is in it would be lost.
    #[error("{path}: the part of rank {rank} {what}; a damaged trace is not packed or unpacked")]
    Damaged {
        /// The trace.
        path: PathBuf,
        /// The world rank.
        rank: u32,
        /// What is wrong with its part.
        what: String,
    },
    /// Another process changed the trace during the rewrite.
    #[error("{path}: changed while it was read; it was not replaced")]
    Changed {
        /// The trace.
        path: PathBuf,
    },
    /// The new file cannot be written.
    #[error("{path}: {reason}")]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
}

/// A trace that was packed or unpacked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// Bytes of the file before.
    pub before: u64,
    /// Bytes of the new file.
    pub after: u64,
    /// Records in it.
    pub records: u64,
    /// Bytes that the columns of the records took.
    pub columns_before: u64,
    /// Bytes that they take.
    pub columns_after: u64,
}

/// The form that a trace gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Plain,
    Packed,
}

/// As [`pack`], and adds these names and values to the run metadata of the lowest rank.
///
/// # Errors
/// As those of [`pack`].
pub fn pack_with(path: &Path, output: &Path, metadata: &[(String, String)]) -> Result<Rewritten, PackError> {
    rewrite(path, output, Form::Packed, metadata)
}

/// Writes the trace `path` to `output`, its columns packed. `output` may be `path`: the new file is written beside it
/// and takes its name when it is whole and on disk. Parts that are packed are copied.
///
/// # Errors
/// A file that is no trace, or that has a damaged part; a file that cannot be written.
pub fn pack(path: &Path, output: &Path) -> Result<Rewritten, PackError> {
    rewrite(path, output, Form::Packed, &[])
}

/// The reverse of [`pack`]: every section has the bytes that the traced program wrote.
///
/// # Errors
/// As those of [`pack`].
pub fn unpack(path: &Path, output: &Path) -> Result<Rewritten, PackError> {
    rewrite(path, output, Form::Plain, &[])
}

fn rewrite(path: &Path, output: &Path, form: Form, metadata: &[(String, String)]) -> Result<Rewritten, PackError> {
    let mapped = opening::map_file(path)?;
    // A link stays one.
    let output = &fs::canonicalize(output).unwrap_or_else(|_| output.to_owned());
    let partial = file::partial_name(output, &format!("{}", std::process::id()));
    let unwritable = |reason| PackError::Unwritable { path: output.to_owned(), reason };
    let mode = fs::metadata(path).map_err(unwritable)?.permissions().mode();
    let _ = fs::remove_file(&partial);
    let new = File::options().read(true).write(true).create_new(true).mode(mode).open(&partial).map_err(unwritable)?;
    let result = write(path, &mapped, &new, form, metadata).and_then(|written| {
        // Another process may have added parts under the same name.
        if !is_same_file(path, &mapped).map_err(unwritable)? {
            return Err(PackError::Changed { path: path.to_owned() });
        }
        file::settle(new).and_then(|()| fs::rename(&partial, output)).map_err(unwritable)?;
        file::settle_name(output);
        Ok(written)
    });
    if result.is_err() {
        let _ = fs::remove_file(&partial);
    }
    result
}

/// Whether the name still leads to the file that was read, as it was.
fn is_same_file(path: &Path, mapped: &MappedFile) -> io::Result<bool> {
    let identity = |found: &fs::Metadata| (found.dev(), found.ino(), found.len(), found.mtime(), found.mtime_nsec());
    Ok(identity(&fs::metadata(path)?) == identity(&mapped.metadata))
}

/// Writes all of it, the parts in the order in which they lie in the file.
fn write(
    path: &Path,
    mapped: &MappedFile,
    new: &File,
    form: Form,
    metadata: &[(String, String)],
) -> Result<Rewritten, PackError> {
    let unwritable = |reason| PackError::Unwritable { path: path.to_owned(), reason };
    let mut entries = mapped.entries.clone();
    let mut order: Vec<usize> = (0..entries.len()).filter(|&index| entries[index].length > 0).collect();
    order.sort_by_key(|&index| entries[index].offset);
    for pair in order.windows(2) {
        let [before, behind] = [entries[pair[0]], entries[pair[1]]];
        if before.offset.checked_add(before.length).is_none_or(|end| end > behind.offset) {
            let what = "overlaps another part".to_owned();
            return Err(PackError::Damaged { path: path.to_owned(), rank: behind.rank, what });
        }
    }
    // What lies between the table and the first part stays: room for more entries, and sums.
    let head = order.first().map_or(mapped.map.len() as u64, |&first| entries[first].offset);
    let mut written = Rewritten { before: mapped.map.len() as u64, ..Rewritten::default() };
    let lowest = order.iter().map(|&index| entries[index].rank).min();
    let (mut version, mut end) = (VERSION, head);
    for index in order {
        let entry = entries[index];
        let damaged =
            |what: &str| PackError::Damaged { path: path.to_owned(), rank: entry.rank, what: what.to_owned() };
        let old = opening::open_part(&mapped.map, &entry).map_err(damaged)?;
        let directory = opening::directory(&mapped.map[entry.offset as usize..]).map_err(damaged)?;
        let mut sections =
            sections(&old, &directory, entry.offset, form).ok_or_else(|| damaged("cannot be decoded"))?;
        if Some(entry.rank) == lowest && !metadata.is_empty() {
            sections.iter_mut().for_each(|section| add_metadata(section, metadata));
        }
        let header = write_part(&old, &sections, new, end).map_err(unwritable)?;
        entries[index] = PartEntry { offset: end, length: header.length, ..entry };
        end += header.length;
        version = version.max(header.version);
        written.records += header.records;
        written.columns_before +=
            header.records * old.columns.iter().map(|column| u64::from(column.element_size)).sum::<u64>();
        let columns = sections.iter().filter(|section| section.entry.kind == section::COLUMN);
        written.columns_after += columns.map(|section| section.bytes.len() as u64).sum::<u64>();
    }
    new.write_all_at(mapped.map.get(..head as usize).unwrap_or_default(), 0).map_err(unwritable)?;
    file::write_part_entries(new, 0, &entries).map_err(unwritable)?;
    let header = FileHeader { version, length: end, ..mapped.header };
    file::write_checked_header(new, &header).map_err(unwritable)?;
    written.after = end;
    Ok(written)
}

/// A section of the new part: its entry, but for the place, and its bytes.
struct Section<'m> {
    entry: SectionEntry,
    bytes: Cow<'m, [u8]>,
}

/// The sections that a part gets; `None` where a block of it cannot be decoded.
fn sections<'m>(old: &'m Part, directory: &[SectionEntry], start: u64, form: Form) -> Option<Vec<Section<'m>>> {
    let as_it_is = |entry: &SectionEntry, bytes: Range<usize>| Section { entry: *entry, bytes: old.map[bytes].into() };
    let places = old.columns.iter().map(ColumnPlace::bytes);
    let old_columns: Vec<Section> =
        columns(directory).zip(places).map(|(entry, place)| as_it_is(entry, place)).collect();
    let of_columns = match (form, old.packed.is_some()) {
        (Form::Packed, false) => {
            let new: Vec<Section> = columns(directory)
                .zip(packed(old))
                .map(|(entry, (bytes, crc))| Section {
                    entry: SectionEntry { encoding: encoding::BLOCKS, crc, ..*entry },
                    bytes: bytes.into(),
                })
                .collect();
            let length = |sections: &[Section]| sections.iter().map(|section| section.bytes.len()).sum::<usize>();
            if length(&new) < length(&old_columns) { new } else { old_columns }
        }
        (Form::Plain, true) => {
            let new = columns(directory).enumerate().map(|(column, entry)| {
                let bytes = old.plain_bytes(column)?;
                let crc = crc32fast::hash(&bytes);
                Some(Section { entry: SectionEntry { encoding: encoding::PLAIN, crc, ..*entry }, bytes: bytes.into() })
            });
            new.collect::<Option<_>>()?
        }
        _ => old_columns,
    };
    let mut of_columns = of_columns.into_iter();
    let table = |entry: &SectionEntry| {
        let from = (start + entry.offset) as usize;
        as_it_is(entry, from..from + (entry.count * u64::from(entry.element_size)) as usize)
    };
    let new = |entry: &SectionEntry| match entry.kind {
        section::COLUMN => of_columns.next(),
        _ => Some(table(entry)),
    };
    directory.iter().map(new).collect()
}

/// Adds to the run metadata, if that is what the section holds.
fn add_metadata(section: &mut Section, added: &[(String, String)]) {
    if section.entry.kind != section::FACTORS {
        return;
    }
    let Some(mut all) = metadata::decode(&section.bytes) else { return };
    all.retain(|(name, _)| !added.iter().any(|(other, _)| other == name));
    all.extend_from_slice(added);
    let bytes = metadata::encode(&all);
    section.entry = SectionEntry { count: bytes.len() as u64, crc: crc32fast::hash(&bytes), ..section.entry };
    section.bytes = bytes.into();
}

fn columns(directory: &[SectionEntry]) -> impl Iterator<Item = &SectionEntry> {
    directory.iter().filter(|entry| entry.kind == section::COLUMN)
}

/// The columns of a plain part in blocks, with the checksums of their beginnings.
fn packed(old: &Part) -> Vec<(Vec<u8>, u32)> {
    let names = old.columns.iter().map(|column| (column.name.as_str(), column.element_size));
    let columns = Columns::new(names, old.operations());
    let plain: Vec<(&[u8], usize)> =
        old.columns.iter().map(|column| (&old.map[column.bytes()], column.element_size as usize)).collect();
    let blocks: Vec<Range<usize>> =
        (0..old.records()).step_by(RECORDS).map(|from| from..old.records().min(from + RECORDS)).collect();
    let of_block = |block: Range<usize>| {
        let slices: Vec<&[u8]> =
            plain.iter().map(|(bytes, size)| &bytes[block.start * size..block.end * size]).collect();
        Packer::new(&columns).pack(&slices)
    };
    let mut of_columns = vec![Vec::new(); plain.len()];
    for block in parallel::map(blocks, of_block) {
        of_columns.iter_mut().zip(block).for_each(|(column, bytes)| column.push(bytes));
    }
    of_columns.iter().map(|blocks| bytes_of_section(RECORDS, blocks)).collect()
}

/// Writes the part at `offset`, and gives its header.
fn write_part(old: &Part, sections: &[Section], new: &File, offset: u64) -> io::Result<PartHeader> {
    let head = size_of::<PartHeader>() + sections.len() * size_of::<SectionEntry>();
    let mut end = head as u64;
    let mut directory = Vec::with_capacity(sections.len());
    for section in sections {
        let place = round_up(end, SECTION_ALIGNMENT);
        new.write_all_at(&section.bytes, offset + place)?;
        directory.push(SectionEntry { offset: place, ..section.entry });
        end = place + section.bytes.len() as u64;
    }
    let in_blocks = directory.iter().any(|entry| entry.encoding != encoding::PLAIN);
    let version = if in_blocks { PACKED_VERSION } else { VERSION };
    let mut header = PartHeader { version, length: round_up(end, PAGE), ..old.header };
    header.crc = part::checksum(&header, &directory);
    let start = [bytemuck::bytes_of(&header), bytemuck::cast_slice(&directory)].concat();
    new.write_all_at(&start, offset)?;
    // To its end, so that a part is never cut short by a sparse tail.
    new.write_all_at(&vec![0; (header.length - end) as usize], offset + end)?;
    Ok(header)
}
