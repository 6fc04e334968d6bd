//! Which operation a call belongs to, found without asking MPI: a small table per thread, keyed by what the program
//! passed.

use std::mem::MaybeUninit;

use mpitrace_format::layout::{CommunicatorEntry, OperationEntry};
use mpitrace_functions::Function;

use crate::base::entry::Entry;
use crate::handles::call::{Declared, Key};
use crate::handles::communicator::Communicator;
use crate::handles::generation;

/// The operation that was found for a call.
#[derive(Clone, Copy)]
pub struct KnownOperation {
    /// The counts that are kept for it.
    pub operation: Entry<OperationEntry>,
    pub communicator: Entry<CommunicatorEntry>,
    /// Its number on this rank.
    pub number: u32,
    /// True if the call must have returned well before its handles may be asked about.
    pub open: bool,
}

/// For how long an entry of a cache is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasts {
    /// Until any handle is outdated: it has others than those of its key.
    ThisGeneration,
    /// Until one of the handles of its key is outdated.
    WithItsHandles,
    /// All its handles are predefined, so that none is ever freed.
    Always,
}

const ENTRIES: usize = 256;
const LATELY: usize = 16;

/// The operations and communicators that a thread used lately. 256 entries of 96 bytes: 24 KiB, within a first-level
/// cache for a program that calls few operations, and no more than they touch.
pub struct Cache {
    /// The operation that was found last: that of the call before.
    last: *const Kept,
    entries: [Kept; ENTRIES],
    pub communicators: Lately<&'static Communicator>,
}

/// The last results of looking up handles, each with its generation.
pub struct Lately<T>([(usize, u64, Option<T>); LATELY]);

impl<T: Copy> Lately<T> {
    const NEW: Lately<T> = Lately([(0, 0, None); LATELY]);

    /// The last entry found for a handle, where it is still valid.
    #[inline(always)]
    pub fn find(&mut self, handle: usize) -> Option<T> {
        let (of, kept_in, found) = &mut self.0[handle_index(handle) % LATELY];
        if *of != handle {
            return None;
        }
        if !generation::is_present(*kept_in) {
            *kept_in = generation::unchanged_since(*kept_in, [handle; 2])?;
        }
        *found
    }

    /// Keeps what was found behind a handle in this generation.
    pub fn keep(&mut self, handle: usize, found: T, generation: u64) {
        self.0[handle_index(handle) % LATELY] = (handle, generation, Some(found));
    }
}

#[derive(Clone, Copy)]
struct Kept {
    key: Key,
    /// The generation in which the entry was last known to be good; 0: empty.
    generation: u64,
    lasts: Lasts,
    /// The operation of an entry that is not empty.
    found: MaybeUninit<KnownOperation>,
    /// The entry that came next when it was called last: most programs call their operations in the same order again.
    next: *const Kept,
}

static NONE: Function = Function::NONE;

impl Kept {
    const NONE: Kept = Kept {
        key: Key { function: Declared(&NONE), communicator: 0, datatype: 0, reduction: 0, count: 0, root: 0, site: 0 },
        generation: 0,
        lasts: Lasts::ThisGeneration,
        found: MaybeUninit::uninit(),
        next: &raw const NOWHERE.0,
    };
}

/// The entry that [`Cache::last`] and [`Kept::next`] lead to at first.
struct Nowhere(Kept);

// SAFETY: it is never written to, and leads to no entry.
unsafe impl Sync for Nowhere {}

static NOWHERE: Nowhere = Nowhere(Kept::NONE);

impl Cache {
    /// Makes an empty cache at `place`, entry by entry: some threads have less stack than it is large.
    ///
    /// # Safety
    /// `place` may be written to, and is aligned.
    pub unsafe fn fill(place: *mut Cache) {
        // SAFETY: the caller's promise; each write is within the cache.
        unsafe {
            (&raw mut (*place).last).write(&raw const NOWHERE.0);
            (&raw mut (*place).communicators).write(Lately::NEW);
            let entries = (&raw mut (*place).entries).cast::<Kept>();
            (0..ENTRIES).for_each(|entry| entries.add(entry).write(Kept::NONE));
        }
    }

