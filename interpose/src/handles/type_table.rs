//! Facts about data types, by their handles: a table of fixed size without a lock, and one behind a lock for types that
//! find no place in it.
//!
//! A slot is its type's from the call that makes the type to the one that frees it. MPI has no call use a type while
//! another thread makes or frees it: so a slot is taken by one exchange, and the rest is loads and stores.

use std::hash::BuildHasherDefault;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::base::hash::FastMap;
use crate::base::lock::lock;

/// 32 KiB, of which only what is used takes memory.
const SLOTS: usize = 1024;

/// The state of a data type.
pub mod flags {
    /// The library came with it.
    pub const PREDEFINED: u32 = 1;
    /// It was made of others.
    pub const DERIVED: u32 = 2;
    /// Its size, name and set of types are there.
    pub const LOOKED_UP: u32 = 4;
    pub const COMMITTED: u32 = 8;
    /// The program has committed it, and has to free it.
    pub const TO_FREE: u32 = 16;
    /// A call of it was looked up.
    pub const USED: u32 = 32;
    /// A thread keeps something by its handle, which is to be outdated with it.
    pub const KEPT: u32 = 64;
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownType {
    /// Bytes of an element.
    pub size: u64,
    /// The code of its signature, see [`mpitrace_functions::types::code`]; 0: not known.
    pub code: u32,
    /// Bits of [`flags`].
    pub flags: u32,
    /// String reference.
    pub name: u32,
    /// The set of its type alone, see [`mpitrace_functions::types::class`].
    pub types: u16,
}

impl KnownType {
    pub fn is(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    fn words(&self) -> [u64; 3] {
        let named = u64::from(self.types) << 32 | u64::from(self.name);
        [self.size, named, u64::from(self.flags) << 32 | u64::from(self.code)]
    }
}

struct TypeTable {
    slots: [Slot; SLOTS],
    more: Mutex<FastMap<usize, KnownType>>,
    /// How many `more` has.
    others: AtomicUsize,
}

struct Slot {
    /// 0: it is no type's.
    handle: AtomicUsize,
    /// [`KnownType::words`].
    words: [AtomicU64; 3],
}

/// In [`Slot::handle`]: it is being filled. No handle is 1.
const TAKEN: usize = 1;

static TABLE: TypeTable = TypeTable::new();

/// The facts about the type with this handle; `None`: it is not known.
#[inline(always)]
pub fn find(handle: usize) -> Option<KnownType> {
    TABLE.find(handle)
}

/// From now on the handle means this type: what it meant before.
pub fn set(handle: usize, known: &KnownType) -> Option<KnownType> {
    TABLE.set(handle, known)
}

/// Stores the size, name and set of types of a known type.
pub fn describe(handle: usize, known: &KnownType) {
    TABLE.describe(handle, known);
}

/// Adds flags to a known type: those that it had. `None`: it is not known.
pub fn mark(handle: usize, flags: u32) -> Option<u32> {
    TABLE.mark(handle, flags)
}

/// Takes a type out that is being freed.
pub fn take(handle: usize) -> Option<KnownType> {
    TABLE.take(handle)
}

/// How many types have this flag.
pub fn count(flag: u32) -> usize {
    TABLE.count(flag)
}

impl TypeTable {
    const fn new() -> TypeTable {
        TypeTable {
            slots: [const { Slot { handle: AtomicUsize::new(0), words: [const { AtomicU64::new(0) }; 3] } }; SLOTS],
            more: Mutex::new(FastMap::with_hasher(BuildHasherDefault::new())),
            others: AtomicUsize::new(0),
        }
    }

    /// The slot of a handle. They differ by multiples of some power of 2.
    #[inline(always)]
    fn slot(&self, handle: usize) -> &Slot {
        &self.slots[handle.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - SLOTS.trailing_zeros())]
    }

    #[inline(always)]
    fn slot_of(&self, handle: usize) -> Option<&Slot> {
        // An empty slot is not that of 0, which a program may pass.
        Some(self.slot(handle)).filter(|slot| slot.handle.load(Ordering::Acquire) == handle && handle > TAKEN)
    }

    #[inline(always)]
    fn find(&self, handle: usize) -> Option<KnownType> {
        match self.slot_of(handle) {
            Some(slot) => Some(slot.read()),
            None => self.with_others(|more| more.get(&handle).copied()),
        }
    }

    fn set(&self, handle: usize, known: &KnownType) -> Option<KnownType> {
        let slot = self.slot(handle);
        if let Some(slot) = self.slot_of(handle) {
            let before = slot.read();
            slot.write(known);
            return Some(before);
        }
        if slot.handle.compare_exchange(0, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            let before = self.take_other(handle);
            slot.write(known);
            slot.handle.store(handle, Ordering::Release);
            return before;
        }
        let mut more = lock(&self.more);
        if more.try_reserve(1).is_err() {
            return None;
        }
        let before = more.insert(handle, *known);
        self.others.store(more.len(), Ordering::Relaxed);
        before
    }

    fn describe(&self, handle: usize, known: &KnownType) {
        match self.slot_of(handle) {
            Some(slot) => {
                let [size, named, _] = known.words();
                slot.words[0].store(size, Ordering::Relaxed);
                slot.words[1].store(named, Ordering::Relaxed);
                slot.mark(flags::LOOKED_UP);
            }
            None => self
                .with_others(|more| {
                    let KnownType { code, flags, .. } = *more.get(&handle)?;
                    more.insert(handle, KnownType { code, flags: flags | flags::LOOKED_UP, ..*known })
                })
                .map_or((), drop),
        }
    }

