//! The messages that the program sends and receives: with which partner, by which request.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

use mpitrace_format::layout::{awaited, message, partner};
use mpitrace_functions::types::classes;

use crate::base::width::{Large, Width};
use crate::base::{processor, program};
use crate::call_sites::call_site::{self, Distance};
use crate::handles::generation;
use crate::handles::type_table::KnownType;
use crate::mpi::abi;
use crate::operation::{datatype, registry};
use crate::record::thread::sends::{Destination, Sent};
use crate::record::thread::{self, ThreadRef, attention, messages, partners};
use crate::recorder::message_records;
use crate::recorder::requests::request_partners::{ACTIVE, Message, PERSISTENT, RequestPartners, UNCOUNTED};
use crate::recorder::sited;

pub static REQUESTS: RequestPartners = RequestPartners::new();

pub static ANY_PERSISTENT: AtomicBool = AtomicBool::new(false);
static ANY_UNCOUNTED: AtomicBool = AtomicBool::new(false);

/// The rank with this number in a communicator, as the program passes them: a partner.
#[inline(always)]
pub fn partner(thread: ThreadRef, comm: usize, rank: usize) -> u64 {
    let rank = rank as c_int;
    if rank < 0 && rank == abi::get().proc_null {
        return partner::NONE;
    }
    match communicator(thread, abi::get().handle(comm)) {
        None => partner::UNKNOWN,
        Some(index) if rank < 0 => partner::any(index),
        Some(index) => partner::known(index, rank as u32),
    }
}

/// The index of a communicator; `None`: it has none that stays its own.
#[inline(always)]
pub fn communicator(thread: ThreadRef, handle: usize) -> Option<u32> {
    let known = registry::kept_communicator(thread, handle)?;
    if known.is_folded() {
        return None;
    }
    // The entry of one that was never called may be another one's when it was freed.
    if !known.is_called() {
        known.set_called();
    }
    Some(known.number())
}

/// The thread, after a call of the program's own that has returned well, from a wrapper that stands at `here`.
#[inline(always)]
fn own_thread(here: usize) -> Option<ThreadRef> {
    let Some(thread) = thread::current() else {
        partners::lost();
        return None;
    };
    if here < thread.guard() {
        return None;
    }
    // A call in which an error handler ran may have failed and made nothing.
    if thread.attention() & attention::HANDLED != 0 {
        partners::lost();
        return None;
    }
    Some(thread)
}

/// The name of an MPI function. It takes one word, as all other arguments of what is called behind a call.
pub type Name = &'static &'static str;

#[cold]
#[inline(never)]
fn reference(function: Name) -> u32 {
    at_site(thread::catch_panic(|| Some(registry::lock()?.string(function))).unwrap_or(0))
}

/// The reference of the name of the function that the thread is in: where call sites are asked for, with that of the
/// call behind it.
#[cold]
#[inline(never)]
fn at_site(function: u32) -> u32 {
    if !call_site::asked() {
        return function;
    }
    sited::name(function, call_site::number(processor::frame(), &Distance::unknown()))
}

/// Counts a receive that this function has begun, of a message of this partner, as these types.
fn count_receive(thread: ThreadRef, function: Name, partner: u64, types: u16) {
    partners::received(thread, partner, types, || reference(function));
}

fn types_of(known: KnownType, count: u64) -> u16 {
    if count == 0 { classes::OTHER } else { known.types }
}

#[inline(always)]
pub fn sent<W: Width>(function: Name, count: usize, datatype: usize, dest: usize, tag: usize, comm: usize) {
    if partners::are_counted() {
        sent_from_here::<W>(function, count, datatype, dest, tag, comm);
    }
}

#[inline(never)]
fn sent_from_here<W: Width>(function: Name, count: usize, datatype: usize, dest: usize, tag: usize, comm: usize) {
    if let Some(thread) = own_thread(processor::frame()) {
        let (partner, bytes) = count_sent::<W>(thread, function, count, datatype, dest, comm);
        if messages::are_kept() {
            message_records::keep(thread, Message { bytes, ..Message::new(partner, tag, awaited::SEND) }, 0, None);
        }
    }
}

