//! Memory for the trace buffer: a file that is allocated before it is touched, mapped, and locked as long as its
//! process lives; or private memory. And the pages that ranks of a node share.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use bytemuck::Pod;
use mpitrace_format::layout::PAGE;

use crate::base::system;

pub struct Mapping {
    base: NonNull<u8>,
    length: u64,
}

// SAFETY: a mapping is the process', whichever thread has made it.
unsafe impl Send for Mapping {}
// SAFETY: by itself it gives out addresses only; the thread that stores to them ensures that no other one does so at
// the same time.
unsafe impl Sync for Mapping {}

/// Access to a mapping is opened from a multiple of this: the ranges with memory, which lie close together, then are
/// few areas for the kernel, which allows a process 65530.
const AREA: u64 = 16 << 20;
const OPEN: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;

impl Mapping {
    /// Maps so many bytes of a file, which other processes may map too. Only the first page, which has memory, can be
    /// accessed before [`Mapping::touch`]: what searches all memory that can be read, as valgrind does for leaks, would
    /// take a signal for each word behind the end of the file.
    pub fn of_file(file: &File, length: u64) -> Option<Mapping> {
        let base = map(std::ptr::null_mut(), length, libc::PROT_NONE, libc::MAP_SHARED, file.as_raw_fd())?;
        let mapping = Mapping { base, length };
        mapping.open(0, PAGE).then_some(mapping)
    }

    pub fn private(length: u64) -> Option<Mapping> {
        map(std::ptr::null_mut(), length, OPEN, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
            .map(|base| Mapping { base, length })
    }

    /// Puts private memory in the place of a range of whole pages, of which nothing is needed any more.
    pub fn replace(&self, offset: u64, length: u64) -> bool {
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        map(self.range(offset, length), length, OPEN, kind, -1).is_some()
    }

    /// Allows access to a range of whole pages, and to what lies before it in its area.
    fn open(&self, offset: u64, length: u64) -> bool {
        let start = offset / AREA * AREA;
        let length = offset + length - start;
        // SAFETY: the range lies within the mapping, which keeps what it holds.
        unsafe { libc::mprotect(self.range(start, length).cast(), length as usize, OPEN) == 0 }
    }

    pub fn range(&self, offset: u64, length: u64) -> *mut u8 {
        assert!(offset.checked_add(length).is_some_and(|end| end <= self.length), "a range within the mapping");
        self.base.as_ptr().wrapping_add(offset as usize)
    }

    /// Makes the kernel map the pages of a range now, which has memory, so that no page fault falls into a call.
    /// Nothing has been stored in it yet. False: it cannot be accessed.
    pub fn touch(&self, offset: u64, length: u64) -> bool {
        const MADV_POPULATE_WRITE: libc::c_int = 23;
        if !self.open(offset, length) {
            return false;
        }
        let place = self.range(offset, length);
        // SAFETY: the range lies within the mapping, and the advice changes nothing that it holds.
        if unsafe { libc::madvise(place.cast(), length as usize, MADV_POPULATE_WRITE) } == 0 {
            return true;
        }
        // Linux before 5.14.
        for page in (0..length).step_by(PAGE as usize) {
            // SAFETY: the byte lies within the mapping and was 0 before, as nothing has been stored in the range yet.
            unsafe { place.add(page as usize).write_volatile(0) };
        }
        true
    }

    /// Stores the same byte in a range that has memory, and that belongs to the caller at this moment.
    pub fn fill(&self, offset: u64, length: u64, byte: u8) {
        // SAFETY: the range lies within the mapping; what is stored there are numbers, for which all bits are a value.
        unsafe { self.range(offset, length).write_bytes(byte, length as usize) };
    }

    /// Stores bytes in a range that has memory, and that belongs to the caller at this moment.
    pub fn store(&self, offset: u64, bytes: &[u8]) {
        // SAFETY: the range lies within the mapping, which no slice of safe code overlaps.
        unsafe { self.range(offset, bytes.len() as u64).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }

    /// Copies so many bytes from one range to another one that begins before it or apart from it; both have memory, and
    /// belong to the caller at this moment.
    pub fn copy(&self, from: u64, to: u64, length: u64) {
        // SAFETY: both ranges lie within the mapping; what is stored there are numbers, for which all bits are a value.
        unsafe { self.range(from, length).copy_to(self.range(to, length), length as usize) };
    }

    /// Writes a range that has memory to the same place of a file. What other threads store there meanwhile is written
    /// as it was before or after.
    pub fn write_to(&self, file: &File, offset: u64, length: u64) -> io::Result<()> {
        let (memory, mut written) = (self.range(offset, length), 0);
        while written < length {
            let (from, place) = (memory.wrapping_add(written as usize).cast(), offset + written);
            let left = (length - written) as usize;
            // SAFETY: the kernel checks the addresses, and changes nothing there.
            match unsafe { libc::pwrite(file.as_raw_fd(), from, left, place as libc::off_t) } {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count if count > 0 => written += count as u64,
                _ => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::Interrupted => {}
                    error => return Err(error),
                },
            }
        }
        Ok(())
    }

    /// Copies `count` values out of a range that has memory, and that belongs to the caller at this moment.
    pub fn load<T: Pod>(&self, offset: u64, count: usize) -> Vec<T> {
        let mut values = vec![T::zeroed(); count];
        let bytes = size_of_val(&*values);
        // SAFETY: the range lies within the mapping, which no slice of safe code overlaps; for the values all bits are
        // a value.
        unsafe { self.range(offset, bytes as u64).copy_to_nonoverlapping(values.as_mut_ptr().cast(), bytes) };
        values
    }

    /// All bytes.
    ///
    /// # Safety
    /// The bytes that are read have memory, and no other code stores there meanwhile.
    pub unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping has this length; the rest is the caller's promise.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.length as usize) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped with this length; what borrows from it has ended.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length as usize) };
    }
}

