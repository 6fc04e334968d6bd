//! A set of ranks, in few bytes where they follow each other.

use serde::{Deserialize, Serialize};

/// World ranks, ascending: the first and the last of each stretch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Ranks(Vec<(u32, u32)>);

impl Ranks {
    /// One rank.
    pub fn one(rank: u32) -> Ranks {
        Ranks(vec![(rank, rank)])
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().flat_map(|&(first, last)| first..=last)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.iter().map(|(first, last)| (last - first) as usize + 1).sum()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if this one is among them.
    pub fn contains(&self, rank: u32) -> bool {
        let next = self.0.get(self.0.partition_point(|&(_, last)| last < rank));
        next.is_some_and(|&(first, _)| first <= rank)
    }

    /// The lowest one.
    pub fn first(&self) -> Option<u32> {
        Some(self.0.first()?.0)
    }

    /// Adds others, at the cost of those that lie behind the lowest of them.
    pub fn add(&mut self, others: &Ranks) {
        let Some(lowest) = others.first() else { return };
        let before = self.0.partition_point(|&(_, last)| last < lowest);
        // The stretch before may go on.
        let mut behind = self.0.split_off(before.saturating_sub(1));
        behind.extend(&others.0);
        behind.sort_unstable();
        behind.dedup_by(|next, before| {
            let goes_on = next.0 <= before.1.saturating_add(1);
            if goes_on {
                before.1 = before.1.max(next.1);
            }
            goes_on
        });
        self.0.append(&mut behind);
    }
}

impl FromIterator<u32> for Ranks {
    fn from_iter<I: IntoIterator<Item = u32>>(ranks: I) -> Ranks {
        let mut all = Ranks::default();
        ranks.into_iter().for_each(|rank| all.add(&Ranks::one(rank)));
        all
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranks_that_follow_each_other_are_one_stretch() {
        let found = |ranks: &[u32]| ranks.iter().copied().collect::<Ranks>().0;
        assert_eq!(found(&[0, 1, 2, 3, 8, 16]), [(0, 3), (8, 8), (16, 16)]);
        assert_eq!(found(&[3, 2, 1, 0, 3]), [(0, 3)]);
        assert_eq!(found(&[]), []);
        let node = |node: u32| Ranks::from_iter((0..64).map(|rank| 64 * node + rank));
        let mut all = Ranks::default();
        (0..100).rev().for_each(|number| all.add(&node(number)));
        assert_eq!((&all.0[..], all.len()), (&[(0, 6399)][..], 6400));
    }

    proptest! {
        #[test]
        fn a_union_has_all_ranks_once(sets in prop::collection::vec(prop::collection::vec(0..60u32, 0..20), 0..6)) {
            let mut all = Ranks::default();
            for set in &sets {
                all.add(&set.iter().copied().collect());
            }
            let expected: BTreeSet<u32> = sets.into_iter().flatten().collect();
            prop_assert_eq!(all.iter().collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(all.iter().count(), all.len());
            prop_assert_eq!((0..60).filter(|&rank| all.contains(rank)).count(), all.len());
            let text = serde_json::to_string(&all).unwrap();
            prop_assert_eq!(serde_json::from_str::<Ranks>(&text).unwrap(), all);
        }
    }
}
