//! A trace in memory, out of copies of segments: read by what reads any trace.

use std::fs::File;
use std::os::fd::FromRawFd;

use crate::part::Content;
use crate::recover;

/// Writes a trace of these parts into memory of this process. The file has no name but that of its descriptor.
///
/// # Errors
/// There is no memory for it.
pub fn in_memory(contents: &[Content<'_>]) -> std::io::Result<File> {
    // Not by the C library's function: glibc before 2.27 lacks it.
    // SAFETY: the name is a C string; the descriptor that comes back has no other owner.
    let file = unsafe {
        let descriptor = libc::syscall(libc::SYS_memfd_create, c"mpitrace-look".as_ptr(), libc::MFD_CLOEXEC);
        if descriptor < 0 {
            return Err(std::io::Error::last_os_error());
        }
        File::from_raw_fd(descriptor as i32)
    };
    if let Some(first) = contents.first() {
        recover::write_parts(&file, contents, first.rank.job, first.rank.world_size)?;
    }
    Ok(file)
}
