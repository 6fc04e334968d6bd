//! Calls that complete requests: the Wait and Test calls, and those that only ask.
//!
//! The requests of an array are looked at before the call, which sets the handles of completed ones to
//! MPI_REQUEST_NULL.

use std::ffi::c_int;

use mpitrace_format::layout::wait_class;

use crate::base::program;
use crate::counters::message_counters;
use crate::mpi::abi;
use crate::mpi::status::Statuses;
use crate::record::thread::{self, waits};
use crate::recorder::Started;
use crate::recorder::requests::completed::Completed;
use crate::recorder::requests::few::Few;
use crate::recorder::requests::request_table::ClaimedRequest;
use crate::recorder::requests::{outstanding, p2p_requests};

/// True if any Wait or Test may be for a request that is followed.
#[inline(always)]
pub fn any_outstanding() -> bool {
    outstanding::any_outstanding() || p2p_requests::any_outstanding()
}

/// Forwards a call, given the address of its statuses.
type Forward<'a> = &'a dyn Fn(usize) -> c_int;

/// `MPI_Wait`.
pub fn wait(forward: Forward<'_>, request: usize, status: usize) -> c_int {
    wait_all(forward, 1, request, status)
}

/// `MPI_Waitall`.
pub fn wait_all(forward: Forward<'_>, count: usize, requests: usize, statuses: usize) -> c_int {
    Array { count, requests, statuses }.complete(forward, Means::WaitForAll, None, Completed::All)
}

/// `MPI_Waitany`.
pub fn wait_any(forward: Forward<'_>, count: usize, requests: usize, index: usize, status: usize) -> c_int {
    let array = Array { count, requests, statuses: status };
    array.complete(forward, Means::WaitForAny, None, Completed::One { index })
}

/// `MPI_Waitsome`.
pub fn wait_some(
    forward: Forward<'_>,
    count: usize,
    requests: usize,
    outcount: usize,
    indices: usize,
    statuses: usize,
) -> c_int {
    let array = Array { count, requests, statuses };
    array.complete(forward, Means::WaitForAny, None, Completed::Some { outcount, indices })
}

/// `MPI_Test`.
pub fn test(forward: Forward<'_>, request: usize, flag: usize, status: usize) -> c_int {
    test_all(forward, 1, request, flag, status)
}

/// `MPI_Testall`.
pub fn test_all(forward: Forward<'_>, count: usize, requests: usize, flag: usize, statuses: usize) -> c_int {
    Array { count, requests, statuses }.complete(forward, Means::Test, Some(flag), Completed::All)
}

/// `MPI_Testany`.
pub fn test_any(
    forward: Forward<'_>,
    count: usize,
    requests: usize,
    index: usize,
    flag: usize,
    status: usize,
) -> c_int {
    let array = Array { count, requests, statuses: status };
    array.complete(forward, Means::Test, Some(flag), Completed::One { index })
}

/// `MPI_Testsome`.
pub fn test_some(
    forward: Forward<'_>,
    count: usize,
    requests: usize,
    outcount: usize,
    indices: usize,
    statuses: usize,
) -> c_int {
    let array = Array { count, requests, statuses };
    array.complete(forward, Means::Test, None, Completed::Some { outcount, indices })
}

/// `MPI_Request_get_status`: states that a request, which is passed by value, is complete, and leaves it there.
pub fn get_status(forward: Forward<'_>, request: usize, flag: usize, status: usize) -> c_int {
    get_status_all(forward, 1, (&raw const request).expose_provenance(), flag, status)
}

/// `MPI_Request_get_status_all`.
pub fn get_status_all(forward: Forward<'_>, count: usize, requests: usize, flag: usize, statuses: usize) -> c_int {
    Array { count, requests, statuses }.complete(forward, Means::Look, Some(flag), Completed::All)
}

/// `MPI_Request_get_status_any`.
pub fn get_status_any(
    forward: Forward<'_>,
    count: usize,
    requests: usize,
    index: usize,
    flag: usize,
    status: usize,
) -> c_int {
    let array = Array { count, requests, statuses: status };
    array.complete(forward, Means::Look, Some(flag), Completed::One { index })
}

/// `MPI_Request_get_status_some`.
pub fn get_status_some(
    forward: Forward<'_>,
    count: usize,
    requests: usize,
    outcount: usize,
    indices: usize,
    statuses: usize,
) -> c_int {
    let array = Array { count, requests, statuses };
    array.complete(forward, Means::Look, None, Completed::Some { outcount, indices })
}

/// How a call finds requests complete.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Means {
    /// It returns when all of them are.
    WaitForAll,
    /// It returns when one of them is.
    WaitForAny,
    /// It returns at once.
    Test,
    /// It returns at once, and leaves the requests as they are.
    Look,
}

