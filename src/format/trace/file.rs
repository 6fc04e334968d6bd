//! The frame of a trace file: a header, a table of parts, then the parts.
//!
//! A trace is written under a temporary name beside its own, and renamed when every rank's part is whole, so that there
//! is never half a trace under a trace's name.
//!
//! ```
//! use mpitrace_format::file::{checksum, create_new, create_new_by, header, job, part_entry_offset, parts};
//! use mpitrace_format::file::{parts_start, publish, publish_by, settle, synchronise, write_header};
//! use mpitrace_format::file::write_part_entries;
//! use mpitrace_format::layout::PartEntry;
//! use mpitrace_format::metadata::encode;
//! use mpitrace_testing::synthetic::SyntheticRank;
//!
//! let folder = tempfile::tempdir()?;
//! let wanted = folder.path().join("app.mpitrace");
//! // A trace of one rank.
//! let (taken, file) = create_new(&wanted, "token")?;
//! let rank = SyntheticRank::new(0, 1);
//! let metadata = encode(&rank.metadata);
//! let content = rank.content(&metadata);
//! let (offset, length) = (parts_start(1), content.length());
//! assert!(part_entry_offset(1) <= offset);
//! content.write_at(&file, offset)?;
//! write_part_entries(&file, 0, &[PartEntry { offset, length, rank: 0, padding: 0 }])?;
//! write_header(&file, [7; 16], 1, 1, offset + length, true)?;
//! synchronise(&file)?;
//! assert_eq!(parts(&file, 1)?[0].rank, rank.header);
//! settle(file)?;
//! // It has its name once it is whole; another one gets a number.
//! assert_eq!(publish(&wanted, &taken, "token")?, wanted);
//! let found = header(&wanted).expect("a trace");
//! assert_eq!((job(&wanted), found.crc), (Some([7; 16]), checksum(&found)));
//! let (second, ()) = create_new_by(&wanted, "other", &|partial, _| std::fs::write(partial, ""))?;
//! assert_eq!(publish_by(&wanted, &second, "other", &|_| Ok(()))?, folder.path().join("app.2.mpitrace"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::IntoRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use bytemuck::Zeroable;

use crate::layout::*;

/// Where the first part may lie in a file with this many parts.
pub fn parts_start(parts: u32) -> u64 {
    round_up(part_entry_offset(parts), PAGE)
}

/// Where the entry of the `index`-th part lies.
pub fn part_entry_offset(index: u32) -> u64 {
    size_of::<FileHeader>() as u64 + u64::from(index) * size_of::<PartEntry>() as u64
}

/// Writes the entries of the `first`-th part and of those behind it.
///
/// # Errors
/// The file cannot be written.
pub fn write_part_entries(file: &File, first: u32, entries: &[PartEntry]) -> io::Result<()> {
    file.write_all_at(bytemuck::cast_slice(entries), part_entry_offset(first))
}

/// Sees what was written through this descriptor on disk.
///
/// # Errors
/// The error that the file system reports.
pub fn synchronise(file: &File) -> io::Result<()> {
    match file.sync_all().map_err(|error| (error.raw_os_error(), error)) {
        // Some file systems in user space, and files that are none, cannot be synchronised.
        Err((Some(libc::EINVAL | libc::ENOSYS | libc::ENOTSUP), _)) | Ok(()) => Ok(()),
        Err((_, error)) => Err(error),
    }
}

/// Sees what was written through this descriptor on disk, and closes it. A network file system may say only now that
/// there is no room.
///
/// # Errors
/// The error that the file system reports.
pub fn settle(file: File) -> io::Result<()> {
    synchronise(&file)?;
    // SAFETY: the descriptor is given up by the file, so that nothing else closes it.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()).or_else(|error| match error.kind() {
            // Linux has closed it then.
            io::ErrorKind::Interrupted => Ok(()),
            _ => Err(error),
        }),
    }
}

/// The permissions of a trace in this folder, before the umask. In one that all users can write to, but not rename or
/// remove others' files in, it is for its user alone; where the folder sets the group, also for that to read.
///
/// ```
/// use mpitrace_format::file::mode_in;
///
/// // A folder of one user.
/// let folder = tempfile::tempdir()?;
/// assert_eq!(mode_in(Some(folder.path())), 0o666);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn mode_in(folder: Option<&Path>) -> u32 {
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match folder.metadata().map(|metadata| metadata.permissions().mode()) {
        Ok(mode) if mode & FOR_ALL != FOR_ALL => 0o666,
        Ok(mode) if mode & SETS_GROUP == 0 => 0o600,
        Ok(_) => 0o640,
        Err(_) => 0o666,
    }
}

const SETS_GROUP: u32 = 0o2000;
/// All users can write to a folder, and only owners rename or remove what is in it.
const FOR_ALL: u32 = 0o1002;

