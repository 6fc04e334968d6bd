//! A set of ranks, in few bytes where they are equally far apart.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// World ranks, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranks(Vec<Run>);

/// Equally spaced ones; a run ends before the next one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: u32,
    last: u32,
    /// 1 of one rank.
    stride: u32,
}

impl Run {
    fn iter(self) -> impl Iterator<Item = u32> {
        (self.first..=self.last).step_by(self.stride as usize)
    }

    fn len(self) -> usize {
        ((self.last - self.first) / self.stride) as usize + 1
    }
}

impl Ranks {
    /// One rank.
    pub fn one(rank: u32) -> Ranks {
        Ranks(vec![Run { first: rank, last: rank, stride: 1 }])
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().flat_map(|run| run.iter())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.iter().map(|run| run.len()).sum()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if this one is among them.
    pub fn contains(&self, rank: u32) -> bool {
        let run = self.0.get(self.0.partition_point(|run| run.last < rank));
        run.is_some_and(|run| run.first <= rank && (rank - run.first).is_multiple_of(run.stride))
    }

    /// The lowest one.
    pub fn first(&self) -> Option<u32> {
        Some(self.0.first()?.first)
    }

    /// Adds others, at the cost of those that lie behind the lowest of them.
    pub fn add(&mut self, others: &Ranks) {
        let (Some(first), Some(last)) = (others.first(), others.0.last().map(|run| run.last)) else { return };
        let behind = self.0.split_off(self.0.partition_point(|run| run.last < first));
        if behind.first().is_none_or(|run| run.first > last) {
            others.0.iter().chain(&behind).for_each(|&run| self.push(run));
            return;
        }
        let mut all: Vec<u32> = others.iter().chain(behind.into_iter().flat_map(Run::iter)).collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter().for_each(|rank| self.push(Run { first: rank, last: rank, stride: 1 }));
    }

    /// Adds ranks behind all others.
    fn push(&mut self, run: Run) {
        let Some(last) = self.0.last_mut() else { return self.0.push(run) };
        let apart = run.first - last.last;
        let is_one = |run: &Run| run.first == run.last;
        let fits = |of: &Run| is_one(of) || of.stride == apart;
        match fits(last) && fits(&run) {
            true => *last = Run { first: last.first, last: run.last, stride: apart },
            false => self.0.push(run),
        }
    }
}

impl FromIterator<u32> for Ranks {
    fn from_iter<I: IntoIterator<Item = u32>>(ranks: I) -> Ranks {
        let mut all = Ranks::default();
        ranks.into_iter().for_each(|rank| all.add(&Ranks::one(rank)));
        all
    }
}

/// Of each run how far it begins behind the one before and how long it is: `0+3,5,8+48:8` is 0-3, 8, and 16 to 64 by 8.
impl fmt::Display for Ranks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = 0;
        for (index, &Run { first, last, stride }) in self.0.iter().enumerate() {
            formatter.write_str(if index == 0 { "" } else { "," })?;
            write!(formatter, "{}", first - before)?;
            match (first == last, stride) {
                (true, _) => {}
                (false, 1) => write!(formatter, "+{}", last - first)?,
                (false, _) => write!(formatter, "+{}:{stride}", last - first)?,
            }
            before = last;
        }
        Ok(())
    }
}

/// Not a set of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no list of ranks")]
pub struct NoRanks;

impl FromStr for Ranks {
    type Err = NoRanks;

    fn from_str(text: &str) -> Result<Ranks, NoRanks> {
        let number = |text: &str| text.parse::<u32>().map_err(|_| NoRanks);
        let mut ranks = Ranks::default();
        for run in text.split(',').filter(|run| !run.is_empty()) {
            let (range, stride) = run.split_once(':').unwrap_or((run, "1"));
            let (apart, length) = range.split_once('+').unwrap_or((range, "0"));
            let (apart, length, stride) = (number(apart)?, number(length)?, number(stride)?);
            let first =
                ranks.0.last().map_or(Some(apart), |before| before.last.checked_add(apart).filter(|_| apart > 0));
            let last = first.and_then(|first| first.checked_add(length)).ok_or(NoRanks)?;
            if stride == 0 || !length.is_multiple_of(stride) {
                return Err(NoRanks);
            }
            ranks.0.push(Run { first: last - length, last, stride });
        }
        Ok(ranks)
    }
}

impl Serialize for Ranks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Ranks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Ranks, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equally_spaced_ranks_are_one_run() {
        let text = |ranks: &[u32]| ranks.iter().copied().collect::<Ranks>().to_string();
        assert_eq!(text(&[0, 1, 2, 3, 8, 16, 24, 40]), "0+3,5+16:8,16");
        assert_eq!(text(&[3, 2, 1, 0, 3]), "0+3");
        assert_eq!(text(&[]), "");
        let node = |node: u32| Ranks::from_iter((0..64).map(|rank| 64 * node + rank));
        let mut all = Ranks::default();
        (0..100).rev().for_each(|number| all.add(&node(number)));
        assert_eq!((all.to_string().as_str(), all.len()), ("0+6399", 6400));
        for text in ["1+", "3,0", "0+5:2", "1:0", "x", "4-3", "4294967295,1"] {
            assert_eq!(text.parse::<Ranks>(), Err(NoRanks), "{text}");
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
            prop_assert_eq!(all.to_string().parse::<Ranks>(), Ok(all));
        }
    }
}
