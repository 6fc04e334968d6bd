//! The records of a rank on one communicator, in the order of their positions: 2 bytes a call at most. Only where they
//! are more than 1000 records apart, or where threads took turns, they take 4 to 7.

use std::collections::HashMap;

use super::NO_RECORD;
use crate::reader::Part;

/// A member's records on one communicator, by position.
pub(super) enum Calls {
    /// Runs of one record after the other.
    Runs(Runs),
    /// Others that ascend.
    Near(Near),
    /// In any order.
    Listed(Vec<u32>),
}

/// Runs of records that follow each other.
#[derive(Clone, Default)]
pub(super) struct Runs {
    /// For each run its first record, and how many records the runs before it have.
    starts: Vec<(u32, u32)>,
    count: u32,
}

/// Shorter runs, on average, take more than [`Near`] does, or are no faster.
const LEAST_IN_A_RUN: usize = 64;
/// Runs are looked at for that whenever there are so many more calls.
const LOOKED_AT: u32 = if cfg!(test) { 1 << 10 } else { 1 << 20 };

impl Runs {
    fn one(first: u32, count: u32) -> Runs {
        Runs { starts: if count > 0 { vec![(first, 0)] } else { Vec::new() }, count }
    }

    /// Appends a record behind those that are there.
    fn push(&mut self, record: u32) {
        let follows = |&(first, before): &(u32, u32)| first + (self.count - before) == record;
        if !self.starts.last().is_some_and(follows) {
            self.starts.push((record, self.count));
        }
        self.count += 1;
    }

    /// The record with this number, and how many there are from it on to the end of its run.
    pub(super) fn get(&self, number: u32) -> Option<(u32, u32)> {
        if number >= self.count {
            return None;
        }
        let behind = self.starts.partition_point(|&(_, before)| before <= number);
        let (first, before) = self.starts[behind - 1];
        let end = self.starts.get(behind).map_or(self.count, |&(_, before)| before);
        Some((first + (number - before), end - number))
    }

    fn iter(&self) -> impl Iterator<Item = u32> {
        let ends = self.starts.iter().skip(1).map(|&(_, before)| before).chain([self.count]);
        self.starts.iter().zip(ends).flat_map(|(&(first, before), end)| first..first + (end - before))
    }
}

/// Ascending records, in groups of which most lie near each other.
#[derive(Default)]
pub(super) struct Near {
    /// Of each group the first record; [`NO_RECORD`] for a wide one.
    firsts: Vec<u32>,
    /// How far behind the first of its group each record is.
    behind: Vec<u16>,
    /// The records of the groups that are too wide for that.
    wide: HashMap<usize, Vec<u32>>,
}

/// Records in a group.
const GROUP: usize = 64;

impl Near {
    fn push(&mut self, record: u32) {
        let (group, place) = (self.behind.len() / GROUP, self.behind.len() % GROUP);
        if place == 0 {
            self.firsts.push(record);
        }
        let first = self.firsts[group];
        if first != NO_RECORD
            && let Ok(behind) = u16::try_from(record - first)
        {
            return self.behind.push(behind);
        }
        let before = &self.behind[group * GROUP..];
        let wide = self.wide.entry(group);
        wide.or_insert_with(|| before.iter().map(|&behind| first + u32::from(behind)).collect()).push(record);
        self.firsts[group] = NO_RECORD;
        self.behind.push(0);
    }

    fn get(&self, number: usize) -> Option<u32> {
        let behind = *self.behind.get(number)?;
        match self.firsts[number / GROUP] {
            NO_RECORD => Some(self.wide[&(number / GROUP)][number % GROUP]),
            first => Some(first + u32::from(behind)),
        }
    }
}

impl Default for Calls {
    fn default() -> Calls {
        Calls::Runs(Runs::default())
    }
}

impl Calls {
    /// So many records, one after the other.
    pub(super) fn first(count: u32) -> Calls {
        Calls::Runs(Runs::one(0, count))
    }

    /// Appends a record behind those that are there.
    pub(super) fn push(&mut self, record: u32) {
        match self {
            Calls::Runs(runs) => {
                runs.push(record);
                if runs.count.is_multiple_of(LOOKED_AT) {
                    self.settle();
                }
            }
            Calls::Near(near) => near.push(record),
            Calls::Listed(records) => records.push(record),
        }
    }

    /// To be called when all are there.
    pub(super) fn settle(&mut self) {
        if let Calls::Runs(runs) = self
            && runs.starts.len() >= 2
            && runs.starts.len() * LEAST_IN_A_RUN > runs.count as usize
        {
            let mut near = Near::default();
            runs.iter().for_each(|record| near.push(record));
            *self = Calls::Near(near);
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Calls::Runs(runs) => runs.count as usize,
            Calls::Near(near) => near.behind.len(),
            Calls::Listed(records) => records.len(),
        }
    }

    pub(super) fn get(&self, number: usize) -> Option<u32> {
        match self {
            Calls::Runs(runs) => Some(runs.get(u32::try_from(number).ok()?)?.0),
            Calls::Near(near) => near.get(number),
            Calls::Listed(records) => records.get(number).copied(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        (0..self.len()).filter_map(|number| self.get(number))
    }

    /// The position of the call with this number, of which there is one, on this part.
    pub(super) fn position(&self, part: &Part, number: usize) -> u64 {
        self.get(number).map_or(u64::MAX, |record| part.position_of(record as usize))
    }

    /// How many calls this part made before this position.
    pub(super) fn before(&self, part: &Part, position: u64) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let here = self.get(middle).map_or(u64::MAX, |record| part.position_of(record as usize));
            if here < position { low = middle + 1 } else { high = middle }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn calls_are_those_that_were_pushed(gaps in proptest::collection::vec((1u32..3, 1u32..200), 0..20)) {
            let (mut runs, mut near) = (Runs::default(), Near::default());
            let (mut calls, mut expected, mut next) = (Calls::default(), Vec::new(), 0);
            for (gap, length) in gaps {
                // Now and then far away: a group of records that is wide.
                next += if length % 7 == 0 { gap << 16 } else { gap };
                for record in next..next + length {
                    runs.push(record);
                    near.push(record);
                    calls.push(record);
                    expected.push(record);
                }
                next += length;
            }
            prop_assert_eq!(runs.iter().collect::<Vec<_>>(), expected.clone());
            for (number, &record) in expected.iter().enumerate() {
                let follow = expected[number..].iter().zip(record..).take_while(|(there, here)| **there == *here);
                prop_assert_eq!(runs.get(number as u32), Some((record, follow.count() as u32)));
            }
            prop_assert_eq!(runs.get(expected.len() as u32), None);
            calls.settle();
            for calls in [calls, Calls::Near(near)] {
                prop_assert_eq!(calls.iter().collect::<Vec<_>>(), expected.clone());
                prop_assert_eq!((calls.len(), calls.get(expected.len())), (expected.len(), None));
            }
        }
    }
}
