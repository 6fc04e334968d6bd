//! A set of ranks, in few bytes where they are equally far apart.

use serde::{Deserialize, Serialize};

/// World ranks, ascending. One set may be cut into stretches in several ways.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Ranks(Vec<Stretch>);

/// Equally spaced ranks: the first, the last, and how far apart they are, which is 1 of one rank.
type Stretch = (u32, u32, u32);

/// The first and the last of ranks of a stretch that follow each other.
fn pieces(&(first, last, stride): &Stretch) -> impl Iterator<Item = (u32, u32)> {
    let length = if stride == 1 { last - first } else { 0 };
    (first..=last - length).step_by(stride as usize).map(move |rank| (rank, rank + length))
}

impl Ranks {
    /// One rank.
    pub fn one(rank: u32) -> Ranks {
        Ranks(vec![(rank, rank, 1)])
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().flat_map(|&(first, last, stride)| (first..=last).step_by(stride as usize))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.iter().map(|&(first, last, stride)| ((last - first) / stride) as usize + 1).sum()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if this one is among them.
    pub fn contains(&self, rank: u32) -> bool {
        let next = self.0.get(self.0.partition_point(|&(_, last, _)| last < rank));
        next.is_some_and(|&(first, _, stride)| first <= rank && (rank - first).is_multiple_of(stride))
    }

    /// The lowest one.
    pub fn first(&self) -> Option<u32> {
        Some(self.0.first()?.0)
    }

    /// Adds others, at the cost of those that lie behind the lowest of them.
    pub fn add(&mut self, others: &Ranks) {
        let (Some(lowest), Some(&(_, highest, _))) = (others.first(), others.0.last()) else { return };
        let behind = self.0.split_off(self.0.partition_point(|&(_, last, _)| last < lowest));
        if behind.first().is_none_or(|&(first, ..)| highest < first) {
            return others.0.iter().chain(&behind).for_each(|&stretch| self.push(stretch));
        }
        let mut all: Vec<_> = behind.iter().chain(&others.0).flat_map(pieces).collect();
        all.sort_unstable();
        all.dedup_by(|next, before| {
            let goes_on = next.0 <= before.1.saturating_add(1);
            if goes_on {
                before.1 = before.1.max(next.1);
            }
            goes_on
        });
        all.into_iter().for_each(|(first, last)| self.push((first, last, 1)));
    }

    /// Adds ranks behind all others.
    fn push(&mut self, (first, last, stride): Stretch) {
        if let Some((begin, end, apart)) = self.0.last_mut() {
            let gap = first - *end;
            if (begin == end || *apart == gap) && (first == last || stride == gap) {
                (*end, *apart) = (last, gap);
                return;
            }
        }
        self.0.push((first, last, stride));
    }
}

/// Each stretch by how far it begins behind the one before, and by its length: `0+3,5,8+48:8` is 0 to 3, 8, and 16 to
/// 64 by 8.
impl From<Ranks> for String {
    fn from(ranks: Ranks) -> String {
        let mut before = 0;
        let text = |&(first, last, stride): &Stretch| {
            let gap = first - std::mem::replace(&mut before, last);
            match (last - first, stride) {
                (0, _) => format!("{gap}"),
                (length, 1) => format!("{gap}+{length}"),
                (length, _) => format!("{gap}+{length}:{stride}"),
            }
        };
        ranks.0.iter().map(text).collect::<Vec<_>>().join(",")
    }
}

/// The first, the last and the stride of such a text, where the stretch before has this last rank.
fn stretch(text: &str, before: Option<u32>) -> Option<Stretch> {
    let (range, stride) = text.split_once(':').unwrap_or((text, "1"));
    let (gap, length) = range.split_once('+').unwrap_or((range, "0"));
    let (gap, length, stride): (u32, u32, u32) = (gap.parse().ok()?, length.parse().ok()?, stride.parse().ok()?);
    let first = before.map_or(Some(gap), |before| before.checked_add(gap).filter(|_| gap > 0))?;
    Some((first, first.checked_add(length)?, stride)).filter(|_| length.checked_rem(stride) == Some(0))
}

impl TryFrom<String> for Ranks {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Ranks, &'static str> {
        let mut ranks = Ranks::default();
        for text in text.split_terminator(',') {
            let before = ranks.0.last().map(|&(_, last, _)| last);
            ranks.0.push(stretch(text, before).ok_or("is no list of ranks")?);
        }
        Ok(ranks)
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
    fn equally_spaced_ranks_are_one_stretch() {
        let found = |ranks: &[u32]| ranks.iter().copied().collect::<Ranks>().0;
        assert_eq!(found(&[0, 1, 2, 3, 8, 16, 24, 40]), [(0, 3, 1), (8, 24, 8), (40, 40, 1)]);
        assert_eq!(found(&[3, 2, 1, 0, 3]), [(0, 3, 1)]);
        assert_eq!(found(&[]), []);
        let node = |node: u32| Ranks::from_iter((0..64).map(|rank| 64 * node + rank));
        let mut all = Ranks::default();
        (0..100).rev().for_each(|number| all.add(&node(number)));
        assert_eq!((&all.0[..], all.len()), (&[(0, 6399, 1)][..], 6400));
    }

    #[test]
    fn ranks_dealt_to_nodes_in_turn_are_one_stretch() {
        let mut all = Ranks::default();
        for node in 0..100 {
            let of_node = Ranks::from_iter((0..64).map(|rank| 100 * rank + node));
            assert_eq!(of_node.0, [(node, 6300 + node, 100)]);
            all.add(&of_node);
            assert!(all.0.len() <= 64, "{all:?}");
        }
        assert_eq!(all.0, [(0, 6399, 1)]);
    }

    #[test]
    fn what_is_no_set_of_ranks_is_refused() {
        let read = |text: &str| Ranks::try_from(text.to_owned());
        let whole = read("0+3,5+16:8,16").unwrap();
        assert_eq!(whole.0, [(0, 3, 1), (8, 24, 8), (40, 40, 1)]);
        assert_eq!(serde_json::to_string(&whole).unwrap(), "\"0+3,5+16:8,16\"");
        assert!(read("").unwrap().is_empty());
        for text in
            ["1+", "3,0", "0+8:4,0", "0+5:2", "1:0", "0+4:0", "x", "9-3", "5,-2", ",", "4294967295,1", "1+4294967295"]
        {
            assert!(read(text).is_err(), "{text}");
        }
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
            prop_assert_eq!(serde_json::from_str::<Ranks>(&text).unwrap().0, all.0);
        }
    }
}
