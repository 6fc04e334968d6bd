//! The page of an event, mapped.

use std::ffi::c_int;
use std::ptr::NonNull;

use mpitrace_format::layout::PAGE;

use crate::base::event_page::Page;

/// A mapped page; unmapped when it is dropped. In a child that was forked off it is not mapped: the kernel leaves it
/// out.
pub struct Mapping(NonNull<Page>);

impl Mapping {
    /// Maps the page of the event; `None`: the kernel gives none (`kernel.perf_event_mlock_kb` is used up).
    pub fn new(event: c_int) -> Option<Mapping> {
        // SAFETY: maps the first page of the event, without the buffer of samples that would follow.
        let address =
            unsafe { libc::mmap(std::ptr::null_mut(), PAGE as usize, libc::PROT_READ, libc::MAP_SHARED, event, 0) };
        (address != libc::MAP_FAILED).then(|| NonNull::new(address.cast()).map(Mapping))?
    }

    /// The page, which the kernel changes at any time.
    #[inline(always)]
    pub fn page(&self) -> &Page {
        // SAFETY: mapped as long as `self` lives, aligned to a page; all fields are atomics.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length.
        unsafe { libc::munmap(self.0.as_ptr().cast(), PAGE as usize) };
    }
}
