//! With whom a call waits: known from its arguments, from the requests that it waits for, or from a status.
//!
//! Each function here forwards a call. The thread's partner is that of the call when it has returned.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use mpitrace_format::layout::{MOST_AWAITED, activity, awaited, message, partner};
use mpitrace_functions::types::classes;

use crate::mpi::abi;
use crate::operation::{datatype, handle};
use crate::record::thread::{self, ThreadRef, attention, messages, partners};
use crate::recorder::message_records::{self, came_from};
use crate::recorder::messages::{ANY_PERSISTENT, REQUESTS, UNKNOWN, communicator, is_open, partner, replace, together};
use crate::recorder::nested;
use crate::recorder::own_statuses::{KEPT, OwnStatuses};
use crate::recorder::requests::array::Array;
use crate::recorder::requests::request_partners::{ACTIVE, Message, PERSISTENT};

/// The thread, before a call of the program's own from a wrapper that stands at `here`.
#[inline(always)]
pub fn own_thread(here: usize) -> Option<ThreadRef> {
    if !partners::are_counted() {
        return None;
    }
    let thread = thread::current();
    if thread.is_none() {
        partners::lost();
    }
    thread.filter(|thread| here >= thread.guard())
}

/// A call that waits until a message can be sent.
#[inline(always)]
pub fn send(here: usize, forward: impl Fn() -> c_int, dest: usize, tag: usize, comm: usize) -> c_int {
    if let Some(thread) = own_thread(here) {
        let partner = partner(thread, comm, dest);
        thread.await_message(0, partner, tag as i32, awaited::SEND);
        thread.set_partner(partner);
    }
    forward()
}

/// A call that waits for a message: it is received.
#[inline(always)]
pub fn receive(
    here: usize,
    forward: impl Fn(usize) -> c_int,
    datatype: usize,
    source: usize,
    tag: usize,
    comm: usize,
    status: usize,
) -> c_int {
    let types = || types(datatype);
    wait_for_message(here, forward, (source, tag, comm), status, awaited::RECEIVE, types).0
}

/// `MPI_Probe`: waits for a message, which stays.
#[inline(never)]
pub fn probe(
    here: usize,
    forward: &dyn Fn(usize) -> c_int,
    source: usize,
    tag: usize,
    comm: usize,
    status: usize,
) -> c_int {
    wait_for_message(here, forward, (source, tag, comm), status, message::RECEIVE | message::FINDS, || 0).0
}

/// `MPI_Mprobe`: the message that is found is received by a later call.
#[inline(never)]
pub fn find(
    here: usize,
    forward: &dyn Fn(usize) -> c_int,
    source: usize,
    tag: usize,
    comm: usize,
    message: usize,
    status: usize,
) -> c_int {
    let flags = message::RECEIVE | message::FINDS | message::STARTS;
    // The call that receives it says as which type.
    let types = || classes::OTHER;
    let (result, thread, found) = wait_for_message(here, forward, (source, tag, comm), status, flags, types);
    if let Some(thread) = thread.filter(|_| result == 0) {
        replace(message, Some(Message::new(thread.partner(), tag, awaited::RECEIVE)));
        if let Some(found) = found {
            message_records::keep_start(thread, message, found);
        }
    }
    result
}

/// Counts a receive that the thread begins in the call that it is in, as these types.
#[inline(always)]
fn count_receive(thread: ThreadRef, partner: u64, types: u16) {
    partners::received(thread, partner, types, || activity::decoded(thread.entry().activity()).1);
}

/// The set of the data type that the program passes to a call that has not returned.
#[inline(always)]
fn types(datatype: usize) -> u16 {
    datatype::without_asking(abi::get().handle(datatype)).map_or(classes::OTHER, |known| known.types)
}

/// Forwards a call that waits for a message, which its record says with these flags: the result, the thread where the
/// call is the program's own_thread, and the message that came.
#[inline(always)]
fn wait_for_message(
    here: usize,
    forward: impl Fn(usize) -> c_int,
    (source, tag, comm): (usize, usize, usize),
    status: usize,
    flags: u32,
    types: impl FnOnce() -> u16,
) -> (c_int, Option<ThreadRef>, Option<Message>) {
    let Some(thread) = own_thread(here) else { return (forward(status), None, None) };
    let partner = partner(thread, comm, source);
    thread.await_message(0, partner, tag as i32, awaited::RECEIVE);
    // A probe leaves the message there.
    if flags & (message::FINDS | message::STARTS) != message::FINDS {
        count_receive(thread, partner, types());
    }
    let (result, found) = receive_and_keep(thread, forward, Message::new(partner, tag, flags), status);
    (result, Some(thread), found)
}

