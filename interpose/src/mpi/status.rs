//! Statuses: the program's own, or private ones where it wants none and a message's size has to be known.

use crate::base::program;
use crate::mpi::{self, abi};

/// The statuses that a call is given.
pub struct Statuses {
    address: usize,
    /// In place of MPI_STATUS_IGNORE.
    _private: Vec<u64>,
}

impl Statuses {
    /// The `count` statuses that the program passes at `given`; private ones if it wants none and they are `wanted`.
    /// `None`: there is no memory for those.
    pub fn for_call(given: usize, count: usize, wanted: bool) -> Option<Statuses> {
        let abi = abi::get();
        if !wanted || given != abi.status_ignore {
            return Some(Statuses::given(given));
        }
        let words = (count * abi.status_size).div_ceil(size_of::<u64>()).max(1);
        let mut private = Vec::new();
        private.try_reserve_exact(words).ok()?;
        private.resize(words, 0u64);
        Some(Statuses { address: private.as_mut_ptr().expose_provenance(), _private: private })
    }

    /// Those that the program passes.
    pub fn given(given: usize) -> Statuses {
        Statuses { address: given, _private: Vec::new() }
    }

    /// The address that the call is given.
    pub fn address(&self) -> usize {
        self.address
    }

    /// The address of the `index`-th one.
    pub fn address_of(&self, index: usize) -> usize {
        self.address + index * abi::get().status_size
    }
}

/// The bytes of the message that a receive has got, by the address of the status that the call has set; `None` where it
/// got none: cancelled, or from MPI_PROC_NULL.
pub fn bytes_of(status: usize) -> Option<u64> {
    if program::int(status + abi::get().status_source) == abi::get().proc_null {
        return None;
    }
    mpi::message_bytes(status)
}