/// Counts a message that the thread sends: its partner and its bytes.
#[inline(always)]
fn count_sent<W: Width>(
    thread: ThreadRef,
    function: Name,
    count: usize,
    datatype: usize,
    dest: usize,
    comm: usize,
) -> (u64, u64) {
    let abi = abi::get();
    let destination = Destination { comm: abi.handle(comm), datatype: abi.handle(datatype), rank: dest as c_int };
    match thread.with_sends(|sends| sends.find(destination)).filter(|_| W::count(count) != 0) {
        Some(found) => {
            let bytes = found.size.wrapping_mul(W::count(count) as u64);
            found.entry.sent(bytes);
            (found.partner, bytes)
        }
        None => count_and_keep(thread, function, W::count(count) as u64, destination),
    }
}

#[inline(never)]
fn count_and_keep(thread: ThreadRef, function: Name, count: u64, destination: Destination) -> (u64, u64) {
    let generation = generation::present();
    let Destination { comm, datatype, rank } = destination;
    let partner = partner(thread, comm, rank as usize);
    let mut bytes = 0;
    if partner != partner::NONE {
        let known = datatype::accepted(datatype);
        bytes = known.size.wrapping_mul(count);
        let entry = partners::sent(thread, partner, bytes, types_of(known, count), || reference(function));
        // What is not kept of a handle may change without being seen. An empty message has not the types of others.
        let is_kept = count > 0 && partner::place(partner).is_some() && datatype::may_be_kept(datatype);
        if let Some(entry) = entry.filter(|_| is_kept) {
            let sent = Sent { partner, size: known.size, entry };
            thread.with_sends(|sends| sends.keep(destination, generation, sent));
        }
    }
    (partner, bytes)
}

#[inline(always)]
fn keep_request(request: usize, message: impl FnOnce(ThreadRef) -> Message) {
    if let Some(thread) = keep(request, message) {
        partners::opened(thread, 1);
    }
}

/// Stores the message of the request that a call has made, or that it has found: the thread that has; `None`: it is
/// complete already.
#[inline(always)]
fn keep(request: usize, message: impl FnOnce(ThreadRef) -> Message) -> Option<ThreadRef> {
    if !partners::are_counted() {
        return None;
    }
    // The library's own_thread, or one that may not have been made, has none.
    let thread = own_thread(processor::frame());
    let message = thread.map(message);
    if message.is_some_and(|message| message.flags & PERSISTENT != 0) {
        ANY_PERSISTENT.store(true, Ordering::Relaxed);
    }
    let is_open = replace(request, message.or_else(uncounted));
    if messages::are_kept() && request != 0 {
        match thread.zip(message) {
            Some((thread, message)) if message.flags & PERSISTENT == 0 => {
                message_records::keep_start(thread, request, message);
            }
            _ => message_records::forget_start(request),
        }
    }
    thread.filter(|_| is_open)
}

/// Stores what is known of a request that was made. One that calls share has no slot: it would take that of another.
/// False: it is complete.
#[inline(always)]
pub fn replace(request: usize, message: Option<Message>) -> bool {
    // Of a call that has failed, though it returned MPI_SUCCESS.
    if request == 0 {
        return false;
    }
    let abi = abi::get();
    let handle = abi.read(request);
    if abi.is_complete_request(handle) {
        return false;
    }
    match message {
        Some(message) => REQUESTS.store(handle, message),
        None => REQUESTS.clear(handle),
    }
    true
}

/// The call that is left has made the request at this address, of which this is known. The table tells those of the
/// program's own calls from the library's.
fn made(request: usize, message: Option<Message>) {
    if request == 0 || abi::get().is_complete_request(abi::get().read(request)) {
        return;
    }
    let thread = own_thread(processor::frame());
    let counted = thread.map(|_| message.filter(Message::is_counted).unwrap_or(UNKNOWN));
    replace(request, counted.or_else(uncounted));
    thread.inspect(|thread| partners::opened(*thread, 1));
}

