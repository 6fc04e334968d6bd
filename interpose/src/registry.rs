//! What this rank knows of operations, communicators and data types: the slow side of [`crate::lookup`].

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Mutex, MutexGuard, OnceLock};

use trace::trace::layout::{BESIDE_ROOT, NO_ROOT, OperationEntry, THIS_IS_ROOT, UNKNOWN_BYTES};

use crate::abi;
use crate::communicator::{self, Communicator};
use crate::datatype::Datatype;
use crate::live::Live;
use crate::lookup::{Call, ETERNAL, Found, GENERATION, Key};
use crate::message::{Int, Large, Width};
use crate::thread::Thread;

/// A hash map that costs a multiplication a word: its keys come from the program, not from an enemy.
pub type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;

/// What this rank knows. Behind one lock, which a call takes only when its operation is not in its thread's cache.
pub struct Registry {
    pub live: &'static Live,
    pub communicators: FastMap<usize, &'static Communicator>,
    pub datatypes: FastMap<usize, Datatype>,
    /// How often the same recipe has made a communicator.
    pub recipes: FastMap<[u64; 2], u64>,
    /// Communicators of `MPI_Comm_idup` whose handles are not known yet.
    pub pending: Vec<communicator::Pending>,
    operations: FastMap<Description, u32>,
    /// Operations that are open, by key.
    open: FastMap<Key, u32>,
    strings: HashMap<String, u32>,
    reductions: FastMap<usize, u32>,
}

/// What makes an operation on this rank.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Description {
    function: usize,
    communicator: u32,
    bytes: u64,
    root: i32,
    datatype: u32,
    reduction: u32,
}

static REGISTRY: OnceLock<Mutex<Registry>> = OnceLock::new();

/// Makes the registry, once, at Init.
pub fn start(live: &'static Live) {
    let _ = REGISTRY.set(Mutex::new(Registry {
        live,
        communicators: FastMap::default(),
        datatypes: FastMap::default(),
        recipes: FastMap::default(),
        pending: Vec::new(),
        operations: FastMap::default(),
        open: FastMap::default(),
        strings: HashMap::new(),
        reductions: FastMap::default(),
    }));
}

/// The registry, where tracing has started.
pub fn lock() -> Option<MutexGuard<'static, Registry>> {
    // A panic while it was held has ended the tracing; what it holds is still whole enough to be written.
    REGISTRY.get().map(|registry| registry.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// The communicator behind a handle, where it is known.
#[cold]
#[inline(never)]
pub fn communicator(handle: usize) -> Option<&'static Communicator> {
    lock()?.communicators.get(&handle).copied()
}

/// The operation of a call that its thread's cache does not hold. `None`: the tables are full.
#[cold]
#[inline(never)]
pub fn find(thread: *mut Thread, call: &Call) -> Option<Found> {
    let mut registry = lock()?;
    let known = registry.communicators.get(&call.key.communicator).copied();
    let identified = known.is_some_and(Communicator::is_identified);
    if identified
        && call.known
        && let Some(size) = registry.size(call, false)
    {
        let number = registry.operation(known?, call, size)?;
        let found = registry.found(known?, number, false);
        let eternal = known?.is_predefined() && registry.is_eternal(call.key.datatype) && call.by_peer.is_none();
        // SAFETY: `thread` is the caller's own.
        unsafe { (*thread).cache.keep(&call.key, found, eternal) };
        return Some(found);
    }
    // An unknown handle may be a wrong one: MPI is asked about it when the call has returned well.
    let known = match known {
        Some(known) => known,
        None => communicator::provisional(&mut registry, call.key.communicator)?,
    };
    let number = match registry.open.get(&call.key) {
        Some(&number) => number,
        None => {
            let number = registry.add_operation(known, call, (UNKNOWN_BYTES, 0))?;
            registry.open.insert(call.key, number);
            number
        }
    };
    Some(registry.found(known, number, true))
}

/// After a call of an open operation has returned well: asks MPI about its handles and gives the call its true operation.
/// `call` is made again now that the communicator is known; returns the operation and the repetition.
#[cold]
pub fn settle(open: &Found, first: &Key, call: impl FnOnce() -> Call) -> Option<(u32, u64)> {
    {
        let mut registry = lock()?;
        let known = registry.communicators.get(&first.communicator).copied()?;
        if !known.is_identified() {
            communicator::identify(&mut registry, known);
        }
    }
    let call = call();
    let mut registry = lock()?;
    let known = registry.communicators.get(&call.key.communicator).copied()?;
    let size = registry.size(&call, true)?;
    let number = registry.operation(known, &call, size)?;
    let entry = registry.live.operation(number);
    // SAFETY: both are entries of this rank's table, and the calls of a communicator come one after the other.
    unsafe {
        (*open.operation).calls -= 1;
        let repetition = (*entry).calls;
        (*entry).calls += 1;
        Some((number, repetition))
    }
}

/// The operation of a persistent collective that was made just now, well, so that MPI may be asked about its handles; and
/// the how-manieth of its communicator it is. `call` is asked when the communicator is known.
#[cold]
pub fn prepare(communicator: usize, call: impl FnOnce() -> Call) -> Option<(Found, u64)> {
    {
        let mut registry = lock()?;
        let known = match registry.communicators.get(&communicator) {
            Some(known) => known,
            None => communicator::provisional(&mut registry, communicator)?,
        };
        if !known.is_identified() {
            communicator::identify(&mut registry, known);
        }
    }
    let call = call();
    let mut registry = lock()?;
    let known = registry.communicators.get(&call.key.communicator).copied()?;
    let size = registry.size(&call, true)?;
    let number = registry.operation(known, &call, size)?;
    Some((registry.found(known, number, false), known.next_persistent()))
}

