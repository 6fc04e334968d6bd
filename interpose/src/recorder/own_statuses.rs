//! Statuses in place of those that the program does not want.

use std::mem::MaybeUninit;

use crate::mpi::abi;

/// As many requests of one call are told apart.
pub const KEPT: usize = 64;
/// Words of the largest status.
const STATUS_WORDS: usize = 4;

/// Room for statuses in place of those that the program does not want.
pub struct OwnStatuses([MaybeUninit<u64>; KEPT * STATUS_WORDS]);

impl OwnStatuses {
    /// Not in use yet.
    #[inline(always)]
    pub fn new() -> OwnStatuses {
        OwnStatuses([const { MaybeUninit::uninit() }; _])
    }

    /// The address of the program's statuses, or of these where it ignores them; at most [`KEPT`].
    pub fn instead_of(&mut self, given: usize, count: usize) -> usize {
        if given != abi::get().status_ignore {
            return given;
        }
        let words = (count * abi::get().status_size).div_ceil(size_of::<u64>());
        self.0[..words].fill(MaybeUninit::new(0));
        self.0.as_mut_ptr().expose_provenance()
    }
}
