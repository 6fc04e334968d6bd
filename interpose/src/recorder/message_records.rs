//! Message calls as records (`MPITRACE_P2P=records`).
//!
//! A call has a record for each message that it sends, receives, starts or finds complete. Those that find a request
//! complete have the number of the call that started it, so that the companion knows in which order receives were
//! posted, and which message came. Records are stored when a call has returned: no lock, no allocation and no MPI call,
//! but for an operation that the thread has not called lately, a full chunk and a list of many requests.

use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use mpitrace_format::layout::{MOST_MESSAGES, MessageEntry, message, partner, stored_bytes};

use crate::base::hash::FastMap;
use crate::base::{mode, program};
use crate::call_sites::call_site;
use crate::mpi::{self, abi};
use crate::operation::registry;
use crate::record::thread::messages::{KnownMessage, MessageKey};
use crate::record::thread::{self, ThreadRef, attention};
use crate::recorder::own_statuses::{KEPT, OwnStatuses};
use crate::recorder::requests::array::Array;
use crate::recorder::requests::few::Few;
use crate::recorder::requests::request_partners::{ACTIVE, Message, PERSISTENT, RequestPartners};

/// The starts of requests that are under way, and of messages that were found: as in [`Message`], with the reference of
/// the start for bytes.
pub static STARTS: RequestPartners = RequestPartners::new();

const _: () = assert!((message::FINDS | message::FOLDED | message::CANCELLED) & (PERSISTENT | ACTIVE) == 0);

static OPERATIONS: Mutex<Option<FastMap<MessageKey, u32>>> = Mutex::new(None);

#[inline(always)]
fn find(thread: ThreadRef, key: &MessageKey) -> Option<KnownMessage> {
    thread.known_message(key).or_else(|| find_slowly(thread, key))
}

#[cold]
#[inline(never)]
fn find_slowly(thread: ThreadRef, key: &MessageKey) -> Option<KnownMessage> {
    thread::catch_panic(|| {
        let mut operations = OPERATIONS.lock().unwrap_or_else(PoisonError::into_inner);
        let operations = operations.get_or_insert_default();
        let is_folded = operations.len() >= MOST_MESSAGES as usize && !operations.contains_key(key);
        let key = &match is_folded {
            true => MessageKey {
                partner: partner::UNKNOWN,
                flags: key.flags | message::FOLDED,
                function: key.function,
                ..MessageKey::default()
            },
            false => *key,
        };
        let mut registry = registry::lock()?;
        let number = match operations.get(key) {
            Some(known) => *known,
            None => {
                operations.try_reserve(1).ok()?;
                let call_site = call_site::text(key.site).map_or(0, |text| registry.string(&text));
                let MessageKey { partner, tag, flags, start, function, .. } = *key;
                let entry = MessageEntry { partner, tag, flags, start, function, call_site, ..MessageEntry::default() };
                let (number, _) = registry.live.add(entry)?;
                operations.insert(*key, number);
                number
            }
        };
        let found = KnownMessage { entry: registry.live.entry(number.into()), number };
        thread.keep_known_message(key, found);
        Some(found)
    })
}

/// Stores the record of a message of the call that the thread has left, which is the `number`-th start of its operation
/// where that is given. A reference to it for what completes it, not 0; 0: there is none.
pub fn keep(thread: ThreadRef, message: Message, start: u32, number: Option<u32>) -> u64 {
    let Message { partner, tag, flags, bytes } = message;
    if partner == partner::NONE {
        return 0;
    }
    let key = MessageKey { partner, tag, flags: flags & !PERSISTENT, start, ..MessageKey::default() };
    let Some(found) = find(thread, &thread.key_of_message_call(key)) else { return 0 };
    let number = number.unwrap_or(found.entry.count() as u32);
    if mode::get() == mode::PAUSED {
        return 0;
    }
    thread.store_message(found.number, stored_bytes(bytes), number);
    (u64::from(found.number) + 1) << 32 | u64::from(number)
}

pub fn keep_start(thread: ThreadRef, request: usize, message: Message) {
    let started = Message { flags: message.flags | message::STARTS, ..message };
    keep_start_of(abi::get().read(request), started, keep(thread, started, 0, None));
}

fn keep_start_of(handle: usize, message: Message, reference: u64) {
    if abi::get().is_complete_request(handle) {
        return;
    }
    match reference {
        0 => STARTS.clear(handle),
        _ => STARTS.store(handle, Message { bytes: reference, ..message }),
    }
}

/// Stores the records of persistent requests that were started: of this one, with what it is for.
pub fn keep_started(thread: ThreadRef, handle: usize, message: Message) {
    let started = Message { flags: message.flags & (message::SEND | message::RECEIVE) | message::STARTS, ..message };
    let reference = keep(thread, started, 0, None);
    keep_start_of(handle, Message { flags: started.flags | PERSISTENT, ..started }, reference);
}

