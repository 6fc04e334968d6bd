//! A file in memory: the readers take paths.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::Path;

/// Calls `read` with the path of a file that holds these bytes. It is gone afterwards.
pub fn with(bytes: &[u8], read: impl FnOnce(&Path)) {
    // SAFETY: the name is a text with a zero at its end, and lasts as long as the call.
    let descriptor = unsafe { libc::memfd_create(c"input".as_ptr(), libc::MFD_CLOEXEC) };
    assert!(descriptor >= 0, "no file in memory: {}", std::io::Error::last_os_error());
    // SAFETY: the descriptor is new, and nothing else closes it.
    let mut file = unsafe { File::from_raw_fd(descriptor) };
    file.write_all(bytes).expect("a file in memory takes the input");
    read(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())));
}
