//! What this rank knows of a communicator, and the identity that all its ranks derive alike.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use mpitrace_format::layout::CommunicatorEntry;

use crate::record::entry::Entry;

/// A communicator that this rank has met. Never freed, since other threads may still look at one that the program
/// freed.
#[derive(Debug)]
pub struct Communicator {
    /// Index in the trace buffer's table.
    pub number: u32,
    /// The entry in the trace buffer's table.
    pub entry: Entry<CommunicatorEntry>,
    /// This rank's rank in its (local) group.
    pub rank: u32,
    /// Ranks in the (local) group.
    pub size: u32,
    /// Ranks in the remote group; 0: an intracommunicator.
    remote: u32,
    /// Neighbours that this rank sends to in the communicator's topology.
    destinations: u32,
    here: u32,
    leader: u64,
    key: [u64; 2],
    predefined: bool,
    identified: AtomicBool,
    /// Communicators made from this one.
    children: AtomicU64,
    /// Persistent collectives made on it.
    persistent: AtomicU64,
}

/// What is known of a communicator's ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

impl Communicator {
    /// One that lasts.
    pub fn leak(
        number: u32,
        entry: Entry<CommunicatorEntry>,
        key: [u64; 2],
        group: &Group,
        predefined: bool,
    ) -> &'static Communicator {
        Box::leak(Box::new(Communicator {
            number,
            entry,
            rank: group.rank,
            size: group.size,
            remote: group.remote,
            destinations: group.destinations,
            here: group.here,
            leader: group.leader,
            key,
            predefined,
            identified: AtomicBool::new(true),
            children: AtomicU64::new(0),
            persistent: AtomicU64::new(0),
        }))
    }

    /// The same on all its ranks, and on no other communicator.
    pub fn key(&self) -> [u64; 2] {
        self.key
    }

    /// Its ranks, which are also those of a duplicate.
    pub fn group(&self) -> Group {
        let Communicator { rank, size, remote, here, destinations, leader, .. } = *self;
        Group { rank, size, remote, here, destinations, leader }
    }

    /// Whether all its ranks are of this world. Then so are those of what is made from it.
    pub fn is_all_here(&self) -> bool {
        self.here == self.size + self.remote
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
        self.remote > 0
    }

    /// The ranks that a call exchanges blocks with.
    #[inline(always)]
    pub fn peers(&self) -> usize {
        if self.is_inter() { self.remote as usize } else { self.size as usize }
    }

    /// Neighbours that this rank sends to, where the communicator has a topology.
    #[inline(always)]
    pub fn destinations(&self) -> usize {
        self.destinations as usize
    }

    /// The number of a persistent collective that is made on it now. Making them is ordered, as all collective calls
    /// are.
    pub fn next_persistent(&self) -> u64 {
        self.persistent.fetch_add(1, Ordering::Relaxed)
    }

    /// MPI_COMM_WORLD and MPI_COMM_SELF, which are never freed.
    pub fn is_predefined(&self) -> bool {
        self.predefined
    }

    /// Itself, where MPI has been asked about it.
    pub fn identified(&'static self) -> Option<&'static Communicator> {
        self.is_identified().then_some(self)
    }

    /// Whether MPI has been asked about it.
    pub fn is_identified(&self) -> bool {
        self.identified.load(Ordering::Relaxed)
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
