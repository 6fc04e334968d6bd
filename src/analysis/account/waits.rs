//! For which rank a call makes a rank wait, by the function's pattern.
//!
//! The patterns of Scalasca (Boehme et al. 2016; its documentation calls them Wait at NxN, Wait at Barrier, Late
//! Broadcast, Early Reduce and Early Scan): of an all-to-all operation every rank waits for the last one to enter; of a
//! one-to-all operation every rank waits for the root; of an all-to-one operation the root waits for the last of the
//! others; of a prefix operation every rank waits for the last of the lower ranks. Of what makes communicators, windows
//! and files, and of collective file access, no rank has to wait, and most libraries make all of them wait for the
//! last: a rank that left after that one's entry counts as having waited, one that left before it does not.

use mpitrace_functions::{Function, Pattern};
use mpitrace_trace::operations::Operation;

use super::member::Call;

/// Which ranks wait for which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// All for the last.
    All,
    /// All for the last, as far as a rank has not left before.
    MostlyAll,
    /// All for the root, with this place among the members.
    Root(usize),
    /// The root, with this index, for the last of the other ranks.
    AtRoot(usize),
    /// Each for the last before it.
    Lower,
}

impl Order {
    /// The order of an operation whose root has this place among the members. `None`: as of a function; a region of the
    /// program waits for nothing, whatever its name is.
    pub fn of_operation(operation: &Operation, root: Option<usize>) -> Option<Order> {
        if operation.key.is_region { None } else { Order::of_function(&operation.key.function, root) }
    }

    /// The order of a function whose root has this place among the members, if it has one. `None`: it is not
    /// known which ranks wait for which.
    pub fn of_function(function: &str, root: Option<usize>) -> Option<Order> {
        match Function::named(function)?.pattern {
            Pattern::AllToAll => Some(Order::All),
            Pattern::UsuallyAllToAll => Some(Order::MostlyAll),
            Pattern::OneToAll => root.map(Order::Root),
            Pattern::AllToOne => root.map(Order::AtRoot),
            Pattern::Prefix | Pattern::ExclusivePrefix => Some(Order::Lower),
            // The topology is not recorded.
            Pattern::Neighbourhood | Pattern::None => None,
        }
    }

    /// The waiting of a call for the rank that entered at `entry`, ns; 0 where it is below the error of the two clocks.
    pub fn wait(self, call: &Call, entry: f64, error: f64) -> f64 {
        let until = entry - call.waits_from;
        let left_before = self == Order::MostlyAll && until > call.may_wait + error;
        let wait = until.min(call.may_wait);
        if wait > error && !left_before { wait } else { 0.0 }
    }

    /// For each member the one that it waits for, and that one's entry; out of the entries of all, in the order of
    /// their ranks in the communicator. Itself: for none.
    pub fn awaited(self, entries: &[f64], awaited: &mut Vec<(usize, f64)>) {
        awaited.clear();
        let itself = |member: usize| (member, entries[member]);
        // The last of equal ones.
        let last_but = |but: usize| {
            let mut last = None;
            for (member, &entry) in entries.iter().enumerate().filter(|(member, _)| *member != but) {
                if last.is_none_or(|(_, latest)| entry >= latest) {
                    last = Some((member, entry));
                }
            }
            last
        };
        match self {
            Order::All | Order::MostlyAll => {
                if let Some(last) = last_but(usize::MAX) {
                    awaited.resize(entries.len(), last);
                }
            }
            Order::Root(root) => awaited.extend((0..entries.len()).map(|_| itself(root))),
            Order::AtRoot(root) => {
                awaited.extend((0..entries.len()).map(itself));
                awaited[root] = last_but(root).unwrap_or(itself(root));
            }
            Order::Lower => {
                let mut last: Option<(usize, f64)> = None;
                for (member, &entry) in entries.iter().enumerate() {
                    awaited.push(last.unwrap_or((member, entry)));
                    if last.is_none_or(|(_, latest)| entry > latest) {
                        last = Some((member, entry));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn awaited(order: Order, entries: &[f64]) -> Vec<usize> {
        let mut awaited = Vec::new();
        order.awaited(entries, &mut awaited);
        awaited.into_iter().map(|(member, _)| member).collect()
    }

    #[test]
    fn the_pattern_decides_for_whom_a_rank_waits() {
        let entries = [30.0, 10.0, 40.0, 20.0];
        assert_eq!(awaited(Order::All, &entries), [2, 2, 2, 2]);
        assert_eq!(awaited(Order::Root(1), &entries), [1, 1, 1, 1]);
        assert_eq!(awaited(Order::AtRoot(1), &entries), [0, 2, 2, 3]);
        assert_eq!(awaited(Order::AtRoot(2), &entries), [0, 1, 0, 3]);
        assert_eq!(awaited(Order::Lower, &entries), [0, 0, 0, 2]);
    }

    #[test]
    fn functions_without_a_known_order_claim_nothing() {
        assert_eq!(Order::of_function("MPI_Neighbor_alltoall", None), None);
        assert_eq!(Order::of_function("MPI_Bcast", None), None, "an intercommunicator");
        assert_eq!(Order::of_function("MPI_Bcast", Some(3)), Some(Order::Root(3)));
        assert_eq!(Order::of_function("MPI_Ireduce", Some(0)), Some(Order::AtRoot(0)));
        assert_eq!(Order::of_function("MPI_Exscan", None), Some(Order::Lower));
        assert_eq!(Order::of_function("MPI_Comm_split", None), Some(Order::MostlyAll));
        assert_eq!(Order::of_function("MPI_Comm_free", None), None);
        assert_eq!(Order::of_function("a region of the program", None), None);
    }
}
