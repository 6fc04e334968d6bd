//! What completes requests: the Wait and Test calls, and those that only ask.
//!
//! The requests of an array are looked at before the call, which sets the handles of completed ones to
//! MPI_REQUEST_NULL.

use std::ffi::c_int;

use crate::boundary::status::Statuses;
use crate::boundary::{abi, program};
use crate::counters::message_counters;
use crate::record::thread;
use crate::requests::claimed_request::ClaimedRequest;
use crate::requests::{outstanding, p2p_requests};

/// MPI_UNDEFINED, the same in all three interfaces.
const UNDEFINED: c_int = -32766;

/// Whether any Wait or Test may be for a request that is followed.
#[inline(always)]
pub fn any_outstanding() -> bool {
    outstanding::any_outstanding() || p2p_requests::any_outstanding()
}

/// `MPI_Wait`.
pub fn wait(forward: impl FnOnce(usize) -> c_int, request: usize, status: usize) -> c_int {
    wait_all(forward, 1, request, status)
}

/// `MPI_Waitall`.
pub fn wait_all(forward: impl FnOnce(usize) -> c_int, count: usize, requests: usize, statuses: usize) -> c_int {
    let array = Array { count, requests, statuses, of_all: true };
    array.complete(forward, Followed::waited, || Completed::All)
}

/// `MPI_Waitany`.
pub fn wait_any(
    forward: impl FnOnce(usize) -> c_int,
    count: usize,
    requests: usize,
    index: usize,
    status: usize,
) -> c_int {
    let array = Array { count, requests, statuses: status, of_all: false };
    array.complete(forward, Followed::waited, || Completed::One { index })
}

/// `MPI_Waitsome`.
pub fn wait_some(
    forward: impl FnOnce(usize) -> c_int,
    count: usize,
    requests: usize,
    outcount: usize,
    indices: usize,
    statuses: usize,
) -> c_int {
    let array = Array { count, requests, statuses, of_all: true };
    array.complete(forward, Followed::waited, || Completed::Some { outcount, indices })
}

/// `MPI_Test`.
pub fn test(forward: impl FnOnce(usize) -> c_int, request: usize, flag: usize, status: usize) -> c_int {
    test_all(forward, 1, request, flag, status)
}

/// `MPI_Testall`.
pub fn test_all(
    forward: impl FnOnce(usize) -> c_int,
    count: usize,
    requests: usize,
    flag: usize,
    statuses: usize,
) -> c_int {
    let array = Array { count, requests, statuses, of_all: true };
    array.complete(forward, Followed::tested, || Completed::All.if_flag(flag))
}

/// `MPI_Testany`.
pub fn test_any(
    forward: impl FnOnce(usize) -> c_int,
    count: usize,
    requests: usize,
    index: usize,
    flag: usize,
    status: usize,
) -> c_int {
    let array = Array { count, requests, statuses: status, of_all: false };
    array.complete(forward, Followed::tested, || Completed::One { index }.if_flag(flag))
}

/// `MPI_Testsome`.
pub fn test_some(
    forward: impl FnOnce(usize) -> c_int,
    count: usize,
    requests: usize,
    outcount: usize,
    indices: usize,
    statuses: usize,
) -> c_int {
    let array = Array { count, requests, statuses, of_all: true };
    array.complete(forward, Followed::tested, || Completed::Some { outcount, indices })
}

/// `MPI_Request_get_status`: tells that a request, which is passed by value, is complete, and leaves it there.
pub fn get_status(forward: impl FnOnce(usize) -> c_int, request: usize, flag: usize, status: usize) -> c_int {
    let followed = Followed::of_handles(vec![abi::get().handle(request)]);
    look(followed, forward, 1, status, || Completed::All.if_flag(flag))
}

/// `MPI_Request_get_status_all`.
pub fn get_status_all(
    forward: impl FnOnce(usize) -> c_int,
    count: usize,
    requests: usize,
    flag: usize,
    statuses: usize,
) -> c_int {
    let followed = Followed::of(count, requests);
    look(followed, forward, count, statuses, || Completed::All.if_flag(flag))
}

/// `MPI_Request_get_status_any`.
pub fn get_status_any(
    forward: impl FnOnce(usize) -> c_int,
    count: usize,
    requests: usize,
    index: usize,
    flag: usize,
    status: usize,
) -> c_int {
    look(Followed::of(count, requests), forward, 1, status, || Completed::One { index }.if_flag(flag))
}

/// `MPI_Request_get_status_some`.
pub fn get_status_some(
    forward: impl FnOnce(usize) -> c_int,
    count: usize,
    requests: usize,
    outcount: usize,
    indices: usize,
    statuses: usize,
) -> c_int {
    look(Followed::of(count, requests), forward, count, statuses, || Completed::Some { outcount, indices })
}

/// Forwards a call that tells which requests are complete, and leaves them as they are.
fn look(
    mut followed: Followed,
    forward: impl FnOnce(usize) -> c_int,
    count: usize,
    statuses: usize,
    completed: impl FnOnce() -> Completed,
) -> c_int {
    let statuses = Statuses::of(statuses, int(count), !followed.receives.is_empty());
    let (result, spent, tick) = thread::timed(|| forward(statuses.address()));
    followed.tested(spent);
    if result == 0 {
        for (place, status) in completed().places(followed.count) {
            if let Some(request) = at(&mut followed.collectives, place) {
                request.complete(tick);
            }
            if let Some(request) = at(&mut followed.receives, place) {
                request.seen(statuses.at(status));
            }
        }
    }
    result
}

