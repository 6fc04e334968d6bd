//! Requests that are followed: non-blocking collectives, from their start until the program finds them complete, and
//! where messages are counted receives and persistent sends.
//!
//! A request is known by its handle while it is outstanding. Handles are not unique: libraries give one and the same to
//! all calls that are complete when they return, so such a call is closed there. With nothing outstanding a Wait or
//! Test costs one branch, also while there are persistent requests that are not started.
//!
//! The request of a persistent collective lives from its making to MPI_Request_free; each start of it is a call.
//! Persistent collectives may be started in any order, another one on each rank. So their calls do not take part in the
//! counting of positions on the communicator: the k-th start of the n-th persistent collective made on it has a
//! position of its own.

use std::ffi::c_int;

use crate::counters::message_counters;
use crate::handles::call::Call;
use crate::handles::call_cache::KnownOperation;
use crate::mpi::large_count::Narrowed;
use crate::mpi::{self, abi};
use crate::operation::operations;
use crate::record::buffer::chunk::RecordPlace;
use crate::record::buffer::drawn::DrawnChunk;
use crate::record::thread::{self, ThreadRef};
use crate::recorder::requests::few::Few;
use crate::recorder::requests::request_table::{ClaimedRequest, RequestTable};
use crate::recorder::{self, Started};

pub static REQUESTS: RequestTable<Request> = RequestTable::new();
static PREPARED: RequestTable<Prepared> = RequestTable::new();

pub enum Request {
    /// A collective, with narrowed copies of the program's arrays. `None` for a call that is not recorded, whose arrays
    /// must live on all the same.
    Collective { started: Option<Started>, _arrays: Narrowed },
    /// A receive: how large its message is is known when it is complete. Persistent ones stay then.
    Receive { persistent: bool, active: bool },
    /// A persistent send of so many bytes, which count at each start.
    Send { bytes: u64 },
}

struct Prepared {
    operation: Option<(KnownOperation, u64)>,
    starts: u64,
    /// Narrowed copies of the program's arrays.
    _arrays: Narrowed,
}

/// The position of the first start of the n-th persistent collective of a communicator, beyond all counted positions.
fn persistent_position(nth: u64, starts: u64) -> u64 {
    1 << 63 | nth << 40 | starts
}

#[inline(always)]
pub fn any_prepared() -> bool {
    PREPARED.has_any() || message_counters::counting() && REQUESTS.has_any()
}

pub fn prepare(
    message: &dyn Fn(ThreadRef) -> Call,
    forward: &dyn Fn() -> c_int,
    arrays: Narrowed,
    comm: usize,
    request: usize,
) -> c_int {
    let ours = !thread::is_passing(thread::frame());
    let result = thread::guarded(forward);
    if result == 0
        && (ours || !arrays.is_empty())
        && let Some(handle) = abi::get().made(request)
    {
        let operation = ours.then(|| {
            let thread = thread::current_or_new()?;
            thread::catch_panic(|| operations::prepare(abi::get().handle(comm), &|| message(thread)))
        });
        let prepared = Prepared { operation: operation.flatten(), starts: 0, _arrays: arrays };
        PREPARED.insert(handle, prepared);
    }
    result
}

pub fn start_prepared(forward: &dyn Fn() -> c_int, count: usize, requests: usize) -> c_int {
    let handles = abi::get().handles(count, requests);
    let mut starts: Few<(usize, KnownOperation, u64)> = Few::new();
    PREPARED.with_requests(|known| {
        for handle in handles.clone() {
            if let Some(prepared) = known.get_mut(&handle)
                && let Some((found, nth)) = prepared.operation
                && starts.has_room()
            {
                starts.push((handle, found, persistent_position(nth, prepared.starts)));
                prepared.starts += 1;
            }
        }
    });
    let mut begun = Few::new();
    for (handle, found, position) in starts.iter() {
        if begun.has_room()
            && let Some(record) = recorder::prepared(found, *position)
        {
            begun.push((*handle, record));
        }
    }
    let (result, _, returned) = thread::timed(forward);
    if result == 0 {
        if message_counters::counting() {
            start_messages(handles);
        }
        for (handle, record) in begun.take_all() {
            follow_handle(handle, Request::collective(Some(record.started(returned)), Narrowed::default()));
        }
    } else {
        if starts.iter().next().is_none() {
            recorder::failed_without_record(thread::frame());
        }
        begun.take_all().rev().for_each(|(_, record)| record.take_back());
        PREPARED.with_requests(|known| {
            for (handle, ..) in starts.iter() {
                if let Some(prepared) = known.get_mut(handle) {
                    prepared.starts -= 1;
                }
            }
        });
    }
    result
}

fn start_messages(handles: impl Iterator<Item = usize>) {
    REQUESTS.with_requests(|requests| {
        for handle in handles {
            match requests.get_mut(&handle) {
                Some(Request::Receive { active, .. }) => *active = true,
                Some(Request::Send { bytes }) => message_counters::count(message_counters::SENT, *bytes),
                _ => {}
            }
        }
    });
}

