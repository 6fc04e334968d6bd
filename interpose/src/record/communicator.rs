//! What this rank knows of a communicator, and the identity that all its ranks derive alike.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use mpitrace_format::layout::{CommunicatorEntry, communicator_flags};

use crate::record::entry::Entry;

/// A communicator that this rank has met. Never freed, since other threads may still look at one that the program
/// freed; but what held it holds another one later ([`crate::identity::bounds`]), so all of it is atomic.
#[derive(Debug)]
pub struct Communicator {
    /// Index in the trace buffer's table.
    number: AtomicU32,
    /// Where its calls are counted: in the trace buffer's table, or in `unlisted`.
    entry: AtomicPtr<CommunicatorEntry>,
    /// For as long as it has no entry in the table of its own.
    unlisted: Entry<CommunicatorEntry>,
    folded: AtomicBool,
    rank: AtomicU32,
    size: AtomicU32,
    remote: AtomicU32,
    destinations: AtomicU32,
    here: AtomicU32,
    leader: AtomicU64,
    is_first: AtomicBool,
    key: [AtomicU64; 2],
    predefined: AtomicBool,
    identified: AtomicBool,
    /// The table has an operation on it.
    called: AtomicBool,
    /// Communicators made from this one.
    children: AtomicU64,
    /// Persistent collectives made on it.
    persistent: AtomicU64,
}

/// What is known of a communicator's ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// This rank's rank in its (local) group.
    pub rank: u32,
    /// Ranks in the (local) group.
    pub size: u32,
    /// Ranks in the remote group; 0: an intracommunicator.
    pub remote: u32,
    /// Ranks of both groups that are of this world: a spawned one writes a trace of its own.
    pub here: u32,
    /// Neighbours that this rank sends to in the communicator's topology.
    pub destinations: u32,
    /// World rank of the first member, the lower one of both groups; u64::MAX: of another world.
    pub leader: u64,
    /// Of an intercommunicator: the local group is the one of that member.
    pub is_first: bool,
}

impl Group {
    /// Its [`CommunicatorEntry::flags`].
    pub fn flags(&self) -> u32 {
        match (self.remote, self.is_first) {
            (0, _) => 0,
            (_, false) => communicator_flags::INTER,
            (_, true) => communicator_flags::INTER | communicator_flags::FIRST,
        }
    }
}

