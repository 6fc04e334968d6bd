//! Files that the tracer opens in the process of a program.
//!
//! The program may close any descriptor at any time, and a file of its own may get the number. So each of ours lies
//! high and is marked close-on-exec, and is used, written, cut and closed only after fstat(2) has said that it is ours
//! still. What has become another's is left alone, and ours is opened again by its name. No other file of this library
//! has a `File` or the number of one (`tests/forbidden.rs`).

use std::borrow::Borrow;
use std::ffi::{CStr, CString, OsStr, OsString, c_int};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::descriptor::{self, Identity};
use crate::base::system;

/// A file by a descriptor that the program may have closed since.
#[derive(Debug)]
struct Guarded<F: Borrow<File>> {
    /// Closed only where the descriptor is ours still.
    file: ManuallyDrop<F>,
    identity: Identity,
}

impl<F: Borrow<File>> Guarded<F> {
    fn new(file: F) -> io::Result<Guarded<F>> {
        let file = ManuallyDrop::new(file);
        // Without an identity it cannot be known whose it is: then it is left alone.
        let identity = descriptor::identity((*file).borrow().as_raw_fd())?;
        Ok(Guarded { file, identity })
    }

    fn is_ours(&self) -> bool {
        descriptor::identity((*self.file).borrow().as_raw_fd()).is_ok_and(|found| found == self.identity)
    }

    /// `EBADF`: the program has closed the descriptor, or a file of its own has it.
    fn ours(&self) -> io::Result<&F> {
        if self.is_ours() { Ok(&self.file) } else { Err(io::Error::from_raw_os_error(libc::EBADF)) }
    }
}

impl<F: Borrow<File>> Drop for Guarded<F> {
    fn drop(&mut self) {
        // What has the number otherwise is the program's: it is not closed.
        if self.is_ours() {
            // SAFETY: nothing uses the field any more.
            unsafe { ManuallyDrop::drop(&mut self.file) };
            descriptor::renew();
        }
    }
}

/// A file of the tracer.
#[derive(Debug)]
pub struct OwnFile {
    file: Guarded<Arc<File>>,
    path: PathBuf,
    /// Flags by which it is opened again.
    access: c_int,
    /// A lock marks it as being of a living process.
    is_marked: bool,
}

/// Flags that make a file, and are of no use once it is there.
const MAKES: c_int = libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC;

impl OwnFile {
    /// Opens a file with these flags of open(2), and with these permissions where that makes it.
    ///
    /// # Errors
    /// The error of open(2).
    pub fn open(path: &Path, flags: c_int, mode: u32) -> io::Result<OwnFile> {
        let file = Guarded::new(Arc::new(open(&c_string(path)?, flags, mode)?))?;
        Ok(OwnFile { file, path: path.to_owned(), access: flags & !MAKES, is_marked: false })
    }

    /// The file that another process of the node has opened and given to this one, by a descriptor with a high number;
    /// where the program closes that it is opened by its name, with these flags.
    ///
    /// # Errors
    /// It cannot be asked what it is.
    pub fn received(descriptor: c_int, path: &Path, access: c_int) -> io::Result<OwnFile> {
        // SAFETY: the kernel has just made the descriptor for this process, and nothing else has it.
        let file = Guarded::new(Arc::new(unsafe { File::from_raw_fd(descriptor) }))?;
        Ok(OwnFile { file, path: path.to_owned(), access, is_marked: false })
    }

    /// Makes an empty file that no other user may open, to be read and written.
    ///
    /// # Errors
    /// The name is taken, also by a link; the error of open(2).
    pub fn create_private(path: &Path) -> io::Result<OwnFile> {
        OwnFile::open(path, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW, 0o600)
    }

    /// Opens a file that there is, to be read and written; not through a link.
    ///
    /// # Errors
    /// The error of open(2).
    pub fn open_existing(path: &Path) -> io::Result<OwnFile> {
        OwnFile::open(path, libc::O_RDWR | libc::O_NOFOLLOW, 0)
    }

