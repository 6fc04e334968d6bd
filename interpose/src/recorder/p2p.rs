//! Point-to-point and one-sided calls are counted, not recorded: messages and bytes, where the program's user asked for
//! it.
//!
//! The counts are the rank's; a collective takes what has come together since the one before, on whichever threads. A
//! message counts when the call that sends it has returned well, and when the call that completes its receive has.

use std::ffi::c_int;

use crate::base::width::Width;
use crate::counters::message_counters::{GOT, PUT, SENT, count, count_received};
use crate::mpi::{self, abi};
use crate::record::thread;
use crate::recorder::own_statuses::OwnStatuses;
use crate::recorder::requests::outstanding::{self, Request};

/// The bytes of a message to this rank, of a call that MPI has accepted; `None` where it goes nowhere.
fn size<W: Width>(elements: usize, datatype: usize, to: usize) -> Option<u64> {
    if to as c_int == abi::get().proc_null {
        return None;
    }
    let size = mpi::size_of_type(datatype)?;
    Some(size.wrapping_mul(W::count(elements) as u64))
}

/// Counts a message to this rank, if the call had this result and goes anywhere.
fn counted_to<W: Width>(kind: usize, result: c_int, elements: usize, datatype: usize, to: usize) -> c_int {
    if result == 0
        && let Some(bytes) = size::<W>(elements, datatype, to)
    {
        count(kind, bytes);
    }
    result
}

pub fn sent<W: Width>(forward: &dyn Fn() -> c_int, elements: usize, datatype: usize, dest: usize) -> c_int {
    counted_to::<W>(SENT, thread::guarded(forward), elements, datatype, dest)
}

/// A receive that returns with the message.
pub fn received<W: Width>(forward: &dyn Fn(usize) -> c_int, status: usize) -> c_int {
    let mut own = OwnStatuses::new();
    let status = own.instead_of(status, 1);
    let result = thread::guarded(|| forward(status));
    if result == 0 {
        count_received(mpi::message_bytes(status));
    }
    result
}

const RECEIVE: Request = Request::Receive { persistent: false, active: true };

/// A call with this result has made a request, which is followed.
fn followed(result: c_int, request: usize, new: Request) -> c_int {
    if result == 0 {
        outstanding::follow(request, new);
    }
    result
}

pub fn receiving<W: Width>(forward: &dyn Fn() -> c_int, request: usize) -> c_int {
    followed(thread::guarded(forward), request, RECEIVE)
}

pub fn exchanged<W: Width>(
    forward: &dyn Fn(usize) -> c_int,
    elements: usize,
    datatype: usize,
    dest: usize,
    status: usize,
) -> c_int {
    counted_to::<W>(SENT, received::<W>(forward, status), elements, datatype, dest)
}

pub fn exchanging<W: Width>(
    forward: &dyn Fn() -> c_int,
    elements: usize,
    datatype: usize,
    dest: usize,
    request: usize,
) -> c_int {
    followed(sent::<W>(forward, elements, datatype, dest), request, RECEIVE)
}

/// A persistent send: it counts at each start.
pub fn preparing_send<W: Width>(
    forward: &dyn Fn() -> c_int,
    elements: usize,
    datatype: usize,
    dest: usize,
    request: usize,
) -> c_int {
    let result = thread::guarded(forward);
    if result == 0
        && let Some(bytes) = size::<W>(elements, datatype, dest)
    {
        outstanding::follow(request, Request::Send { bytes });
    }
    result
}

/// A partitioned send: one message of all its partitions. Its count is an MPI_Count.
pub fn preparing_partitions<W: Width>(
    forward: &dyn Fn() -> c_int,
    partitions: usize,
    elements: usize,
    datatype: usize,
    dest: usize,
    request: usize,
) -> c_int {
    let elements = elements.wrapping_mul((partitions as c_int).max(0) as usize);
    preparing_send::<crate::base::width::Large>(forward, elements, datatype, dest, request)
}

/// A persistent receive, partitioned or not: it counts whenever it is complete.
pub fn preparing_receive<W: Width>(forward: &dyn Fn() -> c_int, request: usize) -> c_int {
    followed(thread::guarded(forward), request, Request::Receive { persistent: true, active: false })
}

/// Data written to another rank's window, or combined with what is there.
pub fn put<W: Width>(forward: &dyn Fn() -> c_int, elements: usize, datatype: usize, target: usize) -> c_int {
    counted_to::<W>(PUT, thread::guarded(forward), elements, datatype, target)
}

pub fn got<W: Width>(forward: &dyn Fn() -> c_int, elements: usize, datatype: usize, target: usize) -> c_int {
    counted_to::<W>(GOT, thread::guarded(forward), elements, datatype, target)
}

/// Data read from another rank's window and combined there with what is sent, unless by MPI_NO_OP.
#[allow(clippy::too_many_arguments, reason = "those of MPI_Get_accumulate that count")]
pub fn fetched<W: Width>(
    forward: &dyn Fn() -> c_int,
    sent: usize,
    sent_type: usize,
    got_elements: usize,
    got_type: usize,
    target: usize,
    op: usize,
) -> c_int {
    let result = got::<W>(forward, got_elements, got_type, target);
    let no_op = || abi::get().predefined_reduction(abi::get().handle(op)) == Some("MPI_NO_OP");
    if result == 0 && no_op() { result } else { counted_to::<W>(PUT, result, sent, sent_type, target) }
}

/// `MPI_Fetch_and_op`: one element there and back.
pub fn fetched_one<W: Width>(forward: &dyn Fn() -> c_int, datatype: usize, target: usize, op: usize) -> c_int {
    fetched::<W>(forward, 1, datatype, 1, datatype, target, op)
}

/// `MPI_Compare_and_swap`: one element there and back.
pub fn swapped<W: Width>(forward: &dyn Fn() -> c_int, datatype: usize, target: usize) -> c_int {
    counted_to::<W>(PUT, got::<W>(forward, 1, datatype, target), 1, datatype, target)
}
