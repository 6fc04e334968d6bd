//! Non-blocking collectives, from their start until the program finds them complete.
//!
//! A request is known by its handle while it is outstanding. Handles are not unique: libraries give one and the same to all
//! calls that are complete when they return, so such a call is closed there. With nothing outstanding a Wait or Test costs
//! one branch.
//!
//! The request of a persistent collective lives from its making to MPI_Request_free; each start of it is a call. Persistent
//! collectives may be started in any order, another one on each rank. So their calls do not take part in the counting of
//! positions on the communicator: the k-th start of the n-th persistent collective made on it has a position of its own.

use std::ffi::c_int;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::large_count::Narrowed;
use crate::lookup::{Call, Found};
use crate::recorder::Started;
use crate::registry::FastMap;
use crate::thread::Thread;
use crate::{abi, operations, recorder, thread, ticks};

/// MPI_UNDEFINED, the same in all three interfaces.
const UNDEFINED: c_int = -32766;

static OUTSTANDING: AtomicUsize = AtomicUsize::new(0);
static PREPARED_COUNT: AtomicUsize = AtomicUsize::new(0);
static PREPARED: Mutex<Option<FastMap<usize, Prepared>>> = Mutex::new(None);
static REQUESTS: Mutex<Option<FastMap<usize, Request>>> = Mutex::new(None);

struct Request {
    /// `None` for a call that is not recorded, whose arrays must live on all the same.
    started: Option<Started>,
    /// What stands in for the program's arrays.
    _arrays: Narrowed,
}

/// A persistent collective.
struct Prepared {
    /// `None` where it is not recorded.
    operation: Option<(Found, u64)>,
    starts: u64,
    /// What stands in for the program's arrays.
    _arrays: Narrowed,
}

// SAFETY: the pointers lead into the segment, which stays mapped.
unsafe impl Send for Prepared {}

/// The position of the first start of the n-th persistent collective of a communicator, beyond all counted positions.
fn persistent_position(nth: u64, starts: u64) -> u64 {
    1 << 63 | nth << 40 | starts
}

/// Whether there are persistent collectives that could be started.
#[inline(always)]
pub fn any_prepared() -> bool {
    PREPARED_COUNT.load(Ordering::Relaxed) != 0
}

/// Forwards what makes a persistent collective, and remembers it.
pub fn prepare(
    message: impl Fn(*mut Thread) -> Call,
    forward: impl FnOnce() -> c_int,
    arrays: Narrowed,
    comm: usize,
    request: usize,
) -> c_int {
    let ours = !thread::is_passing(thread::frame());
    let result = thread::guarded(forward);
    if result == 0 && (ours || !arrays.is_empty()) {
        let operation = ours.then(|| {
            thread::sheltered(|| operations::prepare(abi::get().handle(comm), || message(thread::current_or_new())))
        });
        // SAFETY: the call has returned well, so this is the address of a request's handle.
        let handle = unsafe { abi::get().read(request) };
        let prepared = Prepared { operation: operation.flatten(), starts: 0, _arrays: arrays };
        with_prepared(|known| known.insert(handle, prepared));
    }
    result
}

/// `MPI_Start`.
pub fn start_prepared(forward: impl FnOnce() -> c_int, request: usize) -> c_int {
    start_all_prepared(forward, 1, request)
}

/// `MPI_Startall`.
pub fn start_all_prepared(forward: impl FnOnce() -> c_int, count: usize, requests: usize) -> c_int {
    let abi = abi::get();
    let mut starts: Vec<(usize, Found, u64)> = Vec::new();
    with_prepared(|known| {
        for index in 0..(count as c_int).max(0) as usize {
            // SAFETY: the program passes `count` handles there.
            let handle = unsafe { abi.read(requests + index * abi.handle_size) };
            if let Some(prepared) = known.get_mut(&handle)
                && let Some((found, nth)) = prepared.operation
            {
                starts.push((handle, found, persistent_position(nth, prepared.starts)));
                prepared.starts += 1;
            }
        }
    });
    let mut begun = Vec::with_capacity(starts.len());
    for (handle, found, position) in &starts {
        begun.extend(recorder::prepared(found, *position).map(|record| (*handle, record)));
    }
    let (result, _, returned) = timed(forward);
    if result == 0 {
        for (handle, record) in begun {
            follow_handle(handle, Request { started: Some(record.started(returned)), _arrays: Narrowed::default() });
        }
    } else {
        begun.into_iter().rev().for_each(|(_, record)| record.take_back());
    }
    result
}

fn with_prepared<R>(work: impl FnOnce(&mut FastMap<usize, Prepared>) -> R) -> R {
    let mut guard = PREPARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let prepared = guard.get_or_insert_default();
    let result = work(prepared);
    PREPARED_COUNT.store(prepared.len(), Ordering::Relaxed);
    result
}