/// The arguments of a call that may find requests complete.
struct Array {
    count: usize,
    requests: usize,
    statuses: usize,
    /// Whether there is a status for each request, or one for the one that is found complete.
    of_all: bool,
}

impl Array {
    /// Forwards; `spent` gets the ticks that it took, and `completed` tells after a call that has returned well which
    /// of the requests are complete.
    fn complete(
        &self,
        forward: impl FnOnce(usize) -> c_int,
        spent: impl FnOnce(&Followed, u64),
        completed: impl FnOnce() -> Completed,
    ) -> c_int {
        let mut followed = Followed::of(self.count, self.requests);
        let count = if self.of_all { int(self.count) } else { 1 };
        let statuses = Statuses::of(self.statuses, count, !followed.receives.is_empty());
        let (result, ticks, tick) = thread::timed(|| forward(statuses.address()));
        spent(&followed, ticks);
        if followed.is_empty() {
            return result;
        }
        if result == 0 {
            for (place, status) in completed().places(followed.count) {
                if let Some(request) = take_at(&mut followed.collectives, place) {
                    request.complete(tick);
                }
                if let Some(request) = take_at(&mut followed.receives, place) {
                    // A persistent one stays.
                    put_at(&mut followed.receives, place, request.finish(statuses.at(status)));
                }
            }
        } else {
            // Some may be complete all the same (MPI_ERR_IN_STATUS): those whose handle is gone.
            for place in 0..followed.count {
                let abi = abi::get();
                if abi.read(self.requests + place * abi.handle_size) == abi.request_null {
                    if let Some(request) = take_at(&mut followed.collectives, place) {
                        request.complete(tick);
                    }
                    // How large its message was is not known.
                    let _ = take_at(&mut followed.receives, place);
                }
            }
        }
        result
    }
}

/// An int argument that counts, as its register holds it.
fn int(register: usize) -> usize {
    (register as c_int).max(0) as usize
}

/// Which requests of an array a call has found complete. Addresses are of ints that the call has stored.
enum Completed {
    None,
    All,
    One { index: usize },
    Some { outcount: usize, indices: usize },
}

impl Completed {
    /// None where the flag is not set.
    fn if_flag(self, flag: usize) -> Completed {
        if program::int(flag) != 0 { self } else { Completed::None }
    }

    /// For each of them its place among the requests and the place of its status.
    fn places(self, count: usize) -> Vec<(usize, usize)> {
        let place = |index: c_int| usize::try_from(index).ok();
        match self {
            Completed::None => Vec::new(),
            Completed::All => (0..count).map(|place| (place, place)).collect(),
            Completed::One { index } => place(program::int(index)).map(|place| (place, 0)).into_iter().collect(),
            Completed::Some { outcount, indices } => {
                let found = program::int(outcount);
                let found = if found == UNDEFINED { 0 } else { found.max(0) as usize };
                (0..found).filter_map(|status| Some((place(program::at(indices, status))?, status))).collect()
            }
        }
    }
}

/// The requests of an array that are followed, taken out of the tables for as long as the call lasts: when it returns
/// the library may have given the handle of a complete one to another thread.
struct Followed {
    /// How many requests the array has.
    count: usize,
    collectives: Vec<ClaimedRequest<outstanding::Request>>,
    /// The same of receives, where messages are counted.
    receives: Vec<ClaimedRequest<p2p_requests::Request>>,
}

impl Followed {
    fn of(count: usize, requests: usize) -> Followed {
        let count = if requests == 0 { 0 } else { int(count) };
        let abi = abi::get();
        Followed::of_handles((0..count).map(|place| abi.read(requests + place * abi.handle_size)).collect())
    }

    fn of_handles(handles: Vec<usize>) -> Followed {
        let places = || handles.iter().copied().enumerate();
        let counting = message_counters::counting();
        Followed {
            count: handles.len(),
            collectives: outstanding::take_known(places()),
            receives: if counting { p2p_requests::take_active(places()) } else { Vec::new() },
        }
    }

    fn is_empty(&self) -> bool {
        self.collectives.is_empty() && self.receives.is_empty()
    }

    /// The program waited for all of them that long.
    fn waited(&self, spent: u64) {
        self.collectives.iter().filter_map(|taken| taken.request.as_ref()).for_each(|request| request.add_wait(spent));
    }

    fn tested(&self, spent: u64) {
        self.collectives.iter().filter_map(|taken| taken.request.as_ref()).for_each(|request| request.add_test(spent));
    }
}

impl Drop for Followed {
    /// What is not complete goes back.
    fn drop(&mut self) {
        outstanding::put_back(&mut self.collectives);
        p2p_requests::put_back(&mut self.receives);
    }
}

/// The request at this place of the array. Places are in order.
fn at<R>(taken: &mut [ClaimedRequest<R>], place: usize) -> Option<&mut R> {
    let index = taken.binary_search_by_key(&place, |taken| taken.place).ok()?;
    taken[index].request.as_mut()
}

fn take_at<R>(taken: &mut [ClaimedRequest<R>], place: usize) -> Option<R> {
    let index = taken.binary_search_by_key(&place, |taken| taken.place).ok()?;
    taken[index].request.take()
}

fn put_at<R>(taken: &mut [ClaimedRequest<R>], place: usize, request: Option<R>) {
    if let Ok(index) = taken.binary_search_by_key(&place, |taken| taken.place) {
        taken[index].request = request;
    }
}