    /// Keeps what a socket holds for as long as the process lives.
    pub fn keep(socket: impl Into<OwnedFd>) {
        std::mem::forget(high(socket.into().into()));
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name is another one from now on.
    pub fn renamed(mut self, path: &Path) -> OwnFile {
        self.path = path.to_owned();
        self
    }

    /// The file, for one use at once.
    ///
    /// # Errors
    /// `EBADF`: the program has closed the descriptor, or a file of its own has it.
    pub fn ours(&self) -> io::Result<&File> {
        self.file.ours().map(|file| &**file)
    }

    /// The file for one use at once, opened again where the program has closed its descriptor.
    ///
    /// # Errors
    /// Nothing has the name any more, or another file has it: `NotFound`. The error of open(2).
    pub fn current(&mut self) -> io::Result<&Arc<File>> {
        if !self.file.is_ours() {
            let again = Guarded::new(Arc::new(open(&c_string(&self.path)?, self.access | libc::O_NOFOLLOW, 0)?))?;
            if again.identity != self.file.identity {
                return Err(io::ErrorKind::NotFound.into());
            }
            self.file = again;
            if self.is_marked {
                // The mark went with the descriptor.
                let _ = system::lock(&**self.file.file, false);
            }
        }
        Ok(&self.file.file)
    }

    /// Marks it as being of a living process; the kernel takes the mark off when the process ends.
    pub fn mark(&mut self) {
        self.is_marked = true;
        let _ = self.ours().and_then(|file| system::lock(file, false));
    }

    /// Locks it against other processes until it is closed, once those that hold it have closed it.
    ///
    /// # Errors
    /// It is not ours any more; the file system has no locks.
    pub fn lock(&self) -> io::Result<()> {
        system::lock(self.ours()?, true)
    }

    /// # Errors
    /// It is not ours any more, or cannot be asked.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.ours()?.metadata()
    }

    /// Writes all of these bytes at this place.
    ///
    /// # Errors
    /// The error of the file system; it is gone.
    pub fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.current()?.write_all_at(bytes, offset)
    }

    /// Sees on disk what was written. A network file system may say only now, or where a descriptor is closed, that
    /// there is no room.
    ///
    /// # Errors
    /// The error that the file system reports.
    pub fn settle(&mut self) -> io::Result<()> {
        let file = self.current()?;
        mpitrace_format::file::synchronise(file)?;
        // Closing one of two descriptors asks the file system as closing the only one does.
        match descriptor::duplicate(file.as_raw_fd()) {
            Some(second) => {
                let closed = if descriptor::close(second) { Ok(()) } else { Err(io::Error::last_os_error()) };
                descriptor::renew();
                // Linux has closed it then.
                closed.or_else(|error| if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) })
            }
            None => Ok(()),
        }
    }

    /// Takes memory for a range. False where its folder has no room for it, or the file is gone.
    pub fn allocate(&mut self, offset: u64, length: u64) -> bool {
        self.current().is_ok()
            && self.has_room(length)
            && self.current().is_ok_and(|file| system::allocate(&**file, offset, length))
    }

    /// Gives the memory of a range of whole pages back, where its folder can do that.
    pub fn release(&mut self, offset: u64, length: u64) {
        if let Ok(file) = self.current() {
            system::release(&**file, offset, length);
        }
    }

    /// True if its folder has room for so many bytes. The folder that MPI libraries make their shared memory in keeps
    /// enough room for them: some of them touch it without having taken memory for it, and SIGBUS ends the program
    /// where there is none.
    pub fn has_room(&self, length: u64) -> bool {
        let shared = self.path.parent() == Some(Path::new("/dev/shm"));
        let left = |size: u64| if shared { (size / 8).max(LEFT_TO_OTHERS) } else { 0 };
        let room = self.ours().ok().and_then(system::room);
        room.is_none_or(|(size, free)| free >= length + left(size))
    }

    /// True if its folder has room for so many bytes and as many as are `left`, or a quarter of its size if that is
    /// less.
    pub fn leaves(&self, length: u64, left: u64) -> bool {
        let room = self.ours().ok().and_then(system::room);
        room.is_none_or(|(size, free)| free >= length + left.min(size / 4))
    }

    /// Its bytes, if it is this user's. The names of files that ranks share can be guessed, and a page of another
    /// user's file may vanish, which would end the program with SIGBUS.
    pub fn length_if_own(&self) -> Option<u64> {
        let found = self.metadata().ok()?;
        (found.uid() == system::user() && found.is_file()).then_some(found.len())
    }
}

