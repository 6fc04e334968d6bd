//! The records of a rank on one communicator, in the order of their positions: 4 bytes a call at most.

use super::rows::partition_point;
use crate::reader::Part;

/// A member's records on one communicator, by position.
pub(super) enum Calls {
    Runs(Runs),
    Listed(Vec<u32>),
}

/// Runs of records that follow each other.
#[derive(Clone, Default)]
pub(super) struct Runs {
    /// For each run its first record, and how many records the runs before it have.
    starts: Vec<(u32, u32)>,
    count: u32,
}

/// Shorter runs, on average, are slower to read than a list; while records are pushed, so many runs are waited for.
const LEAST_IN_A_RUN: usize = 64;
const LEAST_RUNS: usize = if cfg!(test) { 16 } else { 1 << 12 };

impl Runs {
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

impl Default for Calls {
    fn default() -> Calls {
        Calls::Runs(Runs::default())
    }
}

impl Calls {
    pub(super) fn first(count: u32) -> Calls {
        Calls::Runs(Runs { starts: if count > 0 { vec![(0, 0)] } else { Vec::new() }, count })
    }

    /// Appends a record behind those that are there.
    pub(super) fn push(&mut self, record: u32) {
        match self {
            Calls::Runs(runs) => {
                runs.push(record);
                self.list_if_short(LEAST_RUNS);
            }
            Calls::Listed(records) => records.push(record),
        }
    }

    /// Lists the records where there are so many runs and these are short: with 2 to be called when all are there.
    pub(super) fn list_if_short(&mut self, least_runs: usize) {
        if let Calls::Runs(runs) = self
            && runs.starts.len() >= least_runs
            && runs.starts.len() * LEAST_IN_A_RUN > runs.count as usize
        {
            *self = Calls::Listed(runs.iter().collect());
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Calls::Runs(runs) => runs.count as usize,
            Calls::Listed(records) => records.len(),
        }
    }

    pub(super) fn get(&self, number: usize) -> Option<u32> {
        match self {
            Calls::Runs(runs) => Some(runs.get(u32::try_from(number).ok()?)?.0),
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
        partition_point(self.len(), |number| self.position(part, number) < position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn calls_are_those_that_were_pushed(gaps in proptest::collection::vec((1u32..3, 1u32..200), 0..40)) {
            let (mut runs, mut calls, mut expected, mut next) = (Runs::default(), Calls::default(), Vec::new(), 0);
            for (gap, length) in gaps {
                next += gap;
                for record in next..next + length {
                    runs.push(record);
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
            prop_assert_eq!(calls.iter().collect::<Vec<_>>(), expected.clone());
            prop_assert_eq!((calls.len(), calls.get(expected.len())), (expected.len(), None));
        }
    }
}
