//! With whom a call waits: known from its arguments, from the requests that it waits for, or from a status.
//!
//! Each function here forwards a call. The thread's partner is that of the call when it has returned.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use mpitrace_format::layout::{MOST_AWAITED, awaited, message, partner};

use crate::base::program;
use crate::mpi::abi;
use crate::record::thread::{self, ThreadRef, attention, messages, partners};
use crate::recorder::message_records;
use crate::recorder::messages::{ANY_PERSISTENT, REQUESTS, partner, replace, together};
use crate::recorder::own_statuses::{KEPT, OwnStatuses};
use crate::recorder::requests::completed::Completed;
use crate::recorder::requests::request_partners::{ACTIVE, Message, PERSISTENT};

/// The thread, before a call of the program's own from a wrapper that stands at `here`.
#[inline(always)]
fn own(here: usize) -> Option<ThreadRef> {
    if !partners::are_counted() {
        return None;
    }
    thread::current().filter(|thread| here >= thread.guard())
}

/// A call that waits until a message can be sent.
#[inline(always)]
pub fn send(here: usize, forward: impl Fn() -> c_int, dest: usize, tag: usize, comm: usize) -> c_int {
    if let Some(thread) = own(here) {
        let partner = partner(thread, comm, dest);
        thread.await_message(0, partner, tag as i32, awaited::SEND);
        thread.set_partner(partner);
    }
    forward()
}

/// A call that waits for a message: it is received, or found.
#[inline(always)]
pub fn receive(
    here: usize,
    forward: impl Fn(usize) -> c_int,
    source: usize,
    tag: usize,
    comm: usize,
    status: usize,
) -> c_int {
    let Some(thread) = own(here) else { return forward(status) };
    let partner = partner(thread, comm, source);
    thread.await_message(0, partner, tag as i32, awaited::RECEIVE);
    receive_and_keep(thread, forward, Message::new(partner, tag, awaited::RECEIVE), status).0
}

/// `MPI_Probe`: waits for a message, which stays.
pub fn probe(
    here: usize,
    forward: impl Fn(usize) -> c_int,
    source: usize,
    tag: usize,
    comm: usize,
    status: usize,
) -> c_int {
    let Some(thread) = own(here) else { return forward(status) };
    let partner = partner(thread, comm, source);
    thread.await_message(0, partner, tag as i32, awaited::RECEIVE);
    receive_and_keep(thread, forward, Message::new(partner, tag, message::RECEIVE | message::FINDS), status).0
}

/// `MPI_Mprobe`: the message that is found is received by a later call.
pub fn find(
    here: usize,
    forward: impl Fn(usize) -> c_int,
    source: usize,
    tag: usize,
    comm: usize,
    message: usize,
    status: usize,
) -> c_int {
    let Some(thread) = own(here) else { return forward(status) };
    let partner = partner(thread, comm, source);
    thread.await_message(0, partner, tag as i32, awaited::RECEIVE);
    let wanted = Message::new(partner, tag, message::RECEIVE | message::FINDS | message::STARTS);
    let (result, found) = receive_and_keep(thread, forward, wanted, status);
    if result == 0 {
        replace(message, Some(Message::new(thread.partner(), tag, awaited::RECEIVE)));
        if let Some(found) = found {
            message_records::keep_start(thread, message, found);
        }
    }
    result
}

/// A call that waits until one message is sent and another one received: for the partner that sends.
#[allow(clippy::too_many_arguments, reason = "those of MPI_Sendrecv that say with whom")]
#[inline(always)]
pub fn exchange(
    here: usize,
    forward: impl Fn(usize) -> c_int,
    dest: usize,
    sendtag: usize,
    source: usize,
    recvtag: usize,
    comm: usize,
    status: usize,
) -> c_int {
    let Some(thread) = own(here) else { return forward(status) };
    let from = partner(thread, comm, source);
    let to = if dest as c_int == source as c_int { from } else { partner(thread, comm, dest) };
    thread.await_message(1, to, sendtag as i32, awaited::SEND);
    thread.await_message(0, from, recvtag as i32, awaited::RECEIVE | awaited::MORE);
    if !messages::are_kept() || from == partner::NONE {
        return receive_from(thread, forward, if from == partner::NONE { to } else { from }, status);
    }
    receive_and_keep(thread, forward, Message::new(from, recvtag, awaited::RECEIVE), status).0
}

