//! Which algorithm of Open MPI's tuned component is the fastest one for the operations of a program.
//!
//! [`worth`] finds the operations in a trace in which time can be saved, and how their ranks arrive; `replay.c` repeats
//! them under each algorithm, [`launches`] reads what it measured, [`decide`] tests it, and [`rules`] writes what is
//! proven into a file that the library reads. [`effect`] says what that does for the program.

pub mod decide;
pub mod effect;
pub mod launches;
pub mod rules;
pub mod worth;

/// The source of the program that replays operations.
pub const REPLAY: &str = include_str!("replay.c");

/// A collective of the tuned component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Collective {
    /// The plain C name of the function.
    pub function: &'static str,
    /// Its number in a rules file (COLLTYPE in Open MPI's coll_base_functions.h).
    pub number: u32,
    /// True if the size by which the component takes a rule is that of the blocks of all ranks.
    pub is_of_blocks: bool,
}

/// The collectives for which a rule can be written. MPI_Gather and MPI_Scatter are none of them: the component takes
/// the size from an argument that counts on some ranks only, so that ranks could take different algorithms. Nor are
/// scans and collectives with a count for each rank: the size in the rule is not that of the message.
const COLLECTIVES: [Collective; 7] = [
    Collective { function: "MPI_Allgather", number: 0, is_of_blocks: true },
    Collective { function: "MPI_Allreduce", number: 2, is_of_blocks: false },
    Collective { function: "MPI_Alltoall", number: 3, is_of_blocks: true },
    Collective { function: "MPI_Barrier", number: 6, is_of_blocks: false },
    Collective { function: "MPI_Bcast", number: 7, is_of_blocks: false },
    Collective { function: "MPI_Reduce", number: 11, is_of_blocks: false },
    Collective { function: "MPI_Reduce_scatter_block", number: 13, is_of_blocks: true },
];

impl Collective {
    /// The collective of an MPI function.
    pub fn named(function: &str) -> Option<Collective> {
        COLLECTIVES.into_iter().find(|collective| collective.function == function)
    }

    /// The size by which the component takes a rule, of a message of so many bytes.
    pub fn rule_bytes(self, bytes: u64, ranks: u32) -> u64 {
        if self.is_of_blocks { bytes * u64::from(ranks) } else { bytes }
    }
}
