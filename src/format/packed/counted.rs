//! Numbers that follow from counting: sequence numbers on communicators, repetitions of operations; and values that are
//! mostly those of the operation's call before, which count by steps of 0.
//!
//! A call's number is one more than that of the call before it on the same communicator (or of the same operation) in
//! the block; the first of each, and what does not follow, is listed. Persistent collectives and regions have sequence
//! numbers from 2^63 on ([`APART`]), which each operation counts by itself.
//!
//! | numbers | what |
//! |---|---|
//! | 1 | exceptions |
//! | for each exception 1 | calls since the exception before (since the block's begin) |
//! | ... and 1, signed | by how much the number is above what follows |

use crate::layout::OPERATION_MASK;

use super::number;

/// Sequence numbers from this on are not those of a communicator.
const APART: u64 = 1 << 63;
/// From this on counting may come there within a block.
const NEARLY_APART: u64 = APART - (1 << 32);

/// The counters that a call's number follows from.
#[derive(Debug)]
pub(super) struct Counts<'c> {
    /// For each operation what counts its calls: its communicator, or itself.
    counter_of: &'c [u32],
    /// The next number of each counter, then of each operation whose numbers are apart.
    next: Vec<u64>,
    apart: usize,
    /// True if a number of this block was apart, or so high that counting on may come there.
    some_apart: bool,
    /// From one number to the next.
    step: u64,
}

impl<'c> Counts<'c> {
    /// `counter_of` gives for each operation what counts its calls, by this step.
    pub(super) fn new(counter_of: &'c [u32], step: u64) -> Self {
        let apart = counter_of.iter().max().map_or(0, |&highest| highest as usize + 1);
        Counts { counter_of, next: vec![0; apart + counter_of.len()], apart, some_apart: false, step }
    }

    /// Appends the numbers of the calls of a block; every operation is in the table. False, and nothing: they are not
    /// mostly those of the calls before.
    pub(super) fn put(&mut self, bytes: &mut Vec<u8>, numbers: &[u64], operations: &[u32]) -> bool {
        let most = if self.step == 0 { 16 + numbers.len() / 16 } else { numbers.len() };
        let mut exceptions = Vec::new();
        let mut last = 0;
        for (index, (&value, &operation)) in numbers.iter().zip(operations).enumerate() {
            let expected = if self.some_apart || value >= NEARLY_APART {
                let expected = self.expected(operation);
                self.count(operation, value);
                expected
            } else {
                let next = &mut self.next[self.counter_of[(operation & OPERATION_MASK) as usize] as usize];
                std::mem::replace(next, value + self.step)
            };
            if value != expected {
                if exceptions.len() == most {
                    return false;
                }
                exceptions.push((index - last, value.wrapping_sub(expected) as i64));
                last = index;
            }
        }
        self.reset(operations);
        number::put(bytes, exceptions.len() as u64);
        for (since, above) in exceptions {
            number::put(bytes, since as u64);
            number::put_signed(bytes, above);
        }
        true
    }

    /// Takes the numbers of the calls of a block; `None` where the bytes are no such list.
    pub(super) fn take(&mut self, bytes: &mut &[u8], operations: &[u32], numbers: &mut Vec<u64>) -> Option<()> {
        if let Some(first) = self.only(bytes) {
            *bytes = &[];
            numbers.extend((0..operations.len() as u64).map(|call| first + call * self.step));
            return Some(());
        }
        let mut left = number::take(bytes)?;
        let exception = |bytes: &mut &[u8], left: &mut u64, last: usize| {
            if *left == 0 {
                return Some((usize::MAX, 0));
            }
            *left -= 1;
            let index = last.checked_add(usize::try_from(number::take(bytes)?).ok()?)?;
            Some((index, number::take_signed(bytes)?))
        };
        let mut next = exception(bytes, &mut left, 0)?;
        let mut from = 0;
        while let Some(&operation) = operations.get(next.0) {
            self.following(&operations[from..next.0], numbers);
            let (index, above) = next;
            let value = self.expected(operation).wrapping_add_signed(above);
            self.count(operation, value);
            numbers.push(value);
            next = exception(bytes, &mut left, index)?;
            if next.0 == index {
                return None;
            }
            from = index + 1;
        }
        self.following(&operations[from..], numbers);
        self.reset(operations);
        (next.0 == usize::MAX).then_some(())
    }

    /// Appends the numbers of calls that are no exceptions.
    fn following(&mut self, operations: &[u32], numbers: &mut Vec<u64>) {
        if self.some_apart {
            for &operation in operations {
                let value = self.expected(operation);
                self.count(operation, value);
                numbers.push(value);
            }
            return;
        }
        numbers.extend(operations.iter().map(|&operation| {
            let next = &mut self.next[self.counter_of[(operation & OPERATION_MASK) as usize] as usize];
            std::mem::replace(next, *next + self.step)
        }));
    }

    /// The number of the first call, where all others follow from it: on a rank with one communicator.
    pub(super) fn only(&self, bytes: &[u8]) -> Option<u64> {
        let mut rest = bytes;
        let one = self.apart == 1 && number::take(&mut rest)? == 1 && number::take(&mut rest)? == 0;
        let first = number::take_signed(&mut rest)? as u64;
        // Far from gaps and restarts of the numbers.
        (one && rest.is_empty() && first < APART / 2).then_some(first)
    }

