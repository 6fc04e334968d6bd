//! This rank's knowledge of operations, communicators and data types, behind one lock.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, OnceLock};

use mpitrace_format::layout::CommunicatorEntry;

use crate::base::entry::Entry;
use crate::base::hash::{FastMap, FastSet};
use crate::base::lock;
use crate::call_sites::call_site;
use crate::handles::call::Declared;
use crate::handles::communicator::{Communicator, Neighbours};
use crate::handles::generation;
use crate::record::buffer::trace_buffer::TraceBuffer;
use crate::record::thread::ThreadRef;

/// Puts what a handle means into a table: what it meant before. Where the table has no memory for it, it stays for
/// ever: MPI may still use what a request holds.
pub fn insert<T>(table: &mut FastMap<usize, T>, handle: usize, meaning: T) -> Option<T> {
    if table.try_reserve(1).is_err() {
        std::mem::forget(meaning);
        return None;
    }
    table.insert(handle, meaning)
}

/// This rank's tables. Behind one lock, which a call takes only when its operation is not in its thread's cache.
pub struct Registry {
    pub live: &'static TraceBuffer,
    pub communicators: FastMap<usize, &'static Communicator>,
    /// How often the same recipe has made a communicator, of [`crate::operation::bounds`] recipes at most.
    pub recipes: FastMap<[u64; 2], u64>,
    pub operations: FastMap<Description, u32>,
    pub bounds: Bounds,
    pub(super) strings: FastMap<String, u32>,
    /// The neighbours of this rank in topologies, each different way once.
    pub(super) neighbours: FastSet<&'static Neighbours>,
}

/// Freed and folded communicators: what keeps the tables within their bounds.
#[derive(Default)]
pub struct Bounds {
    /// Freed communicators, the longest freed first.
    pub(super) spare: VecDeque<&'static Communicator>,
    /// Entries of the table to which no operation refers.
    pub(super) unused: Vec<(u32, Entry<CommunicatorEntry>)>,
    pub(super) retired: u64,
    /// The entry that is for all that have none.
    pub(super) folded: Option<u32>,
    /// Operations on it, by function and thread: threads may call on several of these communicators at once.
    pub(super) folded_operations: FastMap<(Declared, u32), u32>,
    pub(super) operations: u64,
    /// At as many operations by description those of freed communicators are forgotten.
    pub(super) forget_at: usize,
    /// Communicators whose key is this rank's alone.
    pub(super) unmatched: u64,
    /// Bytes of names that the program has given.
    pub(super) given: u64,
    pub(super) neighbours: usize,
}

/// The parts that make an operation on this rank.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Description {
    pub function: Declared,
    pub communicator: u32,
    pub bytes: u64,
    pub root: i32,
    pub datatype: u32,
    pub reduction: u32,
    pub site: call_site::Number,
}

static REGISTRY: OnceLock<Mutex<Registry>> = OnceLock::new();

/// The place of this process among the ranks.
#[derive(Clone, Copy)]
pub struct World {
    pub rank: u32,
    pub size: u32,
}

static WORLD: OnceLock<World> = OnceLock::new();

pub fn world() -> Option<World> {
    WORLD.get().copied()
}

pub fn start(live: &'static TraceBuffer, world: World) {
    let _ = WORLD.set(world);
    let _ = REGISTRY.set(Mutex::new(Registry::new(live)));
}

pub fn lock() -> Option<MutexGuard<'static, Registry>> {
    // A panic while it was held has ended the tracing; what it holds is still whole enough to be written.
    REGISTRY.get().map(lock::lock)
}

pub fn communicator(handle: usize) -> Option<&'static Communicator> {
    lock()?.communicators.get(&handle).copied()
}

/// The communicator behind a handle, which the thread keeps.
#[inline(always)]
pub fn kept_communicator(thread: ThreadRef, handle: usize) -> Option<&'static Communicator> {
    thread.with_cache(|cache| cache.communicators.find(handle)).or_else(|| keep_communicator(thread, handle))
}

#[cold]
#[inline(never)]
fn keep_communicator(thread: ThreadRef, handle: usize) -> Option<&'static Communicator> {
    let generation = generation::present();
    // "Unknown" is not kept: the handle becomes known without anything being freed.
    let known = communicator(handle)?;
    thread.with_cache(|cache| cache.communicators.keep(handle, known, generation));
    Some(known)
}

impl Registry {
    pub fn new(live: &'static TraceBuffer) -> Registry {
        Registry {
            live,
            communicators: FastMap::default(),
            recipes: FastMap::default(),
            operations: FastMap::default(),
            bounds: Bounds::default(),
            strings: FastMap::default(),
            neighbours: FastSet::default(),
        }
    }

    /// The reference of a text, stored once; 0 where there is no room for it.
    pub fn string(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.strings.get(text) {
            return known;
        }
        let reference = self.live.add_string(text.as_bytes());
        if reference != 0 && self.strings.try_reserve(1).is_ok() {
            self.strings.insert(text.to_owned(), reference);
        }
        reference
    }
}
