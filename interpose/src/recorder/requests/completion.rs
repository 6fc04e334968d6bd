//! Calls that complete requests: the Wait and Test calls, and those that only ask.
//!
//! The requests of an array are looked at before the call, which sets the handles of completed ones to
//! MPI_REQUEST_NULL.

use std::ffi::c_int;

use mpitrace_format::layout::wait_class;

use crate::base::ticks;
use crate::mpi::abi;
use crate::record::thread::{self, waits};
use crate::recorder::Started;
use crate::recorder::own_statuses::OwnStatuses;
use crate::recorder::requests::array::Array;
use crate::recorder::requests::few::Few;
use crate::recorder::requests::outstanding::{self, Request};
use crate::recorder::requests::request_table::ClaimedRequest;

/// Forwards a call, given the address of its statuses.
type Forward<'a> = &'a dyn Fn(usize) -> c_int;

pub fn wait(forward: Forward<'_>, array: Array) -> c_int {
    complete(forward, array, Means::Wait)
}

pub fn test(forward: Forward<'_>, array: Array) -> c_int {
    complete(forward, array, Means::Test)
}

pub fn get_status_of(forward: Forward<'_>, array: Array) -> c_int {
    complete(forward, array, Means::Look)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Means {
    /// It returns when all of them are, or one of them is ([`Array::is_for_all`]).
    Wait,
    /// It returns at once.
    Test,
    /// It returns at once, and leaves the requests as they are.
    Look,
}

/// Forwards. After a call that has returned well, and has set its flag if it has one, those that it has found are
/// complete.
fn complete(forward: Forward<'_>, array: Array, means: Means) -> c_int {
    let mut followed = Followed::new(&array);
    let mut own = OwnStatuses::new();
    let statuses = match followed.iter().any(Request::is_receive) {
        true => own.instead_of(array.statuses, array.statuses_of_call()),
        false => array.statuses,
    };
    // Of several requests it is not known for which one a call waits that returns when one of them is complete.
    if means == Means::Wait && (array.is_for_all() || array.len() == 1) {
        followed.started().for_each(Started::begin_wait);
    }
    // A wait for a recorded collective is its time. Polls are timed as rows.
    let waits = means == Means::Wait;
    let in_row = !waits && thread::current().is_some_and(|thread| thread.is_polling());
    let class = match followed.iter().all(Request::is_receive) {
        true => (waits && waits::are_stamped()).then_some(wait_class::POINT_TO_POINT),
        false => (!in_row).then_some(wait_class::REQUESTS),
    };
    let thread = thread::current().filter(|_| class.is_some());
    thread.inspect(|thread| thread.look_before_wait());
    if let Some((thread, class)) = thread.zip(class).filter(|_| means == Means::Wait) {
        thread.times().set_last(ticks::now(), 1 + class as u32);
    }
    let (result, spent, tick) = thread::timed(|| forward(statuses));
    if let Some((thread, class)) = thread.zip(class) {
        thread.times().set_last(tick, 0);
        thread.add_wait(class, spent);
        thread.look_after_wait(tick);
        if !waits {
            thread.count_first_poll(spent);
        }
    }
    followed.started().for_each(|call| match means {
        Means::Wait => call.add_wait(spent),
        Means::Test | Means::Look => call.add_test(if in_row { 0 } else { spent }),
    });
    if followed.0.is_empty() {
        return result;
    }
    if result == 0 && array.is_done() {
        Array { statuses, ..array }.each_completed(|place, status| {
            let Some(found) = followed.find(place) else { return };
            found.iter_mut().for_each(|request| request.complete(status, tick));
            if means != Means::Look {
                *found = found.take().filter(Request::is_persistent);
            }
        });
    } else if result != 0 && means != Means::Look {
        // Some may be complete all the same (MPI_ERR_IN_STATUS): those whose handle is gone. How large the message of a
        // receive was is not known.
        for place in (0..array.len()).filter(|&place| array.handle(place) == abi::get().request_null) {
            let gone = followed.find(place).and_then(Option::take);
            gone.iter().filter_map(Request::started).for_each(|call| call.complete(tick));
        }
    }
    result
}

/// The requests of an array that are followed, taken out of the table for as long as the call lasts: when it returns
/// the library may have given the handle of a complete one to another thread.
struct Followed(Few<ClaimedRequest<Request>>);

impl Followed {
    fn new(array: &Array) -> Followed {
        Followed(outstanding::take_known(array.handles().enumerate()))
    }

    fn iter(&self) -> impl Iterator<Item = &Request> {
        self.0.iter().filter_map(|claimed| claimed.request.as_ref())
    }

    fn started(&self) -> impl Iterator<Item = &Started> {
        self.iter().filter_map(Request::started)
    }

    /// The request at this place of the array. Places are in order.
    fn find(&mut self, place: usize) -> Option<&mut Option<Request>> {
        self.0.find_by_key(place, |claimed| claimed.place).map(|claimed| &mut claimed.request)
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        outstanding::REQUESTS.put_back(&mut self.0);
    }
}
