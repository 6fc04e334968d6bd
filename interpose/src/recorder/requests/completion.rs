//! What completes requests: the Wait and Test calls, and those that only ask.
//!
//! The requests of an array are looked at before the call, which sets the handles of completed ones to
//! MPI_REQUEST_NULL.

use std::ffi::c_int;

use crate::base::program;
use crate::counters::message_counters;
use crate::mpi::abi;
use crate::mpi::status::Statuses;
use crate::record::thread;
use crate::recorder::requests::claimed_request::ClaimedRequest;
use crate::recorder::requests::few::Few;
use crate::recorder::requests::{outstanding, p2p_requests};

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
    array.complete(forward, Followed::begin_wait, Followed::waited, || Completed::All)
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
    array.complete(forward, Followed::begin_wait_for_any, Followed::waited, || Completed::One { index })
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
    array.complete(forward, Followed::begin_wait_for_any, Followed::waited, || Completed::Some { outcount, indices })
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
    array.complete(forward, |_| (), Followed::tested, || Completed::All.if_flag(flag))
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
    array.complete(forward, |_| (), Followed::tested, || Completed::One { index }.if_flag(flag))
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
    array.complete(forward, |_| (), Followed::tested, || Completed::Some { outcount, indices })
}

/// `MPI_Request_get_status`: tells that a request, which is passed by value, is complete, and leaves it there.
pub fn get_status(forward: impl FnOnce(usize) -> c_int, request: usize, flag: usize, status: usize) -> c_int {
    let followed = Followed::of_handles(std::iter::once(abi::get().handle(request)));
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
    let statuses = followed.statuses(statuses, int(count));
    let (result, spent, tick) = thread::timed(|| forward(statuses.address()));
    followed.tested(spent);
    if result == 0 {
        completed().places(followed.count, |place, status| {
            if let Some(request) = at(&mut followed.collectives, place) {
                request.complete(tick);
            }
            if let Some(request) = at(&mut followed.receives, place) {
                request.seen(statuses.at(status));
            }
        });
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
    /// Forwards, after `begin`; `spent` gets the ticks that it took, and `completed` tells after a call that has
    /// returned well which of the requests are complete.
    fn complete(
        &self,
        forward: impl FnOnce(usize) -> c_int,
        begin: impl FnOnce(&Followed),
        spent: impl FnOnce(&Followed, u64),
        completed: impl FnOnce() -> Completed,
    ) -> c_int {
        let mut followed = Followed::of(self.count, self.requests);
        let count = if self.of_all { int(self.count) } else { 1 };
        let statuses = followed.statuses(self.statuses, count);
        begin(&followed);
        let (result, ticks, tick) = thread::timed(|| forward(statuses.address()));
        spent(&followed, ticks);
        if followed.is_empty() {
            return result;
        }
        if result == 0 {
            completed().places(followed.count, |place, status| {
                if let Some(request) = take_at(&mut followed.collectives, place) {
                    request.complete(tick);
                }
                if let Some(request) = take_at(&mut followed.receives, place) {
                    // A persistent one stays.
                    put_at(&mut followed.receives, place, request.finish(statuses.at(status)));
                }
            });
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

    /// Calls `found` for each of them with its place among the requests and the place of its status.
    fn places(self, count: usize, mut found: impl FnMut(usize, usize)) {
        let place = |index: c_int| usize::try_from(index).ok();
        match self {
            Completed::None => {}
            Completed::All => (0..count).for_each(|place| found(place, place)),
            Completed::One { index } => {
                if let Some(place) = place(program::int(index)) {
                    found(place, 0);
                }
            }
            Completed::Some { outcount, indices } => {
                let completed = program::int(outcount);
                let completed = if completed == UNDEFINED { 0 } else { completed.max(0) as usize };
                for status in 0..completed {
                    if let Some(place) = place(program::at(indices, status)) {
                        found(place, status);
                    }
                }
            }
        }
    }
}

/// The requests of an array that are followed, taken out of the tables for as long as the call lasts: when it returns
/// the library may have given the handle of a complete one to another thread.
struct Followed {
    /// How many requests the array has.
    count: usize,
    collectives: Few<ClaimedRequest<outstanding::Request>>,
    /// The same of receives, where messages are counted.
    receives: Few<ClaimedRequest<p2p_requests::Request>>,
}

impl Followed {
    fn of(count: usize, requests: usize) -> Followed {
        let count = if requests == 0 { 0 } else { int(count) };
        let abi = abi::get();
        Followed::of_handles((0..count).map(|place| abi.read(requests + place * abi.handle_size)))
    }

    fn of_handles(handles: impl ExactSizeIterator<Item = usize> + Clone) -> Followed {
        let places = || handles.clone().enumerate();
        let counting = message_counters::counting();
        Followed {
            count: handles.len(),
            collectives: outstanding::take_known(places()),
            receives: if counting { p2p_requests::take_active(places()) } else { Few::new() },
        }
    }

    /// The statuses that the call is given. Where there is no memory for them, the receives are not followed any more.
    fn statuses(&mut self, given: usize, count: usize) -> Statuses {
        Statuses::of(given, count, !self.receives.is_empty()).unwrap_or_else(|| {
            self.receives.take_all().for_each(drop);
            Statuses::given(given)
        })
    }

    fn is_empty(&self) -> bool {
        self.collectives.is_empty() && self.receives.is_empty()
    }

    /// A Wait begins that does not return before all of them are complete.
    fn begin_wait(&self) {
        self.collectives.iter().filter_map(|taken| taken.request.as_ref()).for_each(outstanding::Request::begin_wait);
    }

    /// A Wait begins that returns when one of them is complete: of several requests it is not known for which it waits.
    fn begin_wait_for_any(&self) {
        if self.count == 1 {
            self.begin_wait();
        }
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
fn at<R>(taken: &mut Few<ClaimedRequest<R>>, place: usize) -> Option<&mut R> {
    taken.find_by_key(place, |taken| taken.place)?.request.as_mut()
}

fn take_at<R>(taken: &mut Few<ClaimedRequest<R>>, place: usize) -> Option<R> {
    taken.find_by_key(place, |taken| taken.place)?.request.take()
}

fn put_at<R>(taken: &mut Few<ClaimedRequest<R>>, place: usize, request: Option<R>) {
    if let Some(taken) = taken.find_by_key(place, |taken| taken.place) {
        taken.request = request;
    }
}
