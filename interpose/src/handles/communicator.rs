//! The knowledge that this rank has of a communicator, and the identity that all its ranks derive alike.

use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use mpitrace_format::amounts;
use mpitrace_format::layout::{CommunicatorEntry, communicator_flags};

use crate::base::entry::Entry;

/// A communicator that this rank has met. Never freed, since other threads may still look at one that the program
/// freed; but what held it holds another one later ([`crate::operation::bounds`]), so all of it is atomic.
#[derive(Debug)]
pub struct Communicator {
    number: AtomicU32,
    /// Where its calls are counted: in the trace buffer's table, or in `unlisted`.
    entry: AtomicPtr<CommunicatorEntry>,
    /// For as long as it has no entry in the table of its own.
    unlisted: Entry<CommunicatorEntry>,
    /// The words of a [`Group`].
    group: [AtomicU64; Group::WORDS],
    key: [AtomicU64; 2],
    is: AtomicU32,
    children: AtomicU64,
    persistent: AtomicU64,
}

mod is {
    /// It has no entry of its own in the table.
    pub const FOLDED: u32 = 1;
    /// MPI_COMM_WORLD and MPI_COMM_SELF, which are never freed.
    pub const PREDEFINED: u32 = 2;
    /// MPI has been asked about it.
    pub const IDENTIFIED: u32 = 4;
    pub const CALLED: u32 = 8;
}

/// The facts that are known of a communicator's ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Group {
    pub rank: u32,
    pub size: u32,
    /// Ranks in the remote group; 0: an intracommunicator.
    pub remote: u32,
    /// Neighbours that this rank sends to in the communicator's topology.
    pub destinations: u32,
    /// Its neighbours. `None`: no topology, or they are not known.
    pub neighbours: Option<&'static Neighbours>,
    /// Ranks of both groups that are of this world: a spawned one writes a trace of its own.
    pub here: u32,
    /// World rank of the first member, the lower one of both groups; u64::MAX: of another world.
    pub leader: u64,
    /// The local group of an intercommunicator is the one of that member.
    pub is_first: bool,
}

/// The neighbours of a rank in a topology by their weights in sums ([`mpitrace_format::amounts`]), in the order of
/// their blocks; 0 where there is none (MPI_PROC_NULL). Several edges between two ranks weigh the same: their sum
/// counts.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Neighbours {
    /// The ranks that it receives from, as senders.
    pub sources: Box<[u32]>,
    /// The ranks that it sends to, as receivers.
    pub destinations: Box<[u32]>,
}

impl Neighbours {
    pub fn new([sources, destinations]: [Vec<c_int>; 2]) -> Neighbours {
        let weights = |ranks: Vec<c_int>, weight: fn(u32) -> u32| {
            ranks.into_iter().map(|rank| u32::try_from(rank).map_or(0, weight)).collect()
        };
        Neighbours {
            sources: weights(sources, amounts::sender),
            destinations: weights(destinations, amounts::receiver),
        }
    }
}

impl Group {
    const WORDS: usize = 8;

    fn to_words(self) -> [u64; Group::WORDS] {
        let Group { rank, size, remote, destinations, here, leader, is_first, .. } = self;
        let neighbours = self.neighbours.map_or(0, |neighbours| std::ptr::from_ref(neighbours).expose_provenance());
        let [rank, size, remote, destinations, here] = [rank, size, remote, destinations, here].map(u64::from);
        [rank, size, remote, destinations, here, leader, is_first.into(), neighbours as u64]
    }

    /// Its [`CommunicatorEntry::flags`].
    pub fn flags(&self) -> u32 {
        let outside = if self.here < self.size + self.remote { communicator_flags::OUTSIDE } else { 0 };
        outside
            | match (self.remote, self.is_first) {
                (0, _) => 0,
                (_, false) => communicator_flags::INTER,
                (_, true) => communicator_flags::INTER | communicator_flags::FIRST,
            }
    }
}