/// Whether any Wait or Test may be for a call that is followed.
#[inline(always)]
pub fn any_outstanding() -> bool {
    OUTSTANDING.load(Ordering::Relaxed) != 0 || any_prepared()
}

/// Forwards what starts a non-blocking collective, and follows its request.
#[inline(always)]
pub fn start(
    message: impl Fn(*mut Thread) -> Call,
    forward: impl FnOnce() -> c_int,
    arrays: Narrowed,
    request: usize,
) -> c_int {
    let (result, started) = recorder::starting(message, forward);
    if result == 0 && (started.is_some() || !arrays.is_empty()) {
        follow(request, Request { started, _arrays: arrays });
    }
    result
}

#[inline(never)]
fn follow(request: usize, new: Request) {
    // SAFETY: the starting call has returned well, so this is the address of a request's handle.
    let handle = unsafe { abi::get().read(request) };
    if abi::get().is_complete_request(handle) {
        new.complete_at_start();
        return;
    }
    follow_handle(handle, new);
}

fn follow_handle(handle: usize, new: Request) {
    let replaced = with_requests(|requests| {
        let replaced = requests.insert(handle, new);
        OUTSTANDING.store(requests.len(), Ordering::Relaxed);
        replaced
    });
    // Two at once behind one handle: it is one that the library shares among calls that were complete at their start.
    if let Some(earlier) = replaced {
        earlier.complete_at_start();
        if let Some(new) = take(handle) {
            new.complete_at_start();
        }
    }
}

impl Request {
    fn complete_at_start(&self) {
        if let Some(started) = &self.started {
            started.complete(started.returned);
        }
    }
}

/// `MPI_Wait`.
pub fn wait(forward: impl FnOnce() -> c_int, request: usize) -> c_int {
    wait_all(forward, 1, request)
}

/// `MPI_Waitall`.
pub fn wait_all(forward: impl FnOnce() -> c_int, count: usize, requests: usize) -> c_int {
    completing(forward, count, requests, Followed::waited, Followed::finish_all)
}

/// `MPI_Waitany`.
pub fn wait_any(forward: impl FnOnce() -> c_int, count: usize, requests: usize, index: usize) -> c_int {
    completing(forward, count, requests, Followed::waited, |followed, tick| {
        // SAFETY: the call has returned well: `index` is the address of an int.
        followed.finish(unsafe { int_at(index, 0) }, tick);
    })
}

/// `MPI_Waitsome`.
pub fn wait_some(
    forward: impl FnOnce() -> c_int,
    count: usize,
    requests: usize,
    outcount: usize,
    indices: usize,
) -> c_int {
    let finish = |followed: &Followed, tick| followed.finish_some(outcount, indices, tick);
    completing(forward, count, requests, Followed::waited, finish)
}

/// `MPI_Test`.
pub fn test(forward: impl FnOnce() -> c_int, request: usize, flag: usize) -> c_int {
    test_all(forward, 1, request, flag)
}

/// `MPI_Testall`.
pub fn test_all(forward: impl FnOnce() -> c_int, count: usize, requests: usize, flag: usize) -> c_int {
    completing(forward, count, requests, Followed::tested, |followed, tick| {
        // SAFETY: the call has returned well: `flag` is the address of an int.
        if unsafe { int_at(flag, 0) } != 0 {
            followed.finish_all(tick);
        }
    })
}

/// `MPI_Testany`.
pub fn test_any(forward: impl FnOnce() -> c_int, count: usize, requests: usize, index: usize, flag: usize) -> c_int {
    completing(forward, count, requests, Followed::tested, |followed, tick| {
        // SAFETY: the call has returned well: both are addresses of ints.
        if unsafe { int_at(flag, 0) } != 0 {
            // SAFETY: as above.
            followed.finish(unsafe { int_at(index, 0) }, tick);
        }
    })
}

/// `MPI_Testsome`.
pub fn test_some(
    forward: impl FnOnce() -> c_int,
    count: usize,
    requests: usize,
    outcount: usize,
    indices: usize,
) -> c_int {
    let finish = |followed: &Followed, tick| followed.finish_some(outcount, indices, tick);
    completing(forward, count, requests, Followed::tested, finish)
}

/// Forwards a call that may find requests of an array complete: `spent` gets the ticks that it took, and `finish`, if it
/// has returned well, the tick at its end.
fn completing(
    forward: impl FnOnce() -> c_int,
    count: usize,
    requests: usize,
    spent: impl FnOnce(&Followed, u64),
    finish: impl FnOnce(&Followed, u64),
) -> c_int {
    let followed = Followed::of(count as c_int, requests);
    let (result, ticks, tick) = timed(forward);
    spent(&followed, ticks);
    if result == 0 {
        finish(&followed, tick);
    }
    result
}

