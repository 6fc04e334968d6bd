//! Point-to-point requests, followed only where messages are counted: how large a message is that was received is known when
//! its request is complete.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::registry::FastMap;
use crate::{abi, messages, status};

/// A request that is followed.
enum Request {
    /// A receive. Persistent ones stay when they are complete.
    Receive { persistent: bool, active: bool },
    /// A persistent send of so many bytes, counted at each start.
    Send { bytes: u64 },
}

static REQUESTS: Mutex<Option<FastMap<usize, Request>>> = Mutex::new(None);
static FOLLOWED: AtomicUsize = AtomicUsize::new(0);

/// Whether any request is followed.
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
    // SAFETY: the call that made the request has returned well, so this is its handle's address.
    let handle = unsafe { abi::get().read(request) };
    // One handle for all that is complete at its start: those are from MPI_PROC_NULL.
    if !abi::get().is_complete_request(handle) {
        with_requests(|requests| requests.insert(handle, new));
    }
}

/// Those of the requests that are receives under way, in order.
pub fn known(places: impl Iterator<Item = (usize, usize)>) -> Vec<(usize, usize)> {
    if !any_outstanding() {
        return Vec::new();
    }
    with_requests(|requests| {
        let is_active = |handle: &usize| matches!(requests.get(handle), Some(Request::Receive { active: true, .. }));
        places.filter(|(_, handle)| is_active(handle)).collect()
    })
}

/// The program has started these persistent requests.
pub fn start(handles: impl Iterator<Item = usize>) {
    with_requests(|requests| {
        for handle in handles {
            match requests.get_mut(&handle) {
                Some(Request::Receive { active, .. }) => *active = true,
                Some(Request::Send { bytes }) => messages::count_sent(*bytes),
                None => {}
            }
        }
    });
}

/// A receive is complete, with the status at this address.
pub fn finish(handle: usize, status: usize) {
    let was_active = with_requests(|requests| match requests.get_mut(&handle) {
        Some(Request::Receive { persistent: true, active }) => std::mem::replace(active, false),
        Some(Request::Receive { persistent: false, active }) => {
            let active = *active;
            requests.remove(&handle);
            active
        }
        _ => false,
    });
    if was_active {
        // SAFETY: the call that found it complete has set the status.
        messages::count_received(unsafe { status::bytes_of(status) });
    }
}

/// A receive is seen to be complete, and left there: it counts now, and not again.
pub fn seen(handle: usize, status: usize) {
    let was_active = with_requests(|requests| match requests.get_mut(&handle) {
        Some(Request::Receive { active, .. }) => std::mem::replace(active, false),
        _ => false,
    });
    if was_active {
        // SAFETY: as above.
        messages::count_received(unsafe { status::bytes_of(status) });
    }
}

/// The program has freed a request.
pub fn forget(handle: usize) {
    if any_outstanding() {
        with_requests(|requests| requests.remove(&handle));
    }
}

fn with_requests<R>(work: impl FnOnce(&mut FastMap<usize, Request>) -> R) -> R {
    let mut requests = REQUESTS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let requests = requests.get_or_insert_default();
    let result = work(requests);
    FOLLOWED.store(requests.len(), Ordering::Relaxed);
    result
}
