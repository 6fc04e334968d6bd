//! When the calls began and ended: how long each took, and how long after the one before it began.
//!
//! Of the exits:
//!
//! | numbers | what |
//! |---|---|
//! | 1 | step |
//! | 1 | calls that did not return (exit 0) |
//! | 1 each | calls since the one before (since the block's begin) |
//! | [`frames`] | exit - enter in steps, 0 for a call that did not return |
//!
//! Of the entries:
//!
//! | numbers | what |
//! |---|---|
//! | 1 | step |
//! | 1 | the first entry |
//! | 1 | by how much the lowest one is below it |
//! | [`frames`] | for each call but the first: enter - the exit before, in steps |
//!
//! Of a call that did not return its entry counts as its exit.
//!
//! The step is the largest number that divides all of them: the counters of many processors do not take every value.

use super::{frames, number};

/// Appends the entries and the exits of a block with at least one call.
pub(super) fn put(entries: &mut Vec<u8>, exits: &mut Vec<u8>, enter: &[u64], exit: &[u64]) {
    let ends = enter.iter().zip(exit).map(|(&enter, &exit)| if exit == 0 { enter } else { exit });
    let durations: Vec<u64> = ends.clone().zip(enter).map(|(end, enter)| end.wrapping_sub(*enter)).collect();
    let gaps: Vec<u64> = ends.zip(&enter[1..]).map(|(end, enter)| enter.wrapping_sub(end)).collect();

    let open: Vec<usize> = (0..exit.len()).filter(|&index| exit[index] == 0).collect();
    let step = step(&durations);
    number::put(exits, step);
    number::put(exits, open.len() as u64);
    let mut last = 0;
    for index in open {
        number::put(exits, (index - last) as u64);
        last = index;
    }
    frames::put(exits, &in_steps(durations, step));

    let step = self::step(&gaps);
    number::put(entries, step);
    number::put(entries, enter[0]);
    number::put(entries, enter[0] - enter.iter().copied().fold(enter[0], u64::min));
    frames::put(entries, &in_steps(gaps, step));
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

fn take_steps(bytes: &mut &[u8], count: usize, step: u64) -> Option<Vec<u64>> {
    let mut values = Vec::new();
    frames::take(bytes, count, &mut values)?;
    if step != 1 {
        values.iter_mut().for_each(|value| *value = value.wrapping_mul(step));
    }
    Some(values)
}

/// The largest number that divides all values as signed ones; at least 1.
fn step(values: &[u64]) -> u64 {
    let mut step = 0;
    for &value in values {
        let mut rest = (value as i64).unsigned_abs();
        while rest != 0 {
            (step, rest) = (rest, step % rest);
        }
        if step == 1 {
            break;
        }
    }
    // 2^63, of the lowest value alone, has no opposite.
    if step == 0 || step > i64::MAX as u64 { 1 } else { step }
}

fn in_steps(mut values: Vec<u64>, step: u64) -> Vec<u64> {
    values.iter_mut().for_each(|value| *value = (*value as i64 / step as i64) as u64);
    values
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
}