    fn places(&self, operation: u32) -> (usize, usize) {
        let operation = (operation & OPERATION_MASK) as usize;
        (self.counter_of[operation] as usize, self.apart + operation)
    }

    fn expected(&self, operation: u32) -> u64 {
        let (counter, apart) = self.places(operation);
        if self.next[apart] != 0 { self.next[apart] } else { self.next[counter] }
    }

    fn count(&mut self, operation: u32, value: u64) {
        let (counter, apart) = self.places(operation);
        self.next[if value >= APART { apart } else { counter }] = value.wrapping_add(self.step);
        self.some_apart |= value >= NEARLY_APART;
    }

    /// So that a block does not depend on the one before.
    fn reset(&mut self, operations: &[u32]) {
        self.some_apart = false;
        if self.next.len() <= operations.len() {
            return self.next.fill(0);
        }
        for &operation in operations {
            let (counter, apart) = self.places(operation);
            (self.next[counter], self.next[apart]) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Operations 0 to 2 on communicator 0, 3 and 4 on communicator 1.
    const COMMUNICATOR: [u32; 5] = [0, 0, 0, 1, 1];

    fn there_and_back(numbers: &[u64], operations: &[u32]) -> usize {
        let mut counts = Counts::new(&COMMUNICATOR, 1);
        let mut bytes = Vec::new();
        // The second time: a block does not depend on the one before.
        for _ in 0..2 {
            bytes.clear();
            counts.put(&mut bytes, numbers, operations);
            let mut rest = &bytes[..];
            let mut found = Vec::new();
            counts.take(&mut rest, operations, &mut found).unwrap();
            assert_eq!((found.as_slice(), rest), (numbers, &[][..]));
        }
        bytes.len()
    }

    proptest! {
        #[test]
        fn all_numbers_come_back(calls in proptest::collection::vec((0u32..5, 0u32..12, any::<u64>()), 0..300)) {
            let mut next = [0u64; 2];
            let mut number = |(operation, odds, value): &(u32, u32, u64)| match odds {
                0 => *value,
                1 => APART + (u64::from(*operation) << 40) + value % 4,
                _ => {
                    let next = &mut next[COMMUNICATOR[*operation as usize] as usize];
                    *next += 1;
                    *next
                }
            };
            let numbers: Vec<u64> = calls.iter().map(&mut number).collect();
            let operations: Vec<u32> = calls.iter().map(|(operation, ..)| *operation).collect();
            there_and_back(&numbers, &operations);
        }

        #[test]
        fn bytes_that_are_no_list_are_refused_or_are_numbers(bytes: Vec<u8>) {
            let operations = [0, 3, 1, 4, 2, 2, 2];
            let mut found = Vec::new();
            if Counts::new(&COMMUNICATOR, 1).take(&mut &bytes[..], &operations, &mut found).is_some() {
                prop_assert_eq!(found.len(), operations.len());
            }
        }
    }

    #[test]
    fn numbers_that_count_on_into_those_apart_come_back() {
        for last_before in [APART - 1, APART, u64::MAX, 0] {
            let numbers: Vec<u64> = (0..40).map(|call| last_before.wrapping_sub(20).wrapping_add(call)).collect();
            for operations in [[0, 0, 0], [0, 1, 2], [0, 3, 1]] {
                let operations: Vec<u32> = operations.into_iter().cycle().take(numbers.len()).collect();
                there_and_back(&numbers, &operations);
            }
        }
    }

    #[test]
    fn only_the_first_number_of_each_communicator_takes_bytes() {
        let operations: Vec<u32> = [0, 1, 3].into_iter().cycle().take(3000).collect();
        let numbers: Vec<u64> =
            (0..3000).map(|call| if call % 3 == 2 { 7 + call / 3 } else { 5 + call / 3 * 2 + call % 3 }).collect();
        assert_eq!(there_and_back(&numbers, &operations), 1 + 2 + 2);
        // A start of a persistent collective counts by itself.
        let numbers: Vec<u64> =
            (0..3000).map(|call| if call % 3 == 2 { APART + call / 3 } else { 5 + call / 3 * 2 + call % 3 }).collect();
        assert!(there_and_back(&numbers, &operations) <= 1 + 2 + 11);
    }

    #[test]
    fn values_of_an_operation_take_bytes_where_they_change() {
        let mut counts = Counts::new(&[0, 1, 2, 3, 4], 0);
        let operations: Vec<u32> = (0..1024).map(|call| call % 4).collect();
        let switched = |call: u32| if call < 500 { 40 + u64::from(call % 4) } else { u64::MAX - u64::from(call % 4) };
        let values: Vec<u64> = (0..1024).map(switched).collect();
        let mut bytes = Vec::new();
        assert!(counts.put(&mut bytes, &values, &operations));
        assert!(bytes.len() < 1 + 8 * 4, "{} bytes", bytes.len());
        let (mut rest, mut found) = (&bytes[..], Vec::new());
        counts.take(&mut rest, &operations, &mut found).unwrap();
        assert_eq!((found, rest), (values, &[][..]));
        assert!(!counts.put(&mut bytes, &(0..1024).collect::<Vec<u64>>(), &operations));
        // One operation alone.
        let mut counts = Counts::new(&[0], 0);
        bytes.clear();
        assert!(counts.put(&mut bytes, &[7; 100], &[0; 100]));
        let mut found = Vec::new();
        counts.take(&mut &bytes[..], &[0; 100], &mut found).unwrap();
        assert_eq!((found, bytes.len()), (vec![7; 100], 3));
    }
}
