//! Files: the calls on each open file have sequence numbers of their own, as those on a communicator have.

use std::ffi::c_int;

use mpitrace_format::layout::{CommunicatorEntry, communicator_flags as flags};

use crate::base::program;
use crate::exports::communicators;
use crate::identity::{communicator_table, handle, registry};
use crate::mpi::abi;
use crate::record::call_cache::Call;
use crate::record::communicator::mix;
use crate::record::thread::{self, ThreadRef};
use crate::recorder;

/// The handle that lies there, as wide as an address in every library; 0 for a null pointer.
pub fn at(fh: usize) -> usize {
    if fh == 0 { 0 } else { program::at(fh, 0) }
}

/// The handle that a call has stored there, as it is looked up.
fn made(fh: usize) -> Option<usize> {
    (fh != 0).then(|| handle::of_file(at(fh)))
}

/// `MPI_File_open`. The name is the file's, as the program gives it.
pub fn opened(
    message: impl Fn(ThreadRef) -> Call,
    forward: impl FnOnce() -> c_int,
    comm: usize,
    filename: usize,
    fh: usize,
) -> c_int {
    if thread::is_nested(thread::frame()) {
        return communicators::within_another(forward, || made(fh));
    }
    recorder::managed(false, message, forward, |result| {
        if result != 0 {
            return None;
        }
        thread::catch_panic(|| {
            let parent = communicator_table::identified(abi::get().handle(comm))?;
            let ([low, high], group) = (parent.key(), parent.group());
            let key = mix(&[14, low, high, parent.next_child()]);
            let mut registry = registry::lock()?;
            let name = registry.given_name(&String::from_utf8_lossy(&program::text(filename))).unwrap_or(0);
            let entry = CommunicatorEntry {
                name,
                made_of: parent.number() + 1,
                ..communicator_table::entry(key, &group, flags::FILE)
            };
            communicator_table::put(&mut registry, made(fh)?, entry, &group)
        });
        None
    })
}

/// `MPI_File_close`.
pub fn closed(message: impl Fn(ThreadRef) -> Call, forward: impl FnOnce() -> c_int, fh: usize) -> c_int {
    communicators::freed_handle(message, forward, handle::of_file(at(fh)))
}
