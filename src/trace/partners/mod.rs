//! The world ranks behind partners: a rank stores the index of a communicator among its own and the rank in it.

use mpitrace_format::layout::{communicator_flags as flags, partner};
use serde::{Deserialize, Serialize};

use crate::operations::Operations;
use crate::reader::Trace;

/// The world ranks of the ranks of all communicators of a trace.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// # mpitrace_testing::synthetic::write_example(&path)?;
/// use mpitrace_format::layout::partner;
/// use mpitrace_trace::{operations::Operations, partners::Partners, reader::Trace};
///
/// let trace = Trace::open(&[path])?;
/// let partners = Partners::new(&trace, &Operations::new(&trace));
/// // Rank 1 of the first communicator that rank 0 has: MPI_COMM_WORLD.
/// let stored = partner::known(0, 1);
/// assert_eq!(partners.world_rank(0, stored), Some(1));
/// assert_eq!(partners.member(0, stored).map(|member| member.rank), Some(1));
/// assert_eq!((partners.communicator(0, 0), partners.communicator(0, 9)), (Some(0), None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Partners {
    /// By communicator.
    communicators: Vec<Option<Groups>>,
    /// For each part and each of its entries: the communicator, and in which group of it partners are.
    entries: Vec<Vec<(usize, bool)>>,
}

/// A place in a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub struct Member {
    /// The member is in the group of an intercommunicator whose first rank has the lower rank of the world.
    pub is_first: bool,
    /// The rank in the communicator, or in that group.
    pub rank: u32,
}

/// Ranks with the world ranks of those that the trace has, in order: of a communicator, and of the first group of an
/// intercommunicator.
type Groups = [Vec<(u32, u32)>; 2];

impl Partners {
    /// The partners of a trace with these operations.
    pub fn new(trace: &Trace, operations: &Operations) -> Partners {
        let mut entries: Vec<Vec<(usize, bool)>> =
            trace.parts.iter().map(|part| vec![(0, false); part.communicators().len()]).collect();
        let communicators = operations.communicators.iter().map(|communicator| {
            let mut groups = Groups::default();
            let mut is_known = !communicator.folded;
            for &(part, index) in &communicator.members {
                let entry = trace.parts[part].communicators()[index];
                let is_first = entry.flags & flags::FIRST != 0;
                // Of an intercommunicator in the other one, which may be of another world.
                let is_inter = entry.flags & flags::INTER != 0;
                entries[part][index] = (communicator.id, is_inter != is_first);
                is_known &= entry.flags & flags::IDENTIFIED != 0;
                groups[usize::from(is_first)].push((entry.rank, trace.parts[part].rank()));
            }
            groups.iter_mut().for_each(|group| group.sort_unstable());
            is_known.then_some(groups)
        });
        Partners { communicators: communicators.collect(), entries }
    }

    /// The world rank of a partner that the rank of this part has stored (one of [`partner`]); `None`: it is not one
    /// rank, or the trace does not say which.
    pub fn world_rank(&self, part: usize, partner: u64) -> Option<u32> {
        let (index, rank) = partner::place(partner)?;
        let &(communicator, other_group) = self.entries.get(part)?.get(index as usize)?;
        let group = &self.communicators[communicator].as_ref()?[usize::from(other_group)];
        let first = group.partition_point(|(other, _)| *other < rank);
        match group[first..] {
            [(found, world_rank), ..] if found == rank && group.get(first + 1).is_none_or(|next| next.0 != rank) => {
                Some(world_rank)
            }
            _ => None,
        }
    }

    /// The place of a partner in its communicator, where that is one place.
    pub fn member(&self, part: usize, partner: u64) -> Option<Member> {
        let (index, rank) = partner::place(partner)?;
        let &(communicator, is_first) = self.entries.get(part)?.get(index as usize)?;
        self.communicators[communicator].as_ref().map(|_| Member { is_first, rank })
    }

    /// The communicator with this index among those of the rank of a part, by [`crate::operations::Communicator::id`].
    pub fn communicator(&self, part: usize, index: u32) -> Option<usize> {
        Some(self.entries.get(part)?.get(index as usize)?.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::synthetic::{self, SyntheticRank};

    /// Four ranks: the world, its ranks in reverse order, one of ranks 1 and 3, an intercommunicator of ranks {2, 0}
    /// and {1, 3}, one with another world, one that was never identified, and the folded one.
    #[test]
    fn a_rank_of_a_communicator_is_a_rank_of_the_world_where_the_trace_says_which() {
        let mut ranks: Vec<SyntheticRank> = (0..4).map(|rank| SyntheticRank::new(rank, 4)).collect();
        let mut indices = Vec::new();
        for (world, rank) in (0..4).zip(&mut ranks) {
            let reversed = rank.communicator(7, 4, 3 - world, None);
            let odd = (world % 2 == 1).then(|| rank.communicator(8, 2, world / 2, None));
            let both = rank.communicator(9, 4, [1, 0, 0, 1][world as usize], None);
            rank.flag_communicator(both, flags::INTER | if world % 2 == 0 { flags::FIRST } else { 0 });
            let spawned = rank.communicator(10, 4, world, None);
            rank.flag_communicator(spawned, flags::INTER);
            let unknown = rank.communicator(11, 0, 0, None);
            rank.unidentify(unknown);
            let folded = rank.folded_communicator();
            indices.push([Some(0), Some(reversed), odd, Some(both), Some(spawned), Some(unknown), Some(folded)]);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("partners.mpitrace");
        let found = |ranks: &[SyntheticRank]| {
            synthetic::write(&path, ranks).unwrap();
            let trace = Trace::open(&[&path]).unwrap();
            Partners::new(&trace, &Operations::new(&trace))
        };
        let partners = found(&ranks);
        let world_ranks = |part: usize, kind: usize| {
            let index = indices[part][kind].unwrap();
            [0, 1, 2, 3, 4].map(|rank| partners.world_rank(part, partner::known(index, rank)))
        };
        assert_eq!(world_ranks(2, 0), [Some(0), Some(1), Some(2), Some(3), None]);
        assert_eq!(world_ranks(2, 1), [Some(3), Some(2), Some(1), Some(0), None]);
        assert_eq!(world_ranks(3, 2), [Some(1), Some(3), None, None, None]);
        assert_eq!(world_ranks(0, 3), [Some(1), Some(3), None, None, None], "the other group");
        assert_eq!(world_ranks(3, 3), [Some(2), Some(0), None, None, None]);
        for kind in 4..7 {
            assert_eq!(world_ranks(1, kind), [None; 5], "{kind}");
        }
        let others = [partner::NONE, partner::UNKNOWN, partner::SEVERAL, partner::any(0), partner::known(99, 0)];
        assert_eq!(others.map(|partner| partners.world_rank(0, partner)), [None; 5]);
        assert_eq!(partners.world_rank(9, partner::known(0, 0)), None);
        // A rank whose part is lost, and two that say that they are the same one.
        ranks.remove(2);
        let twice = ranks[1].communicator(12, 3, 0, None);
        let again = ranks[0].communicator(12, 3, 0, None);
        let partners = found(&ranks);
        assert_eq!([1, 2, 3].map(|rank| partners.world_rank(0, partner::known(0, rank))), [Some(1), None, Some(3)]);
        assert_eq!(partners.world_rank(1, partner::known(twice, 0)), None);
        assert_eq!(partners.world_rank(0, partner::known(again, 0)), None);
    }
}