/// The name of a trace with its `%` signs filled in; those without a value stay.
///
/// ```
/// use std::path::Path;
///
/// use mpitrace_format::file::filled;
///
/// let name = filled("%x-%j.mpitrace".as_ref(), |sign| (sign == b'j').then(|| "17".to_owned()));
/// assert_eq!(name, Path::new("%x-17.mpitrace"));
/// ```
pub fn filled(pattern: &OsStr, value: impl Fn(u8) -> Option<String>) -> PathBuf {
    let mut name = Vec::new();
    let mut rest = pattern.as_bytes();
    while let Some(before) = rest.iter().position(|&byte| byte == b'%') {
        name.extend(&rest[..before]);
        match rest.get(before + 1).and_then(|&sign| value(sign)) {
            Some(value) => {
                name.extend(value.replace('/', "_").into_bytes());
                rest = &rest[before + 2..];
            }
            None => {
                name.push(b'%');
                rest = &rest[before + 1..];
            }
        }
    }
    name.extend(rest);
    OsString::from_vec(name).into()
}

/// Sees new names in a folder on disk.
pub(crate) fn settle_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// The headers of the first `parts` parts.
///
/// # Errors
/// The file cannot be read, or is shorter than its entries say.
pub fn parts(file: &File, parts: u32) -> io::Result<Vec<PartHeader>> {
    let read = |index| {
        let (mut entry, mut header) = (PartEntry::zeroed(), PartHeader::zeroed());
        file.read_exact_at(bytemuck::bytes_of_mut(&mut entry), part_entry_offset(index))?;
        file.read_exact_at(bytemuck::bytes_of_mut(&mut header), entry.offset)?;
        Ok(header)
    };
    (0..parts).map(read).collect()
}

/// The token of the run that the trace is of; `None`: the file cannot be read.
pub fn job(path: &Path) -> Option<[u8; 16]> {
    header(path).map(|header| header.job)
}

/// The header of a trace; `None`: the file cannot be read, or is none.
pub fn header(path: &Path) -> Option<FileHeader> {
    let mut header = FileHeader::zeroed();
    // Not blocking: a pipe without a writer would hold us here.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    file.read_exact_at(bytemuck::bytes_of_mut(&mut header), 0).ok()?;
    (header.magic == FILE_MAGIC).then_some(header)
}

/// Writes the file's header.
///
/// # Errors
/// The file cannot be written.
pub fn write_header(
    file: &File,
    job: [u8; 16],
    world_size: u32,
    parts: u32,
    length: u64,
    complete: bool,
) -> io::Result<()> {
    let header = FileHeader {
        magic: FILE_MAGIC,
        version: VERSION,
        byte_order: BYTE_ORDER_MARK,
        job,
        world_size,
        parts,
        length,
        complete: complete.into(),
        crc: 0,
    };
    write_checked_header(file, &header)
}

/// Writes the file's header with its checksum.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write_checked_header(file: &File, header: &FileHeader) -> io::Result<()> {
    let header = FileHeader { crc: checksum(header), ..*header };
    file.write_all_at(bytemuck::bytes_of(&header), 0)
}

/// The checksum of a file's header.
pub fn checksum(header: &FileHeader) -> u32 {
    crc32fast::hash(bytemuck::bytes_of(&FileHeader { crc: 0, ..*header }))
}

/// The name under which a trace is written before it is whole: `.NAME.TOKEN.partial` in the same folder. The token is
/// one that no other writer has.
///
/// ```
/// use std::path::Path;
///
/// use mpitrace_format::file::partial_name;
///
/// assert_eq!(partial_name(Path::new("/data/a.mpitrace"), "9f"), Path::new("/data/.a.mpitrace.9f.partial"));
/// ```
pub fn partial_name(path: &Path, token: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".");
    name.push(token);
    name.push(".partial");
    path.with_file_name(name)
}

/// `path`, or where that exists the first of `NAME.2.ENDING`, `NAME.3.ENDING`, ... that does not; creates its partial
/// file.
///
/// # Errors
/// The folder cannot be written.
pub fn create_new(path: &Path, token: &str) -> io::Result<(PathBuf, File)> {
    create_new_by(path, token, &|partial, mode| {
        OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(partial)
    })
}

