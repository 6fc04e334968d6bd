//! Statuses in place of those that the program does not want.

use std::mem::MaybeUninit;

use crate::mpi::abi;

/// So many statuses need no memory of their own, and as many requests of one call are told apart.
pub const KEPT: usize = 64;
/// Words of the largest status.
const STATUS_WORDS: usize = 4;

/// Room for statuses in place of those that the program does not want.
pub struct OwnStatuses {
    few: [MaybeUninit<u64>; KEPT * STATUS_WORDS],
    many: Vec<u64>,
}

impl OwnStatuses {
    #[inline(always)]
    pub fn new() -> OwnStatuses {
        OwnStatuses { few: [const { MaybeUninit::uninit() }; _], many: Vec::new() }
    }

    /// The address of the program's statuses, or of so many of these where it ignores them and there is memory for more
    /// than [`KEPT`].
    pub fn instead_of(&mut self, given: usize, count: usize) -> usize {
        if given != abi::get().status_ignore {
            return given;
        }
        let words = (count * abi::get().status_size).div_ceil(size_of::<u64>());
        if count <= KEPT {
            self.few[..words].fill(MaybeUninit::new(0));
            self.few.as_mut_ptr().expose_provenance()
        } else if self.many.try_reserve_exact(words).is_ok() {
            self.many.resize(words, 0);
            self.many.as_mut_ptr().expose_provenance()
        } else {
            given
        }
    }
}
