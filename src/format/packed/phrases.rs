//! The operations of the calls, as phrases: a loop repeats what the program has called before.
//!
//! A block is a list of phrases: literal operations, then a copy of a number of operations at a distance; a copy may
//! reach into itself. [Ziv1977]
//!
//! | numbers | what |
//! |---|---|
//! | n | literals |
//! | n | the literals |
//! | 1 | operations copied; 0 ends the block |
//! | 1 | from how many operations back; not where nothing is copied |

use super::number;

/// A copy takes as many bytes as this many literals.
const SHORTEST: usize = 4;
/// A place that is not set: no block is so long.
const NONE: u16 = u16::MAX;

/// Appends the phrases of these operations.
pub(super) fn put(bytes: &mut Vec<u8>, operations: &[u32]) {
    // By hash the last place of the operations of a block: two for each of them.
    let bits = (2 * operations.len()).next_power_of_two().ilog2();
    let mut table = vec![NONE; 1 << bits];
    let place = |operations: &[u32]| Some((hash(operations)? >> (64 - bits)) as usize);
    let (mut literals, mut at, mut distance) = (0, 0, 0);
    let mut phrase = |literals: &[u32], length: usize, distance: usize| {
        number::put(bytes, literals.len() as u64);
        literals.iter().for_each(|&operation| number::put(bytes, operation.into()));
        number::put(bytes, length as u64);
        if length > 0 {
            number::put(bytes, distance as u64);
        }
    };
    while at < operations.len() {
        let seen = place(&operations[at..])
            .map(|place| table[place])
            .filter(|&seen| seen != NONE)
            .map(|seen| at - seen as usize);
        // After an exception in a loop it goes on as before.
        let before = Some(distance).filter(|&distance| distance > 0 && distance <= at);
        let length = |distance: usize| length(operations, at, distance);
        let longest = seen.into_iter().chain(before).map(|distance| (length(distance), distance)).max();
        let end = match longest {
            Some((length, from)) if length >= SHORTEST => {
                phrase(&operations[literals..at], length, from);
                distance = from;
                literals = at + length;
                literals
            }
            _ => at + 1,
        };
        // Of a long copy the first and the last places are enough to find its like.
        for index in (at..end).take(64).chain((at..end).rev().take(64)) {
            if let Some(place) = place(&operations[index..]) {
                table[place] = index as u16;
            }
        }
        at = end;
    }
    phrase(&operations[literals..], 0, 0);
}

/// Takes the phrases of `count` operations, none of which is above `highest`; `None` where the bytes are no such
/// phrases.
pub(super) fn take(bytes: &mut &[u8], count: usize, highest: u32, operations: &mut Vec<u32>) -> Option<()> {
    let end = operations.len() + count;
    loop {
        let literals = usize::try_from(number::take(bytes)?).ok()?;
        if literals > end - operations.len() {
            return None;
        }
        for _ in 0..literals {
            let operation = u32::try_from(number::take(bytes)?).ok()?;
            if operation > highest {
                return None;
            }
            operations.push(operation);
        }
        let length = usize::try_from(number::take(bytes)?).ok()?;
        if length == 0 {
            return (operations.len() == end).then_some(());
        }
        let distance = usize::try_from(number::take(bytes)?).ok()?;
        if length > end - operations.len() || distance == 0 || distance > operations.len() + count - end {
            return None;
        }
        copy(operations, distance, length);
    }
}

/// Appends `length` operations from `distance` back; the piece that is copied doubles where it reaches into itself.
fn copy(operations: &mut Vec<u32>, distance: usize, length: usize) {
    let from = operations.len() - distance;
    let end = operations.len() + length;
    while operations.len() < end {
        let piece = (end - operations.len()).min(operations.len() - from);
        operations.extend_from_within(from..from + piece);
    }
}

/// The hash of the operations that begin here.
fn hash(operations: &[u32]) -> Option<u64> {
    let first = operations.first_chunk::<SHORTEST>()?;
    // Odd constants of Knuth's multiplicative method.
    Some(first.iter().fold(0u64, |hash, &operation| (hash ^ u64::from(operation)).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

/// How many operations from `at` on are those of `distance` before.
fn length(operations: &[u32], at: usize, distance: usize) -> usize {
    operations[at..].iter().zip(&operations[at - distance..]).take_while(|(now, before)| now == before).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn there_and_back(operations: &[u32]) -> usize {
        let mut bytes = Vec::new();
        put(&mut bytes, operations);
        let mut rest = &bytes[..];
        // What a decoder appends to is not always empty.
        let mut found = vec![7; 3];
        let highest = operations.iter().copied().max().unwrap_or(0);
        take(&mut rest, operations.len(), highest, &mut found).unwrap();
        assert_eq!((&found[3..], rest), (operations, &[][..]));
        if highest > 0 {
            assert_eq!(
                take(&mut &bytes[..], operations.len(), highest - 1, &mut Vec::new()),
                None,
                "above the highest"
            );
        }
        bytes.len()
    }

    proptest! {
        #[test]
        fn all_operations_come_back(
            period in proptest::collection::vec(0u32..9, 1..20),
            times in 0usize..40,
            changes in proptest::collection::vec((0usize..800, any::<u32>()), 0..10),
        ) {
            let mut operations: Vec<u32> = period.iter().copied().cycle().take(period.len() * times).collect();
            for (at, operation) in changes {
                if let Some(place) = operations.get_mut(at) {
                    *place = operation;
                }
            }
            there_and_back(&operations);
        }

        #[test]
        fn bytes_that_are_no_phrases_are_refused_or_are_operations(bytes: Vec<u8>, count in 0usize..5000) {
            let mut found = Vec::new();
            if take(&mut &bytes[..], count, 1000, &mut found).is_some() {
                prop_assert_eq!(found.len(), count);
            }
        }
    }

    #[test]
    fn a_loop_is_one_phrase() {
        let operations: Vec<u32> = [0, 1, 0, 2].into_iter().cycle().take(16384).collect();
        // Literals and their number, the copy's length and distance, and the end.
        assert_eq!(there_and_back(&operations), 1 + 4 + 2 + 1 + 2);
    }
}