/// True if any request is under way that is followed. A persistent one is from its start until it is complete.
#[inline(always)]
pub fn any_outstanding() -> bool {
    REQUESTS.has_any()
}

/// Forwards what starts a non-blocking collective, and follows its request.
pub fn start(
    message: &dyn Fn(ThreadRef) -> Call,
    forward: &dyn Fn() -> c_int,
    arrays: Narrowed,
    request: usize,
) -> c_int {
    let (result, started) = recorder::starting(thread::frame(), message, forward);
    if result == 0 && (started.is_some() || !arrays.is_empty()) {
        follow(request, Request::collective(started, arrays));
    }
    result
}

#[inline(never)]
pub fn follow(request: usize, new: Request) {
    let Some(handle) = abi::get().made(request) else { return };
    if abi::get().is_complete_request(handle) {
        new.complete_at_start();
        return;
    }
    follow_handle(handle, new);
}

fn follow_handle(handle: usize, new: Request) {
    let replaced = REQUESTS.insert(handle, new);
    // Two at once behind one handle: it is one that the library shares among calls that were complete at their start.
    if let Some(earlier @ Request::Collective { .. }) = replaced {
        earlier.complete_at_start();
        if let Some(new) = REQUESTS.take(handle) {
            new.complete_at_start();
        }
    }
}

impl Request {
    fn collective(started: Option<Started>, arrays: Narrowed) -> Request {
        Request::Collective { started, _arrays: arrays }
    }

    /// Where the record of the collective with this request lies, if it is followed.
    pub fn record(handle: usize) -> Option<(RecordPlace, DrawnChunk)> {
        REQUESTS.with_requests(|requests| requests.get(&handle)?.started()?.record())
    }

    pub fn started(&self) -> Option<&Started> {
        if let Request::Collective { started, .. } = self { started.as_ref() } else { None }
    }

    /// It is a receive, and so its status has to be known.
    pub fn is_receive(&self) -> bool {
        matches!(self, Request::Receive { .. })
    }

    pub fn is_persistent(&self) -> bool {
        matches!(self, Request::Receive { persistent: true, .. })
    }

    /// It was found complete at this tick, with the status at this address. A receive counts now, and not again.
    pub fn complete(&mut self, status: usize, tick: u64) {
        match self {
            Request::Collective { started, .. } => started.iter().for_each(|call| call.complete(tick)),
            Request::Receive { active, .. } => {
                if std::mem::take(active) {
                    message_counters::count_received(mpi::message_bytes(status));
                }
            }
            Request::Send { .. } => {}
        }
    }

    fn complete_at_start(&self) {
        self.started().inspect(|started| started.complete_at_start());
    }
}

/// `MPI_Request_free`: it is not seen when the call is complete.
pub fn free(forward: &dyn Fn() -> c_int, request: usize) -> c_int {
    let freed = abi::get().read(request);
    // Before the call: behind it the handle may be another thread's new request.
    let prepared = PREPARED.take(freed);
    let under_way = REQUESTS.take(freed);
    let result = thread::guarded(forward);
    if result == 0 {
        // The library may still read the arrays that stand in for the program's.
        std::mem::forget((prepared, under_way));
    } else {
        prepared.and_then(|prepared| PREPARED.insert(freed, prepared));
        under_way.and_then(|request| REQUESTS.insert(freed, request));
    }
    result
}

/// The requests that are followed, in order, taken out of the table.
pub fn take_known(places: impl Iterator<Item = (usize, usize)>) -> Few<ClaimedRequest<Request>> {
    REQUESTS.claim(places, |request| match request {
        Request::Collective { .. } => true,
        Request::Receive { .. } => message_counters::counting(),
        Request::Send { .. } => false,
    })
}

/// Requests that are taken out of the tables for as long as a call inside of another one lasts.
pub struct Taken {
    requests: Few<ClaimedRequest<Request>>,
    prepared: Few<ClaimedRequest<Prepared>>,
}

impl Taken {
    /// Takes the requests at these places that have these handles.
    pub fn at_places(places: impl Iterator<Item = (usize, usize)> + Clone) -> Taken {
        Taken { requests: REQUESTS.claim(places.clone(), |_| true), prepared: PREPARED.claim(places, |_| true) }
    }

    /// The call has returned at this tick: collectives whose request is gone are complete, the others are put back.
    pub fn settle(mut self, is_gone: impl Fn(usize) -> bool, tick: u64) {
        for claimed in self.requests.iter_mut().filter(|claimed| is_gone(claimed.place)) {
            let gone = claimed.request.take();
            gone.iter().filter_map(Request::started).for_each(|call| call.complete(tick));
            // The library may still read the arrays that stand in for the program's.
            std::mem::forget(gone);
        }
        for claimed in self.prepared.iter_mut().filter(|claimed| is_gone(claimed.place)) {
            std::mem::forget(claimed.request.take());
        }
        REQUESTS.put_back(&mut self.requests);
        PREPARED.put_back(&mut self.prepared);
    }
}
