//! When the calls began and ended: how long each took, and how long after the one before it began.
//!
//! The exits are stored as:
//!
//! | numbers | what |
//! |---|---|
//! | 1 | step |
//! | 1 | calls that did not return (exit 0) |
//! | 1 each | calls since the one before (since the block's begin) |
//! | [`frames`] | exit - enter in steps, 0 for a call that did not return |
//!
//! The entries are stored as:
//!
//! | numbers | what |
//! |---|---|
//! | 1 | step |
//! | 1 | the first entry |
//! | 1 | by how much the lowest one is below it |
//! | [`frames`] | for each call but the first: enter - the exit before, in steps |
//!
//! The exit of a call that did not return is its entry.
//!
//! The step is the largest number that divides all of them: the counters of many processors do not take every value.

use super::{frames, number};

/// Appends the entries and the exits of a block with at least one call.
pub(super) fn put(entries: &mut Vec<u8>, exits: &mut Vec<u8>, enter: &[u64], exit: &[u64]) {
    let end = |enter: u64, exit: u64| if exit == 0 { enter } else { exit };
    let calls = enter.iter().zip(exit);
    let mut durations: Vec<u64> = calls.clone().map(|(&enter, &exit)| end(enter, exit).wrapping_sub(enter)).collect();
    let mut gaps: Vec<u64> =
        calls.zip(&enter[1..]).map(|((&enter, &exit), next)| next.wrapping_sub(end(enter, exit))).collect();

    let open: Vec<usize> = match exit.contains(&0) {
        true => (0..exit.len()).filter(|&index| exit[index] == 0).collect(),
        false => Vec::new(),
    };
    number::put(exits, in_steps(&mut durations));
    number::put(exits, open.len() as u64);
    let mut last = 0;
    for index in open {
        number::put(exits, (index - last) as u64);
        last = index;
    }
    frames::put(exits, &durations);

    number::put(entries, in_steps(&mut gaps));
    number::put(entries, enter[0]);
    number::put(entries, enter[0] - enter.iter().copied().fold(enter[0], u64::min));
    frames::put(entries, &gaps);
}

/// How long the calls of a block took.
#[derive(Debug, Default)]
pub(super) struct Durations {
    /// exit - enter, ticks; 0 for a call that did not return.
    pub ticks: Vec<u64>,
    /// The indices of the calls that did not return, ascending.
    pub open: Vec<usize>,
}

/// Takes the durations of `count` calls; `None` where the bytes are no such list.
pub(super) fn take_durations(bytes: &mut &[u8], count: usize) -> Option<Durations> {
    let step = number::take(bytes)?;
    let (open, ticks) = (take_open(bytes, count)?, take_steps(bytes, count, step)?);
    Some(Durations { ticks, open })
}

/// Takes the indices of the calls that did not return, and leaves the rest.
pub(super) fn take_only_open(bytes: &mut &[u8], count: usize) -> Option<Vec<usize>> {
    number::take(bytes)?;
    take_open(bytes, count)
}

/// Takes the lowest entry, and leaves the rest.
pub(super) fn take_lowest(bytes: &mut &[u8]) -> Option<u64> {
    number::take(bytes)?;
    let first = number::take(bytes)?;
    first.checked_sub(number::take(bytes)?)
}

/// Appends the entries and the exits of a block whose calls took so long.
pub(super) fn take(bytes: &mut &[u8], durations: Durations, enter: &mut Vec<u64>, exit: &mut Vec<u64>) -> Option<()> {
    let Durations { ticks, open } = durations;
    let step = number::take(bytes)?;
    let first = number::take(bytes)?;
    number::take(bytes)?;
    let gaps = take_steps(bytes, ticks.len().checked_sub(1)?, step)?;
    let block = exit.len();
    let mut begin = first;
    for (duration, gap) in ticks.iter().zip(gaps.iter().chain(&[0])) {
        let end = begin.wrapping_add(*duration);
        enter.push(begin);
        exit.push(end);
        begin = end.wrapping_add(*gap);
    }
    open.into_iter().for_each(|index| exit[block + index] = 0);
    Some(())
}

fn take_open(bytes: &mut &[u8], count: usize) -> Option<Vec<usize>> {
    let calls = usize::try_from(number::take(bytes)?).ok().filter(|&calls| calls <= count)?;
    let mut last = 0usize;
    let index = |_| {
        last = last.checked_add(usize::try_from(number::take(bytes)?).ok()?).filter(|&index| index < count)?;
        Some(last)
    };
    (0..calls).map(index).collect()
}

/// Takes `count` values that were divided by `step`.
pub(super) fn take_steps(bytes: &mut &[u8], count: usize, step: u64) -> Option<Vec<u64>> {
    let mut values = Vec::new();
    frames::take(bytes, count, &mut values)?;
    if step != 1 {
        values.iter_mut().for_each(|value| *value = value.wrapping_mul(step));
    }
    Some(values)
}

