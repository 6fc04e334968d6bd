//! For which ranks the calls of a window wait that begin or end an epoch with a group.

use std::ffi::c_int;

use mpitrace_format::layout::{MOST_AWAITED, awaited};

use crate::mpi::{Group, abi};
use crate::operation::handle;
use crate::recorder::messages::{communicator, partner};
use crate::recorder::requests::request_partners::{Message, RequestPartners};
use crate::recorder::waiting::{await_window, own_thread};

/// The group with which a window's epoch was begun, as a bit for each of the first 64 ranks of the world; in
/// [`Message::bytes`].
static GROUPS: RequestPartners = RequestPartners::new();

/// `MPI_Win_post`: lets the ranks of a group begin.
pub fn post(here: usize, forward: impl Fn() -> c_int, group: usize, win: usize) -> c_int {
    begin(here, exposure(win), group);
    forward()
}

/// `MPI_Win_start`: waits in some libraries until the ranks of a group let it begin.
pub fn start(here: usize, forward: impl Fn() -> c_int, group: usize, win: usize) -> c_int {
    begin(here, access(win), group);
    await_group(here, access(win), win);
    forward()
}

/// `MPI_Win_complete`: waits in the others.
pub fn complete(here: usize, forward: impl Fn() -> c_int, win: usize) -> c_int {
    await_group(here, access(win), win);
    forward()
}

/// `MPI_Win_wait`: waits until the ranks of a group have ended.
pub fn wait(here: usize, forward: impl Fn() -> c_int, win: usize) -> c_int {
    await_group(here, exposure(win), win);
    forward()
}

fn access(win: usize) -> usize {
    handle::of_window(abi::get().handle(win))
}

fn exposure(win: usize) -> usize {
    !access(win)
}

#[inline(never)]
fn begin(here: usize, epoch: usize, group: usize) {
    if own_thread(here).is_none() {
        return;
    }
    let add = |ranks: u64, rank: u32| Some(ranks | 1u64.checked_shl(rank)?);
    let ranks = Group::of_program::<MOST_AWAITED>(abi::get().handle(group)).and_then(|mut all| all.try_fold(0, add));
    match ranks {
        Some(bytes) => GROUPS.store(epoch, Message { bytes, ..Message::default() }),
        None => GROUPS.clear(epoch),
    }
}

/// A call waits for the ranks of the group of an epoch, or for any where these are not known.
#[inline(never)]
fn await_group(here: usize, epoch: usize, win: usize) {
    let known = || {
        let thread = own_thread(here)?;
        Some((thread, GROUPS.find(epoch)?, communicator(thread, access(win))?))
    };
    let Some((thread, group, window)) = known() else { return await_window(here, win) };
    let mut left = group.bytes;
    for number in 0..left.count_ones() as usize {
        let rank = partner(thread, abi::get().comm_world, left.trailing_zeros() as usize);
        left &= left - 1;
        let more = if left != 0 { awaited::MORE } else { 0 };
        // The window in place of a tag.
        thread.await_message(number, rank, window as i32, awaited::WINDOW | more);
    }
}
