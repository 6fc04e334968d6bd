//! An operation while its calls are matched.

use super::OperationKey;
use super::rows::{Numbers, Rows};

/// Where an operation comes in the numbering: the lowest rank that takes part, then that rank's first call.
pub(super) type FirstCall = (usize, u32, u64);

/// An operation with the calls that were found to belong to it.
pub(super) struct FoundOperation {
    pub(super) key: OperationKey,
    pub(super) first_call: FirstCall,
    /// The tuples that it consists of, and the position at which each was first seen.
    pub(super) tuples: Vec<(Box<[u32]>, u64)>,
    /// The repetitions that all members kept, by position; in pieces that follow each other.
    pub(super) whole: Vec<Whole>,
    /// The records of those that some lack, as many for each as there are members, with [`super::NO_RECORD`].
    pub(super) partial: Vec<u32>,
}

/// Repetitions of an operation that all members kept.
#[derive(Debug, Default)]
pub(super) struct Whole {
    pub(super) rows: Rows,
    /// Their numbers, as the first member has counted them.
    pub(super) numbers: Numbers,
    /// The rows of those from which a member did not return, ascending.
    pub(super) open: Vec<usize>,
}

impl Whole {
    pub(super) fn new(members: usize) -> Whole {
        Whole { rows: Rows::new(members), ..Whole::default() }
    }
}