/// Bytes of the folder that stay free for others; an eighth of it if that is more.
const LEFT_TO_OTHERS: u64 = 16 << 20;

fn c_string(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

fn open(path: &CStr, flags: c_int, mode: u32) -> io::Result<File> {
    let opened = descriptor::with_reserve(|| {
        loop {
            // SAFETY: the path is a C string that outlives the call.
            let opened = unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, mode) };
            let error = io::Error::last_os_error();
            if opened >= 0 || error.kind() != io::ErrorKind::Interrupted {
                return if opened >= 0 { Ok(opened) } else { Err(error) };
            }
        }
    })?;
    // SAFETY: the descriptor has just been made, and nothing else has it.
    Ok(high(unsafe { File::from_raw_fd(opened) }))
}

fn high(file: File) -> File {
    let descriptor = descriptor::out_of_the_way(file.into_raw_fd());
    // SAFETY: it is the descriptor that the file gave up, or its duplicate in its place: nothing else closes it.
    unsafe { File::from_raw_fd(descriptor) }
}

/// Opens a file to be read, for a moment.
fn open_to_read(path: &CStr) -> io::Result<Guarded<File>> {
    Guarded::new(open(path, libc::O_RDONLY, 0)?)
}

/// All that a file holds, as those of proc(5) and sysfs(5) do.
///
/// # Errors
/// It cannot be opened or read.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let file = open_to_read(&c_string(path.as_ref())?)?;
    let mut content = Vec::new();
    let mut file = file.ours()?;
    file.read_to_end(&mut content)?;
    Ok(content)
}

/// All that a file holds, as a text.
///
/// # Errors
/// It cannot be opened or read; `InvalidData`: it is not UTF-8.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Reads the beginning of a file into `place`: how many bytes came. It allocates no memory.
///
/// # Errors
/// It cannot be opened or read.
pub fn read_into(path: &CStr, place: &mut [u8]) -> io::Result<usize> {
    let file = open_to_read(path)?;
    let mut file = file.ours()?;
    file.read(place)
}

/// The names in a folder, without `.` and `..`.
///
/// # Errors
/// It cannot be opened or read.
pub fn names_in(folder: &Path) -> io::Result<Vec<OsString>> {
    let file = open_to_read(&c_string(folder)?)?;
    let (mut names, mut entries) = (Vec::new(), [0u8; 4096]);
    loop {
        let folder = file.ours()?.as_raw_fd();
        // SAFETY: the kernel writes at most so many bytes there.
        let came = unsafe { libc::syscall(libc::SYS_getdents64, folder, entries.as_mut_ptr(), entries.len()) };
        match usize::try_from(came) {
            Ok(0) => return Ok(names),
            Ok(came) => add_names(&entries[..came], &mut names),
            Err(_) => return Err(io::Error::last_os_error()),
        }
    }
}

/// Adds the names of entries as getdents64(2) gives them: the length of each in bytes 16 and 17, its name from byte 19
/// on, with a zero at its end.
fn add_names(mut entries: &[u8], names: &mut Vec<OsString>) {
    while let [length @ .., _] = entries.get(16..19).unwrap_or_default() {
        let length = length.first_chunk().map_or(0, |length| usize::from(u16::from_ne_bytes(*length)));
        let Some((entry, rest)) = entries.split_at_checked(length.max(19)) else { return };
        let name = entry[19..].split(|&byte| byte == 0).next().unwrap_or_default();
        if !matches!(name, b"" | b"." | b"..") {
            names.push(OsStr::from_bytes(name).to_owned());
        }
        entries = rest;
    }
}

