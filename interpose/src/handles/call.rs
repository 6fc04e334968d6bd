//! A call as its wrapper sees it: the arguments that make its operation, and what is compared between its ranks.

use std::hash::{Hash, Hasher};

use mpitrace_format::layout::unknown;
use mpitrace_functions::Function;

use crate::call_sites::call_site;

/// The arguments that the program passed, as far as they make the operation. Two calls with the same key and with no
/// handle freed in between belong to the same operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The function that was called.
    pub function: Declared,
    /// Handle of the communicator, as [`crate::operation::handle`] has it.
    pub communicator: usize,
    /// Handle of the data type; 0: the function has none, or one for each peer.
    pub datatype: usize,
    /// Handle of the reduction; 0: the function has none.
    pub reduction: usize,
    /// Elements of `datatype`; where there is one for each peer a hash of all that makes the size.
    pub count: u64,
    /// The root as it was passed; [`mpitrace_format::layout::NO_ROOT`]: the function has none.
    pub root: i32,
    /// The place in the program that makes the call.
    pub site: call_site::Number,
}

/// A function of the table, compared by its address.
#[derive(Clone, Copy, Debug)]
pub struct Declared(pub &'static Function);

impl Declared {
    #[inline(always)]
    pub(super) fn address(self) -> usize {
        std::ptr::from_ref(self.0).addr()
    }
}

impl PartialEq for Declared {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Declared {}

impl Hash for Declared {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.address());
    }
}

/// A call as its wrapper sees it.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub key: Key,
    /// True if `key` is all that there is to know: false where the communicator had to be known and was not.
    pub known: bool,
    /// True if MPI may be asked about its handles when it has returned: not where it frees its communicator.
    pub asks: bool,
    /// Where each peer has a data type of its own (`MPI_Alltoallw`).
    pub by_peer: Option<ByPeer>,
    /// This rank's share of the communicator's sums; none where amounts are compared in another way.
    pub amounts: Share,
}

/// A rank's share of the sums of a communicator by which is found whether amounts and types fit
/// ([`mpitrace_format::amounts`]).
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    pub amounts: u32,
    pub types: u16,
    /// Bits of `mpitrace_format::layout::unknown`.
    pub unknown: u16,
}

impl From<u32> for Share {
    fn from(amounts: u32) -> Share {
        Share { amounts, ..Share::default() }
    }
}

/// The share of a call whose amounts are not all known.
pub const UNKNOWN_AMOUNTS: Share = Share { amounts: 0, types: 0, unknown: unknown::AMOUNTS };

/// Counts and data types, one for each peer, in the program's memory.
#[derive(Clone, Copy, Debug)]
pub struct ByPeer {
    pub counts: usize,
    pub datatypes: usize,
    pub peers: usize,
    /// True if counts are MPI_Count rather than int.
    pub large: bool,
}
