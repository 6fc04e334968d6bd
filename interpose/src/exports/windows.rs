//! Windows: the calls on each have sequence numbers of their own, as those on a communicator have.
//!
//! MPI does not want calls on a window and on the communicator that it was made of in one order, but those on one
//! handle it does. The ranks are those of that communicator, so MPI is asked for nothing.

use std::ffi::c_int;

use mpitrace_format::layout::communicator_flags as flags;

use crate::exports::communicators::{Forward, Message, freeing, making, naming};
use crate::mpi::abi;
use crate::operation::{communicator_table, handle};

/// A call that makes a window of `comm`.
pub fn made(message: Message<'_>, forward: Forward<'_>, comm: usize, win: usize) -> c_int {
    let handle = || abi::get().made(win).map(handle::of_window);
    making(message, forward, &handle, &|| communicator_table::add_made_of(comm, handle()?, flags::WINDOW))
}

pub fn freed(message: Message<'_>, forward: Forward<'_>, win: usize) -> c_int {
    freeing(message, forward, handle::of_window(abi::get().read(win)))
}

pub fn named(forward: Forward<'_>, win: usize, name: usize) -> c_int {
    naming(forward, handle::of_window(abi::get().handle(win)), name)
}