    /// The operation of a key, where it is the one that followed the operation found last when that was called before.
    ///
    /// A reference and not a value: moving the value through memory costs 3 ns of the 5 that a call may cost beside its
    /// time stamps.
    #[inline(always)]
    pub fn find_again(&mut self, key: &Key) -> Option<&KnownOperation> {
        // SAFETY: `last` and `next` each lead to the static above or to an entry of this cache, which stays where it is
        // (`find`); no exclusive reference to an entry is alive.
        let expected = unsafe { &*(*self.last).next };
        if expected.key != *key || !generation::is_present(expected.generation) {
            return None;
        }
        self.last = expected;
        // SAFETY: an entry with a generation other than 0, which is none, is not empty.
        Some(unsafe { expected.found.assume_init_ref() })
    }

    /// The operation of a key. The cache stays where it is from the first one that is found on: it belongs to a thread,
    /// whose state has an address of its own.
    #[inline(always)]
    pub fn find(&mut self, key: &Key) -> Option<&KnownOperation> {
        let generation = generation::seen();
        let found = index(key);
        let entry = &mut self.entries[found];
        if entry.key != *key {
            return None;
        }
        if entry.generation != generation {
            entry.generation = match entry.lasts {
                Lasts::Always => generation,
                Lasts::WithItsHandles => {
                    generation::unchanged_since(entry.generation, [key.communicator, key.datatype])?
                }
                Lasts::ThisGeneration => return None,
            };
        }
        let before = self.last.addr().wrapping_sub(self.entries.as_ptr().addr()) / size_of::<Kept>();
        let next = &raw const self.entries[found];
        // There is none where `last` leads nowhere.
        if let Some(before) = self.entries.get_mut(before) {
            before.next = next;
        }
        self.last = next;
        // SAFETY: no call has the key of an empty entry, whose function is none.
        Some(unsafe { self.entries[found].found.assume_init_ref() })
    }

    /// Keeps what was found for a key in this generation.
    pub fn keep(&mut self, key: &Key, found: KnownOperation, lasts: Lasts, generation: u64) {
        let found = MaybeUninit::new(found);
        self.entries[index(key)] = Kept { key: *key, generation, lasts, found, next: &raw const NOWHERE.0 };
    }
}

#[inline(always)]
fn handle_index(handle: usize) -> usize {
    // Handles of the MPICH family differ in their lowest bits, Open MPI's data types from the ninth bit on.
    handle ^ handle >> 9
}

