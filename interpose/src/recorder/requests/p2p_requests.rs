//! Point-to-point requests, followed only where messages are counted: how large a message is that was received is known
//! when its request is complete.

use crate::counters::message_counters;
use crate::mpi::{abi, status};
use crate::recorder::requests::few::Few;
use crate::recorder::requests::request_table::{ClaimedRequest, RequestTable};

/// A request that is followed.
pub enum Request {
    /// A receive. Persistent ones stay when they are complete.
    Receive { persistent: bool, active: bool },
    /// A persistent send of so many bytes, counted at each start.
    Send { bytes: u64 },
}

static REQUESTS: RequestTable<Request> = RequestTable::new();

/// True if any request is followed.
#[inline(always)]
pub fn any_outstanding() -> bool {
    REQUESTS.has_any()
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
        REQUESTS.insert(handle, new);
    }
}

/// Those of the requests that are receives under way, in order, taken out of the table.
pub fn take_active(places: impl Iterator<Item = (usize, usize)>) -> Few<ClaimedRequest<Request>> {
    REQUESTS.claim(places, |request| matches!(request, Request::Receive { .. }))
}

/// Those that are still there go back, and persistent ones in any case.
pub fn put_back(taken: &mut Few<ClaimedRequest<Request>>) {
    REQUESTS.put_back(taken);
}

/// The program has started these persistent requests.
pub fn start(handles: impl Iterator<Item = usize>) {
    REQUESTS.with_requests(|requests| {
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
    REQUESTS.take(handle)
}

/// Puts one back that [`take`] has taken out.
pub fn restore(handle: usize, request: Option<Request>) {
    request.and_then(|request| REQUESTS.insert(handle, request));
}