/// Divides all values, signed ones, by the largest number that divides them; returns that.
pub(super) fn in_steps(values: &mut [u64]) -> u64 {
    let Some(&first) = values.iter().find(|value| **value != 0) else { return 1 };
    let mut step = Divisor::new((first as i64).unsigned_abs());
    for &value in &*values {
        let value = (value as i64).unsigned_abs();
        if !step.divides(value) {
            step = Divisor::new(common_divisor(step.value, value));
            if step.value == 1 {
                break;
            }
        }
    }
    // 2^63, of the lowest value alone, has no opposite.
    if step.value == 1 || step.value > i64::MAX as u64 {
        return 1;
    }
    values.iter_mut().for_each(|value| *value = step.quotient(*value as i64));
    step.value
}

fn common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// Divides by multiplication with an inverse modulo 2^64. [Warren2013, 10-16, 10-17]
struct Divisor {
    value: u64,
    /// The number of bits below the lowest one that is set.
    twos: u32,
    /// The number that makes 1 of what is left of it without them.
    inverse: u64,
    /// The largest quotient of an unsigned number.
    most: u64,
}

impl Divisor {
    /// By a number that is not 0.
    fn new(value: u64) -> Divisor {
        let twos = value.trailing_zeros();
        let odd = value >> twos;
        // Right in the lowest 3 bits, and by Newton's method in twice as many each time.
        let mut inverse = odd;
        for _ in 0..5 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        }
        Divisor { value, twos, inverse, most: u64::MAX / value }
    }

    fn divides(&self, number: u64) -> bool {
        number.wrapping_mul(self.inverse).rotate_right(self.twos) <= self.most
    }

    /// The quotient of a number that it divides.
    fn quotient(&self, number: i64) -> u64 {
        ((number >> self.twos) as u64).wrapping_mul(self.inverse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn there_and_back(enter: &[u64], exit: &[u64]) -> usize {
        let (mut entries, mut exits) = (Vec::new(), Vec::new());
        put(&mut entries, &mut exits, enter, exit);
        assert_eq!(take_lowest(&mut &entries[..]), enter.iter().copied().min());
        let (mut rest, mut rest_of_exits) = (&entries[..], &exits[..]);
        let durations = take_durations(&mut rest_of_exits, exit.len()).unwrap();
        let (mut found_enter, mut found_exit) = (vec![1], vec![2]);
        take(&mut rest, durations, &mut found_enter, &mut found_exit).unwrap();
        assert_eq!((&found_enter[1..], &found_exit[1..]), (enter, exit));
        assert!(rest.is_empty() && rest_of_exits.is_empty());
        entries.len() + exits.len()
    }

    proptest! {
        #[test]
        fn all_times_come_back(
            calls in proptest::collection::vec((any::<u64>(), any::<u64>(), 0u32..30), 1..300),
            step in 1u64..100,
            first in any::<u64>(),
        ) {
            let mut now = first;
            let (mut enter, mut exit) = (Vec::new(), Vec::new());
            for (gap, duration, odds) in calls {
                match odds {
                    0 => now = gap,
                    1 => now = now.wrapping_sub(step * (gap % 5000)),
                    _ => now = now.wrapping_add(step * (gap % 5000)),
                }
                enter.push(now);
                now = now.wrapping_add(step * (duration % 3000));
                exit.push(if odds == 2 { 0 } else { now });
            }
            there_and_back(&enter, &exit);
        }

        #[test]
        fn any_columns_come_back(pairs in proptest::collection::vec((any::<u64>(), any::<u64>()), 1..200)) {
            let (enter, exit): (Vec<u64>, Vec<u64>) = pairs.into_iter().unzip();
            there_and_back(&enter, &exit);
        }
    }

    #[test]
    fn the_step_of_the_counter_takes_no_bits() {
        // Run times of 20 to 83 and gaps of 4 to 7 steps of 26 ticks.
        let mut now = 1 << 50;
        let (mut enter, mut exit) = (Vec::new(), Vec::new());
        for call in 0..1280u64 {
            now += 26 * (4 + call * 7 % 4);
            enter.push(now);
            now += 26 * (20 + call * 37 % 64);
            exit.push(now);
        }
        let bytes = there_and_back(&enter, &exit);
        assert!(bytes < 1280 + 10 * 2 * 4 + 13, "8 bits a call: {bytes}");
    }

    #[test]
    fn an_open_call_that_is_not_there_is_refused() {
        let open = |numbers: &[u64]| {
            let mut bytes = Vec::new();
            numbers.iter().for_each(|&each| number::put(&mut bytes, each));
            take_open(&mut &bytes[..], 3)
        };
        assert_eq!(open(&[2, 0, 2]), Some(vec![0, 2]));
        assert_eq!(open(&[1, 3]), None, "the fourth of three");
        assert_eq!(open(&[4, 0, 0, 0, 0]), None, "four of three");
    }
}
