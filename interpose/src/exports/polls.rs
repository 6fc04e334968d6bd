//! Polls: calls that test requests or look for messages. What they wait for is described when the first poll of a row
//! has found nothing; then the quick way is taken: the handles are compared, and the flag is looked at behind the call.

use std::cell::Cell;
use std::ffi::c_int;

use mpitrace_format::layout::{awaited, partner};

use crate::base::{mode, program, ticks};
use crate::counters::message_counters;
use crate::mpi::{self, abi};
use crate::record::thread::{self, QUICK, ThreadRef, attention, messages, partners, waits};
use crate::recorder::activity::Activity;
use crate::recorder::message_records::came_from;
use crate::recorder::messages::{partner, together};
use crate::recorder::requests::array::{Array, Completed};
use crate::recorder::requests::outstanding::{self, Request};
use crate::recorder::waiting::under_way;

const MULTIPLE: c_int = 3;

type Forward<'a> = &'a dyn Fn(usize) -> c_int;
/// The result of a poll, and the thread where it ends the row.
type Quick = (Option<ThreadRef>, c_int);
type Place<'a> = (usize, &'a Activity);
/// Source, tag, communicator, and the addresses of the flag and the status.
type Probe = [usize; 5];

pub trait Slow: Fn(Forward<'_>, &Array) -> c_int + Copy {}
impl<F: Fn(Forward<'_>, &Array) -> c_int + Copy> Slow for F {}

#[inline(always)]
fn mix(key: usize, word: usize) -> usize {
    // The golden ratio's multiplier spreads what differs into the upper bits.
    (key.rotate_left(7) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A key of the requests that a test polls; never 0.
#[inline(always)]
fn key_of(array: &Array) -> Option<usize> {
    (array.len() <= QUICK).then(|| array.handles().fold(array.len(), mix) | 1)
}

/// The handles of an array that can be tested quickly, as they lie there.
fn handles_of(array: &Array) -> [u64; QUICK] {
    program::words(array.requests, usize::from(array.requests != 0) * array.len() * abi::get().handle_size)
}

/// The partner of those that a call has found, whose requests had these handles.
fn partner_of_found(thread: ThreadRef, array: &Array, before: &[u64; QUICK]) -> u64 {
    let (mut found, mut is_any) = (partner::NONE, false);
    let before = Array { requests: before.as_ptr().expose_provenance(), ..*array };
    array.each_completed(|place, status| {
        let of = under_way(before.handle(place)).partner;
        found = together(found, partner::any_source(of).map_or(of, |communicator| came_from(communicator, status)));
        is_any = true;
    });
    if is_any { found } else { thread.with_polls(|polls| polls.partner) }
}

/// Forwards a call that tests requests, from a wrapper that stands at `here`. `raw` forwards it, given the address of
/// its statuses; `slow` does all that is done at a test, with another forward. On the quick way all is in registers.
#[inline(always)]
pub fn requests(
    here: usize,
    activity: &Activity,
    array: impl Fn() -> Array + Copy,
    raw: impl Fn(usize) -> c_int + Copy,
    slow: impl Slow,
) -> c_int {
    let quick = array();
    if let Some(key) = key_of(&quick)
        && let Some((thread, result)) = again(here, key, || raw(quick.statuses), || is_found(&quick))
    {
        return match thread {
            None => result,
            Some(thread) => over(thread, result, key, array, slow),
        };
    }
    aside_requests((here, activity), array, raw, slow)
}

/// Forwards `MPI_Iprobe` and `MPI_Improbe`, as [`requests`] does a test.
#[inline(always)]
pub fn probe(
    here: usize,
    activity: &Activity,
    [source, tag, comm, flag, status]: Probe,
    raw: impl Fn() -> c_int + Copy,
    slow: impl Fn() -> c_int + Copy,
) -> c_int {
    let key = mix(mix(mix(flag, source as u32 as usize), tag as u32 as usize), comm) | 1;
    match again(here, key, raw, || program::int(flag) != 0) {
        Some((None, result)) => result,
        Some((Some(thread), result)) => {
            let is_well = result == 0 && thread.attention() & attention::HANDLED == 0;
            let partner = || partner_of_probe(thread, source, comm, status);
            thread.found(if is_well { partner() } else { partner::UNKNOWN }, ticks::now());
            result
        }
        None => aside_probe((here, activity), [source, tag, comm, flag, status], key, slow),
    }
}

#[cold]
#[inline(never)]
fn aside_probe(at: Place<'_>, probe: Probe, key: usize, slow: impl Fn() -> c_int) -> c_int {
    let [source, tag, comm, flag, status] = probe;
    let describe = |thread: ThreadRef| {
        if thread.with_polls(|polls| polls.find(key).is_none() && polls.find(key ^ 2).is_none()) {
            let partner = partner(thread, comm, source);
            thread.poll_for(partner, tag as i32, awaited::RECEIVE);
            thread.poll_collective(None, false);
            let all = thread.with_polls(|polls| together(polls.partner, partner));
            thread.keep_poll(if messages::are_kept() { key ^ 2 } else { key }, [0; QUICK], all);
        }
    };
    let partner = |thread| partner_of_probe(thread, source, comm, status);
    aside(at, &slow, &|| program::int(flag) != 0, &partner, &describe, &Cell::new(0))
}

/// The partner whose message a probe has found.
fn partner_of_probe(thread: ThreadRef, source: usize, comm: usize, status: usize) -> u64 {
    let partner = partner(thread, comm, source);
    partner::any_source(partner).map_or(partner, |communicator| came_from(communicator, status))
}

/// Makes a quick poll, where this was polled in the row already.
#[inline(always)]
fn again(here: usize, key: usize, raw: impl Fn() -> c_int, found: impl Fn() -> bool) -> Option<Quick> {
    let thread = thread::current().filter(|thread| thread.guard() == 0)?;
    let stamped = thread.poll_again(key)?;
    if stamped {
        thread.begin_stamped_poll();
    }
    let result = thread::guarded_on(thread, here, raw);
    if result != 0 || thread.attention() & attention::HANDLED != 0 || found() {
        return Some((Some(thread), result));
    }
    if stamped {
        thread.end_stamped_poll();
    }
    Some((None, 0))
}

#[inline(always)]
fn is_found(array: &Array) -> bool {
    match array.completed {
        Completed::Some { outcount, .. } => program::int(outcount) != 0,
        _ => program::int(array.flag) != 0,
    }
}

/// A quick test has found something, or has failed: what is to be done around it is done around a copy of its requests,
/// which changes as they have.
#[cold]
#[inline(never)]
fn over(thread: ThreadRef, result: c_int, key: usize, array: impl Fn() -> Array, slow: impl Slow) -> c_int {
    let (array, error) = (array(), thread.take_error());
    let before = thread.with_polls(|polls| {
        let polled = polls.find(key)?;
        // It counts where all that is slow does.
        polled.quick -= 1;
        Some(polled.handles)
    });
    let copy = Cell::new(before.unwrap_or_default());
    let is_well = result == 0 && error.is_none();
    let partner = if is_well { partner_of_found(thread, &array, &copy.get()) } else { partner::UNKNOWN };
    thread.found(partner, ticks::now());
    let forward = |_: usize| {
        copy.set(handles_of(&array));
        thread.put_error_back(error);
        result
    };
    slow(&forward, &Array { requests: copy.as_ptr().expose_provenance(), ..array })
}

#[cold]
#[inline(never)]
fn aside_requests(at: Place<'_>, array: impl Fn() -> Array, raw: impl Fn(usize) -> c_int, slow: impl Slow) -> c_int {
    let array = &array();
    let before = key_of(array).map(|_| handles_of(array));
    let partner = |thread: ThreadRef| match &before {
        Some(before) => partner_of_found(thread, array, before),
        None => thread.with_polls(|polls| polls.partner.max(partner::UNKNOWN)),
    };
    let describe = |thread: ThreadRef| describe(thread, array);
    let end = Cell::new(0);
    let raw = |statuses: usize| {
        let result = raw(statuses);
        end.set(ticks::now());
        result
    };
    aside(at, &|| slow(&raw, array), &|| is_found(array), &partner, &describe, &end)
}

/// Describes the requests of a test that has found none of them complete.
fn describe(thread: ThreadRef, array: &Array) {
    let by_address = mix(array.requests, array.len()) & !1 | 2;
    let quick = key_of(array);
    let key = quick.unwrap_or(by_address);
    if thread.with_polls(|polls| polls.find(key).is_some() || polls.find(by_address).is_some()) {
        return;
    }
    let (mut all, mut record) = (thread.with_polls(|polls| polls.partner), None);
    let alone = all == partner::NONE && array.len() == 1;
    for handle in array.handles().filter(|handle| !abi::get().is_complete_request(*handle)) {
        let message = under_way(handle);
        if message.partner != partner::NONE {
            thread.poll_for(message.partner, message.tag, message.flags & (awaited::RECEIVE | awaited::SEND));
            all = together(all, message.partner);
        }
        if outstanding::any_outstanding()
            && let Some(found) = Request::record(handle)
        {
            record = Some(found);
        }
    }
    thread.poll_collective(record, alone);
    // Two threads may complete requests one after the other: then each is taken out of the table before the call.
    let is_safe = record.is_none() || thread::guarded(mpi::thread_level).is_some_and(|level| level < MULTIPLE);
    match quick.filter(|_| is_safe && !messages::are_kept() && !message_counters::counting()) {
        Some(key) => thread.keep_poll(key, handles_of(array), all),
        None => thread.keep_poll(by_address, [0; QUICK], all),
    }
}

/// Makes a poll of which nothing is known in its row. `end`: the tick at which the library has returned, if it is kept.
fn aside(
    (here, activity): Place<'_>,
    call: &dyn Fn() -> c_int,
    found: &dyn Fn() -> bool,
    partner: &dyn Fn(ThreadRef) -> u64,
    describe: &dyn Fn(ThreadRef),
    end: &Cell<u64>,
) -> c_int {
    let is_timed = waits::are_stamped() && partners::are_counted();
    let thread = thread::current().filter(|thread| is_timed && here >= thread.guard());
    let Some(thread) = thread.filter(|_| mode::is_on()) else { return activity.run(here, call) };
    let _ = thread.take_error();
    thread.begin_poll(activity.word_at(here));
    let result = call();
    let tick = || if end.get() == 0 { ticks::now() } else { end.get() };
    if result != 0 || thread.attention() & attention::HANDLED != 0 {
        thread.found(partner::UNKNOWN, tick());
    } else if found() {
        thread.found(partner(thread), tick());
    } else {
        thread.keep_polling();
        describe(thread);
    }
    result
}
