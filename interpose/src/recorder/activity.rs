//! Where a thread is outside of the recorded calls: a word in its entry, stored when an MPI call begins and when it has
//! returned.
//!
//! It is always on, so that a job that hangs can be looked at. On the way of a call lie a few loads and two stores, and
//! the time stamps of those that can wait. A call that is left by `longjmp` leaves its word there until the next call
//! of the thread.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

use mpitrace_format::layout::{ThreadEntry, activity};

use crate::base::entry::Entry;
use crate::base::mode;
use crate::call_sites::call_site::{self, Distance};
use crate::counters::message_counters;
use crate::operation::registry;
use crate::record::thread::{self, ThreadRef, Waiting, messages};
use crate::recorder::sited;

/// A function of MPI and what a thread is doing in it.
pub struct Activity {
    /// The stored word: an [`activity`] and the reference of the name; 0 until a thread has called the function.
    word: AtomicU32,
    /// The word; 0 where there is more to do around a call than to store it.
    quick: AtomicU32,
    /// One of [`activity`].
    what: u32,
    name: &'static str,
    /// One of `mpitrace_format::layout::wait_class`, where its calls can wait.
    class: Option<usize>,
    /// For its call sites.
    distance: Distance,
}

impl Activity {
    /// The function of this name, as one of [`activity`], and as one of `mpitrace_format::layout::wait_class` where its
    /// calls can wait.
    pub const fn new(what: u32, name: &'static str, class: Option<usize>) -> Activity {
        let distance = Distance::unknown();
        Activity { word: AtomicU32::new(0), quick: AtomicU32::new(0), what, name, class, distance }
    }

    /// Runs `forward`, the function, from a wrapper that stands at `here`; or `otherwise`, which does so too, where
    /// there is more to do. What these are made of stays in registers but for the second way. `waits`: its calls can.
    #[inline(always)]
    pub fn run_or(
        &self,
        here: usize,
        waits: bool,
        forward: impl Fn() -> c_int,
        otherwise: impl Fn() -> c_int,
    ) -> c_int {
        let word = self.quick.load(Ordering::Relaxed);
        if word != 0
            && let Some(thread) = thread::current()
            && here >= thread.guard()
        {
            let _within = Within::enter(thread, word);
            if waits {
                let _waiting = Waiting::begin(thread, here, self.class);
                return forward();
            }
            return forward();
        }
        if !mode::is_on() {
            return forward();
        }
        self.aside(here, otherwise)
    }

    /// Runs `call`, which waits for no other rank, from a wrapper that stands at `here`. A thread that has made no other
    /// call is not known by it. It is one function for all 242 wrappers, whose code is built as one unit.
    #[inline(never)]
    pub fn alone(&self, here: usize, call: &dyn Fn() -> c_int) -> c_int {
        let thread = thread::current().filter(|thread| mode::is_on() && here >= thread.guard());
        let _within = thread.map(|thread| Within::enter(thread, self.word_at(here)));
        call()
    }

    /// Runs `call`, which can wait, from a wrapper that stands at `here`, between two time stamps. The records of its
    /// messages get these.
    pub fn stamped(&self, here: usize, call: impl FnOnce() -> c_int) -> c_int {
        let thread = thread::current().filter(|thread| mode::is_on() && here >= thread.guard());
        self.kept(here, || {
            let begin = if messages::are_kept() { Waiting::begin_kept } else { Waiting::begin };
            let _waiting = thread.and_then(|thread| begin(thread, here, self.class));
            call()
        })
    }

    /// Runs `call`, the function, from a wrapper that stands at `here`: where message calls are recorded between two
    /// time stamps.
    #[inline(always)]
    pub fn kept(&self, here: usize, call: impl FnOnce() -> c_int) -> c_int {
        if messages::are_kept() { self.kept_aside(here, call) } else { call() }
    }

    #[inline(never)]
    fn kept_aside(&self, here: usize, call: impl FnOnce() -> c_int) -> c_int {
        let thread = thread::current().filter(|thread| mode::is_on() && here >= thread.guard());
        let Some(thread) = thread else { return call() };
        let site = if call_site::asked() { call_site::number(here, &self.distance) } else { 0 };
        thread.begin_message_call(activity::decoded(self.word.load(Ordering::Relaxed)).1, site);
        let result = call();
        thread.end_of_message_call();
        result
    }

    /// Off the way of most calls: what `call` is made of is copied here.
    #[cold]
    #[inline(never)]
    fn aside(&self, here: usize, call: impl Fn() -> c_int) -> c_int {
        self.with_more_to_do(here, &call)
    }

    #[inline(never)]
    fn with_more_to_do(&self, here: usize, call: &dyn Fn() -> c_int) -> c_int {
        self.run(here, call)
    }

    /// The stored word, which is made where no thread has called the function before.
    pub fn word(&self) -> u32 {
        let word = self.word.load(Ordering::Relaxed);
        if word != 0 {
            return word;
        }
        let name = thread::catch_panic(|| Some(registry::lock()?.string(self.name)));
        let word = activity::in_function(self.what, name.unwrap_or(0));
        self.word.store(word, Ordering::Relaxed);
        // Whether messages are counted or recorded, or call sites asked for, does not change after the beginning.
        if !message_counters::counting() && !messages::are_kept() && !call_site::asked() {
            self.quick.store(word, Ordering::Relaxed);
        }
        word
    }

    /// The word of a call from a wrapper that stands at `here`: where call sites are asked for, its name has the place
    /// in the program behind it.
    #[inline(always)]
    pub fn word_at(&self, here: usize) -> u32 {
        let word = self.word();
        if call_site::asked() { self.with_site(word, here) } else { word }
    }

    #[cold]
    #[inline(never)]
    fn with_site(&self, word: u32, here: usize) -> u32 {
        let (what, function) = activity::decoded(word);
        activity::in_function(what, sited::name(function, call_site::number(here, &self.distance)))
    }

    /// Runs `call`, the function, from a wrapper that stands at `here`. A call from inside another one is none of the
    /// program's, and leaves the word as it is.
    #[inline(always)]
    pub fn run(&self, here: usize, call: impl Fn() -> c_int) -> c_int {
        let is_known = self.word.load(Ordering::Relaxed) != 0;
        let _within = match thread::current() {
            Some(thread) if is_known && here >= thread.guard() => Some(Within::enter(thread, self.word_at(here))),
            _ => self.first(here),
        };
        call()
    }

    /// A call that is nested, or not traced, or the first one of its function or its thread.
    #[cold]
    #[inline(never)]
    fn first(&self, here: usize) -> Option<Within> {
        if thread::is_passing(here) {
            return None;
        }
        let thread = thread::current_or_new()?;
        Some(Within::enter(thread, self.word_at(here)))
    }
}

/// A thread is in a call until this is dropped, also where a C++ exception passes through.
pub struct Within(Entry<ThreadEntry>);

impl Within {
    #[inline(always)]
    pub fn enter(thread: ThreadRef, word: u32) -> Within {
        if thread.is_polling() {
            thread.leave_row();
        }
        let entry = thread.entry();
        entry.set_activity(activity::next(entry.activity(), word));
        Within(entry)
    }
}

impl Drop for Within {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.set_activity(activity::left(self.0.activity()));
    }
}