/// The facts of a request that was made in a call that is not the program's own. `None`: it may not have been made.
#[cold]
fn uncounted() -> Option<Message> {
    let is_handled = thread::current().is_some_and(|thread| thread.attention() & attention::HANDLED != 0);
    if is_handled {
        return None;
    }
    ANY_UNCOUNTED.store(true, Ordering::Relaxed);
    Some(Message { flags: UNCOUNTED, ..UNKNOWN })
}

/// True if the program has to complete or free the request with this handle.
#[inline(always)]
pub fn is_open(handle: usize) -> bool {
    let is_uncounted =
        || ANY_UNCOUNTED.load(Ordering::Relaxed) && REQUESTS.find(handle).is_some_and(|found| !found.is_counted());
    !abi::get().is_complete_request(handle) && !is_uncounted()
}

/// The message of a request of which nothing is known.
pub const UNKNOWN: Message = Message { partner: partner::UNKNOWN, tag: 0, flags: 0, bytes: 0 };

/// A request was made that is for no message.
#[inline(never)]
pub fn no_message(request: usize) {
    if partners::are_counted() {
        made(request, None);
        if messages::are_kept() && request != 0 {
            message_records::forget_start(request);
        }
    }
}

#[inline(never)]
pub fn cancelled(_: Name, request: usize) {
    if partners::are_counted() && own_thread(processor::frame()).is_some() {
        partners::lost();
    }
    if messages::are_kept() {
        message_records::ask_to_cancel(request);
    }
}

#[inline(never)]
pub fn sending<W: Width>(
    function: Name,
    request: usize,
    count: usize,
    datatype: usize,
    dest: usize,
    tag: usize,
    comm: usize,
) {
    keep_request(request, |thread| {
        let (partner, bytes) = count_sent::<W>(thread, function, count, datatype, dest, comm);
        Message { bytes, ..Message::new(partner, tag, awaited::SEND) }
    });
}

#[inline(never)]
pub fn receiving(function: Name, request: usize, datatype: usize, source: usize, tag: usize, comm: usize) {
    if let Some(thread) = receiving_as(function, request, || accepted(datatype).types, source, tag, comm) {
        partners::opened(thread, 1);
    }
}

#[inline(always)]
fn receiving_as(
    function: Name,
    request: usize,
    types: impl FnOnce() -> u16,
    source: usize,
    tag: usize,
    comm: usize,
) -> Option<ThreadRef> {
    keep(request, |thread| {
        let partner = partner(thread, comm, source);
        count_receive(thread, function, partner, types());
        Message::new(partner, tag, awaited::RECEIVE)
    })
}

#[inline(always)]
fn accepted(datatype: usize) -> KnownType {
    datatype::accepted(abi::get().handle(datatype))
}

#[inline(never)]
#[allow(clippy::too_many_arguments, reason = "those of MPI_Isendrecv that say with whom")]
pub fn exchanging<W: Width>(
    function: Name,
    request: usize,
    count: usize,
    datatype: usize,
    dest: usize,
    sendtag: usize,
    recvtype: usize,
    source: usize,
    recvtag: usize,
    comm: usize,
) {
    if !partners::are_counted() {
        return;
    }
    let Some(thread) = own_thread(processor::frame()) else { return made(request, None) };
    let (to, bytes) = count_sent::<W>(thread, function, count, datatype, dest, comm);
    let from = partner(thread, comm, source);
    count_receive(thread, function, from, accepted(recvtype).types);
    made(request, Some(Message::new(together(to, from), recvtag, awaited::SEND | awaited::RECEIVE)));
    if messages::are_kept() && request != 0 {
        // What completes the request completes the receive: when the message was sent is not known apart.
        let sent = Message::new(to, sendtag, message::SEND | message::STARTS);
        message_records::keep(thread, Message { bytes, ..sent }, 0, None);
        message_records::keep_start(thread, request, Message::new(from, recvtag, message::RECEIVE));
    }
}