impl Registry {
    /// The reference of a text, stored once.
    pub fn string(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.strings.get(text) {
            return known;
        }
        let reference = self.live.add_string(text.as_bytes());
        self.strings.insert(text.to_owned(), reference);
        reference
    }

    fn found(&self, known: &'static Communicator, number: u32, open: bool) -> Found {
        Found { operation: self.live.operation(number), communicator: known.entry, number, open }
    }

    /// The message size and the name of the data type (0: none); `None` where a data type is not known and may not be
    /// asked about.
    fn size(&mut self, call: &Call, may_ask: bool) -> Option<(u64, u32)> {
        if let Some(by_peer) = call.by_peer {
            return self.size_by_peer(&by_peer, may_ask);
        }
        if call.key.datatype == 0 {
            return Some((0, 0));
        }
        let datatype = self.datatype(call.key.datatype, may_ask)?;
        Some((datatype.size.wrapping_mul(call.key.count), datatype.name))
    }

    fn size_by_peer(&mut self, by_peer: &crate::lookup::ByPeer, may_ask: bool) -> Option<(u64, u32)> {
        let abi = abi::get();
        let mut sum = 0u64;
        let mut name = None;
        for peer in 0..by_peer.peers {
            // SAFETY: the program's arrays have an element for each peer; they are its arguments of a call that has not
            // returned to it yet.
            let (count, handle) = unsafe {
                let count = if by_peer.large { Large::at(by_peer.counts, peer) } else { Int::at(by_peer.counts, peer) };
                (count, abi.read(by_peer.datatypes + peer * abi.handle_size))
            };
            if count == 0 {
                // Then the type may be a null handle.
                continue;
            }
            let datatype = self.datatype(handle, may_ask)?;
            sum = sum.wrapping_add(datatype.size.wrapping_mul(count as u64));
            name = match name {
                None => Some(datatype.name),
                Some(other) if other == datatype.name => name,
                Some(_) => Some(self.string(crate::datatype::DERIVED)),
            };
        }
        Some((sum, name.unwrap_or(0)))
    }

    /// A data type's size and name.
    fn datatype(&mut self, handle: usize, may_ask: bool) -> Option<Datatype> {
        if let Some(&known) = self.datatypes.get(&handle) {
            return Some(known);
        }
        let predefined = abi::get().is_predefined_type(handle);
        if !predefined && !may_ask {
            return None;
        }
        let datatype = Datatype::ask(self, handle, predefined)?;
        // A type that was committed where nobody saw it may be freed where nobody sees it: asked about anew each time.
        if predefined {
            self.datatypes.insert(handle, datatype);
        }
        Some(datatype)
    }

    fn is_eternal(&self, datatype: usize) -> bool {
        datatype == 0 || self.datatypes.get(&datatype).is_some_and(|known| known.predefined)
    }

    fn reduction(&mut self, handle: usize) -> u32 {
        if handle == 0 {
            return 0;
        }
        if let Some(&known) = self.reductions.get(&handle) {
            return known;
        }
        // An operator that the program made counts as `user` whatever its handle: nothing to forget when it is freed.
        match abi::get().reduction_name(handle) {
            Some(name) => {
                let name = self.string(&name);
                self.reductions.insert(handle, name);
                name
            }
            None => self.string("user"),
        }
    }

    /// The number of the operation that a call with this size belongs to.
    fn operation(&mut self, known: &'static Communicator, call: &Call, size: (u64, u32)) -> Option<u32> {
        let description = self.describe(known, call, size);
        if let Some(&number) = self.operations.get(&description) {
            return Some(number);
        }
        let number = self.add_operation(known, call, size)?;
        self.operations.insert(description, number);
        Some(number)
    }

    fn describe(&mut self, known: &Communicator, call: &Call, (bytes, datatype): (u64, u32)) -> Description {
        let abi = abi::get();
        Description {
            function: call.key.function,
            communicator: known.number,
            bytes,
            root: match call.key.root {
                NO_ROOT => NO_ROOT,
                root if known.is_inter() && root == abi.root => THIS_IS_ROOT,
                root if known.is_inter() && root == abi.proc_null => BESIDE_ROOT,
                root => root,
            },
            datatype,
            reduction: self.reduction(call.key.reduction),
        }
    }

    fn add_operation(&mut self, known: &Communicator, call: &Call, size: (u64, u32)) -> Option<u32> {
        let description = self.describe(known, call, size);
        let function = self.string(call.key.declaration().name);
        self.live.add_operation(OperationEntry {
            calls: 0,
            bytes: description.bytes,
            communicator: description.communicator,
            root: description.root,
            function,
            datatype: description.datatype,
            reduction: description.reduction,
            reserved: [0; 7],
        })
    }
}

/// See [`FastMap`].
#[derive(Default)]
pub struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }
    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }
    fn write_i32(&mut self, word: i32) {
        self.write_u64(word as u32 as u64);
    }
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(26) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

// The map takes its buckets from the lowest bits and its tags from the highest: a product's low bits know nothing of the
// word's high ones, but handles differ in the low half.
const _: () = assert!(ETERNAL != 0 && std::mem::size_of_val(&GENERATION) == 8);
