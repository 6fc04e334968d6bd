//! Memory for the trace buffer: a file that is allocated before it is touched, mapped, and locked as long as its
//! process lives; or private memory. And the pages that ranks of a node share.

use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use bytemuck::Pod;
use mpitrace_format::layout::PAGE;

use crate::base::own_file::OwnFile;

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
    pub fn of_file(file: &OwnFile, length: u64) -> Option<Mapping> {
        let base = map(std::ptr::null_mut(), length, libc::PROT_NONE, libc::MAP_SHARED, file.ours().ok()?.as_raw_fd())?;
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
    pub fn write_to(&self, file: &OwnFile, offset: u64, length: u64) -> io::Result<()> {
        let (memory, mut written) = (self.range(offset, length), 0);
        let file = file.ours()?.as_raw_fd();
        while written < length {
            let (from, place) = (memory.wrapping_add(written as usize).cast(), offset + written);
            let left = (length - written) as usize;
            // SAFETY: the kernel checks the addresses, and changes nothing there.
            match unsafe { libc::pwrite(file, from, left, place as libc::off_t) } {
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

/// Makes and maps a file, with memory for its first page, where its folder has room for `least` bytes.
pub fn map_file(path: &Path, length: u64, least: u64) -> Option<(Mapping, OwnFile)> {
    let mut file = OwnFile::create_private(path).ok()?;
    let has_memory = file.has_room(least) && file.allocate(0, PAGE);
    let Some(mapping) = has_memory.then(|| Mapping::of_file(&file, length)).flatten() else {
        let _ = std::fs::remove_file(path);
        return None;
    };
    file.mark();
    Some((mapping, file))
}

/// Whole pages that processes share, used through atomics only.
pub struct SharedPages(Mapping);

/// Words that lie in one line of the caches.
pub type Line = [AtomicU64; 8];

impl SharedPages {
    /// The first pages of a file, so many bytes that have memory.
    pub fn of_file(file: &OwnFile, length: u64) -> Option<SharedPages> {
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