fn map(place: *mut u8, length: u64, access: libc::c_int, kind: libc::c_int, file: libc::c_int) -> Option<NonNull<u8>> {
    let kind = kind | libc::MAP_NORESERVE;
    // SAFETY: a place is given with MAP_FIXED only, and then lies within a mapping of our own, in a range of which
    // nothing is needed, so nothing is lost; everywhere else the kernel chooses one that is free.
    let base = unsafe { libc::mmap(place.cast(), length as usize, access, kind, file, 0) };
    if base == libc::MAP_FAILED { None } else { NonNull::new(base.cast()) }
}

/// A file of the node that this process has made, and that it gives memory to.
pub struct NodeFile {
    path: PathBuf,
    file: File,
    /// Device and number of the file.
    identity: (u64, u64),
}

impl NodeFile {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a file, which must not exist.
    pub fn create(path: &Path) -> io::Result<NodeFile> {
        let file = system::out_of_the_way(private_options().create_new(true).open(path)?);
        let identity = identity(&file).ok_or(io::ErrorKind::NotFound)?;
        Ok(NodeFile { path: path.to_owned(), file, identity })
    }

    /// Takes memory for a range. False where there is none, or the file is gone.
    pub fn allocate(&mut self, offset: u64, length: u64) -> bool {
        self.current().is_some() && self.has_room(length) && system::allocate(&self.file, offset, length)
    }

    /// Gives the memory of a range of whole pages back, where its folder can do that.
    pub fn release(&mut self, offset: u64, length: u64) {
        if let Some(file) = self.current() {
            system::release(file, offset, length);
        }
    }

    /// True if its folder has room for so many bytes. The folder that MPI libraries make their shared memory in keeps
    /// enough room for them: some of them touch it without having taken memory for it, and SIGBUS ends the program where
    /// there is none.
    pub fn has_room(&self, length: u64) -> bool {
        let shared = self.path.parent() == Some(Path::new("/dev/shm"));
        let left = |size: u64| if shared { (size / 8).max(LEFT_TO_OTHERS) } else { 0 };
        system::room(&self.file).is_none_or(|(size, free)| free >= length + left(size))
    }

    /// The file, opened again where the program has closed its descriptor. `None`: it is gone.
    pub fn current(&mut self) -> Option<&File> {
        // A program that closes all descriptors closes this one too, and its next file may get the same number.
        if identity(&self.file) != Some(self.identity) {
            let opened = private_options().open(&self.path);
            let file = opened.ok().filter(|file| identity(file) == Some(self.identity))?;
            let file = system::out_of_the_way(file);
            // The mark of a living process went with the descriptor.
            let _ = system::lock(&file, false);
            // What has the number now is the program's.
            std::mem::forget(std::mem::replace(&mut self.file, file));
        }
        Some(&self.file)
    }
}

/// Bytes of the folder that stay free for others; an eighth of it if that is more.
const LEFT_TO_OTHERS: u64 = 16 << 20;

/// Opens a file to be read and written, which no other user may open where it is made; not through a link.
pub fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    options
}

/// The bytes of a file that is this user's. The names of files that ranks share can be guessed, and a page of another
/// user's file may vanish, which would end the program with SIGBUS.
pub fn length_of_own(file: &File) -> Option<u64> {
    let found = file.metadata().ok()?;
    (found.uid() == system::user() && found.is_file()).then_some(found.len())
}

fn identity(file: &File) -> Option<(u64, u64)> {
    file.metadata().ok().map(|known| (known.dev(), known.ino()))
}

/// Makes and maps a file, with memory for its first page, where its folder has room for `least` bytes.
pub fn map_file(path: &Path, length: u64, least: u64) -> Option<(Mapping, NodeFile)> {
    let file = NodeFile::create(path).ok()?;
    let has_memory = file.has_room(least) && system::allocate(&file.file, 0, PAGE);
    let Some(mapping) = has_memory.then(|| Mapping::of_file(&file.file, length)).flatten() else {
        let _ = std::fs::remove_file(path);
        return None;
    };
    // Marks it as being of a living process; the kernel takes the mark off when the process ends.
    let _ = system::lock(&file.file, false);
    Some((mapping, file))
}

/// Whole pages that processes share, used through atomics only.
pub struct SharedPages(Mapping);

/// Words that lie in one line of the caches.
pub type Line = [AtomicU64; 8];

impl SharedPages {
    /// The first pages of a file, so many bytes that have memory.
    pub fn of_file(file: &File, length: u64) -> Option<SharedPages> {
        Mapping::of_file(file, length).filter(|mapping| mapping.open(0, length)).map(SharedPages)
    }

    pub fn line(&self, number: usize) -> &Line {
        let length = self.0.length as usize / size_of::<Line>();
        // SAFETY: so many lines lie in the pages, which are aligned, mapped as long as they are borrowed, and used in
        // this way only.
        let lines = unsafe { std::slice::from_raw_parts(self.0.base.as_ptr().cast::<Line>(), length) };
        &lines[number]
    }
}
