//! The identities of the operations of a run, and of what is no operation.

use mpitrace_changes::{Identity, Place, numbered};
use mpitrace_words::description::Description;

/// Rows that are no operation: the whole run, the calls of all operations, and the geometric mean of these.
pub const JOB: &str = "job";
pub const MPI: &str = "MPI";
pub const COLLECTIVES: &str = "collectives";
pub const OPERATIONS: &str = "operations";

/// The identities of the operations of a run, in their order, each with the place in the program that calls it.
pub fn all(operations: &[Description], place: impl Fn(usize) -> Option<Place>) -> Vec<Identity> {
    let identity = |(number, description): (usize, &Description)| Identity {
        function: description.function.clone(),
        bytes: description.bytes,
        ranks: description.ranks,
        root: description.root,
        communicator: description.communicator.clone(),
        datatype: description.datatype.clone(),
        reduction: description.reduction.clone(),
        place: place(number),
        ..Identity::default()
    };
    numbered(operations.iter().enumerate().map(identity).collect())
}
