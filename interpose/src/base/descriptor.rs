//! Descriptors of the tracer as numbers. The program may close any of them at any time, and a file of its own may get the
//! number: so they lie high, are marked close-on-exec, and are asked for their identity before they are used
//! ([`crate::base::own_file`], [`crate::base::event`]).

use std::ffi::c_int;

use crate::base::system;

/// From this number on, where the process may have so many, lie those of the tracer. What a program opens gets the lowest
/// numbers that are free.
const HIGH: u64 = 4096;

fn lowest() -> c_int {
    HIGH.min(system::descriptor_limit() / 4 * 3) as c_int
}

/// A file by a descriptor with a high number: a program that closes all descriptors closes ours too, and what it opens
/// next gets the lowest numbers. Where there is no high number the descriptor stays as it is.
pub fn out_of_the_way(low: c_int) -> c_int {
    let lowest = lowest();
    if low < 0 || low >= lowest {
        return low;
    }
    // SAFETY: takes numbers; a new descriptor for the same file is made, which is ours.
    let high = unsafe { libc::fcntl(low, libc::F_DUPFD_CLOEXEC, lowest) };
    if high < 0 {
        return low;
    }
    // Nothing of the program has run since the low one was made, but for other threads.
    close(low);
    high
}

/// Another descriptor with a high number for the same file.
pub fn duplicate(descriptor: c_int) -> Option<c_int> {
    // SAFETY: takes numbers; a new descriptor for the same file is made, which is ours.
    let made = unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, lowest()) };
    (made >= 0).then_some(made)
}

/// Closes a descriptor that is known to be ours. False: errno has the error that the file system reports.
pub fn close(descriptor: c_int) -> bool {
    // SAFETY: takes a number; the caller closes what the tracer has opened, once.
    unsafe { libc::close(descriptor) == 0 }
}
