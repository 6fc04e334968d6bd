//! Descriptors of the tracer as numbers. The program may close any of them at any time, and a file of its own may get
//! the number: so they lie high, are marked close-on-exec, and are asked for their identity before they are used
//! ([`crate::base::own_file`], [`crate::base::event`]). And the program may have as many open as it may have: so a few
//! are kept in reserve for the trace.

use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::os::unix::fs::MetadataExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::base::lock::lock;
use crate::base::system;

/// From this number on, where the process may have so many, lie those of the tracer. What a program opens gets the
/// lowest numbers that are free.
const HIGH: u64 = 4096;

fn lowest() -> c_int {
    HIGH.min(system::descriptor_limit() / 4 * 3) as c_int
}

/// Device and number of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity(u64, u64);

/// The file that a descriptor is of.
///
/// # Errors
/// The descriptor is closed; the system refuses fstat(2).
pub fn identity(descriptor: c_int) -> io::Result<Identity> {
    // SAFETY: nothing is done but to ask, which any number allows; it is not closed behind that.
    let file = ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
    file.metadata().map(|found| Identity(found.dev(), found.ino()))
}

/// A file by a descriptor with a high number: a program that closes all descriptors closes ours too, and what it opens
/// next gets the lowest numbers. Where there is no high number the descriptor stays as it is.
pub fn out_of_the_way(low: c_int) -> c_int {
    moved(low, duplicate)
}

fn moved(low: c_int, duplicate: impl FnOnce(c_int) -> Option<c_int>) -> c_int {
    if low < 0 || low >= lowest() {
        return low;
    }
    let Some(high) = duplicate(low) else { return low };
    // Nothing of the program has run since the low one was made, but for other threads.
    close(low);
    high
}

/// Another descriptor with a high number for the same file.
pub fn duplicate(descriptor: c_int) -> Option<c_int> {
    with_reserve(|| high_one(descriptor)).ok()
}

fn high_one(descriptor: c_int) -> io::Result<c_int> {
    // SAFETY: takes numbers; a new descriptor for the same file is made, which is ours.
    let made = unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, lowest()) };
    if made < 0 { Err(io::Error::last_os_error()) } else { Ok(made) }
}

/// Closes a descriptor that is known to be ours. False: errno has the error that the file system reports.
pub fn close(descriptor: c_int) -> bool {
    // SAFETY: takes a number; the caller closes what the tracer has opened, once.
    unsafe { libc::close(descriptor) == 0 }
}

/// Kept for what is opened where the program has used up all descriptors: one for the trace, and one beside it for a
/// moment.
const RESERVED: usize = 2;
static RESERVE: Mutex<[Option<(c_int, Identity)>; RESERVED]> = Mutex::new([None; RESERVED]);
/// Some of the reserve is in use.
static IS_SHORT: AtomicBool = AtomicBool::new(false);

/// Takes the reserve, or what is missing of it.
pub fn reserve() {
    let mut reserve = lock(&RESERVE);
    IS_SHORT.store(false, Ordering::Relaxed);
    for place in reserve.iter_mut().filter(|place| place.is_none()) {
        *place = reserved();
        if place.is_none() {
            IS_SHORT.store(true, Ordering::Relaxed);
        }
    }
}

/// Takes what is missing of the reserve, behind the closing of a descriptor.
pub fn renew() {
    if IS_SHORT.load(Ordering::Relaxed) {
        reserve();
    }
}

/// Gives the reserve to the program.
pub fn give_up_reserve() {
    while release() {}
    IS_SHORT.store(false, Ordering::Relaxed);
}

/// A descriptor of a file that nothing else has: no other is taken for it.
fn reserved() -> Option<(c_int, Identity)> {
    // The system call itself: the C library has had a function for it since 2.27 only.
    // SAFETY: the name is a C string, and the flag a number.
    let made = unsafe { libc::syscall(libc::SYS_memfd_create, c"mpitrace-reserve".as_ptr(), libc::MFD_CLOEXEC) };
    let made = c_int::try_from(made).ok().filter(|made| *made >= 0)?;
    let high = moved(made, |made| high_one(made).ok());
    Some((high, identity(high).ok()?))
}

/// Closes one of the reserve. False: there is none left.
fn release() -> bool {
    let taken = lock(&RESERVE).iter_mut().find_map(Option::take);
    let Some((descriptor, known)) = taken else { return false };
    IS_SHORT.store(true, Ordering::Relaxed);
    // One that the program has closed makes no room: the next one may.
    if identity(descriptor).is_ok_and(|found| found == known) { close(descriptor) } else { release() }
}

/// Does what takes a descriptor, where there is none with one of the reserve.
///
/// # Errors
/// An error of `work`.
pub fn with_reserve<T>(work: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let is_used_up = |error: &io::Error| matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE));
    let mut done = work();
    while done.as_ref().is_err_and(is_used_up) && release() {
        done = work();
    }
    done
}

/// Held by tests that close descriptors by their numbers: another one of them may get the number meanwhile.
#[cfg(test)]
pub fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
