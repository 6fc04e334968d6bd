//! Point-to-point and one-sided calls are counted, not recorded: messages and bytes, where the program's user asked for
//! it.
//!
//! The counts are the rank's; a collective takes what has come together since the one before, on whichever threads. A
//! message counts when the call that sends it has returned well, and when the call that completes its receive has.

use std::ffi::c_int;

use crate::base::width::Width;
use crate::counters::message_counters::{GOT, PUT, SENT, count, count_received};
use crate::mpi::status::{self, Statuses};
use crate::mpi::{self, abi};
use crate::record::thread;
use crate::recorder::requests::p2p_requests;

/// The bytes of a message to this rank, of a call that MPI has accepted; `None` where it goes nowhere.
fn size<W: Width>(elements: usize, datatype: usize, to: usize) -> Option<u64> {
    if to as c_int == abi::get().proc_null {
        return None;
    }
    let size = mpi::size_of_type(datatype)?;
    Some(size.wrapping_mul(W::count(elements) as u64))
}

/// Counts a message to this rank, of a call that MPI has accepted, if it goes anywhere.
fn count_to<W: Width>(kind: usize, elements: usize, datatype: usize, to: usize) {
    if let Some(bytes) = size::<W>(elements, datatype, to) {
        count(kind, bytes);
    }
}

/// A send, blocking or not.
pub fn sent<W: Width>(forward: &dyn Fn() -> c_int, elements: usize, datatype: usize, dest: usize) -> c_int {
    let result = thread::guarded(forward);
    if result == 0 {
        count_to::<W>(SENT, elements, datatype, dest);
    }
    result
}

/// A receive that returns with the message.
pub fn received<W: Width>(forward: &dyn Fn(usize) -> c_int, status: usize) -> c_int {
    let Some(statuses) = Statuses::for_call(status, 1, true) else { return thread::guarded(|| forward(status)) };
    let result = thread::guarded(|| forward(statuses.address()));
    if result == 0 {
        count_received(status::bytes_of(statuses.address()));
    }
    result
}

/// A receive that goes on.
pub fn receiving<W: Width>(forward: &dyn Fn() -> c_int, request: usize) -> c_int {
    let result = thread::guarded(forward);
    if result == 0 {
        p2p_requests::follow(request, false);
    }
    result
}

/// A send and a receive in one.
pub fn exchanged<W: Width>(
    forward: &dyn Fn(usize) -> c_int,
    elements: usize,
    datatype: usize,
    dest: usize,
    status: usize,
) -> c_int {
    let result = received::<W>(forward, status);
    if result == 0 {
        count_to::<W>(SENT, elements, datatype, dest);
    }
    result
}

/// A send and a receive in one that go on.
pub fn exchanging<W: Width>(
    forward: &dyn Fn() -> c_int,
    elements: usize,
    datatype: usize,
    dest: usize,
    request: usize,
) -> c_int {
    let result = sent::<W>(forward, elements, datatype, dest);
    if result == 0 {
        p2p_requests::follow(request, false);
    }
    result
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
        p2p_requests::follow_send(request, bytes);
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
    let result = thread::guarded(forward);
    if result == 0 {
        p2p_requests::follow(request, true);
    }
    result
}

/// Data written to another rank's window, or combined with what is there.
pub fn put<W: Width>(forward: &dyn Fn() -> c_int, elements: usize, datatype: usize, target: usize) -> c_int {
    let result = thread::guarded(forward);
    if result == 0 {
        count_to::<W>(PUT, elements, datatype, target);
    }
    result
}

/// Data read from another rank's window.
pub fn got<W: Width>(forward: &dyn Fn() -> c_int, elements: usize, datatype: usize, target: usize) -> c_int {
    let result = thread::guarded(forward);
    if result == 0 {
        count_to::<W>(GOT, elements, datatype, target);
    }
    result
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
    let no_op = || abi::get().reduction_name(abi::get().handle(op)).as_deref() == Some("MPI_NO_OP");
    if result == 0 && !no_op() {
        count_to::<W>(PUT, sent, sent_type, target);
    }
    result
}

/// `MPI_Fetch_and_op`: one element there and back.
pub fn fetched_one<W: Width>(forward: &dyn Fn() -> c_int, datatype: usize, target: usize, op: usize) -> c_int {
    fetched::<W>(forward, 1, datatype, 1, datatype, target, op)
}

/// `MPI_Compare_and_swap`: one element there and back.
pub fn swapped<W: Width>(forward: &dyn Fn() -> c_int, datatype: usize, target: usize) -> c_int {
    let result = got::<W>(forward, 1, datatype, target);
    if result == 0 {
        count_to::<W>(PUT, 1, datatype, target);
    }
    result
}