impl Communicator {
    /// Makes a communicator that lasts, to be set before it is used.
    pub fn leak() -> &'static Communicator {
        let unlisted = Entry::unlisted(CommunicatorEntry::default());
        Box::leak(Box::new(Communicator {
            number: AtomicU32::new(0),
            entry: AtomicPtr::new(unlisted.as_ptr()),
            unlisted,
            group: [const { AtomicU64::new(0) }; _],
            key: [const { AtomicU64::new(0) }; _],
            is: AtomicU32::new(0),
            children: AtomicU64::new(0),
            persistent: AtomicU64::new(0),
        }))
    }

    /// Becomes a communicator that was made now and that MPI need not be asked about. Its entry is set apart.
    pub fn renew(&self, key: [u64; 2], group: &Group, predefined: bool) {
        self.is.store(if predefined { is::PREDEFINED } else { 0 }, Ordering::Relaxed);
        self.children.store(0, Ordering::Relaxed);
        self.persistent.store(0, Ordering::Relaxed);
        self.identify(key, group);
    }

    /// MPI has said this of it.
    pub fn identify(&self, key: [u64; 2], group: &Group) {
        let places = self.group.iter().chain(&self.key);
        places
            .zip(group.to_words().into_iter().chain(key))
            .for_each(|(place, word)| place.store(word, Ordering::Relaxed));
        self.is.fetch_or(is::IDENTIFIED, Ordering::Release);
    }

    /// Has this entry of the table from now on.
    pub fn set_listed(&self, number: u32, entry: Entry<CommunicatorEntry>) {
        self.number.store(number, Ordering::Relaxed);
        self.entry.store(entry.as_ptr(), Ordering::Relaxed);
        self.is.fetch_and(!is::FOLDED, Ordering::Relaxed);
    }

    /// Counts its calls apart from the table, of which the entry with this number stands for many such.
    pub fn set_folded(&self, number: u32, entry: CommunicatorEntry) {
        self.unlisted.write(entry);
        self.set_listed(number, self.unlisted);
        self.is.fetch_or(is::FOLDED, Ordering::Relaxed);
    }

    pub fn number(&self) -> u32 {
        self.number.load(Ordering::Relaxed)
    }

    pub fn entry(&self) -> Entry<CommunicatorEntry> {
        // SAFETY: the place of an entry, which lasts: only `leak` and `set_listed` store it.
        unsafe { Entry::new(self.entry.load(Ordering::Relaxed)) }
    }

    fn is(&self, what: u32) -> bool {
        self.is.load(Ordering::Acquire) & what != 0
    }

    pub fn is_folded(&self) -> bool {
        self.is(is::FOLDED)
    }

    pub fn set_called(&self) {
        self.is.fetch_or(is::CALLED, Ordering::Relaxed);
    }

    pub fn is_called(&self) -> bool {
        self.is(is::CALLED)
    }

    /// One of the first words of [`Group::to_words`].
    #[inline(always)]
    fn of_group(&self, place: usize) -> u32 {
        self.group[place].load(Ordering::Relaxed) as u32
    }

    /// Its ranks, which are also those of a duplicate.
    pub fn group(&self) -> Group {
        let [rank, size, remote, destinations, here, leader, is_first, _] =
            self.group.each_ref().map(|word| word.load(Ordering::Relaxed));
        let [rank, size, remote, destinations, here] = [rank, size, remote, destinations, here].map(|word| word as u32);
        let neighbours = self.neighbours();
        Group { rank, size, remote, destinations, neighbours, here, leader, is_first: is_first != 0 }
    }

    #[inline(always)]
    pub fn neighbours(&self) -> Option<&'static Neighbours> {
        let address = self.group[Group::WORDS - 1].load(Ordering::Relaxed) as usize;
        // SAFETY: null, or of a reference that lasts: only `identify` stores it.
        unsafe { std::ptr::with_exposed_provenance::<Neighbours>(address).as_ref() }
    }

    #[inline(always)]
    pub fn rank(&self) -> u32 {
        self.of_group(0)
    }

    #[inline(always)]
    pub fn size(&self) -> u32 {
        self.of_group(1)
    }

    /// The key that all of its ranks share, and no other communicator.
    pub fn key(&self) -> [u64; 2] {
        self.key.each_ref().map(|word| word.load(Ordering::Relaxed))
    }

    /// True if all its ranks are of this world. Then so are those of what is made from it.
    pub fn is_all_here(&self) -> bool {
        let Group { here, size, remote, .. } = self.group();
        here == size + remote
    }

    /// The number of a communicator that is made from it now.
    pub fn next_child(&self) -> u64 {
        self.children.fetch_add(1, Ordering::Relaxed)
    }

    #[inline(always)]
    pub fn is_inter(&self) -> bool {
        self.of_group(2) > 0
    }

    /// The ranks that a call exchanges blocks with.
    #[inline(always)]
    pub fn peers(&self) -> usize {
        self.of_group(if self.is_inter() { 2 } else { 1 }) as usize
    }

    #[inline(always)]
    pub fn destinations(&self) -> usize {
        self.of_group(3) as usize
    }

    /// The number of a persistent collective that is made on it now. Making them is ordered, as all collective calls
    /// are.
    pub fn next_persistent(&self) -> u64 {
        self.persistent.fetch_add(1, Ordering::Relaxed)
    }

    pub fn is_predefined(&self) -> bool {
        self.is(is::PREDEFINED)
    }

    pub fn set_unidentified(&self) {
        self.is.fetch_and(!is::IDENTIFIED, Ordering::Relaxed);
    }

    pub fn is_identified(&self) -> bool {
        self.is(is::IDENTIFIED)
    }
}
