//! Bounds on what is kept of communicators and operations, however many of them a program makes.
//!
//! The entries of freed communicators on which calls were made stay in the trace's table. Beyond [`RETIRED`] of them a
//! new communicator has no entry at first: its calls are counted apart, and the trace has them as calls on one folded
//! communicator, of one operation for each function and thread. One that is used more often gets an entry all the same;
//! since a communicator's calls are the same in number on all its ranks, the ranks agree on its first call there.
//!
//! Beyond [`OPERATIONS`] those of one function on one communicator are merged: the trace has no message size, root,
//! data type, reduction and place of theirs.
//!
//! Where the members make the key of a communicator ([`crate::exports::communicators`]) it is counted how often they
//! have made one in the same way. Beyond [`RECIPES`] ways those made in a new one have a key of this rank alone: their
//! calls are recorded, and not matched with those of other ranks.
//!
//! [`GIVEN`] bytes of the names that the program gives are stored, and [`NEIGHBOURS`] neighbours in topologies.

use mpitrace_format::layout::{CommunicatorEntry, NO_ROOT, UNKNOWN_BYTES, communicator_flags as flags};
use mpitrace_format::strings;

use crate::base::allocator::Held;
use crate::base::entry::Entry;
use crate::base::hash::FastMap;
use crate::base::hash::mix;
use crate::handles::call::{Call, Declared};
use crate::handles::communicator::{Communicator, Group, Neighbours};
use crate::handles::generation;
use crate::operation::registry::{self, Bounds, Description, Registry};
use crate::record::thread;

/// As many communicators that were freed after calls on them keep their entries.
const RETIRED: u64 = 2048;
/// As many calls a later one has before it gets an entry; twice as many after each further [`RETIRED`] entries.
const CALLS: u64 = 64;
/// As many freed communicators are left alone before what held them is used again: a thread that still looks at one was
/// overtaken by that many.
const SPARE: usize = 256;
/// As many operations are distinguished on a rank.
const OPERATIONS: u64 = 1 << 17;
/// As many ways in which members have made communicators are distinguished.
const RECIPES: usize = 1 << 15;
/// As many neighbours in different topologies are stored: 4 MiB. Of others no amounts are compared.
const NEIGHBOURS: usize = 1 << 20;
/// Bytes of the names of communicators and regions that are stored.
const GIVEN: u64 = 1 << 20;

impl Bounds {
    fn calls_before_entry(&self) -> u64 {
        match self.retired / RETIRED {
            0 => 0,
            times => CALLS << (times - 1).min(40),
        }
    }
}

