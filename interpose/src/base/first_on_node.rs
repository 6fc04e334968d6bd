//! If several ranks of a node can print the same line, only the first one prints it. It is not known in advance which.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::base::descriptor;
use crate::base::own_file::OwnFile;
use crate::base::system;

/// A hash of the launcher's name of the job; 0: this process is a job of its own.
static JOB: AtomicU64 = AtomicU64::new(0);

pub fn set_job(key: u64) {
    JOB.store(key, Ordering::Relaxed);
}

/// True if this is the first process of its job on this node to call this for this subject. A socket whose name shows
/// it lasts as long as the process, and is visible on this node only.
pub fn is_first(subject: &str) -> bool {
    let key = match JOB.load(Ordering::Relaxed) {
        0 => u64::from(std::process::id()),
        key => key,
    };
    let name = format!("mpitrace-{}-{key:016x}-{subject}", system::user());
    let taken = SocketAddr::from_abstract_name(name)
        .and_then(|name| descriptor::with_reserve(|| UnixDatagram::bind_addr(&name)));
    match taken {
        Err(error) => error.kind() != std::io::ErrorKind::AddrInUse,
        Ok(held) => {
            // The kernel gives the name back when the process ends.
            OwnFile::keep(held);
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_taken_once() {
        let subject = "a test";
        assert!(is_first(subject));
        assert!(!is_first(subject));
        assert!(is_first("another test"));
    }
}