/// Sees new names in a folder on disk.
///
/// # Errors
/// It cannot be opened; the error that the file system reports.
pub fn settle_folder(folder: &Path) -> io::Result<()> {
    let folder = open_to_read(&c_string(folder)?)?;
    folder.ours()?.sync_all()
}

/// Has the kernel make room for descriptors with high numbers. In a process with threads it waits for all processors
/// before it uses the larger table (about 10 ms on two of them), and MPI libraries start threads in MPI_Init: so this
/// is done before. And takes a reserve of them, for the trace.
pub fn make_room() {
    drop(open_to_read(c"/dev/null"));
    descriptor::reserve();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("mpitrace-own-file-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Puts another file in the place of a descriptor, as a program does that closes all and opens its own.
    fn replace(file: &OwnFile, other: &File) {
        // SAFETY: both are descriptors of this test.
        assert!(unsafe { libc::dup2(other.as_raw_fd(), file.ours().unwrap().as_raw_fd()) } >= 0);
    }

    #[test]
    fn a_file_lies_high_and_is_closed_on_exec() {
        let _alone = descriptor::alone();
        let folder = folder("high");
        let file = OwnFile::create_private(&folder.join("a")).unwrap();
        let number = file.ours().unwrap().as_raw_fd();
        assert!(number >= 4096.min(system::descriptor_limit() as c_int / 4 * 3), "{number}");
        // SAFETY: takes numbers.
        assert_eq!(unsafe { libc::fcntl(number, libc::F_GETFD) }, libc::FD_CLOEXEC);
        assert!(OwnFile::create_private(&folder.join("a")).is_err(), "the name is taken");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_has_become_another_s_is_not_written_or_closed_and_ours_is_found_again() {
        let _alone = descriptor::alone();
        let folder = folder("replaced");
        let theirs = File::create(folder.join("theirs")).unwrap();
        let mut file = OwnFile::create_private(&folder.join("ours")).unwrap();
        let number = file.ours().unwrap().as_raw_fd();
        replace(&file, &theirs);
        assert_eq!(file.ours().unwrap_err().raw_os_error(), Some(libc::EBADF));
        std::fs::rename(folder.join("ours"), folder.join("renamed")).unwrap();
        file = file.renamed(&folder.join("renamed"));
        file.write_all_at(b"text", 0).unwrap();
        file.settle().unwrap();
        assert_eq!(std::fs::read(folder.join("renamed")).unwrap(), b"text");
        assert_eq!(theirs.metadata().unwrap().len(), 0);
        // Its own number is the program's for good.
        // SAFETY: takes a number.
        assert_eq!(unsafe { libc::close(number) }, 0);
        replace(&file, &theirs);
        let number = file.file.file.as_raw_fd();
        drop(file);
        // SAFETY: takes a number.
        assert_eq!(unsafe { libc::close(number) }, 0, "it was left open");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn another_file_of_the_name_is_not_taken_for_ours() {
        let _alone = descriptor::alone();
        let folder = folder("gone");
        let mut file = OwnFile::create_private(&folder.join("a")).unwrap();
        let number = file.ours().unwrap().as_raw_fd();
        std::fs::rename(folder.join("a"), folder.join("b")).unwrap();
        std::fs::write(folder.join("a"), "theirs").unwrap();
        // SAFETY: takes a number, of a file of this test.
        assert_eq!(unsafe { libc::close(number) }, 0);
        assert_eq!(file.write_all_at(b"ours", 0).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(std::fs::read(folder.join("a")).unwrap(), b"theirs");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn all_names_of_a_folder_are_found() {
        let folder = folder("names");
        let mut made: Vec<OsString> =
            (0..500).map(|number| format!("{number}-{}", "x".repeat(number / 3)).into()).collect();
        made.iter().for_each(|name| drop(File::create(folder.join(name)).unwrap()));
        let mut found = names_in(&folder).unwrap();
        made.sort();
        found.sort();
        assert_eq!(found, made);
        assert!(names_in(&folder.join("none")).is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
