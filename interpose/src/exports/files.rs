//! Files: the calls on each open file have sequence numbers of their own, as those on a communicator have.

use std::ffi::c_int;

use mpitrace_format::layout::communicator_flags as flags;

use crate::base::program;
use crate::exports::communicators::{Forward, Message, freeing, making, set_name};
use crate::operation::{communicator_table, handle, registry};

/// The handle that lies there, as wide as an address in every library; 0 for a null pointer.
pub fn read(fh: usize) -> usize {
    if fh == 0 { 0 } else { program::element(fh, 0) }
}

/// `MPI_File_open`. The name is the file's, as the program gives it.
pub fn opened(message: Message<'_>, forward: Forward<'_>, comm: usize, filename: usize, fh: usize) -> c_int {
    let made = || (fh != 0).then(|| handle::of_file(read(fh)));
    making(message, forward, &made, &|| {
        let known = communicator_table::add_made_of(comm, made()?, flags::FILE)?;
        set_name(&mut *registry::lock()?, known, filename);
        Some(known)
    })
}

pub fn closed(message: Message<'_>, forward: Forward<'_>, fh: usize) -> c_int {
    freeing(message, forward, handle::of_file(read(fh)))
}