/// A call that waits until one message is sent and another one received: for the partner that sends.
#[allow(clippy::too_many_arguments, reason = "those of MPI_Sendrecv that say with whom")]
#[inline(always)]
pub fn exchange(
    here: usize,
    forward: impl Fn(usize) -> c_int,
    dest: usize,
    sendtag: usize,
    recvtype: usize,
    source: usize,
    recvtag: usize,
    comm: usize,
    status: usize,
) -> c_int {
    let Some(thread) = own_thread(here) else { return forward(status) };
    let from = partner(thread, comm, source);
    let to = if dest as c_int == source as c_int { from } else { partner(thread, comm, dest) };
    thread.await_message(1, to, sendtag as i32, awaited::SEND);
    thread.await_message(0, from, recvtag as i32, awaited::RECEIVE | awaited::MORE);
    count_receive(thread, from, types(recvtype));
    if !messages::are_kept() || from == partner::NONE {
        return receive_from(thread, forward, if from == partner::NONE { to } else { from }, status);
    }
    receive_and_keep(thread, forward, Message::new(from, recvtag, awaited::RECEIVE), status).0
}

/// `MPI_Mrecv`: the message was found by a call before.
#[inline(never)]
pub fn receive_found(here: usize, forward: &dyn Fn(usize) -> c_int, message: usize, status: usize) -> c_int {
    let Some(thread) = own_thread(here) else { return forward(status) };
    let handle = abi::get().read(message);
    let message = REQUESTS.find(handle).unwrap_or(UNKNOWN);
    thread.await_message(0, message.partner, message.tag, awaited::RECEIVE);
    let forward = || receive_from(thread, forward, message.partner, status);
    if messages::are_kept() { message_records::receive_found(thread, &forward, handle) } else { forward() }
}

/// Forwards a call that receives or finds a message, and stores its record where there are any: the result, and the
/// message that came.
#[inline(always)]
fn receive_and_keep(
    thread: ThreadRef,
    forward: impl Fn(usize) -> c_int,
    message: Message,
    status: usize,
) -> (c_int, Option<Message>) {
    if !messages::are_kept() {
        return (receive_from(thread, forward, message.partner, status), None);
    }
    let forward = |status| receive_from(thread, &forward, message.partner, status);
    message_records::receive(thread, &forward, message, status)
}

/// A call on a window that waits for its other ranks. Of a lock it is not known which rank has it, and libraries wait
/// for it in any call up to the one that gives it up.
#[inline(always)]
pub fn on_window(here: usize, forward: impl Fn() -> c_int, win: usize) -> c_int {
    await_window(here, win);
    forward()
}

/// One function for all wrappers: a call of it costs less than the code in each of them.
#[inline(never)]
pub fn await_window(here: usize, win: usize) {
    if let Some(thread) = own_thread(here) {
        let window = communicator(thread, handle::of_window(abi::get().handle(win)));
        thread.await_message(0, window.map_or(partner::UNKNOWN, partner::any), 0, awaited::WINDOW);
    }
}

const NONE: Message = Message { partner: partner::NONE, ..UNKNOWN };

#[inline(always)]
fn receive_from(thread: ThreadRef, forward: impl Fn(usize) -> c_int, partner: u64, status: usize) -> c_int {
    thread.set_partner(partner);
    let result = match partner::any_source(partner) {
        None => forward(status),
        Some(communicator) => receive_from_any(thread, &forward, communicator, status),
    };
    if result != 0 || thread.attention() & attention::HANDLED != 0 {
        partners::lost();
    }
    result
}

#[inline(never)]
fn receive_from_any(thread: ThreadRef, forward: &dyn Fn(usize) -> c_int, communicator: u32, status: usize) -> c_int {
    let mut own = OwnStatuses::new();
    let status = own.instead_of(status, 1);
    let result = forward(status);
    thread.set_partner(if result == 0 { came_from(communicator, status) } else { partner::UNKNOWN });
    result
}

#[inline(always)]
pub fn wait(here: usize, forward: impl Fn(usize) -> c_int, request: usize, status: usize) -> c_int {
    let Some(thread) = own_thread(here) else {
        return passed(here, &Array { statuses: status, ..Array::one(request) }, || forward(status));
    };
    let message = abi::get().handles(1, request).next().map_or(NONE, under_way);
    if messages::are_kept() || message.flags & PERSISTENT != 0 || partner::any_source(message.partner).is_some() {
        return wait_for(here, &forward, Array { statuses: status, ..Array::one(request) });
    }
    publish(thread, 1, &message, 0);
    thread.set_partner(message.partner);
    // It is open, and gone when the call has returned.
    if partner::place(message.partner).is_none() {
        return closing(here, &Array::one(request), || forward(status));
    }
    let result = forward(status);
    if result == 0 || abi::get().handles(1, request).all(|handle| abi::get().is_complete_request(handle)) {
        partners::opened(thread, 1u64.wrapping_neg());
    }
    result
}

/// Forwards a call by which requests of the program may be gone, and counts those. Programs test a request again and
/// again, so the thread is looked up where one is gone.
#[inline(always)]
fn closing(here: usize, array: &Array, forward: impl FnOnce() -> c_int) -> c_int {
    if thread::is_nested(here) {
        return nested::close(array, forward);
    }
    let open = || array.handles().filter(|handle| is_open(*handle)).count();
    let before = open();
    let result = forward();
    if before > 0 && array.is_done() {
        let gone = before.saturating_sub(open());
        if gone > 0
            && let Some(thread) = own_thread(here)
        {
            partners::opened(thread, (gone as u64).wrapping_neg());
        }
    }
    result
}