/// `MPI_Request_get_status`: tells that a request, which is passed by value, is complete, and leaves it there.
pub fn get_status(forward: impl FnOnce() -> c_int, request: usize, flag: usize) -> c_int {
    let followed = Followed(vec![(0, abi::get().handle(request))]);
    let (result, spent, tick) = timed(forward);
    followed.tested(spent);
    // SAFETY: after a call that has returned well `flag` is the address of an int.
    if result == 0 && unsafe { int_at(flag, 0) } != 0 {
        followed.each(|started| started.complete(tick));
    }
    result
}

/// `MPI_Request_free`: when the call is complete nobody will see.
pub fn free(forward: impl FnOnce() -> c_int, request: usize) -> c_int {
    let followed = Followed::of(1, request);
    // SAFETY: any address but null is what the program says is a handle's.
    let freed = unsafe { abi::get().read_if_any(request) };
    let result = thread::guarded(forward);
    if result == 0 {
        // As below: a start of it may be under way.
        std::mem::forget(with_prepared(|known| known.remove(&freed)));
        for &(_, handle) in &followed.0 {
            if let Some(request) = take(handle) {
                // The library may still read the arrays that stand in for the program's.
                std::mem::forget(request);
            }
        }
    }
    result
}

/// The requests of an array that are followed: place in the array, handle. Read before the call, which sets the handles of
/// completed requests to MPI_REQUEST_NULL.
struct Followed(Vec<(c_int, usize)>);

impl Followed {
    fn of(count: c_int, requests: usize) -> Followed {
        if requests == 0 {
            return Followed(Vec::new());
        }
        let abi = abi::get();
        with_requests(|known| {
            // SAFETY: the program passes `count` handles there.
            let handle = |index: c_int| unsafe { abi.read(requests + index as usize * abi.handle_size) };
            let handles = (0..count).map(|index| (index, handle(index)));
            Followed(handles.filter(|(_, handle)| known.contains_key(handle)).collect())
        })
    }

    fn each(&self, visit: impl Fn(&Started)) {
        if self.0.is_empty() {
            return;
        }
        with_requests(|known| {
            for (_, handle) in &self.0 {
                if let Some(started) = known.get(handle).and_then(|request| request.started.as_ref()) {
                    visit(started);
                }
            }
        });
    }

    /// The program waited for all of them that long.
    fn waited(&self, spent: u64) {
        self.each(|started| started.add_wait(spent));
    }

    fn tested(&self, spent: u64) {
        self.each(|started| started.add_test(spent));
    }

    fn finish_all(&self, tick: u64) {
        for &(_, handle) in &self.0 {
            finish(handle, tick);
        }
    }

    /// The one at this place of the array, if it is followed.
    fn finish(&self, index: c_int, tick: u64) {
        for &(_, handle) in self.0.iter().filter(|(place, _)| *place == index) {
            finish(handle, tick);
        }
    }

    fn finish_some(&self, outcount: usize, indices: usize, tick: u64) {
        // SAFETY: the call has returned well: a count, and where it is one as many indices.
        let completed = unsafe { int_at(outcount, 0) };
        if completed != UNDEFINED {
            for place in 0..completed.max(0) as usize {
                // SAFETY: as above.
                self.finish(unsafe { int_at(indices, place) }, tick);
            }
        }
    }
}

fn finish(handle: usize, tick: u64) {
    if let Some(request) = take(handle)
        && let Some(started) = &request.started
    {
        started.complete(tick);
    }
}

fn take(handle: usize) -> Option<Request> {
    with_requests(|requests| {
        let taken = requests.remove(&handle);
        OUTSTANDING.store(requests.len(), Ordering::Relaxed);
        taken
    })
}

fn with_requests<R>(work: impl FnOnce(&mut FastMap<usize, Request>) -> R) -> R {
    let mut requests = REQUESTS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    work(requests.get_or_insert_default())
}

/// Forwards; the result, how many ticks that took, and the tick at its end.
fn timed(forward: impl FnOnce() -> c_int) -> (c_int, u64, u64) {
    let before = ticks::now();
    let result = thread::guarded(forward);
    let after = ticks::now();
    (result, after.wrapping_sub(before), after)
}

/// The int at a place of an array in the program's memory.
///
/// # Safety
/// `array` is the address of ints, more than `index` of them.
unsafe fn int_at(array: usize, index: usize) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::with_exposed_provenance::<c_int>(array).add(index).read() }
}