#[inline(always)]
fn index(key: &Key) -> usize {
    let mixed = key.communicator
        ^ key.datatype.rotate_left(20)
        ^ key.reduction.rotate_left(40)
        ^ key.function.address().rotate_left(52)
        ^ (key.count as usize).rotate_left(8)
        ^ (key.root as u32 as usize) << 32
        ^ key.site as usize;
    // The golden ratio's multiplier spreads what differs into the upper bits.
    mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - ENTRIES.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use super::*;

    fn key(count: u64) -> Key {
        let function = Declared(Function::named("MPI_Allreduce").unwrap());
        Key { function, communicator: 1, datatype: 2, reduction: 3, count, root: 0, site: 0 }
    }

    fn found(number: u32) -> KnownOperation {
        let operation = Entry::unlisted(OperationEntry::default());
        let communicator = Entry::unlisted(CommunicatorEntry::default());
        KnownOperation { operation, communicator, number, open: false }
    }

    /// One test at a time: generations are the process'.
    fn alone() -> MutexGuard<'static, ()> {
        static ONE: Mutex<()> = Mutex::new(());
        ONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn empty() -> Box<Cache> {
        let mut cache = Box::new_uninit();
        // SAFETY: the memory is the box's.
        unsafe { Cache::fill(cache.as_mut_ptr()) };
        // SAFETY: filled above.
        unsafe { cache.assume_init() }
    }

    #[test]
    fn what_came_next_before_is_found_again() {
        let _alone = alone();
        let cache = &mut empty();
        assert!(cache.find_again(&key(0)).is_none() && cache.find(&key(0)).is_none());
        (0..4).for_each(|number| cache.keep(&key(number), found(number as u32), Lasts::Always, generation::present()));
        // Once to learn the order, and once more for what comes behind the last.
        let order = [0, 1, 2, 1, 3];
        let mut again = Vec::new();
        for number in order.repeat(3) {
            let at_once = cache.find_again(&key(number)).map(|found| found.number);
            assert!(at_once.is_none_or(|found| u64::from(found) == number));
            again.push(at_once.is_some());
            if at_once.is_none() {
                assert_eq!(cache.find(&key(number)).map(|found| u64::from(found.number)), Some(number));
            }
        }
        // 1 is followed by 2 and by 3 in turn: the one that is expected is always the other one.
        assert_eq!(again[5..10], [false, true, false, true, false]);
        assert_eq!(again[10..], [true, true, false, true, false]);
        // One operation after itself.
        assert!(cache.find_again(&key(3)).is_none() && cache.find(&key(3)).is_some());
        assert!((0..5).all(|_| cache.find_again(&key(3)).is_some()));
        // Another one in its place, and handles that were freed.
        cache.keep(&key(3), found(9), Lasts::Always, generation::present());
        assert!(cache.find_again(&key(3)).is_none());
        assert_eq!(cache.find(&key(3)).map(|found| found.number), Some(9));
        assert_eq!(cache.find_again(&key(3)).map(|found| found.number), Some(9));
        generation::outdate(1);
        assert!(cache.find_again(&key(3)).is_none() && cache.find(&key(3)).is_some());
        assert!(cache.find_again(&key(3)).is_some());
    }

    #[test]
    fn what_is_freed_outdates_what_is_cached_of_it_and_nothing_else() {
        let _alone = alone();
        const COMMUNICATOR: usize = 0x5ea1;
        const DATATYPE: usize = 0x5ea2;
        const OTHER: usize = 0x5ea3;
        let key = Key { communicator: COMMUNICATOR, datatype: DATATYPE, ..key(1) };
        let cache = &mut empty();
        let keep = |cache: &mut Cache, lasts, generation| cache.keep(&key, found(1), lasts, generation);
        keep(cache, Lasts::WithItsHandles, generation::present());
        generation::outdate(OTHER);
        assert!((0..2).all(|_| cache.find(&key).is_some()), "another thread's data type");
        assert!(cache.find_again(&key).is_some());
        for own in [COMMUNICATOR, DATATYPE] {
            keep(cache, Lasts::WithItsHandles, generation::present());
            generation::outdate(own);
            assert!(cache.find(&key).is_none() && cache.find_again(&key).is_none());
        }
        // Freed by another thread between the look-up and the keeping.
        let before = generation::present();
        generation::outdate(DATATYPE);
        keep(cache, Lasts::WithItsHandles, before);
        assert!(cache.find(&key).is_none());
        keep(cache, Lasts::ThisGeneration, generation::present());
        generation::outdate(OTHER);
        assert!(cache.find(&key).is_none(), "data types that are not in its key");
        // Longer ago than is known.
        keep(cache, Lasts::WithItsHandles, generation::present());
        (0..generation::OUTDATED_KEPT).for_each(|_| generation::outdate(OTHER));
        assert!(cache.find(&key).is_none());

        let known = Communicator::leak();
        cache.communicators.keep(COMMUNICATOR, known, generation::present());
        generation::outdate(DATATYPE);
        assert!(cache.communicators.find(COMMUNICATOR).is_some() && cache.communicators.find(OTHER).is_none());
        generation::outdate(COMMUNICATOR);
        assert!(cache.communicators.find(COMMUNICATOR).is_none());
    }
}
