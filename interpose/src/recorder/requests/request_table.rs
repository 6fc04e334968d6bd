//! Requests that are followed, by their handles.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::base::hash::FastMap;
use crate::operation::registry;
use crate::recorder::requests::few::Few;

/// A table of requests. Whether it has any is known without its lock.
pub struct RequestTable<R> {
    requests: Mutex<Option<FastMap<usize, R>>>,
    count: AtomicUsize,
}

pub struct ClaimedRequest<R> {
    pub place: usize,
    /// Its handle before the call.
    pub handle: usize,
    /// Empty when it is complete.
    pub request: Option<R>,
}

impl<R> RequestTable<R> {
    pub const fn new() -> RequestTable<R> {
        RequestTable { requests: Mutex::new(None), count: AtomicUsize::new(0) }
    }

    #[inline(always)]
    pub fn has_any(&self) -> bool {
        self.count.load(Ordering::Relaxed) != 0
    }

    pub fn with_requests<T>(&self, work: impl FnOnce(&mut FastMap<usize, R>) -> T) -> T {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let requests = requests.get_or_insert_default();
        let result = work(requests);
        self.count.store(requests.len(), Ordering::Relaxed);
        result
    }

    /// Adds a request; the one that had its handle before.
    pub fn insert(&self, handle: usize, request: R) -> Option<R> {
        self.with_requests(|requests| registry::insert(requests, handle, request))
    }

    pub fn take(&self, handle: usize) -> Option<R> {
        if self.has_any() { self.with_requests(|requests| requests.remove(&handle)) } else { None }
    }

    /// Takes those out of these places and handles that are `wanted`, in order.
    pub fn claim(
        &self,
        places: impl Iterator<Item = (usize, usize)>,
        wanted: fn(&R) -> bool,
    ) -> Few<ClaimedRequest<R>> {
        let mut claimed = Few::new();
        if self.has_any() {
            self.with_requests(|requests| {
                for (place, handle) in places {
                    if requests.get(&handle).is_some_and(wanted) && claimed.has_room() {
                        claimed.push(ClaimedRequest { place, handle, request: requests.remove(&handle) });
                    }
                }
            });
        }
        claimed
    }

    pub fn put_back(&self, claimed: &mut Few<ClaimedRequest<R>>) {
        if !claimed.is_empty() {
            self.with_requests(|requests| {
                for claimed in claimed.take_all() {
                    claimed.request.and_then(|request| registry::insert(requests, claimed.handle, request));
                }
            });
        }
    }
}