pub fn together(one: u64, other: u64) -> u64 {
    match (one, other) {
        (partner::NONE, partner) | (partner, partner::NONE) => partner,
        (partner::UNKNOWN, _) | (_, partner::UNKNOWN) => partner::UNKNOWN,
        _ if one == other && partner::any_source(one).is_none() => one,
        _ => partner::SEVERAL,
    }
}

#[inline(never)]
pub fn preparing_send<W: Width>(
    _: Name,
    request: usize,
    count: usize,
    datatype: usize,
    dest: usize,
    tag: usize,
    comm: usize,
) {
    keep_request(request, |thread| {
        let (known, count) = (accepted(datatype), W::count(count) as u64);
        let message = Message::new(partner(thread, comm, dest), tag, awaited::SEND | PERSISTENT);
        Message { bytes: known.size.wrapping_mul(count), ..message.of_types(types_of(known, count)) }
    });
}

/// A partitioned request to send was made: one message of all its partitions. Its count is an MPI_Count.
#[allow(clippy::too_many_arguments, reason = "those of MPI_Psend_init that say with whom")]
pub fn preparing_partitions<W: Width>(
    function: Name,
    request: usize,
    partitions: usize,
    count: usize,
    datatype: usize,
    dest: usize,
    tag: usize,
    comm: usize,
) {
    let count = count.wrapping_mul((partitions as c_int).max(0) as usize);
    preparing_send::<Large>(function, request, count, datatype, dest, tag, comm);
}

/// `MPI_Improbe` may have found a message.
pub fn looked_for(function: Name, message: usize, flag: usize, source: usize, tag: usize, comm: usize, status: usize) {
    if flag != 0 && program::int(flag) != 0 {
        let abi = abi::get();
        let sent_by = match status {
            ignored if ignored == abi.status_ignore => source,
            status => program::int(status + abi.status_source) as usize,
        };
        // The call that receives it says as which type.
        receiving_as(function, message, || classes::OTHER, sent_by, tag, comm);
    }
}

/// `MPI_Imrecv`: receives a message that was found.
pub fn receiving_found(_: usize, forward: impl Fn() -> c_int, message: usize, request: usize) -> c_int {
    let handle = abi::get().read(message);
    let found = REQUESTS.find(handle);
    let start = messages::are_kept().then(|| message_records::STARTS.find(handle));
    let result = forward();
    if result == 0 && partners::are_counted() {
        made(request, found);
        start.into_iter().for_each(|start| message_records::move_start(start, request));
    }
    result
}

/// Persistent requests were started: those that send do so now.
pub fn started(function: Name, count: usize, requests: usize) {
    if !ANY_PERSISTENT.load(Ordering::Relaxed) || !partners::are_counted() {
        return;
    }
    let current = own_thread(processor::frame());
    for handle in abi::get().handles(count, requests) {
        let known = REQUESTS.find(handle);
        let Some(message) = known.filter(|message| message.flags & PERSISTENT != 0) else {
            // One whose message is not known any more, or a collective's.
            partners::lost();
            continue;
        };
        REQUESTS.store(handle, Message { flags: message.flags | ACTIVE, ..message });
        let Some(thread) = current else { continue };
        if messages::are_kept() {
            message_records::keep_started(thread, handle, message);
        }
        if message.flags & awaited::SEND == 0 {
            count_receive(thread, function, message.partner, message.types());
        } else if message.partner != partner::NONE {
            partners::sent(thread, message.partner, message.bytes, message.types(), || reference(function));
        }
    }
}

/// A persistent request to receive was made, partitioned or not.
#[inline(never)]
pub fn preparing_receive(_: Name, request: usize, datatype: usize, source: usize, tag: usize, comm: usize) {
    keep_request(request, |thread| {
        let message = Message::new(partner(thread, comm, source), tag, awaited::RECEIVE | PERSISTENT);
        message.of_types(accepted(datatype).types)
    });
}