impl Registry {
    /// A communicator that was made now, with these ranks, and with an entry where it gets one. `None`: the table is
    /// full.
    pub fn make(&mut self, entry: CommunicatorEntry, group: &Group) -> Option<&'static Communicator> {
        let listed = if self.bounds.calls_before_entry() == 0 { self.list(entry) } else { None };
        let folded = if listed.is_none() { self.folded()? } else { 0 };
        let spare = if self.bounds.spare.len() > SPARE { self.bounds.spare.pop_front() } else { None };
        let known = spare.unwrap_or_else(Communicator::leak);
        known.renew(entry.key, group, entry.flags & (flags::WORLD | flags::SELF) != 0);
        match listed {
            Some((number, place)) => known.set_listed(number, place),
            None => known.set_folded(folded, entry),
        }
        Some(known)
    }

    fn list(&mut self, entry: CommunicatorEntry) -> Option<(u32, Entry<CommunicatorEntry>)> {
        if let Some((number, place)) = self.bounds.unused.pop() {
            place.write(entry);
            return Some((number, place));
        }
        self.live.add(entry)
    }

    /// The entry for all communicators that have none of their own.
    fn folded(&mut self) -> Option<u32> {
        if self.bounds.folded.is_none() {
            let entry = CommunicatorEntry {
                key: mix(&[11, registry::world().map_or(0, |world| world.rank.into())]),
                size: 1,
                flags: flags::IDENTIFIED | flags::FOLDED,
                sync_at: u64::MAX,
                ..CommunicatorEntry::default()
            };
            self.bounds.folded = self.live.add(entry).map(|(number, _)| number);
        }
        self.bounds.folded
    }

    /// Before a call on a communicator with this handle: gives it an entry where it has none and is used often.
    pub fn list_if_used_often(&mut self, known: &Communicator, handle: usize) {
        if known.is_folded()
            && known.is_identified()
            && known.entry().calls() >= self.bounds.calls_before_entry()
            && let Some((number, place)) = self.list(known.entry().read())
        {
            known.set_listed(number, place);
            generation::outdate(handle);
        }
    }

    /// The program has freed a communicator, which is not among the known ones any more.
    pub fn retire(&mut self, known: &'static Communicator) {
        if !known.is_folded() {
            match known.is_called() {
                true => self.bounds.retired += 1,
                false if self.bounds.unused.try_reserve(1).is_err() => {}
                false => self.bounds.unused.push((known.number(), known.entry())),
            }
        }
        if self.bounds.spare.try_reserve(1).is_ok() {
            self.bounds.spare.push_back(known);
        }
        let tables = 128 * (self.operations.capacity() + self.communicators.capacity()) as u64;
        if self.operations.len() >= self.bounds.forget_at
            && let Some(_held) = Held::bytes(tables)
        {
            let here: FastMap<u32, ()> = self.communicators.values().map(|known| (known.number(), ())).collect();
            self.operations.retain(|description, _| here.contains_key(&description.communicator));
            self.operations.shrink_to_fit();
            self.bounds.forget_at = 2 * self.operations.len() + 512;
        }
    }

    /// The key of a communicator that its members have made in this way: the same on all ranks, unless there are too
    /// many ways.
    pub fn next_key(&mut self, recipe: [u64; 2]) -> [u64; 2] {
        let has_room = self.recipes.len() < RECIPES && self.recipes.try_reserve(1).is_ok();
        if !has_room && !self.recipes.contains_key(&recipe) {
            self.bounds.unmatched += 1;
            return mix(&[12, registry::world().map_or(0, |world| world.rank.into()), self.bounds.unmatched]);
        }
        let made = self.recipes.entry(recipe).or_insert(0);
        let nth = *made;
        *made += 1;
        mix(&[8, recipe[0], recipe[1], nth])
    }

    /// The reference of a name that the program gives; `None` where there is no room for another.
    pub fn given_name(&mut self, name: &str) -> Option<u32> {
        if let Some(&known) = self.strings.get(name) {
            return Some(known);
        }
        let given = self.bounds.given + strings::space(name.len());
        if given > GIVEN {
            return None;
        }
        self.bounds.given = given;
        Some(self.string(name)).filter(|&reference| reference != 0)
    }

    /// Neighbours that stay: other communicators, and threads that look at freed ones, may have the same ones.
    pub fn lasting(&mut self, neighbours: Neighbours) -> Option<&'static Neighbours> {
        if let Some(known) = self.neighbours.get(&neighbours) {
            return Some(known);
        }
        // What a table and two empty arrays take, too.
        let stored = self.bounds.neighbours + neighbours.sources.len() + neighbours.destinations.len() + 16;
        if stored > NEIGHBOURS || self.neighbours.try_reserve(1).is_err() {
            return None;
        }
        self.bounds.neighbours = stored;
        let neighbours = Box::leak(Box::new(neighbours));
        self.neighbours.insert(neighbours);
        Some(neighbours)
    }

    /// The number of the operation that a call with this size belongs to.
    pub fn operation(&mut self, known: &Communicator, call: &Call, size: (u64, u32)) -> Option<u32> {
        let function = call.key.function;
        if known.is_folded() {
            let thread = thread::current()?.index();
            if let Some(&number) = self.bounds.folded_operations.get(&(function, thread)) {
                return Some(number);
            }
            self.bounds.folded_operations.try_reserve(1).ok()?;
            let number = self.add_operation(&merged(function, known.number()))?;
            self.bounds.folded_operations.insert((function, thread), number);
            return Some(number);
        }
        let mut description = self.describe(known, call, size);
        if let Some(&number) = self.operations.get(&description) {
            return Some(number);
        }
        // Half of a smaller table is left for those that are merged.
        if self.bounds.operations >= OPERATIONS.min(self.live.most_operations() / 2) {
            description = merged(function, known.number());
            if let Some(&number) = self.operations.get(&description) {
                return Some(number);
            }
        }
        self.operations.try_reserve(1).ok()?;
        let number = self.add_operation(&description)?;
        self.bounds.operations += 1;
        known.set_called();
        self.operations.insert(description, number);
        Some(number)
    }
}

fn merged(function: Declared, communicator: u32) -> Description {
    Description { function, communicator, bytes: UNKNOWN_BYTES, root: NO_ROOT, datatype: 0, reduction: 0, site: 0 }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use bytemuck::Zeroable;
    use mpitrace_format::layout::RankHeader;

    use super::*;
    use crate::record::buffer::trace_buffer::TraceBuffer;

    fn registry() -> Registry {
        let rank = RankHeader { capacity: 16, ..RankHeader::zeroed() };
        Registry::new(TraceBuffer::create(&[], "", rank, &[]).unwrap())
    }

    #[test]
    fn ways_of_making_communicators_are_bounded_and_keys_differ() {
        let mut registry = registry();
        let ways = 3 * RECIPES as u64;
        let keys: HashSet<[u64; 2]> = (0..2 * ways).map(|made| registry.next_key([made % ways, 0])).collect();
        assert_eq!((keys.len() as u64, registry.recipes.len()), (2 * ways, RECIPES));
        // Another rank that has made communicators in the first ways alone has the same keys for them.
        let mut other = self::registry();
        assert!((0..10).all(|way| keys.contains(&other.next_key([way, 0]))));
    }

    #[test]
    fn neighbours_are_bounded_and_equal_ones_are_stored_once() {
        let mut registry = registry();
        let around = |rank: i32| Neighbours::new([vec![rank; 1000], vec![rank, -1]]);
        let first = registry.lasting(around(0)).unwrap();
        assert_eq!((first.destinations[1], first.sources.len()), (0, 1000));
        assert!(std::ptr::eq(first, registry.lasting(around(0)).unwrap()));
        let stored = (0..).take_while(|&rank| registry.lasting(around(rank)).is_some()).count();
        assert_eq!(stored, NEIGHBOURS / (1002 + 16));
        assert!(std::ptr::eq(first, registry.lasting(around(0)).unwrap()), "one that is stored");
    }

    #[test]
    fn names_are_bounded_in_bytes() {
        let mut registry = registry();
        let name = |number: u64| format!("{number:060}");
        let stored = (0..).map(name).map_while(|name| registry.given_name(&name)).count() as u64;
        assert_eq!(stored, GIVEN / 64);
        assert_eq!(registry.given_name(&name(GIVEN)), None);
        assert!(registry.given_name(&name(3)).is_some(), "one that is stored");
        assert!(registry.string("MPI_Bcast") != 0, "the tracer's own texts have room left");
    }
}