    fn mark(&self, handle: usize, flags: u32) -> Option<u32> {
        if let Some(slot) = self.slot_of(handle) {
            return Some(slot.mark(flags));
        }
        self.with_others(|more| {
            let known = more.get_mut(&handle)?;
            let before = known.flags;
            known.flags |= flags;
            Some(before)
        })
    }

    fn take(&self, handle: usize) -> Option<KnownType> {
        let Some(slot) = self.slot_of(handle) else { return self.take_other(handle) };
        let known = slot.read();
        slot.handle.store(0, Ordering::Release);
        Some(known)
    }

    fn take_other(&self, handle: usize) -> Option<KnownType> {
        self.with_others(|more| {
            let known = more.remove(&handle);
            self.others.store(more.len(), Ordering::Relaxed);
            known
        })
    }

    #[inline(always)]
    fn with_others<T>(&self, work: impl FnOnce(&mut FastMap<usize, KnownType>) -> Option<T>) -> Option<T> {
        if self.others.load(Ordering::Relaxed) == 0 { None } else { work(&mut lock(&self.more)) }
    }

    fn count(&self, flag: u32) -> usize {
        let slots = self.slots.iter().filter(|slot| slot.handle.load(Ordering::Acquire) > TAKEN).map(Slot::read);
        let others: Vec<KnownType> = lock(&self.more).values().copied().collect();
        slots.chain(others).filter(|known| known.is(flag)).count()
    }
}

impl Slot {
    #[inline(always)]
    fn read(&self) -> KnownType {
        // First: its flags say whether the rest is there.
        let state = self.words[2].load(Ordering::Acquire);
        let named = self.words[1].load(Ordering::Relaxed);
        KnownType {
            size: self.words[0].load(Ordering::Relaxed),
            code: state as u32,
            flags: (state >> 32) as u32,
            name: named as u32,
            types: (named >> 32) as u16,
        }
    }

    fn write(&self, known: &KnownType) {
        self.words.iter().zip(known.words()).for_each(|(word, value)| word.store(value, Ordering::Release));
    }

    fn mark(&self, flags: u32) -> u32 {
        (self.words[2].fetch_or(u64::from(flags) << 32, Ordering::AcqRel) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_handle_has_what_was_set_last_also_where_slots_are_taken() {
        let table = Box::new(TypeTable::new());
        let known = |number: usize| KnownType { size: number as u64, code: 0x40_0001, name: 7, types: 3, flags: 8 };
        // Those of MPICH, and addresses as Open MPI has them: more than there are slots.
        let handles: Vec<usize> = (0..SLOTS)
            .map(|index| 0x8c00_0000 + index)
            .chain((0..999).map(|index| 0x5555_0000_1000 + 352 * index))
            .collect();
        for turn in 0..2 {
            for (number, &handle) in handles.iter().enumerate() {
                let before = table.set(handle, &known(number + turn));
                assert_eq!(before, (turn == 1).then(|| known(number)));
            }
            assert!(handles.iter().enumerate().all(|(number, &one)| table.find(one) == Some(known(number + turn))));
        }
        assert!(table.others.load(Ordering::Relaxed) > 0);
        for &handle in &handles {
            assert_eq!(table.mark(handle, flags::USED), Some(8));
            table.describe(handle, &KnownType { size: 5, name: 9, types: 1, ..KnownType::default() });
        }
        let described = KnownType { size: 5, code: 0x40_0001, name: 9, types: 1, flags: 8 | 32 | flags::LOOKED_UP };
        assert!(handles.iter().all(|&handle| table.find(handle) == Some(described)));
        assert_eq!((table.count(flags::USED), table.count(flags::KEPT)), (handles.len(), 0));
        for &handle in handles.iter().rev() {
            assert_eq!((table.take(handle), table.take(handle)), (Some(described), None));
            assert_eq!((table.find(handle), table.mark(handle, 1)), (None, None));
        }
        assert_eq!((table.count(flags::USED), table.others.load(Ordering::Relaxed)), (0, 0));
    }

    #[test]
    fn no_type_has_the_handle_of_an_empty_slot() {
        assert!([0, TAKEN].iter().all(|&handle| find(handle).is_none() && take(handle).is_none()));
    }

    /// A type that is made in another one's place, when that is gone, moves to no second place.
    #[test]
    fn a_handle_has_one_place() {
        let table = Box::new(TypeTable::new());
        let is_neighbour = |other: &usize| *other != 2 && std::ptr::eq(table.slot(*other), table.slot(2));
        let other = (3..).find(is_neighbour).unwrap();
        let known = |size| KnownType { size, ..KnownType::default() };
        table.set(2, &known(2));
        table.set(other, &known(3));
        table.take(2);
        assert_eq!(table.find(other), Some(known(3)));
        assert_eq!(table.set(other, &known(4)), Some(known(3)));
        assert_eq!((table.take(other), table.find(other)), (Some(known(4)), None));
    }

    #[test]
    fn threads_that_make_and_free_types_at_once_find_their_own() {
        let table = Box::new(TypeTable::new());
        std::thread::scope(|scope| {
            for thread in 1..5usize {
                let table = &table;
                scope.spawn(move || {
                    for number in 0..20_000 {
                        let handle = 16 * (number % 300) + 4 * 4096 * thread;
                        let known = KnownType { size: number as u64, code: thread as u32, ..KnownType::default() };
                        assert_eq!(table.set(handle, &known), None);
                        assert_eq!(table.find(handle), Some(known));
                        assert_eq!(table.take(handle), Some(known));
                    }
                });
            }
        });
        assert_eq!(table.others.load(Ordering::Relaxed), 0);
    }
}
