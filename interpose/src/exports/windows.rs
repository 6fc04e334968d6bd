//! Windows: the calls on each have sequence numbers of their own, as those on a communicator have.
//!
//! MPI does not want calls on a window and on the communicator that it was made of in one order, but those on one handle
//! it does. The ranks are those of that communicator, so MPI is asked for nothing.

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

/// What makes a window of `comm`.
pub fn made(message: impl Fn(ThreadRef) -> Call, forward: impl FnOnce() -> c_int, comm: usize, win: usize) -> c_int {
    let handle = || abi::get().made(win).map(handle::of_window);
    if thread::is_nested(thread::frame()) {
        return communicators::within_another(forward, handle);
    }
    recorder::managed(false, message, forward, |result| {
        if result != 0 {
            return None;
        }
        thread::catch_panic(|| {
            let parent = communicator_table::identified(abi::get().handle(comm))?;
            let ([low, high], group) = (parent.key(), parent.group());
            let entry = CommunicatorEntry {
                made_of: parent.number() + 1,
                ..communicator_table::entry(mix(&[13, low, high, parent.next_child()]), &group, flags::WINDOW)
            };
            communicator_table::put(&mut *registry::lock()?, handle()?, entry, &group)
        });
        None
    })
}

/// `MPI_Win_free`.
pub fn freed(message: impl Fn(ThreadRef) -> Call, forward: impl FnOnce() -> c_int, win: usize) -> c_int {
    communicators::freed_handle(message, forward, handle::of_window(abi::get().read(win)))
}

/// `MPI_Win_set_name`.
pub fn named(forward: impl FnOnce() -> c_int, win: usize, name: usize) -> c_int {
    let result = thread::guarded(forward);
    if result == 0 && name != 0 {
        thread::catch_panic(|| {
            let mut registry = registry::lock()?;
            let known = *registry.communicators.get(&handle::of_window(abi::get().handle(win)))?;
            let reference = registry.given_name(&String::from_utf8_lossy(&program::text(name))).unwrap_or(0);
            known.entry().set_name(reference);
            Some(())
        });
    }
    result
}
