//! OTF2's names of the collectives, and how many bytes a rank sends and receives in each.

use mpitrace_functions::{Function, Pattern, Size};

/// A collective operation as OTF2 knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// `OTF2_CollectiveOp`.
    pub number: u8,
    /// `OTF2_RegionRole`.
    pub role: u8,
    sizes: Sizes,
}

/// How the bytes of a trace, a benchmark's message size, become those that a rank sends and receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sizes {
    None,
    /// The root sends to all, all receive.
    FromRoot,
    /// All send, the root receives from all.
    ToRoot,
    /// Each sends to all and receives from all.
    All,
    /// To the ranks from one's own on, from those up to it.
    Prefix,
    /// To the ranks behind, from those before.
    ExclusivePrefix,
    /// The ranks' sizes differ: what this rank sends; what it receives its call does not tell.
    Own,
}

const BARRIER: u8 = 15;
const ONE_TO_ALL: u8 = 23;
const ALL_TO_ONE: u8 = 24;
const ALL_TO_ALL: u8 = 25;
const OTHER: u8 = 26;

/// The kinds of collectives that OTF2 has: the place of a name is its `OTF2_CollectiveOp`, the name without
/// `OTF2_COLLECTIVE_OP_`.
const KINDS: [&str; 17] = [
    "BARRIER",
    "BCAST",
    "GATHER",
    "GATHERV",
    "SCATTER",
    "SCATTERV",
    "ALLGATHER",
    "ALLGATHERV",
    "ALLTOALL",
    "ALLTOALLV",
    "ALLTOALLW",
    "ALLREDUCE",
    "REDUCE",
    "REDUCE_SCATTER",
    "SCAN",
    "EXSCAN",
    "REDUCE_SCATTER_BLOCK",
];

impl Collective {
    /// The collective of an MPI function, in any of its forms. `None` for a region of the program, for a function that
    /// the table lacks, and where the table names no kind of OTF2.
    pub fn new(function: &str) -> Option<Collective> {
        let function = Function::named(function)?;
        let number = KINDS.iter().position(|kind| Some(*kind) == function.otf2)?;
        let role = match (function.pattern, function.size) {
            (Pattern::AllToAll, Size::Nothing) => BARRIER,
            (Pattern::AllToAll | Pattern::Neighbourhood | Pattern::UsuallyAllToAll, _) => ALL_TO_ALL,
            (Pattern::OneToAll, _) => ONE_TO_ALL,
            (Pattern::AllToOne, _) => ALL_TO_ONE,
            (Pattern::Prefix | Pattern::ExclusivePrefix | Pattern::None, _) => OTHER,
        };
        let sizes = match (function.size, function.pattern) {
            (Size::Nothing, _) => Sizes::None,
            (Size::Contributed | Size::Received | Size::Sum, _) => Sizes::Own,
            (Size::Block, Pattern::AllToAll) => Sizes::All,
            (Size::Block, Pattern::OneToAll) => Sizes::FromRoot,
            (Size::Block, Pattern::AllToOne) => Sizes::ToRoot,
            (Size::Block, Pattern::Prefix) => Sizes::Prefix,
            (Size::Block, Pattern::ExclusivePrefix) => Sizes::ExclusivePrefix,
            // The neighbours are fewer than the ranks, and how many a call does not tell.
            (Size::Block, Pattern::Neighbourhood | Pattern::UsuallyAllToAll | Pattern::None) => Sizes::Own,
        };
        Some(Collective { number: number as u8, role, sizes })
    }

    /// Bytes that the `rank`-th of `size` ranks sends and receives; `bytes` as the trace has them.
    pub fn sizes(self, bytes: u64, size: u64, rank: u64, is_root: bool) -> (u64, u64) {
        let times = |ranks: u64| bytes.saturating_mul(ranks);
        let root = if is_root { times(size) } else { 0 };
        match self.sizes {
            Sizes::None => (0, 0),
            Sizes::FromRoot => (root, bytes),
            Sizes::ToRoot => (bytes, root),
            Sizes::All => (times(size), times(size)),
            Sizes::Prefix => (times(size.saturating_sub(rank)), times(rank + 1)),
            Sizes::ExclusivePrefix => (times(size.saturating_sub(rank + 1)), times(rank)),
            Sizes::Own => (bytes, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_a_collective_are_the_same() {
        for function in ["MPI_Allreduce", "MPI_Iallreduce", "MPI_Allreduce_init"] {
            assert_eq!(Collective::new(function).map(|found| found.number), Some(11), "{function}");
        }
        assert_eq!(Collective::new("MPI_Ineighbor_alltoallw").map(|found| found.number), Some(10));
        assert_eq!(Collective::new("allreduce"), None, "a region of that name");
    }

    #[test]
    fn every_kind_that_the_table_names_is_one_of_otf2() {
        for function in Function::all().filter(|function| function.otf2.is_some()) {
            assert!(Collective::new(function.name).is_some(), "{}: {:?}", function.name, function.otf2);
        }
    }

    /// As they were spelled here before the table had them: number, role and sizes.
    #[test]
    fn each_collective_has_its_number_role_and_sizes() {
        let expected = [
            ("barrier", (0, BARRIER, Sizes::None)),
            ("bcast", (1, ONE_TO_ALL, Sizes::FromRoot)),
            ("gather", (2, ALL_TO_ONE, Sizes::ToRoot)),
            ("gatherv", (3, ALL_TO_ONE, Sizes::Own)),
            ("scatter", (4, ONE_TO_ALL, Sizes::FromRoot)),
            ("scatterv", (5, ONE_TO_ALL, Sizes::Own)),
            ("allgather", (6, ALL_TO_ALL, Sizes::All)),
            ("allgatherv", (7, ALL_TO_ALL, Sizes::Own)),
            ("alltoall", (8, ALL_TO_ALL, Sizes::All)),
            ("alltoallv", (9, ALL_TO_ALL, Sizes::Own)),
            ("alltoallw", (10, ALL_TO_ALL, Sizes::Own)),
            ("allreduce", (11, ALL_TO_ALL, Sizes::All)),
            ("reduce", (12, ALL_TO_ONE, Sizes::ToRoot)),
            ("reduce_scatter", (13, ALL_TO_ALL, Sizes::Own)),
            ("scan", (14, OTHER, Sizes::Prefix)),
            ("exscan", (15, OTHER, Sizes::ExclusivePrefix)),
            ("reduce_scatter_block", (16, ALL_TO_ALL, Sizes::All)),
            ("neighbor_allgather", (6, ALL_TO_ALL, Sizes::Own)),
            ("neighbor_alltoallw", (10, ALL_TO_ALL, Sizes::Own)),
        ];
        for (name, (number, role, sizes)) in expected {
            let function = format!("MPI_I{name}");
            assert_eq!(Collective::new(&function), Some(Collective { number, role, sizes }), "{function}");
        }
    }

    #[test]
    fn the_root_sends_to_all_and_the_others_receive() {
        let of = |function| Collective::new(function).unwrap();
        let bcast = of("MPI_Bcast");
        assert_eq!([true, false].map(|is_root| bcast.sizes(8, 4, 1, is_root)), [(32, 8), (0, 8)]);
        assert_eq!(of("MPI_Scan").sizes(8, 4, 1, false), (24, 16));
        assert_eq!(of("MPI_Exscan").sizes(8, 4, 0, false), (24, 0));
    }
}
