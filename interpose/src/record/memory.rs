//! Memory for the live segment: a file that is allocated before it is touched, mapped, and locked as long as its process
//! lives; or private memory.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::{Path, PathBuf};

use mpitrace_format::layout::PAGE;

use crate::job::log;

/// Makes and maps the file, with memory for the header.
pub fn map_file(path: &Path, length: u64) -> Option<(*mut u8, File, PathBuf)> {
    let name = CString::new(path.as_os_str().as_encoded_bytes()).ok()?;
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    // SAFETY: `name` is a C string.
    let descriptor = unsafe { libc::open(name.as_ptr(), flags, 0o600 as libc::c_uint) };
    if descriptor < 0 {
        return None;
    }
    // SAFETY: the descriptor was opened just now and is nobody else's.
    let file = unsafe { File::from_raw_fd(descriptor) };
    let base = if allocate(&file, 0, PAGE) { map(Some(&file), std::ptr::null_mut(), length) } else { None };
    match base {
        Some(base) => {
            hold_lock(&file);
            Some((base, file, path.to_owned()))
        }
        None => {
            let _ = std::fs::remove_file(path);
            None
        }
    }
}

/// Marks the segment as being of a living process; the kernel takes the mark off when the process ends, in whatever way.
fn hold_lock(file: &File) {
    let lock = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    // SAFETY: the descriptor is open, `lock` outlives the call.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &raw const lock) };
}

/// Takes memory for a range of the file. False where there is none, or the process may not have so large a file.
pub fn allocate(file: &File, offset: u64, length: u64) -> bool {
    if log::file_size_limit().is_some_and(|limit| offset + length > limit) {
        // Beyond RLIMIT_FSIZE the kernel would send SIGXFSZ, which ends the program.
        return false;
    }
    loop {
        // SAFETY: the descriptor is open.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), offset as libc::off_t, length as libc::off_t) } {
            0 => return true,
            libc::EINTR => {}
            _ => return false,
        }
    }
}

/// Maps `length` bytes of the file, or of private memory, at `place` or (null) anywhere.
pub fn map(file: Option<&File>, place: *mut u8, length: u64) -> Option<*mut u8> {
    let kind = match file {
        Some(_) => libc::MAP_SHARED,
        None => libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    };
    let fixed = if place.is_null() { 0 } else { libc::MAP_FIXED };
    // SAFETY: a fixed place lies within our own mapping, in a range that has no memory yet, so nothing is lost.
    let base = unsafe {
        libc::mmap(
            place.cast(),
            length as usize,
            libc::PROT_READ | libc::PROT_WRITE,
            kind | fixed | libc::MAP_NORESERVE,
            file.map_or(-1, AsRawFd::as_raw_fd),
            0,
        )
    };
    (base != libc::MAP_FAILED).then(|| base.cast())
}

/// Makes the kernel map the pages now, so that no page fault falls into a call.
pub fn touch(place: *mut u8, length: u64) {
    const MADV_POPULATE_WRITE: libc::c_int = 23;
    // SAFETY: the range is mapped and has memory.
    if unsafe { libc::madvise(place.cast(), length as usize, MADV_POPULATE_WRITE) } == 0 {
        return;
    }
    // Linux before 5.14.
    for page in (0..length).step_by(PAGE as usize) {
        // SAFETY: as above; nothing has been stored in the range yet.
        unsafe { place.add(page as usize).write_volatile(0) };
    }
}

/// Takes a mapping of [`map`] back.
pub fn unmap(place: *mut u8, length: u64) {
    // SAFETY: the caller made the mapping, and nobody uses it any more.
    unsafe { libc::munmap(place.cast(), length as usize) };
}