/// `MPI_Mrecv`: the message was found by a call before.
pub fn receive_found(here: usize, forward: impl Fn(usize) -> c_int, message: usize, status: usize) -> c_int {
    let Some(thread) = own(here) else { return forward(status) };
    let handle = abi::get().read(message);
    let message = REQUESTS.find(handle).unwrap_or(UNKNOWN);
    thread.await_message(0, message.partner, message.tag, awaited::RECEIVE);
    let forward = || receive_from(thread, &forward, message.partner, status);
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

/// Nothing is known of a request.
const UNKNOWN: Message = Message { partner: partner::UNKNOWN, tag: 0, flags: 0, bytes: 0 };
/// A request that is complete.
const NONE: Message = Message { partner: partner::NONE, ..UNKNOWN };

#[inline(always)]
fn receive_from(thread: ThreadRef, forward: impl Fn(usize) -> c_int, partner: u64, status: usize) -> c_int {
    thread.set_partner(partner);
    match partner::any_source(partner) {
        None => forward(status),
        Some(communicator) => receive_from_any(thread, &forward, communicator, status),
    }
}

#[inline(never)]
fn receive_from_any(thread: ThreadRef, forward: &dyn Fn(usize) -> c_int, communicator: u32, status: usize) -> c_int {
    let mut own = OwnStatuses::new();
    let status = own.instead_of(status, 1);
    let result = forward(status);
    thread.set_partner(if result == 0 { came_from(communicator, status) } else { partner::UNKNOWN });
    result
}

/// The partner that has sent the message of a status.
fn came_from(communicator: u32, status: usize) -> u64 {
    match program::int(status + abi::get().status_source) {
        rank @ 0.. => partner::known(communicator, rank as u32),
        rank if rank == abi::get().proc_null => partner::NONE,
        _ => partner::UNKNOWN,
    }
}

/// `MPI_Wait`.
#[inline(always)]
pub fn wait(here: usize, forward: impl Fn(usize) -> c_int, request: usize, status: usize) -> c_int {
    let Some(thread) = own(here) else { return forward(status) };
    let message = abi::get().handles(1, request).next().map_or(NONE, under_way);
    if messages::are_kept() || message.flags & PERSISTENT != 0 || partner::any_source(message.partner).is_some() {
        return wait_for(here, &forward, 1, request, status, Completed::All);
    }
    publish(thread, 1, &message, 0);
    thread.set_partner(message.partner);
    forward(status)
}

/// `MPI_Waitall`.
#[inline(always)]
pub fn wait_all(
    here: usize,
    forward: impl Fn(usize) -> c_int,
    count: usize,
    requests: usize,
    statuses: usize,
) -> c_int {
    wait_for(here, &forward, count, requests, statuses, Completed::All)
}

/// `MPI_Waitany`.
#[inline(always)]
pub fn wait_any(
    here: usize,
    forward: impl Fn(usize) -> c_int,
    count: usize,
    requests: usize,
    index: usize,
    status: usize,
) -> c_int {
    wait_for(here, &forward, count, requests, status, Completed::One { index })
}

/// `MPI_Waitsome`.
#[inline(always)]
pub fn wait_some(
    here: usize,
    forward: impl Fn(usize) -> c_int,
    count: usize,
    requests: usize,
    outcount: usize,
    indices: usize,
    statuses: usize,
) -> c_int {
    wait_for(here, &forward, count, requests, statuses, Completed::Some { outcount, indices })
}

/// A call for several requests, with the records of those that it finds complete where there are any.
#[inline(always)]
fn wait_for(
    here: usize,
    forward: &dyn Fn(usize) -> c_int,
    count: usize,
    requests: usize,
    statuses: usize,
    completed: Completed,
) -> c_int {
    let forward = |statuses| wait_for_messages(here, forward, count, requests, statuses, completed);
    look(here, forward, (count, requests, statuses), completed, None)
}

/// A call for several requests: the partner of those that it waits for is the one that all of these have, where it
/// returns with one or some that of these.
#[inline(never)]
fn wait_for_messages(
    here: usize,
    forward: &dyn Fn(usize) -> c_int,
    count: usize,
    requests: usize,
    statuses: usize,
    completed: Completed,
) -> c_int {
    let Some(thread) = own(here) else { return forward(statuses) };
    let mut kept = [partner::UNKNOWN; KEPT];
    let (mut all, mut messages, mut any_source, mut persistent) = (partner::NONE, 0, false, false);
    let mut last = NONE;
    for (place, handle) in abi::get().handles(count, requests).enumerate() {
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
    let of_all = matches!(completed, Completed::All);
    if of_all && !any_source && !persistent || messages == 0 {
        return forward(statuses);
    }
    let count = (count as c_int).max(0) as usize;
    let mut own = OwnStatuses::new();
    let statuses = if any_source && count <= KEPT { own.instead_of(statuses, count) } else { statuses };
    let result = forward(statuses);
    let well = result == 0 && thread.attention() & attention::HANDLED == 0;
    if well && (!of_all || any_source) && partner::place(all).is_none() {
        let is_known = statuses != abi::get().status_ignore;
        let mut found = partner::NONE;
        completed.each(count, |place, status| {
            let kept = kept.get(place).copied().unwrap_or(partner::UNKNOWN);
            found = together(
                found,
                match partner::any_source(kept) {
                    Some(communicator) if is_known => {
                        came_from(communicator, statuses + status * abi::get().status_size)
                    }
                    Some(_) => partner::UNKNOWN,
                    None => kept,
                },
            );
        });
        thread.set_partner(found);
    } else if !well && partner::place(all).is_none() {
        thread.set_partner(partner::UNKNOWN);
    }
    if persistent && well {
        completed.each(count, |place, _| complete(requests, place));
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
fn under_way(handle: usize) -> Message {
    if abi::get().is_complete_request(handle) {
        return NONE;
    }
    match REQUESTS.find(handle) {
        Some(message) if !message.is_under_way() => NONE,
        Some(message) => message,
        None => UNKNOWN,
    }
}

/// `MPI_Test`: with the records of those that it finds complete where there are any, as those below.
#[inline(always)]
pub fn test(here: usize, forward: impl Fn(usize) -> c_int, request: usize, flag: usize, status: usize) -> c_int {
    test_all(here, forward, 1, request, flag, status)
}

/// `MPI_Testall`.
#[inline(always)]
pub fn test_all(
    here: usize,
    forward: impl Fn(usize) -> c_int,
    count: usize,
    requests: usize,
    flag: usize,
    statuses: usize,
) -> c_int {
    look(here, forward, (count, requests, statuses), Completed::All, Some(flag))
}

/// `MPI_Testany`.
#[inline(always)]
pub fn test_any(
    here: usize,
    forward: impl Fn(usize) -> c_int,
    count: usize,
    requests: usize,
    index: usize,
    flag: usize,
    status: usize,
) -> c_int {
    look(here, forward, (count, requests, status), Completed::One { index }, Some(flag))
}

/// `MPI_Testsome`.
#[inline(always)]
pub fn test_some(
    here: usize,
    forward: impl Fn(usize) -> c_int,
    count: usize,
    requests: usize,
    outcount: usize,
    indices: usize,
    statuses: usize,
) -> c_int {
    look(here, forward, (count, requests, statuses), Completed::Some { outcount, indices }, None)
}

#[inline(always)]
fn look(
    here: usize,
    forward: impl Fn(usize) -> c_int,
    (count, requests, statuses): (usize, usize, usize),
    completed: Completed,
    flag: Option<usize>,
) -> c_int {
    if messages::are_kept()
        && let Some(thread) = own(here)
    {
        return message_records::complete(thread, &forward, count, requests, statuses, completed, flag);
    }
    forward(statuses)
}

/// After `MPI_Test`, as after those below: requests that are persistent are not under way where the flag says so.
pub fn tested(request: usize, flag: usize) {
    all_tested(1, request, flag);
}

/// After `MPI_Testall`.
pub fn all_tested(count: usize, requests: usize, flag: usize) {
    if_flag(count, requests, flag, Completed::All);
}

/// After `MPI_Testany`.
pub fn any_tested(count: usize, requests: usize, index: usize, flag: usize) {
    if_flag(count, requests, flag, Completed::One { index });
}

/// After `MPI_Testsome`.
pub fn some_tested(count: usize, requests: usize, outcount: usize, indices: usize) {
    if_any_persistent(count, requests, Completed::Some { outcount, indices });
}

#[inline(always)]
fn if_flag(count: usize, requests: usize, flag: usize, completed: Completed) {
    if flag != 0 && program::int(flag) != 0 {
        if_any_persistent(count, requests, completed);
    }
}

#[inline(always)]
fn if_any_persistent(count: usize, requests: usize, completed: Completed) {
    // After an error of which the library says MPI_SUCCESS nothing may be stored.
    let handled = thread::current().is_some_and(|thread| thread.attention() & attention::HANDLED != 0);
    if ANY_PERSISTENT.load(Ordering::Relaxed) && !handled {
        completed.each((count as c_int).max(0) as usize, |place, _| complete(requests, place));
    }
}

/// The request at this place was found complete: one that is persistent is still there, and not under way.
fn complete(requests: usize, place: usize) {
    let handle = abi::get().read(requests + place * abi::get().handle_size);
    if let Some(message) = REQUESTS.find(handle)
        && message.flags & ACTIVE != 0
    {
        REQUESTS.store(handle, Message { flags: message.flags & !ACTIVE, ..message });
    }
}