impl Communicator {
    /// One that lasts, to be set before it is used.
    pub fn leak() -> &'static Communicator {
        let unlisted = Entry::unlisted(CommunicatorEntry::default());
        Box::leak(Box::new(Communicator {
            number: AtomicU32::new(0),
            entry: AtomicPtr::new(unlisted.as_ptr()),
            unlisted,
            folded: AtomicBool::new(false),
            rank: AtomicU32::new(0),
            size: AtomicU32::new(0),
            remote: AtomicU32::new(0),
            destinations: AtomicU32::new(0),
            here: AtomicU32::new(0),
            leader: AtomicU64::new(0),
            is_first: AtomicBool::new(false),
            key: [AtomicU64::new(0), AtomicU64::new(0)],
            predefined: AtomicBool::new(false),
            identified: AtomicBool::new(false),
            called: AtomicBool::new(false),
            children: AtomicU64::new(0),
            persistent: AtomicU64::new(0),
        }))
    }

    /// Becomes a communicator that was made now and that MPI need not be asked about. Its entry is set apart.
    pub fn renew(&self, key: [u64; 2], group: &Group, predefined: bool) {
        self.predefined.store(predefined, Ordering::Relaxed);
        self.called.store(false, Ordering::Relaxed);
        self.children.store(0, Ordering::Relaxed);
        self.persistent.store(0, Ordering::Relaxed);
        self.identify(key, group);
    }

    /// MPI has said this of it.
    pub fn identify(&self, key: [u64; 2], group: &Group) {
        self.rank.store(group.rank, Ordering::Relaxed);
        self.size.store(group.size, Ordering::Relaxed);
        self.remote.store(group.remote, Ordering::Relaxed);
        self.destinations.store(group.destinations, Ordering::Relaxed);
        self.here.store(group.here, Ordering::Relaxed);
        self.leader.store(group.leader, Ordering::Relaxed);
        self.is_first.store(group.is_first, Ordering::Relaxed);
        self.key[0].store(key[0], Ordering::Relaxed);
        self.key[1].store(key[1], Ordering::Relaxed);
        self.identified.store(true, Ordering::Release);
    }

    /// Has this entry of the table from now on.
    pub fn set_listed(&self, number: u32, entry: Entry<CommunicatorEntry>) {
        self.number.store(number, Ordering::Relaxed);
        self.entry.store(entry.as_ptr(), Ordering::Relaxed);
        self.folded.store(false, Ordering::Relaxed);
    }

    /// Counts its calls apart from the table, of which the entry with this number stands for many such.
    pub fn set_folded(&self, number: u32, entry: CommunicatorEntry) {
        self.unlisted.write(entry);
        self.number.store(number, Ordering::Relaxed);
        self.entry.store(self.unlisted.as_ptr(), Ordering::Relaxed);
        self.folded.store(true, Ordering::Relaxed);
    }

    /// Index in the trace buffer's table.
    pub fn number(&self) -> u32 {
        self.number.load(Ordering::Relaxed)
    }

    /// Where its calls are counted.
    pub fn entry(&self) -> Entry<CommunicatorEntry> {
        // SAFETY: the place of an entry, which lasts: only `leak`, `set_listed` and `set_folded` store it.
        unsafe { Entry::at(self.entry.load(Ordering::Relaxed)) }
    }

    /// Whether it has no entry of its own in the table.
    pub fn is_folded(&self) -> bool {
        self.folded.load(Ordering::Relaxed)
    }

    /// The table has an operation on it.
    pub fn set_called(&self) {
        self.called.store(true, Ordering::Relaxed);
    }

    /// Whether the table has an operation on it.
    pub fn is_called(&self) -> bool {
        self.called.load(Ordering::Relaxed)
    }

    /// This rank's rank in its (local) group.
    #[inline(always)]
    pub fn rank(&self) -> u32 {
        self.rank.load(Ordering::Relaxed)
    }

    /// Ranks in the (local) group.
    #[inline(always)]
    pub fn size(&self) -> u32 {
        self.size.load(Ordering::Relaxed)
    }

    /// Ranks in the remote group; 0: an intracommunicator.
    #[inline(always)]
    fn remote(&self) -> u32 {
        self.remote.load(Ordering::Relaxed)
    }

    /// The same on all its ranks, and on no other communicator.
    pub fn key(&self) -> [u64; 2] {
        [self.key[0].load(Ordering::Relaxed), self.key[1].load(Ordering::Relaxed)]
    }

    /// Its ranks, which are also those of a duplicate.
    pub fn group(&self) -> Group {
        Group {
            rank: self.rank(),
            size: self.size(),
            remote: self.remote(),
            here: self.here.load(Ordering::Relaxed),
            destinations: self.destinations.load(Ordering::Relaxed),
            leader: self.leader.load(Ordering::Relaxed),
            is_first: self.is_first.load(Ordering::Relaxed),
        }
    }

    /// Whether all its ranks are of this world. Then so are those of what is made from it.
    pub fn is_all_here(&self) -> bool {
        self.group().here == self.size() + self.remote()
    }

    /// The number of a communicator that is made from it now.
    pub fn next_child(&self) -> u64 {
        self.children.fetch_add(1, Ordering::Relaxed)
    }

    /// MPI has not been asked about it yet.
    pub fn set_unidentified(&self) {
        self.identified.store(false, Ordering::Relaxed);
    }

    /// Whether it has two groups.
    #[inline(always)]
    pub fn is_inter(&self) -> bool {
        self.remote() > 0
    }

    /// The ranks that a call exchanges blocks with.
    #[inline(always)]
    pub fn peers(&self) -> usize {
        if self.is_inter() { self.remote() as usize } else { self.size() as usize }
    }

    /// Neighbours that this rank sends to, where the communicator has a topology.
    #[inline(always)]
    pub fn destinations(&self) -> usize {
        self.destinations.load(Ordering::Relaxed) as usize
    }

    /// The number of a persistent collective that is made on it now. Making them is ordered, as all collective calls
    /// are.
    pub fn next_persistent(&self) -> u64 {
        self.persistent.fetch_add(1, Ordering::Relaxed)
    }

    /// MPI_COMM_WORLD and MPI_COMM_SELF, which are never freed.
    pub fn is_predefined(&self) -> bool {
        self.predefined.load(Ordering::Relaxed)
    }

    /// Itself, where MPI has been asked about it.
    pub fn identified(&'static self) -> Option<&'static Communicator> {
        self.is_identified().then_some(self)
    }

    /// Whether MPI has been asked about it.
    pub fn is_identified(&self) -> bool {
        self.identified.load(Ordering::Acquire)
    }
}

/// A 128-bit hash, the same on all ranks of all machines.
pub fn mix(words: &[u64]) -> [u64; 2] {
    // The multipliers of splitmix64, and the fractional bits of the golden ratio and of the square root of 2 to start.
    let mut hash = [0x9e37_79b9_7f4a_7c15u64, 0x6a09_e667_f3bc_c908];
    for (lane, multiplier) in [(0, 0xbf58_476d_1ce4_e5b9u64), (1, 0x94d0_49bb_1331_11eb)] {
        for &word in words {
            let mut state = (hash[lane] ^ word).wrapping_mul(multiplier);
            state ^= state >> 31;
            hash[lane] = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
        hash[lane] ^= hash[lane] >> 32;
    }
    hash
}
