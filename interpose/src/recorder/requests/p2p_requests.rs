//! Point-to-point requests, followed only where messages are counted: how large a message is that was received is known
//! when its request is complete.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::counters::message_counters;
use crate::identity::registry::{self, FastMap};
use crate::mpi::{abi, status};
use crate::recorder::requests::claimed_request::ClaimedRequest;
use crate::recorder::requests::few::Few;

/// A request that is followed.
pub enum Request {
    /// A receive. Persistent ones stay when they are complete.
    Receive { persistent: bool, active: bool },
    /// A persistent send of so many bytes, counted at each start.
    Send { bytes: u64 },
}

static REQUESTS: Mutex<Option<FastMap<usize, Request>>> = Mutex::new(None);
static FOLLOWED: AtomicUsize = AtomicUsize::new(0);

/// True if any request is followed.
#[inline(always)]
pub fn any_outstanding() -> bool {
    FOLLOWED.load(Ordering::Relaxed) != 0
}

/// Follows a receive that was started, or made to be started again and again, with the request at this address.
pub fn follow(request: usize, persistent: bool) {
    insert(request, Request::Receive { persistent, active: !persistent });
}

/// Follows a persistent send.
pub fn follow_send(request: usize, bytes: u64) {
    insert(request, Request::Send { bytes });
}

fn insert(request: usize, new: Request) {
    let Some(handle) = abi::get().made(request) else { return };
    // One handle for all that is complete at its start: those are from MPI_PROC_NULL.
    if !abi::get().is_complete_request(handle) {
        with_requests(|requests| registry::insert(requests, handle, new));
    }
}

/// Those of the requests that are receives under way, in order, taken out of the table.
pub fn take_active(places: impl Iterator<Item = (usize, usize)>) -> Few<ClaimedRequest<Request>> {
    if !any_outstanding() {
        return Few::new();
    }
    with_requests(|requests| {
        let mut taken = Few::new();
        for (place, handle) in places {
            if matches!(requests.get(&handle), Some(Request::Receive { .. })) && taken.has_room() {
                taken.push(ClaimedRequest { place, handle, request: requests.remove(&handle) });
            }
        }
        taken
    })
}

/// Those that are still there go back, and persistent ones in any case.
pub fn put_back(taken: &mut Few<ClaimedRequest<Request>>) {
    if !taken.is_empty() {
        with_requests(|requests| {
            for taken in taken.take_all() {
                taken.request.and_then(|request| registry::insert(requests, taken.handle, request));
            }
        });
    }
}

/// The program has started these persistent requests.
pub fn start(handles: impl Iterator<Item = usize>) {
    with_requests(|requests| {
        for handle in handles {
            match requests.get_mut(&handle) {
                Some(Request::Receive { active, .. }) => *active = true,
                Some(Request::Send { bytes }) => message_counters::count_sent(*bytes),
                None => {}
            }
        }
    });
}

impl Request {
    /// A receive is complete, with the status at this address. What is to be followed further.
    pub fn finish(mut self, status: usize) -> Option<Request> {
        self.seen(status);
        matches!(self, Request::Receive { persistent: true, .. }).then_some(self)
    }

    /// A receive is seen to be complete, and left there: it counts now, and not again.
    pub fn seen(&mut self, status: usize) {
        if let Request::Receive { active, .. } = self
            && std::mem::replace(active, false)
        {
            message_counters::count_received(status::bytes_of(status));
        }
    }
}

/// Takes a request out of the table.
pub fn take(handle: usize) -> Option<Request> {
    if any_outstanding() { with_requests(|requests| requests.remove(&handle)) } else { None }
}

/// Puts one back that [`take`] has taken out.
pub fn restore(handle: usize, request: Option<Request>) {
    if let Some(request) = request {
        with_requests(|requests| registry::insert(requests, handle, request));
    }
}

fn with_requests<R>(work: impl FnOnce(&mut FastMap<usize, Request>) -> R) -> R {
    let mut requests = REQUESTS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let requests = requests.get_or_insert_default();
    let result = work(requests);
    FOLLOWED.store(requests.len(), Ordering::Relaxed);
    result
}
