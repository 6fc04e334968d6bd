//! Requests of the program that a call completes or frees inside of another call, as in a delete callback of an
//! attribute. Such a call is not recorded, but the requests are gone all the same.
//!
//! Libraries complete requests of their own in such calls too. The tables tell them apart: a request that was made
//! inside of another call is not counted, wherever it is completed.

use std::ffi::c_int;

use crate::base::ticks;
use crate::mpi::abi;
use crate::record::thread::{self, partners};
use crate::recorder::messages::REQUESTS;
use crate::recorder::requests::array::Array;
use crate::recorder::requests::few::Few;
use crate::recorder::requests::outstanding::Taken;

/// Forwards a call inside of another one, by which requests may be complete or freed.
#[cold]
#[inline(never)]
pub fn close(array: &Array, forward: impl FnOnce() -> c_int) -> c_int {
    let mut known: Few<(usize, usize)> = Few::new();
    for (place, handle) in array.handles().enumerate().filter(|_| partners::are_counted()) {
        let is_counted = REQUESTS.find(handle).is_some_and(|found| found.is_counted());
        if !abi::get().is_complete_request(handle) && is_counted && known.has_room() {
            known.push((place, handle));
        }
    }
    // Before the call: behind it the handle may be another thread's new request.
    let taken = Taken::at_places(array.handles().enumerate());
    let result = forward();
    let is_gone = |place: usize| array.is_done() && abi::get().is_complete_request(array.handle(place));
    let gone = known.take_all().filter(|(place, _)| is_gone(*place));
    let gone = gone.inspect(|(_, handle)| REQUESTS.clear(*handle)).count() as u64;
    if let Some(thread) = thread::current().filter(|_| gone > 0) {
        partners::opened(thread, gone.wrapping_neg());
    }
    taken.settle(is_gone, ticks::now());
    result
}