/// A request was made, or is to be started again and again, that no call has started.
pub fn forget_start(request: usize) {
    STARTS.clear(abi::get().read(request));
}

/// The program has asked to cancel the request at this address. The status that completes it says if that was done.
pub fn ask_to_cancel(request: usize) {
    let handle = abi::get().read(request);
    if let Some(start) = STARTS.find(handle) {
        STARTS.store(handle, Message { flags: start.flags | message::CANCELLED, ..start });
    }
}

/// True if the status must say which message came, if one did.
fn is_wild(message: &Message) -> bool {
    message.flags & message::CANCELLED != 0
        || message.flags & message::RECEIVE != 0 && (message.tag < 0 || partner::any_source(message.partner).is_some())
}

/// The message with the source and the tag that came, by the address of its status.
fn came(message: Message, status: usize) -> Message {
    if !is_wild(&message) || status == abi::get().status_ignore {
        return message;
    }
    if message.flags & message::CANCELLED != 0 {
        return match mpi::is_cancelled(status) {
            true => message,
            false => came(Message { flags: message.flags & !message::CANCELLED, ..message }, status),
        };
    }
    // MPI_TAG lies behind MPI_SOURCE in every interface.
    let tag = program::int(status + abi::get().status_source + size_of::<c_int>());
    let any = partner::any_source(message.partner);
    let partner = any.map_or(message.partner, |communicator| came_from(communicator, status));
    Message { partner, tag: if message.tag < 0 { tag } else { message.tag }, ..message }
}

/// The partner that has sent the message of a status, which the call may have been given none of.
pub fn came_from(communicator: u32, status: usize) -> u64 {
    if status == abi::get().status_ignore {
        return partner::UNKNOWN;
    }
    match program::int(status + abi::get().status_source) {
        rank @ 0.. => partner::known(communicator, rank as u32),
        rank if rank == abi::get().proc_null => partner::NONE,
        _ => partner::UNKNOWN,
    }
}

/// Forwards a call that receives or finds one message, and stores its record: the result, and the message that came.
pub fn receive(
    thread: ThreadRef,
    forward: &dyn Fn(usize) -> c_int,
    message: Message,
    status: usize,
) -> (c_int, Option<Message>) {
    let mut own = OwnStatuses::new();
    let status = if is_wild(&message) { own.instead_of(status, 1) } else { status };
    let result = forward(status);
    if result != 0 || thread.attention() & attention::HANDLED != 0 {
        return (result, None);
    }
    thread.end_of_message_call();
    let message = came(message, status);
    if message.flags & message::STARTS == 0 {
        keep(thread, message, 0, None);
    }
    (result, Some(message))
}

/// Forwards a call that receives a message that was found, whose handle this is, and stores its record.
pub fn receive_found(thread: ThreadRef, forward: &dyn Fn() -> c_int, handle: usize) -> c_int {
    let start = STARTS.find(handle);
    let result = forward();
    if result == 0
        && let Some(start) = start
    {
        thread.end_of_message_call();
        keep_completion(thread, start);
    }
    result
}

/// The request at this address receives the message that was found under a handle.
pub fn move_start(found: Option<Message>, request: usize) {
    match found {
        Some(start) => keep_start_of(abi::get().read(request), start, start.bytes),
        None => forget_start(request),
    }
}

fn keep_completion(thread: ThreadRef, start: Message) {
    let flags = start.flags & (message::SEND | message::RECEIVE | message::CANCELLED) | message::COMPLETES;
    let completed = Message { flags, bytes: 0, ..start };
    keep(thread, completed, (start.bytes >> 32) as u32, Some(start.bytes as u32));
}

/// Forwards a call that may find requests complete, and stores the records of those.
pub fn complete(thread: ThreadRef, forward: &dyn Fn(usize) -> c_int, array: &Array) -> c_int {
    let mut starts: Few<(usize, usize, Message)> = Few::new();
    let mut any_wild = false;
    for (place, handle) in array.handles().enumerate() {
        if let Some(start) = STARTS.find(handle)
            && starts.has_room()
        {
            any_wild |= is_wild(&start);
            starts.push((place, handle, start));
        }
    }
    if starts.is_empty() {
        return forward(array.statuses);
    }
    let mut own = OwnStatuses::new();
    let of_call = array.statuses_of_call();
    let statuses = if any_wild && of_call <= KEPT { own.instead_of(array.statuses, of_call) } else { array.statuses };
    let result = forward(statuses);
    if result != 0 || !array.is_done() || thread.attention() & attention::HANDLED != 0 {
        return result;
    }
    thread.end_of_message_call();
    Array { statuses, ..*array }.each_completed(|place, status| {
        if let Some(&mut (_, handle, start)) = starts.find_by_key(place, |start| start.0) {
            keep_completion(thread, came(start, status));
            if start.flags & PERSISTENT != 0 {
                STARTS.clear(handle);
            }
        }
    });
    result
}