/// Forwards a call for requests that is not counted.
#[inline(always)]
fn passed(here: usize, array: &Array, forward: impl FnOnce() -> c_int) -> c_int {
    if thread::is_nested(here) { nested::close(array, forward) } else { forward() }
}

pub fn free(here: usize, forward: impl Fn() -> c_int, request: usize) -> c_int {
    closing(here, &Array::one(request), forward)
}

/// A call for several requests, with the records of those that it finds complete where there are any.
#[inline(always)]
pub fn wait_for(here: usize, forward: impl Fn(usize) -> c_int, array: Array) -> c_int {
    let forward = |statuses| wait_for_messages(here, &forward, &Array { statuses, ..array });
    test(here, forward, array)
}

/// A call for several requests: the partner of those that it waits for is the one that all of these have, where it
/// returns with one or some that of these.
#[inline(never)]
fn wait_for_messages(here: usize, forward: &dyn Fn(usize) -> c_int, array: &Array) -> c_int {
    let Some(thread) = own_thread(here) else { return forward(array.statuses) };
    let mut kept = [partner::UNKNOWN; KEPT];
    let (mut all, mut messages, mut any_source, mut persistent) = (partner::NONE, 0, false, false);
    let mut last = NONE;
    for (place, handle) in array.handles().enumerate() {
        let message = under_way(handle);
        if let Some(kept) = kept.get_mut(place) {
            *kept = message.partner;
        }
        if message.partner != partner::NONE {
            // Each is published when it is known whether more follow.
            if messages > 0 && messages < MOST_AWAITED {
                publish(thread, messages, &last, awaited::MORE);
            }
            messages += 1;
            if messages <= MOST_AWAITED {
                last = message;
            }
            all = together(all, message.partner);
            any_source |= partner::any_source(message.partner).is_some();
            persistent |= message.flags & PERSISTENT != 0;
        }
    }
    let cut = if messages > MOST_AWAITED { awaited::CUT } else { 0 };
    publish(thread, messages.clamp(1, MOST_AWAITED), &last, cut);
    thread.set_partner(all);
    let of_all = array.is_for_all();
    if of_all && !any_source && !persistent || messages == 0 {
        return forward(array.statuses);
    }
    let mut own = OwnStatuses::new();
    let is_known = any_source && array.len() <= KEPT;
    let statuses = if is_known { own.instead_of(array.statuses, array.len()) } else { array.statuses };
    let result = forward(statuses);
    let well = result == 0 && thread.attention() & attention::HANDLED == 0;
    if well && (!of_all || any_source) && partner::place(all).is_none() {
        let mut found = partner::NONE;
        Array { statuses, ..*array }.each_completed(|place, status| {
            let kept = kept.get(place).copied().unwrap_or(partner::UNKNOWN);
            let partner = partner::any_source(kept).map_or(kept, |communicator| came_from(communicator, status));
            found = together(found, partner);
        });
        thread.set_partner(found);
    } else if !well && partner::place(all).is_none() {
        thread.set_partner(partner::UNKNOWN);
    }
    if persistent && well {
        array.each_completed(|place, _| complete(array.handle(place)));
    }
    result
}

/// The message is the one with this number, counted from 1, of those that the thread waits for.
#[inline(always)]
fn publish(thread: ThreadRef, number: usize, message: &Message, more: u32) {
    let flags = message.flags & (awaited::RECEIVE | awaited::SEND);
    thread.await_message(number - 1, message.partner, message.tag, flags | more);
}

/// The message of a request that a call waits for; without a partner where the request is complete.
#[inline(always)]
pub fn under_way(handle: usize) -> Message {
    if abi::get().is_complete_request(handle) {
        return NONE;
    }
    match REQUESTS.find(handle) {
        Some(message) if !message.is_under_way() => NONE,
        Some(message) => message,
        None => UNKNOWN,
    }
}

/// A call for requests, with the records of those that it finds complete where there are any.
#[inline(always)]
pub fn test(here: usize, forward: impl Fn(usize) -> c_int, array: Array) -> c_int {
    closing(here, &array, || {
        if messages::are_kept()
            && let Some(thread) = own_thread(here)
        {
            return message_records::complete(thread, &forward, &array);
        }
        forward(array.statuses)
    })
}

/// After a call that tests: those of the requests that are persistent are not under way where the flag says so.
#[inline(always)]
pub fn tested(array: Array) {
    if ANY_PERSISTENT.load(Ordering::Relaxed) && array.is_done() {
        // After an error of which the library says MPI_SUCCESS nothing may be stored.
        let handled = thread::current().is_some_and(|thread| thread.attention() & attention::HANDLED != 0);
        if !handled {
            array.each_completed(|place, _| complete(array.handle(place)));
        }
    }
}

/// The request with this handle was found complete: one that is persistent is still there, and not under way.
fn complete(handle: usize) {
    if let Some(message) = REQUESTS.find(handle)
        && message.flags & ACTIVE != 0
    {
        REQUESTS.store(handle, Message { flags: message.flags & !ACTIVE, ..message });
    }
}