/// [`create_new`], where `create` makes a new file of this name with these permissions.
///
/// # Errors
/// The folder cannot be written.
pub fn create_new_by<F>(
    path: &Path,
    token: &str,
    create: &dyn Fn(&Path, u32) -> io::Result<F>,
) -> io::Result<(PathBuf, F)> {
    for number in 1.. {
        let candidate = numbered(path, number);
        if candidate.symlink_metadata().is_ok() {
            continue;
        }
        let partial = partial_name(&candidate, token);
        match create(&partial, mode_in(path.parent())) {
            Ok(file) => return Ok((candidate, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    unreachable!("the numbers have no end")
}

/// Gives the finished partial file of `taken` its own name. Never replaces a file that has come there meanwhile: then
/// the next free number of `wanted`, the name that was asked for, is taken.
///
/// # Errors
/// The file cannot be given its name: the folder cannot be written, or the partial file has gone.
pub fn publish(wanted: &Path, taken: &Path, token: &str) -> io::Result<PathBuf> {
    publish_by(wanted, taken, token, &settle_folder)
}

/// [`publish`], where `settle_folder` sees a new name in a folder on disk.
///
/// # Errors
/// The file cannot be given its name.
pub fn publish_by(
    wanted: &Path,
    taken: &Path,
    token: &str,
    settle_folder: &dyn Fn(&Path) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let partial = partial_name(taken, token);
    let numbers = (1..).map(|number| numbered(wanted, number));
    for candidate in std::iter::once(taken.to_owned()).chain(numbers) {
        if give_name(&partial, &candidate, settle_folder)? {
            return Ok(candidate);
        }
    }
    unreachable!("the numbers have no end")
}

/// True if `partial` has got the name; `false`: another file has it.
pub(crate) fn give_name(
    partial: &Path,
    name: &Path,
    settle_folder: &dyn Fn(&Path) -> io::Result<()>,
) -> io::Result<bool> {
    match std::fs::hard_link(partial, name) {
        Ok(()) => {}
        // A network file system may say so of a request that it has carried out and was sent again.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let [partial, other] =
                [partial, name].map(|path| path.symlink_metadata().map(|found| (found.dev(), found.ino())));
            if !partial.is_ok_and(|partial| other.is_ok_and(|other| partial == other)) {
                return Ok(false);
            }
        }
        Err(_) if name.symlink_metadata().is_ok() => return Ok(false),
        // A file system without hard links: the check and the renaming are two steps there.
        Err(_) => std::fs::rename(partial, name)?,
    }
    let folder = name.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // As far as the file system can.
    let _ = settle_folder(folder);
    // The trace is there: a second name that cannot be removed takes nothing from it.
    let _ = std::fs::remove_file(partial);
    Ok(true)
}

/// The `number`-th of the names that a trace may take: `a.mpitrace`, `a.2.mpitrace`, ...; a name without an ending gets
/// the number at its end.
///
/// ```
/// use std::path::Path;
///
/// use mpitrace_format::file::numbered;
///
/// assert_eq!(numbered(Path::new("a.mpitrace"), 1), Path::new("a.mpitrace"));
/// assert_eq!(numbered(Path::new("a.mpitrace"), 2), Path::new("a.2.mpitrace"));
/// ```
pub fn numbered(path: &Path, number: u32) -> PathBuf {
    match path.extension() {
        _ if number == 1 => path.to_owned(),
        Some(extension) => {
            let mut ending = std::ffi::OsString::from(format!("{number}."));
            ending.push(extension);
            path.with_extension(ending)
        }
        None => {
            let mut name = path.file_name().unwrap_or_default().to_owned();
            name.push(format!(".{number}"));
            path.with_file_name(name)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signs_of_a_name_are_filled_in() {
        let value = |sign| match sign {
            b'p' => Some("7".to_owned()),
            b'h' => Some("a/b".to_owned()),
            b'%' => Some("%".to_owned()),
            _ => None,
        };
        assert_eq!(filled(OsStr::new("/x/%h-%p-%x%%%"), value), Path::new("/x/a_b-7-%x%%"));
    }

    #[test]
    fn the_checksum_is_of_all_of_the_header_but_itself() {
        let header = FileHeader { parts: 3, world_size: 4, ..FileHeader::zeroed() };
        assert_eq!(checksum(&header), checksum(&FileHeader { crc: 7, ..header }));
        for other in [FileHeader { parts: 2, ..header }, FileHeader { length: 1, ..header }] {
            assert_ne!(checksum(&header), checksum(&other));
        }
    }

    #[test]
    fn the_number_goes_before_the_ending() {
        assert_eq!(numbered(Path::new("x/a.mpitrace"), 2), Path::new("x/a.2.mpitrace"));
        assert_eq!(numbered(Path::new("a"), 3), Path::new("a.3"));
    }

    #[test]
    fn an_existing_trace_is_never_replaced() {
        let folder = std::env::temp_dir().join(format!("mpitrace-file-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.mpitrace");
        std::fs::write(&path, "kept").unwrap();
        let (taken, _) = create_new(&path, "7").unwrap();
        assert_eq!(taken, folder.join("a.2.mpitrace"));
        // Somebody else takes the name between the creation and the publication.
        std::fs::write(&taken, "also kept").unwrap();
        assert_eq!(publish(&path, &taken, "7").unwrap(), folder.join("a.3.mpitrace"));
        assert_eq!(std::fs::read(&path).unwrap(), b"kept");
        assert_eq!(std::fs::read(&taken).unwrap(), b"also kept");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
