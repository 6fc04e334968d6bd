//! Files: the calls on each open file have sequence numbers of their own, as those on a communicator have.

use std::ffi::c_int;

use mpitrace_format::layout::{CommunicatorEntry, communicator_flags as flags};

use crate::base::program;
use crate::exports::communicators::{Forward, Message, freeing, making};
use crate::identity::{communicator_table, handle, registry};
use crate::mpi::abi;
use crate::record::communicator::mix;

/// The handle that lies there, as wide as an address in every library; 0 for a null pointer.
pub fn read(fh: usize) -> usize {
    if fh == 0 { 0 } else { program::element(fh, 0) }
}

/// `MPI_File_open`. The name is the file's, as the program gives it.
pub fn opened(message: Message<'_>, forward: Forward<'_>, comm: usize, filename: usize, fh: usize) -> c_int {
    let made = || (fh != 0).then(|| handle::of_file(read(fh)));
    making(message, forward, &made, &|| {
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
        communicator_table::put(&mut registry, made()?, entry, &group)
    })
}

/// `MPI_File_close`.
pub fn closed(message: Message<'_>, forward: Forward<'_>, fh: usize) -> c_int {
    freeing(message, forward, handle::of_file(read(fh)))
}