/// The arguments of a call that may find requests complete.
struct Array {
    count: usize,
    requests: usize,
    /// One for each request, or the one of the request that is found complete.
    statuses: usize,
}

impl Array {
    /// Forwards. After a call that has returned well, and has set the flag at this address if it has one, `completed`
    /// are complete.
    fn complete(&self, forward: Forward<'_>, means: Means, flag: Option<usize>, completed: Completed) -> c_int {
        let mut followed = Followed::new(self.count, self.requests);
        let of_one = matches!(completed, Completed::One { .. });
        let statuses = followed.statuses(self.statuses, if of_one { 1 } else { int(self.count) });
        // Of several requests it is not known for which one a call waits that returns when one of them is complete.
        if means == Means::WaitForAll || means == Means::WaitForAny && followed.count == 1 {
            followed.started().for_each(Started::begin_wait);
        }
        // A wait for a recorded collective is its time.
        let waits = matches!(means, Means::WaitForAll | Means::WaitForAny) && waits::are_stamped();
        let class = match followed.collectives.is_empty() {
            true => waits.then_some(wait_class::POINT_TO_POINT),
            false => Some(wait_class::REQUESTS),
        };
        let thread = thread::current().filter(|_| class.is_some());
        thread.inspect(|thread| thread.look_before_wait());
        let (result, spent, tick) = thread::timed(|| forward(statuses.address()));
        if let Some((thread, class)) = thread.zip(class) {
            thread.add_wait(class, spent);
            thread.look_after_wait(tick);
        }
        followed.started().for_each(|call| match means {
            Means::WaitForAll | Means::WaitForAny => call.add_wait(spent),
            Means::Test | Means::Look => call.add_test(spent),
        });
        if followed.is_empty() {
            return result;
        }
        if result == 0 && flag.is_none_or(|flag| program::int(flag) != 0) {
            let count = followed.count;
            completed.each(count, |place, status| followed.complete(place, statuses.address_of(status), tick, means));
        } else if result != 0 && means != Means::Look {
            // Some may be complete all the same (MPI_ERR_IN_STATUS): those whose handle is gone.
            let abi = abi::get();
            let is_gone = |place: &usize| abi.read(self.requests + place * abi.handle_size) == abi.request_null;
            for place in (0..followed.count).filter(is_gone) {
                if let Some(request) = find(&mut followed.collectives, place).and_then(Option::take) {
                    request.started().inspect(|call| call.complete(tick));
                }
                // How large its message was is not known.
                if let Some(receive) = find(&mut followed.receives, place) {
                    *receive = None;
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
    fn new(count: usize, requests: usize) -> Followed {
        let count = if requests == 0 { 0 } else { int(count) };
        let abi = abi::get();
        let places = || (0..count).map(|place| (place, abi.read(requests + place * abi.handle_size)));
        let counting = message_counters::counting();
        Followed {
            count,
            collectives: outstanding::take_known(places()),
            receives: if counting { p2p_requests::take_active(places()) } else { Few::new() },
        }
    }

    /// The statuses that the call is given. Where there is no memory for them, the receives are not followed any more.
    fn statuses(&mut self, given: usize, count: usize) -> Statuses {
        Statuses::for_call(given, count, !self.receives.is_empty()).unwrap_or_else(|| {
            self.receives.take_all().for_each(drop);
            Statuses::given(given)
        })
    }

    fn is_empty(&self) -> bool {
        self.collectives.is_empty() && self.receives.is_empty()
    }

    fn started(&self) -> impl Iterator<Item = &Started> {
        self.collectives.iter().filter_map(|taken| taken.request.as_ref()?.started())
    }

    /// The request at this place was found complete at this tick, with the status at this address.
    fn complete(&mut self, place: usize, status: usize, tick: u64, means: Means) {
        if let Some(collective) = find(&mut self.collectives, place) {
            collective.iter().filter_map(outstanding::Request::started).for_each(|call| call.complete(tick));
            if means != Means::Look {
                *collective = None;
            }
        }
        if let Some(receive) = find(&mut self.receives, place) {
            match means {
                Means::Look => receive.iter_mut().for_each(|request| request.seen(status)),
                // A persistent one stays.
                _ => *receive = receive.take().and_then(|request| request.finish(status)),
            }
        }
    }
}

impl Drop for Followed {
    /// Requests that are not complete go back.
    fn drop(&mut self) {
        outstanding::put_back(&mut self.collectives);
        p2p_requests::put_back(&mut self.receives);
    }
}

/// The place of the request at this place of the array. Places are in order.
fn find<R>(taken: &mut Few<ClaimedRequest<R>>, place: usize) -> Option<&mut Option<R>> {
    taken.find_by_key(place, |taken| taken.place).map(|taken| &mut taken.request)
}
